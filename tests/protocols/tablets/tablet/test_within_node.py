"""Requests while a tablet moves from a shard to another one of its node."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.storage.rules.requests import NOTHING
from kit.protocols.storage.storage import Crash, Serve
from kit.protocols.tablets.rules.availability import shard_for_reads, shard_for_writes
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.tablet.runs import (
    ONE,
    SERVER,
    TWO,
    WITHIN,
    WITHIN_AGAIN,
    WITHIN_SLOW,
    WITHIN_THEN,
    built,
    search,
)
from tests.protocols.tablets.tablet.test_stages_kept import walks

FORMER, NEXT = TabletReplica("A", 0), TabletReplica("A", 1)


def verbs(found: Any, model: Any) -> list[str]:
    """The steps of a counterexample as lines of a scenario file."""
    return [model.verb(action) for action in found.violation.actions]


@pytest.mark.spec("E-063")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_node_reads_and_writes_on_the_shards_that_its_sharder_chooses(edition: Edition) -> None:
    """At every stage of a move within the node, and none of its data is anywhere else."""
    tablet, met = Tablet(0, (FORMER,), (NEXT,)), set()
    for steps in walks(edition, **WITHIN):
        for model, before, action, after in steps:
            if not isinstance(action, Serve) or action.replica != "A":
                continue
            stage = stage_of(
                model.history.epochs[model.trails[before.trail].nodes[before.known[0]]]
            )
            if stage == NO_TRANSITION:
                continue
            row = TRANSITIONS[edition]["intranode_migration"].state(stage)
            if model.writing(before, action.request):
                cell = model.mutation(before, action.request)
                for n in shard_for_writes(tablet, "A", row.writes):
                    assert after.cells[model.code[f"A:{n}"]] >= cell
            else:
                shard = model.code[f"A:{shard_for_reads(tablet, 'A', row.reads)}"]
                assert after.requests[action.request].newest_seen >= before.cells[shard]
            assert after.cells[model.code["A"]] == NOTHING
            met.add((row.reads, row.writes))
    assert met == {("old", "old"), ("old", "both"), ("new", "both"), ("new", "new")}


@pytest.mark.spec("E-064")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_move_within_a_node_changes_no_coordinators_replicas(edition: Edition) -> None:
    """Requests ask A, B and C at every stage."""
    model = built({**WITHIN, "edition": edition})
    for epoch in model.history.epochs:
        for group in (epoch.view.reads, epoch.view.writes):
            assert set(model.history.names(group)) == {"A", "B", "C"}


def test_without_the_barriers_drain_a_write_of_an_older_stage_is_lost() -> None:
    """E-066: streaming begins before that write lands on one shard, so reads miss it."""
    found, model = search(WITHIN_SLOW, "barrier-drains", lost=True)
    assert found.violation is not None
    assert found.violation.property == "visible"
    steps = verbs(found, model)
    begun = steps.index("write 1 begins at A")
    assert steps[begun - 1] == "write 1 at version 12"
    assert steps[begun + 1 : begun + 3] == ["apply A", "commit streaming"]
    assert steps.index("copy A:0 to A:1") < steps.index("write 1 reaches A")


@pytest.mark.parametrize(
    ("given", "off", "harm"),
    [(WITHIN_AGAIN, "sessions", "no-resurrection"), (WITHIN_THEN, "one-transition", "streamed")],
)
def test_a_move_within_a_node_needs_sessions_and_one_transition_at_a_time(
    given: dict[str, Any], off: str, harm: str
) -> None:
    """A hard link that was left behind, or a second move over the first, does harm."""
    found, _ = search(given, off)
    assert found.violation is not None
    assert found.violation.property == harm


@pytest.mark.parametrize(
    "off", ["fencing", "allow-stage", "level-in-both-sets", "stable-ownership", "fallback-stage"]
)
def test_a_move_within_a_node_does_not_need_five_safeguards_of_other_nodes(off: str) -> None:
    """Coordinators ask the same nodes at every stage."""
    found, _ = search({**ONE, **WITHIN}, off)
    assert found.violation is None, found
    assert found.complete, found


def test_a_crash_takes_all_shards_of_its_node() -> None:
    """No shard crashes alone."""
    model = built({**TWO, **SERVER, **WITHIN, "crashes": 1})
    (crash,) = (
        a for a in model.actions(model.start())
        if isinstance(a, Crash) and a.replica.startswith("A")
    )  # fmt: skip
    down = model.apply(model.start(), crash).down
    assert model.history.names(down) == ("A", "A:0", "A:1")
