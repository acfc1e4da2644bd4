"""What is remembered of a mode: bounded, fresh after each entry, excluded tokens left out."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import ProfileWindow, Token
from idlegap.core.session.mode_history import KEPT_TOKENS, RATE_LEAST_TOKENS, RATE_WINDOW_NS, ModeHistory

MS = 1_000_000


def tokens(walls_ms, start_ns=0):
    """Back-to-back tokens with these wall times, dispatched half way."""
    made = []
    for wall_ms in walls_ms:
        end = start_ns + wall_ms * MS
        made.append(Token(start_ns, start_ns + wall_ms * MS // 2, end, 0, None, 0, 0))
        start_ns = end
    return tuple(made)


def test_figures_are_medians_over_the_kept_tokens():
    history = ModeHistory()
    assert history.figures() is None
    history.add(tokens([10, 20, 60]))
    figures = history.figures()
    assert figures is not None
    assert (figures.wall_ns, figures.dispatch_ns, figures.wait_ns) == (20 * MS, 10 * MS, 10 * MS)
    assert figures.tokens == 3


def test_old_figures_stand_until_the_first_token_after_an_entry():
    history = ModeHistory()
    history.add(tokens([10] * 5))
    history.entered()
    figures = history.figures()
    assert figures is not None
    assert figures.wall_ns == 10 * MS
    history.add(tokens([30]))
    figures = history.figures()
    assert figures is not None
    assert (figures.wall_ns, figures.tokens) == (30 * MS, 1)
    assert history.total == 6


def test_each_visit_s_tokens_at_new_lengths_stand_for_themselves():
    history = ModeHistory()
    history.add_at_new_lengths(tokens([60] * 5))
    history.entered()
    assert history.figures().wall_ns == 60 * MS
    history.add_at_new_lengths(tokens([90] * 5))
    assert (history.figures().wall_ns, history.figures().tokens) == (90 * MS, 5)
    assert history.usual() is None
    history.add(tokens([20]))
    assert (history.figures().wall_ns, history.total) == (20 * MS, 1)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=3 * KEPT_TOKENS))
def test_memory_is_bounded_and_the_newest_tokens_stay(walls_ms):
    history = ModeHistory()
    history.add(tokens(walls_ms))
    assert [t.wall_ns // MS for t in history.tokens] == walls_ms[-KEPT_TOKENS:]
    assert history.total == len(walls_ms)


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=200))
def test_the_rate_looks_at_two_seconds_or_at_least_a_few_tokens(walls_ms):
    history = ModeHistory()
    history.add(tokens(walls_ms))
    recent = history.recent_walls_ns()
    assert recent == [w * MS for w in reversed(walls_ms[-len(recent) :])]
    assert len(recent) >= min(RATE_LEAST_TOKENS, len(walls_ms))
    if len(recent) > RATE_LEAST_TOKENS:
        assert sum(recent[:-1]) <= RATE_WINDOW_NS


def window(accepted):
    return ProfileWindow(
        0, mode="graph", steps=4, accepted=accepted, reason="" if accepted else "lost records"
    )


def test_an_accepted_window_outlives_later_rejections_and_clears_them():
    history = ModeHistory()
    good, bad = window(True), window(False)
    history.note_profile(bad)
    assert (history.profile, history.rejected) == (None, bad)
    history.note_profile(good)
    assert (history.profile, history.rejected) == (good, None)
    history.note_profile(bad)
    assert (history.profile, history.rejected) == (good, bad)
