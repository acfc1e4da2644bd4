"""The strip's buckets: every counted token in exactly one, whenever frames look."""

from hypothesis import given
from hypothesis import strategies as st

from idlegap.core.protocol.events import Token
from idlegap.core.session.snapshot import STRIP_BUCKET_NS
from idlegap.core.session.strip import KEPT_BUCKETS, StripHistory

BUCKET = STRIP_BUCKET_NS


def token(done_ns, wall_ns=1):
    return Token(done_ns - wall_ns, done_ns, done_ns)


def test_a_bucket_holds_median_maximum_and_slow_tokens():
    strip = StripHistory()
    strip.add("graph", tuple(token(BUCKET + 10, wall) for wall in (2, 9, 4)), slow_above_ns=8)
    assert strip.columns(BUCKET + 20) == ()
    (column,) = strip.columns(2 * BUCKET)
    assert (column.bucket, column.mode) == (1, "graph")
    assert (column.median_ns, column.max_ns, column.tokens, column.slow) == (4, 9, 3, 1)


def test_of_several_marks_in_one_bucket_the_last_stays():
    strip = StripHistory()
    strip.mark(5, "eager")
    strip.mark(6, "graph")
    strip.mark(BUCKET, "paused")
    assert [(m.bucket, m.label) for m in strip.marks()] == [(0, "graph"), (1, "paused")]


def test_columns_of_an_earlier_shape_keep_what_was_known_of_their_device_time():
    strip = StripHistory()
    strip.add("graph", (token(1),), None)
    strip.add("eager", (token(BUCKET + 1), token(BUCKET + 2)), None)
    strip.reshape({"graph": 3, "eager": 4})
    assert [c.bucket for c in strip.columns(BUCKET + 3)] == [0]
    strip.add("eager", (token(BUCKET + 3),), None)
    strip.add("graph", (token(2 * BUCKET),), None)
    strip.add("graph", (token(3 * BUCKET),), None)
    strip.reshape({"graph": 5, "eager": 7})

    columns = strip.columns(9 * BUCKET)
    told = [(c.bucket, c.mode, c.tokens, c.reshaped, c.busy_ns) for c in columns]
    assert told == [
        (0, "graph", 1, True, 3),
        (1, "eager", 3, True, 4),
        (2, "graph", 1, True, 5),
        (3, "graph", 1, True, 5),
    ]


def test_slow_tokens_are_explained_after_a_change_of_shape_too():
    strip = StripHistory()
    strip.add("graph", (token(1),), None)
    strip.add("graph", (token(BUCKET + 1),), None)
    strip.blame(BUCKET + 1, [("quota", 5)])
    strip.reshape({"graph": 3})
    strip.blame(1, [("steal", 5)])
    told = [(c.cause, c.reshaped, c.busy_ns) for c in strip.columns(9 * BUCKET)]
    assert told == [("steal", True, 3), ("quota", True, 3)]


@given(
    st.lists(st.tuples(st.integers(1, BUCKET), st.booleans()), min_size=1, max_size=200),
)
def test_every_token_is_in_one_bucket_however_often_frames_look(steps):
    strip, now_ns = StripHistory(), 0
    for gap_ns, look in steps:
        now_ns += gap_ns
        strip.add("eager", (token(now_ns),), None)
        if look:
            strip.columns(now_ns + 3 * BUCKET)
    columns = strip.columns(now_ns + 2 * BUCKET)
    assert sum(column.tokens for column in columns) == len(steps)
    buckets = [column.bucket for column in columns]
    assert buckets == sorted(set(buckets))


def test_memory_is_bounded_to_the_kept_buckets_and_the_open_one():
    strip = StripHistory()
    for bucket in range(2 * KEPT_BUCKETS):
        strip.add("eager", (token(bucket * BUCKET + 1),), None)
    assert len(strip.columns(2 * KEPT_BUCKETS * BUCKET)) == KEPT_BUCKETS + 1
