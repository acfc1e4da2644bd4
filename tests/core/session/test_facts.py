"""What holds now: the newest of each kind, and what a restart or another shape makes void."""

from collections.abc import Iterable

from idlegap.core.protocol.events import (
    AnyEvent,
    EngineEvent,
    EngineFailed,
    EngineReady,
    EngineStage,
    HostInfo,
    MonitorSample,
)
from idlegap.core.session.facts import Facts
from tests.core.recording.stories import READY, SECOND, START_NS, engine_story, story


def facts_after(events: Iterable[AnyEvent]) -> Facts:
    facts = Facts()
    for event in events:
        facts.apply(event)
    return facts


def test_a_stage_keeps_since_when_it_lasts() -> None:
    stages = [EngineStage(START_NS + s * SECOND, "compiling", fraction=s / 5) for s in range(5)]
    facts = facts_after(stages)
    assert facts.kept() == [stages[0], stages[-1]]
    assert facts.stage is not None
    assert (facts.stage.stage, facts.stage.fraction, facts.stage.since_ns) == ("compiling", 0.8, START_NS)


def test_a_restarted_engine_leaves_only_the_machine() -> None:
    restart = EngineStage(START_NS + 90 * SECOND, "starting")
    facts = facts_after([*story(), EngineFailed(START_NS + 80 * SECOND, "lost"), restart])
    *machine, stage = facts.kept()
    assert stage == restart
    assert not [event for event in machine if isinstance(event, EngineEvent)]
    assert any(isinstance(event, HostInfo) for event in machine)
    assert (facts.newest(EngineReady), facts.newest(EngineFailed), facts.mode, facts.refused) == (
        None,
        None,
        None,
        {},
    )


def test_another_shape_voids_what_was_measured_of_the_one_before() -> None:
    facts = facts_after([*engine_story(), READY])
    assert {event.__struct_config__.tag for event in facts.kept()} == {
        "bandwidth",
        "mode",
        "ready",
        "stage",
    }


def test_an_engine_that_has_failed_says_so_until_it_starts_again() -> None:
    failed = EngineFailed(START_NS + SECOND, "out of memory")
    facts = facts_after([EngineStage(START_NS, "building"), failed])
    assert facts.stage is not None
    assert (facts.stage.stage, facts.stage.detail) == ("failed", "out of memory")


def test_what_the_screen_has_cost_is_known_and_not_passed_on() -> None:
    sample = MonitorSample(START_NS, 3.0, 1, None, 4.0)
    facts = facts_after([sample])
    assert facts.newest(MonitorSample) == sample
    assert facts.kept() == []
