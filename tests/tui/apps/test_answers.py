"""Answers to keys: at once, until the engine has answered, and no longer."""

from dataclasses import replace

from idlegap.core.session.snapshot import FromApp, Snapshot, StageView
from idlegap.tui.apps.answers import ANSWER_NS, Answers
from tests.tui.support.scenes import NOW_NS, eager_and_graph, failed


def message(answers: Answers, snap: Snapshot, age_ns: int = 0) -> str:
    """What a frame shows that is drawn `age_ns` after the key."""
    shown = replace(snap, app=FromApp(answer=answers.current(NOW_NS + age_ns)))
    answers.shown(shown)
    return shown.message


EAGER = replace(eager_and_graph(), mode="eager-static")


def test_a_notice_stands_for_its_time_and_goes() -> None:
    answers = Answers()
    answers.say("look", NOW_NS)
    assert message(answers, EAGER, ANSWER_NS) == "look"
    assert message(answers, EAGER, ANSWER_NS + 1) == ""


def test_what_the_session_says_later_takes_the_place_of_an_answer() -> None:
    answers = Answers()
    old, new = replace(EAGER, notice="old news"), replace(EAGER, notice="graph verified: 255/255 agree (d)")
    message(answers, old)
    answers.say("verifying …", NOW_NS)
    assert message(answers, old) == "verifying …"
    assert message(answers, new, 1) == new.notice
    assert message(answers, EAGER, 2) == ""


def test_a_mode_stays_asked_for_while_it_is_prepared() -> None:
    answers = Answers()
    message(answers, EAGER)
    answers.ask("graph", NOW_NS)
    capturing = replace(EAGER, stage=StageView("capturing", "", None, NOW_NS))
    assert message(answers, capturing, 10 * ANSWER_NS) == "entering 3 graph …"
    assert answers.asked == "graph"
    assert message(answers, eager_and_graph(), 11 * ANSWER_NS) == ""
    assert answers.asked is None


def test_a_refusal_answers_too() -> None:
    answers = Answers()
    message(answers, replace(EAGER, notice="older news"))
    answers.ask("graph", NOW_NS)
    assert message(answers, replace(EAGER, notice="older news")) == "entering 3 graph …"
    assert message(answers, replace(EAGER, notice="graph: capture failed")) == "graph: capture failed"
    assert answers.asked is None


def test_a_refusal_in_the_same_words_as_the_last_one_does_not_block_the_keys() -> None:
    answers = Answers()
    refused = replace(EAGER, notice="graph: capture failed")
    message(answers, refused)
    answers.ask("graph", NOW_NS)
    message(answers, refused, ANSWER_NS)
    assert answers.asked == "graph"
    message(answers, refused, ANSWER_NS + 1)
    assert answers.asked is None


def test_a_lost_engine_takes_back_the_question() -> None:
    answers = Answers()
    answers.ask("graph", NOW_NS)
    assert message(answers, failed()) == ""
    assert answers.asked is None
