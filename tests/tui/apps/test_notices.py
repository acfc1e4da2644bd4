"""Answers to keys: at once, until the engine has answered, and no longer."""

from dataclasses import replace

from idlegap.core.session.snapshot import Snapshot, StageView
from idlegap.tui.apps.notices import NOTICE_NS, Notices
from tests.tui.support.scenes import NOW_NS, eager_and_graph, failed


def put_on(notices: Notices, snap: Snapshot, age_ns: int = 0) -> Snapshot:
    return notices.put_on(snap, NOW_NS + age_ns)


EAGER = replace(eager_and_graph(), mode="eager-static")


def test_a_notice_stands_for_its_time_and_goes() -> None:
    notices = Notices()
    notices.say("look", NOW_NS)
    assert put_on(notices, EAGER, NOTICE_NS).notice == "look"
    assert put_on(notices, EAGER, NOTICE_NS + 1).notice == ""


def test_what_the_session_says_later_takes_the_place_of_an_answer() -> None:
    notices = Notices()
    old, new = replace(EAGER, notice="old news"), replace(EAGER, notice="graph verified: 255/255 agree (d)")
    put_on(notices, old)
    notices.say("verifying …", NOW_NS)
    assert put_on(notices, old).notice == "verifying …"
    assert put_on(notices, new, 1).notice == new.notice
    assert put_on(notices, EAGER, 2).notice == ""


def test_a_mode_stays_asked_for_while_it_is_prepared() -> None:
    notices = Notices()
    put_on(notices, EAGER)
    notices.ask("graph", NOW_NS)
    capturing = replace(EAGER, stage=StageView("capturing", "", None, NOW_NS))
    assert put_on(notices, capturing, 10 * NOTICE_NS).notice == "entering 3 graph …"
    assert notices.asked == "graph"
    assert put_on(notices, eager_and_graph(), 11 * NOTICE_NS).notice == ""
    assert notices.asked is None


def test_a_refusal_answers_too() -> None:
    notices = Notices()
    put_on(notices, replace(EAGER, notice="older news"))
    notices.ask("graph", NOW_NS)
    assert put_on(notices, replace(EAGER, notice="older news")).notice == "entering 3 graph …"
    assert put_on(notices, replace(EAGER, notice="graph: capture failed")).notice == "graph: capture failed"
    assert notices.asked is None


def test_a_refusal_in_the_same_words_as_the_last_one_does_not_block_the_keys() -> None:
    notices = Notices()
    refused = replace(EAGER, notice="graph: capture failed")
    put_on(notices, refused)
    notices.ask("graph", NOW_NS)
    put_on(notices, refused, NOTICE_NS)
    assert notices.asked == "graph"
    put_on(notices, refused, NOTICE_NS + 1)
    assert notices.asked is None


def test_a_lost_engine_takes_back_the_question() -> None:
    notices = Notices()
    notices.ask("graph", NOW_NS)
    assert put_on(notices, failed()).notice == ""
    assert notices.asked is None
