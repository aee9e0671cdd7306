"""Crashes: what was left to do stands in the metadata, so that a run ends as if there were none."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.tcm.facts import moment as facts
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.exploring import ends

OPERATIONS: dict[str, dict[str, Any]] = {
    "bootstrap X --tokens 150": {},
    "decommission B": {"nodes": 4},
    "move B --tokens 350": {"nodes": 4},
    "replace B Z": {"nodes": 3},
    "removenode B": {"nodes": 4},
}


@pytest.mark.spec("A-038")
def test_resuming_at_the_next_step() -> None:
    """X crashes between two steps; when it is back it commits the next one, none a second time."""
    join = "bootstrap X --tokens 150"
    drive = Drive(crashes=1, operations=(join,)).act(join).commit("X").ready().act("crash X")
    assert drive.refusal("commit X").missing == ("X",)
    assert drive.operation().steps[2].status == "next"
    drive.act("restart X").finish("X")
    words = [line.text for line in facts.log(drive.model, drive.state)]
    assert words == [
        "split ranges",
        "add write replicas",
        "switch reads",
        "drop old write replicas",
    ]
    assert drive.stable()


@pytest.mark.spec("A-038")
def test_a_node_that_was_down_catches_up_first() -> None:
    """What was committed meanwhile must be applied before the node may drive its own next step."""
    join, other = "bootstrap X --tokens 550", "bootstrap Y --tokens 850"
    drive = Drive(nodes=10, rf=3, crashes=1, operations=(join, other)).act(join, "crash X", other)
    drive.commit("Y").act("restart X")
    drive.repeat("apply n").repeat("apply A")
    assert facts.epoch(drive.model, drive.state) == 3
    assert "apply X" in drive.verbs()
    assert "commit X" not in drive.verbs()
    drive.commit("X")
    assert drive.operation("X").state == "add-writes"


@pytest.mark.spec("A-038")
@pytest.mark.parametrize("text", OPERATIONS)
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_crash_anywhere_leads_to_the_same_metadata(text: str, edition: str) -> None:
    """Searching every run with a crash at any point, all that end have one final metadata."""
    given: dict[str, Any] = {"operations": (text,), "edition": edition, **OPERATIONS[text]}
    calm, rough = Drive(**given), Drive(crashes=1, **given)
    ((log, final),) = {outcome(calm, state) for state in ends(calm.model)}
    assert {outcome(rough, state) for state in ends(rough.model)} == {(log, final)}
    assert final == calm.complete(text).table()


def outcome(drive: Drive, state: object) -> tuple[object, object]:
    """How a run ended: what the log holds, and the tables."""
    table = tuple(
        (row.left, row.right, row.reads, row.writes) for row in facts.rows(drive.model, state)
    )
    log = [(one.epoch, one.text, one.operation) for one in facts.log(drive.model, state)]
    return tuple(log), table


def test_an_operator_drives_for_the_dead() -> None:
    """Removing a dead node is driven by others: its own being down does not hold it up."""
    drive = Drive(nodes=4, rf=3, crashes=1, operations=("removenode B",)).act(
        "crash B", "removenode B"
    )
    assert drive.finish("B").stable()


def test_a_dead_node_stays_dead() -> None:
    """While it is being removed a node cannot come back; after a cancel it may."""
    drive = Drive(nodes=4, rf=3, cancels=1, operations=("removenode B",)).act("removenode B")
    assert not [verb for verb in drive.verbs() if verb == "restart B"]
    drive.act("cancel B", "restart B")


@pytest.mark.parametrize("text", ["decommission B", "move B --tokens 350"])
def test_what_is_down_cannot_begin(text: str) -> None:
    """A member that is down cannot begin to leave or move: it would have to do so itself."""
    drive = Drive(nodes=4, crashes=1, operations=(text,)).act("crash B")
    assert drive.refusal(text).missing == ("B",)
    drive.act("restart B", text)


@pytest.mark.spec("A-037", "A-038")
def test_without_pending_steps_a_crash_is_the_end() -> None:
    """When the plan dies with its driver (S-53 off) ranges stay half done, and a lamp says so."""
    join = "bootstrap X --tokens 150"
    drive = Drive(crashes=1, off=("pending-in-metadata",), operations=(join,)).act(join)
    drive.commit("X").act("crash X", "restart X").repeat("apply ")
    assert not [verb for verb in drive.verbs() if verb.startswith(("commit", "stream"))]
    assert facts.operations(drive.model, drive.state) == ()
    assert any(witness.startswith("settled") for witness in drive.dark())
