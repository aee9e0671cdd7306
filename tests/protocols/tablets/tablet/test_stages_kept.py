"""What the documents promise of each stage, seen on runs of a tablet with three replicas."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kit.engine.registry import build
from kit.engine.scenario import file_named, open_file
from kit.engine.timeline import Timeline
from kit.protocols.storage.rules.requests import NOTHING
from kit.protocols.storage.storage import Commit, LandLate, Start, TimeOut
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition

FOUR = ("K1 write QUORUM", "K2 write QUORUM", "K3 read QUORUM", "K4 read QUORUM")
Step = tuple[Any, Any, Any, Any]


def weight(action: Any) -> float:
    """How often an action is taken: ways back seldom, so that some walks get to the end."""
    if isinstance(action, Commit):
        return 0.01 if action.verb.startswith("roll back") else 0.5
    return 0.05 if isinstance(action, Start | TimeOut) else 1.0


def walks(edition: Edition, **given: Any) -> Iterator[list[Step]]:
    """Seeded walks of a migration with clients side by side: model, before, action, after."""
    chosen = {"edition": edition, "requests": FOUR, "together": True, "timeouts": True}
    model: Any = build("tablet", {**chosen, **given})
    for seed in range(40):
        chance, s, steps = random.Random(seed), model.start(), list[Step]()
        for _ in range(400):
            actions = list(model.actions(s))
            if not actions:
                break
            weights = [weight(each) for each in actions]
            (action,) = chance.choices(actions, weights)
            after = model.apply(s, action)
            steps.append((model, s, action, after))
            s = after
        yield steps


def entering(steps: list[Step], stage: str) -> Iterator[Step]:
    """The steps that commit a stage."""
    for model, before, action, after in steps:
        left, met = (stage_of(model.newest(s)) for s in (before, after))
        if isinstance(action, Commit) and left != stage and met == stage:
            yield model, before, action, after


@pytest.mark.spec("E-012")
@pytest.mark.parametrize("edition", EDITIONS)
def test_all_replicas_are_ready_for_double_writes(edition: Edition) -> None:
    """As write_both_read_old is committed, each old and new replica knows of itself."""
    met = 0
    for steps in walks(edition):
        for model, before, _, _ in entering(steps, "write_both_read_old"):
            met += 1
            for i in range(4):
                assert model.views(before)[before.known[i]].holds_it(i, write=True)
    assert met


@pytest.mark.spec("E-013")
@pytest.mark.parametrize("edition", EDITIONS)
def test_writes_reach_their_level_in_both_sets(edition: Edition) -> None:
    """A write planned from streaming on until reads move succeeds with a quorum of either set."""
    met = 0
    for steps in walks(edition):
        for model, before, _, after in steps:
            if stage_of(model.newest(before)) != "streaming":
                continue
            for was, now in zip(before.requests, after.requests, strict=True):
                if was.phase == 1 and now.phase == 2 and was.timestamp:
                    view = model.views(before)[was.epoch]
                    for group in (view.old_replicas, view.new_replicas):
                        assert 2 * (was.acked & group).bit_count() > group.bit_count()
                    met += 1
    assert met


@pytest.mark.spec("E-014")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_new_replica_holds_what_the_leaving_one_held(edition: Edition) -> None:
    """What A held as streaming was committed D holds, or something newer, at the read switch."""
    met = 0
    for steps in walks(edition):
        held = None
        for model, before, action, after in steps:
            if not isinstance(action, Commit):
                continue
            a, d = model.code["A"], model.code["D"]
            stage = stage_of(model.newest(after))
            if stage == "streaming":
                held = before.cells[a]
            if stage == "write_both_read_new" and held is not None:
                assert after.cells[d] >= held
                met += held > NOTHING
    assert met


@pytest.mark.spec("E-015")
@pytest.mark.parametrize("edition", EDITIONS)
def test_reads_use_the_new_set(edition: Edition) -> None:
    """Once use_new is committed no read begins that asks a replica outside the new set."""
    met = 0
    for steps in walks(edition):
        for model, before, action, after in steps:
            late = stage_of(model.newest(before)) in ("use_new", "cleanup", "end_migration")
            if late and isinstance(action, Start) and not model.mutations[action.request]:
                asked = after.requests[action.request].in_flight
                assert set(model.history.names(asked)) == {"B", "C", "D"}
                met += 1
    assert met


@pytest.mark.spec("E-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_write_is_on_its_way_to_the_leaving_replica(edition: Edition) -> None:
    """As cleanup is committed, no write is in flight to A."""
    met = 0
    for steps in walks(edition):
        for model, before, _, _ in entering(steps, "cleanup"):
            met += 1
            bit = 1 << model.code["A"]
            assert not any(r.in_flight & bit for r in before.requests if r.timestamp)
    assert met


@pytest.mark.spec("E-019", "E-021")
@pytest.mark.parametrize("edition", EDITIONS)
def test_data_ends_on_the_replicas_in_force(edition: Edition) -> None:
    """After a way back these are the old ones, and D is empty; after the end the new ones, and A
    is.
    """
    ends = set()
    for steps in walks(edition, crashes=1 if edition == "server" else 0):
        for model, before, _, after in entering(steps, NO_TRANSITION):
            replicas = model.history.names(model.newest(after).view.writes)
            (gone,) = {"A", "B", "C", "D"} - set(replicas)
            i = model.code[gone]
            assert after.cells[i] == NOTHING or after.down >> i & 1
            ends.add((stage_of(model.newest(before)), gone))
    assert ("end_migration", "A") in ends
    assert edition == "server" or ("revert_migration", "D") in ends


# The nine steps, on A, B and C with target D: what is done, then what is to be seen.
ATTEMPT = """
plan migration of A to D / catch up / commit write_both_read_old / catch up / commit streaming
"""
FAILS = "catch up / copy A to D / roll back to cleanup_target / catch up / commit fence_version"
REVERTS = "apply D / cleanup D / commit revert_migration / catch up / commit no transition"
SECOND = "catch up / copy A to D / land A to D / commit write_both_read_new / catch up"
ENDS = "commit use_new / catch up / commit cleanup / apply A / cleanup A / commit end_migration"


def nine_steps(*off: str) -> Timeline:
    """A write everywhere, a migration that fails and leaves a stream, one that completes, a
    deletion everywhere, its tombstones collected; then the stream arrives, and a client reads.
    """
    timeline = Timeline(
        build(
            "tablet",
            {
                "second": "again",
                "late": 1,
                "collecting": True,
                "requests": ("K1 write QUORUM", "K2 delete QUORUM", "K3 read QUORUM"),
            },
            off,
        )
    )
    play(timeline, "write 1 at version 10")
    for replica in "ABC":
        play(timeline, f"write 1 reaches {replica}")
    play(timeline, "answer write 1")
    for text in (ATTEMPT, FAILS, REVERTS, ATTEMPT, SECOND, ENDS, "catch up / commit no transition"):
        for verb in text.strip().split(" / "):
            play(timeline, verb)
    play(timeline, "delete 2 at version 24")
    for replica in "BCD":
        play(timeline, f"delete 2 reaches {replica}")
    play(timeline, "answer delete 2")
    for replica in "DBC":
        play(timeline, f"collect-tombstones {replica}")
    play(timeline, "late copy of session 1, A to D")
    play(timeline, "read 3 at version 24")
    for replica in "BCD":
        play(timeline, f"read 3 reaches {replica}")
    play(timeline, "answer read 3")
    return timeline


def play(timeline: Timeline, verb: str) -> None:
    """Do what a line of a scenario file says."""
    while verb == "catch up":
        model, s = timeline.model, timeline.state
        told = [a for a in model.actions(s) if model.kind(a) == "apply"]
        if not told:
            return
        timeline.do(told[0])
    model, s = timeline.model, timeline.state
    (found,) = (action for action in model.actions(s) if model.verb(action) == verb)
    timeline.do(found)


@pytest.mark.spec("F-009")
def test_without_guards_nine_steps_bring_a_key_back() -> None:
    """The first attempt's stream lands on D after the tombstone was collected there: K1 is back."""
    timeline = nine_steps("sessions")
    assert "K1, at version 10" in timeline.moments[1].say
    assert {v.name for v in timeline.verdicts() if not v.ok} == {"no-resurrection"}
    (landed,) = [m for m in timeline.moments if isinstance(m.action, LandLate)]
    assert landed.say.endswith("with write 1: D takes it.")


@pytest.mark.spec("F-010")
def test_with_guards_the_same_nine_steps_end_well() -> None:
    """The stream carries the permit of a closed session: D turns it away, and the key is gone."""
    timeline = nine_steps()
    assert all(verdict.ok for verdict in timeline.verdicts())
    (landed,) = [m for m in timeline.moments if isinstance(m.action, LandLate)]
    assert landed.say.endswith("it turns the copy away.")
    assert timeline.moments[timeline.at].say.endswith("returns nothing.")


def test_the_small_files_show_the_same() -> None:
    """With one replica the same steps are short enough to be shown."""
    for name, kept in (("off-sessions", False), ("late-stream-refused", True)):
        timeline = open_file(file_named(f"tablets/{name}"))
        timeline.goto(timeline.tip)
        assert all(verdict.ok for verdict in timeline.verdicts()) == kept
