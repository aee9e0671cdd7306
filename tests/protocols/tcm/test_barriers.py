"""The progress barrier: who must have applied what before the next step, and its evidence."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import BarrierRow
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive
from tests.saying import says


def rf3(**parameters: Any) -> Drive:
    """The ring of the RF 3 example, with X's join split and its write replicas added."""
    drive = Drive(rf=3, epoch=99, **{"operations": ("bootstrap X --tokens 150",), **parameters})
    return drive.act("bootstrap X --tokens 150").commit("X")


def barrier(drive: Drive, right: int = 150, dc: str | None = None) -> BarrierRow:
    """The barrier of the range that ends there."""
    rows = drive.operation().barriers
    return next(row for row in rows if row.right == right and dc in (None, row.dc))


def test_a_barrier_needs_three_of_four_old_and_new_replicas() -> None:
    """The range that X gains waits for 3 of {A, B, C, X} at the epoch of the step."""
    drive = rf3()
    row = barrier(drive)
    assert (row.label, row.epoch, row.needed) == ("(100, 150]", 101, 3)
    assert (set(row.replicas), row.acked, row.met) == ({"A", "B", "C", "X"}, (), False)
    drive.act("apply A", "apply X")
    assert not barrier(drive).met
    drive.act("apply B")
    assert barrier(drive).met
    assert barrier(drive).acked == ("B", "A", "X")
    assert barrier(drive).missing == ("C",)


def test_a_node_at_an_earlier_epoch_does_not_acknowledge_the_step() -> None:
    """A and B know the epoch before, and only X counts."""
    drive = Drive(rf=3, operations=("bootstrap X --tokens 150",)).act("bootstrap X --tokens 150")
    drive.act("apply A", "apply B", "apply X", "commit X", "apply X")
    assert barrier(drive).acked == ("X",)


def test_the_refusal_of_a_waiting_step_names_ranges_counts_and_missing_nodes() -> None:
    """It has a line of evidence for each range."""
    drive = Drive(rf=3, epoch=99, operations=("bootstrap X --tokens 150",)).act(
        "bootstrap X --tokens 150"
    )
    refusal = drive.act("apply X", "apply B").refusal("commit X")
    assert says(refusal.reason, "barrier | 2 of 4 | (0, 100] | epoch 100 | 3")
    assert set(refusal.missing) == {"A", "C"}
    (line,) = (line for line in refusal.evidence if line.startswith("(100, 150]"))
    assert says(line, "(100, 150] | 3 | B, X | missing C, A")
    assert not any(row.met for row in drive.operation().barriers)


def test_a_step_waits_for_a_majority_in_each_of_its_ranges() -> None:
    """With RF 2 ranges have different replicas, also where a range is only cut."""
    drive = Drive(operations=("bootstrap X --tokens 150",)).act(
        "bootstrap X --tokens 150", "apply X"
    )
    drive.act("apply A", "apply C")
    met = {row.label: row.met for row in drive.operation().barriers}
    assert met == {
        "(0, 100]": True,  # A and X of A, B, X
        "(100, 150]": True,  # C and X of B, C, X
        "(150, 200]": False,  # C of B, C: nobody comes or goes, and both must know of the cut
        "(300, 400]": True,
    }
    drive.act("apply B", "commit X")


def test_streaming_waits_until_a_majority_knows_the_new_writer() -> None:
    """Otherwise a later write could miss the joiner."""
    drive = rf3()
    assert "waiting at the barrier" in drive.refusal("stream X: A to X").reason
    drive.act("apply A", "apply B", "apply X", "stream X: A to X")


def test_the_driver_of_an_operation_must_apply_its_own_last_step() -> None:
    """A majority without X is not enough, as X reads in its metadata what comes next."""
    drive = rf3().act("apply A", "apply B", "apply C")
    assert barrier(drive).met
    drive.repeat("stream ")
    assert drive.refusal("commit X").missing == ("X",)


@pytest.mark.parametrize("kind", ["removenode", "replace"])
def test_a_barrier_does_not_count_the_node_that_is_removed_or_replaced(kind: str) -> None:
    """The majority is of the replicas that are left."""
    text = "removenode B" if kind == "removenode" else "replace B Z"
    drive = Drive(nodes=5, rf=3, operations=(text,)).act(text)
    for row in drive.operation().barriers:
        assert "B" not in row.replicas, row.label
        assert row.needed == len(row.replicas) // 2 + 1, row.label
    assert [row.name for row in facts.nodes(drive.model, drive.state) if not row.up] == ["B"]


def test_a_barrier_counts_a_replica_that_is_down() -> None:
    """A crashed replica may come back."""
    drive = rf3(crashes=1).act("crash C")
    assert "C" in barrier(drive).replicas
    assert drive.refusal("apply C").missing == ("C",)
    drive.repeat("apply ")
    assert barrier(drive).missing == ("C",)
    assert barrier(drive).met


DATACENTERS: dict[str, Any] = {
    "members": (
        *(Node(f"a{i}", (i * 100,), "dc1") for i in range(1, 4)),
        *(Node(f"b{i}", (i * 100 + 50,), "dc2") for i in range(1, 4)),
    ),
    "low": 0,
    "high": 1000,
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 3), ("dc2", 3)))),),
    "operations": ("bootstrap X --tokens 120 --dc dc1",),
}


def test_the_server_needs_a_majority_in_each_datacenter_and_the_documents_one_over_all() -> None:
    """With the majority of dc1 alone, only the documents' barrier is met."""
    both = {}
    for edition in ("documents", "server"):
        drive = Drive(edition=edition, **DATACENTERS).act("bootstrap X --tokens 120 --dc dc1")
        drive.commit("X")
        both[edition] = [
            (row.dc, row.needed, len(row.replicas))
            for row in drive.operation().barriers
            if row.right == 120
        ]
        drive.act("apply X", "apply a1", "apply a2", "apply a3")
        assert barrier(drive, 120, "dc2" if edition == "server" else None).met is (
            edition == "documents"
        )
    assert both == {"documents": [(None, 4, 7)], "server": [("dc1", 3, 4), ("dc2", 2, 3)]}


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("bootstrap X --tokens 150", False),
        ("move B --tokens 450", False),
        ("replace B Z", False),
        ("decommission B", True),
        ("removenode B", True),
    ],
)
def test_in_the_server_only_a_leave_or_removal_waits_between_prepare_and_start(
    text: str, waits: bool
) -> None:
    """The driver must have applied the prepare in any case."""
    drive = Drive(nodes=5, edition="server", operations=(text,)).act(text)
    node = drive.operation().node
    assert bool(drive.operation().barriers) is waits
    if node != "B" or text != "removenode B":
        drive.act(f"apply {node}")
    assert (f"commit {node}" in drive.verbs()) is not waits
    drive.repeat("apply ").act(f"commit {node}")


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_every_barrier_can_be_met_by_its_own_replicas(edition: str) -> None:
    """Each step of four operations is tried, in both editions."""
    for text in ("decommission B", "move B --tokens 450", "removenode B", "replace B Z"):
        drive = Drive(nodes=5, rf=3, edition=edition, operations=(text,)).act(text)
        node = drive.operation().node
        while drive.metadata.sequence(node) is not None:
            rows = drive.operation().barriers
            assert all(0 < row.needed <= len(row.replicas) for row in rows), text
            drive.commit(node)


def test_without_barriers_a_step_waits_for_its_driver_alone() -> None:
    """The log still orders the steps."""
    drive = Drive(barrier=False, operations=("bootstrap X --tokens 150",)).act(
        "bootstrap X --tokens 150"
    )
    assert drive.operation().barriers == ()
    drive.act("apply X", "commit X")


ACROSS = {
    "members": tuple(Node(f"n{at}", (100 * at + 100,), f"dc{at % 2 + 1}") for at in range(4)),
    "low": 0,
    "high": 1000,
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 1), ("dc2", 1)))),),
}


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("decommission n0", "dc1"),
        ("decommission n1", "dc2"),
        ("removenode n0", "dc2"),
        ("removenode n1", "dc1"),
        ("removenode n2", "dc1"),
    ],
)
def test_a_local_barrier_asks_the_datacenter_of_the_driver(text: str, home: str) -> None:
    """A leaving node drives itself, and a dead node is removed by the first other one."""
    drive = Drive(operations=(text,), edition="server", level="LOCAL_QUORUM", **ACROSS).act(text)
    assert {row.dc for row in drive.operation().barriers} == {home}
