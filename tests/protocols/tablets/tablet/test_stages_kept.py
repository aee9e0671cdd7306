"""What the documents promise of each stage, seen on runs of a tablet with three replicas."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.requests import NOTHING
from kit.protocols.storage.storage import Commit, Start, TimeOut
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.tablets.tablet import DELETED
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.views.panel import scene_of
from kit.views.registry import for_model

FOUR = ("K1 write QUORUM", "K2 write QUORUM", "K3 read QUORUM", "K4 read QUORUM")
USUAL = ("K1 write QUORUM", "K2 read QUORUM")
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
def test_every_replica_knows_of_the_move_when_double_writes_begin(edition: Edition) -> None:
    """As write_both_read_old is committed, each holds the tablet for writes."""
    met = 0
    for steps in walks(edition):
        for model, before, _, _ in entering(steps, "write_both_read_old"):
            met += 1
            for i in range(4):
                assert model.views(before)[before.known[i]].holds_it(i, write=True), i
    assert met


@pytest.mark.spec("E-013")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_write_from_streaming_on_succeeds_with_a_quorum_of_both_sets(edition: Edition) -> None:
    """Until reads move."""
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
def test_at_the_read_switch_the_new_replica_has_what_the_leaving_one_had(edition: Edition) -> None:
    """Something newer will do, and so counts what A held as streaming was committed."""
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
def test_a_read_from_use_new_on_asks_the_new_replicas_alone(edition: Edition) -> None:
    """The read begins after that stage is committed."""
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
def test_no_write_is_on_its_way_to_the_leaving_replica_at_cleanup(edition: Edition) -> None:
    """As the stage is committed, no write is in flight to A."""
    met = 0
    for steps in walks(edition):
        for model, before, _, _ in entering(steps, "cleanup"):
            met += 1
            bit = 1 << model.code["A"]
            assert not any(r.in_flight & bit for r in before.requests if r.timestamp)
    assert met


@pytest.mark.spec("E-019", "E-021")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_transition_leaves_the_replica_that_lost_the_tablet_without_data(
    edition: Edition,
) -> None:
    """That is D after a way back, and A otherwise."""
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


# The nine steps, on A, B and C with target D: what the list of steps ends with.
NINE = [
    "The tablet is on A, B, C.",
    "Write 1 of K1 is on all replicas: A, B, C.",
    "The migration of A to D begins.",
    "It fails and leaves a stream behind: s1.",
    "The migration of A to D is retried and completes: the tablet is on B, C, D.",
    "Delete 2 deletes K1 and is on all replicas: B, C, D.",
    "The tablet is repaired.",
    "The tombstone of delete 2 is collected on D, B, C.",
]
BACK = "! s1 is applied to D: K1 is back."
STAYS = "✓ D rejects s1, whose session is closed: K1 stays deleted."


def steps(name: str) -> tuple[Timeline, list[str]]:
    """The end of a story of the family, and the lines of its list of steps."""
    timeline = open_file(file_named(f"tablets/{name}"))
    timeline.goto(timeline.tip)
    return timeline, [line.partition(". ")[2] for line in story_lines(timeline)]


def story_lines(timeline: Timeline) -> list[str]:
    """The list of steps as the Player says it."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "steps"]
    return [line.strip() for line in panel.text(scene_of(timeline, timeline.at)).splitlines()]


@pytest.mark.spec("F-009")
def test_without_guards_nine_steps_bring_a_deleted_key_back() -> None:
    """A client reads it after its deletion succeeded and a repair."""
    timeline, told = steps("nine-steps-without-guards")
    assert told == [*NINE, BACK]
    assert {v.name for v in timeline.verdicts() if not v.ok} == {"no-resurrection"}
    assert timeline.moments[timeline.at].say.endswith("returns write 1.")


@pytest.mark.spec("F-010")
def test_with_guards_the_same_nine_steps_keep_the_key_deleted() -> None:
    """D rejects the old stream, and no promise is broken."""
    timeline, told = steps("nine-steps")
    assert told == [*NINE, STAYS]
    assert all(verdict.ok for verdict in timeline.verdicts())
    assert timeline.moments[timeline.at].say.endswith("returns nothing.")


def test_the_stories_with_and_without_guards_take_the_same_actions() -> None:
    """So the guards alone make the difference."""
    with_, without = (steps(name)[0] for name in ("nine-steps", "nine-steps-without-guards"))
    actions = [[each.action for each in t.moments] for t in (with_, without)]
    assert actions[0] == actions[1]


REPAIRED: dict[str, dict[str, Any]] = {
    "moved": {"rf": 2, "requests": USUAL[:1]},
    "moved, the server's stages": {"rf": 2, "edition": "server", "requests": USUAL},
    "tried again": {"rf": 1, "edition": "server", "second": "again", "late": 1,
                    "collecting": True, "requests": DELETED},
    "moved twice": {"rf": 1, "edition": "server", "second": "other", "requests": USUAL},
    "within a node": {"rf": 1, "kind": "intranode_migration", "requests": USUAL},
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", REPAIRED)
def test_a_repair_after_a_move_breaks_no_promise(name: str) -> None:
    """The search is complete, and passes end_repair."""
    model: Any = build("tablet", {"repaired": True, **REPAIRED[name]})
    result = check(model, max_states=200_000)
    assert (result.violation, result.verdict) == (None, "complete")
    last = {stage_of(epoch) for epoch in model.history.epochs if not epoch.edges}
    assert last == {NO_TRANSITION}
    assert "end_repair" in {stage_of(epoch) for epoch in model.history.epochs}


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_random_walk_with_guards_brings_a_deleted_key_back(edition: Edition) -> None:
    """The walks have the nine steps' configuration with RF 2, in both editions."""
    given = {"second": "again", "collecting": True, "late": 2, "repaired": True}
    model = build("tablet", {**given, "rf": 2, "requests": DELETED, "edition": edition})
    assert not fuzz(model, range(40), steps=250, within=0).findings
