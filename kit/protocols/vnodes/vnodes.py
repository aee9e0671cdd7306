"""Requests while a node operation moves their range: the storage model on a transition table.

The ring is a small generated one; what the operation does to the range worth watching is told by
``kit.protocols.vnodes.rules``.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from kit.errors import BadInput
from kit.model.declared import entry, parameter, safeguard
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.storage import storage
from kit.protocols.storage.fenced import FIRST_VERSION, Fenced, commit_rows
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.levels import ReadRepair
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.vnodes import rules

DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")
QUORUMS = {"write-before-read", "old-writer-stays"}
"""Without one of them, quorums of versions in use miss one another."""
STREAMING = {
    *("streams-before-switch", "known-before-streams", "stream-from-displaced", "barrier-drains")
}
"""Without one of them, what streaming promises is itself broken."""
_LOST, _MISSED = ("INV-STREAM", "INV-VISIBLE"), ("INV-QI", "INV-VISIBLE")
ONE: dict[str, Any] = {"nodes": 3, "rf": 1}
_usual = partial(safeguard, smallest=ONE)
# A second operation, and a deletion whose tombstones are forgotten meanwhile.
AGAIN: dict[str, Any] = {"leaves": True, "collecting": True, "requests": DELETED}


class Vnodes(Fenced):
    """Clients, coordinators and the replicas of one range while a node operation is carried out."""

    name, title = "vnodes", "Reads and writes while a range moves (topology coordinator)"
    premise = (
        "No acknowledged write may be lost while a range moves. Clients (K) write and read. Each "
        "node holds a replica and works with one version."
    )
    about = """
    A node operation on a generated ring, and the requests of clients for one of its ranges.

    ``edition`` chooses the transition tables and when a write is acknowledged while replicas are
    pending. In ``documents``, the old set and the new set must each meet the level. In ``server``,
    the answers of both sets must meet the level, plus one for each pending replica.

    With ``leaves``, a second operation follows the first. Nodes clean up before an operation that
    gives them back a range.
    """

    operation: rules.Operation = parameter(
        "bootstrap", "the operator's request: X joins, or B is replaced or leaves"
    )
    edition: Edition = parameter("documents", "which edition's transition tables the model follows")
    nodes: int = parameter(4, "how many nodes the ring has", ge=2, le=rules.MOST_NODES)
    rf: int = parameter(
        3, "replicas of each range", title="replication factor", ge=1, le=rules.MOST_NODES
    )
    version: int = FIRST_VERSION
    leaves: bool = parameter(
        False,
        "X leaves again after it has joined, or B tries again after its leave has failed",
        title="a second operation",
    )
    drain_fails: bool = parameter(
        False,
        "edition server sets fence_version although older requests still run",
        title="drains may fail",
    )
    barrier_fails: bool = parameter(
        False,
        "edition server continues after a pause when it cannot go back",
        title="barriers may fail",
    )
    requests: tuple[str, ...] = storage.REQUESTS
    together: bool = storage.TOGETHER
    timeouts: bool = storage.TIMEOUTS
    repair: ReadRepair = storage.REPAIR
    crashes: int = storage.CRASHES
    losses: int = storage.LOSSES
    late: int = storage.LATE
    slow: bool = storage.SLOW
    collecting: bool = storage.COLLECTING

    write_before_read: bool = _usual(
        "S-05", "New replicas are written to before they are read from", _MISSED
    )
    old_writer_stays: bool = _usual(
        "S-06",
        "The old replica keeps getting writes until all nodes know of the read switch",
        _MISSED,
    )
    streams_before_switch: bool = _usual("S-07", "Reads move only after the data has moved", _LOST)
    known_before_streams: bool = _usual(
        "S-08", "Streaming begins only after the barrier of write_both_read_old", _LOST
    )
    stream_from_displaced: bool = safeguard(
        "S-57",
        "Data comes from the replica that is replaced",
        _LOST,
        # What one write can show; that a client misses it needs a read.
        smallest={"nodes": 4, "rf": 3, "losses": 1, "requests": storage.USUAL_REQUESTS[:1]},
        wider={"INV-VISIBLE": {"requests": storage.USUAL_REQUESTS}},
    )
    fencing: bool = safeguard(
        "S-20",
        "Replicas refuse requests from versions below fence_version",
        ("INV-FENCE", "INV-VISIBLE"),
        smallest={**ONE, "edition": "server", "drain_fails": True},
    )
    barrier_drains: bool = _usual(
        "S-21", "A barrier waits until requests from older versions have finished", _LOST
    )
    drain_before_leaving: bool = safeguard(
        "S-28",
        "A node is shut down only once no node writes to it anymore",
        ("INV-AVAIL",),
        smallest={**ONE, "operation": "decommission"},
    )
    sessions: bool = safeguard(
        "S-24",
        "A stream is accepted only while its session is open",
        ("INV-SESSION", "INV-NORES"),
        smallest={**ONE, "operation": "decommission", **AGAIN, "late": 1},
    )
    cleanup_first: bool = safeguard(
        "S-41",
        "Nodes clean up before a change that gives ranges back",
        ("INV-NORES",),
        smallest={**ONE, **AGAIN},
    )
    no_rollback_after_switch: bool = _usual(
        "S-60", "An operation is rolled back only before reads have moved", ("INV-VISIBLE",)
    )

    def placement_history(self) -> RangeHistory:
        """The versions of the operation's table, as one range sees them."""
        for name in ("drain_fails", "barrier_fails"):
            if getattr(self, name) and self.edition != "server":
                raise BadInput(name, True, "true only with edition server: the documents retry")
        self.cleaning = self.leaves
        fails = self.drain_fails, self.barrier_fails
        options = rules.ProjectionOptions(self.version, *fails, self.off)
        return rules.project(self.edition, options, *self._operations())

    def _operations(self) -> Iterator[rules.RangeOperation]:
        which = self.operation, self.nodes, self.rf
        tables, displaced = MACHINES[self.edition], self.stream_from_displaced
        first = rules.moved(*which, from_displaced=displaced)
        yield rules.RangeOperation(tables[rules.MACHINE_OF[self.operation]], first)
        if self.leaves:
            verb, second = rules.moved_again(*which, from_displaced=displaced)
            yield rules.RangeOperation(tables[rules.MACHINE_OF[verb]], second)

    def set_up(self) -> None:
        """Nodes without a replica of the range are nodes, too."""
        super().set_up()
        self.rings = rules.rings(self.operation, self.nodes)
        every = dict.fromkeys(name for ring in self.rings for name in ring.names)
        self.names += tuple(name for name in every if name not in self.names)

    def judges_answers(self) -> bool:
        """A fence without a drain keeps data, but not every answer."""
        return not (self.drain_fails or self.barrier_fails)

    def judges_quorums(self) -> bool:
        """Quorums of versions that replicas still take have to meet."""
        return True

    def is_sign(self, judge: str) -> bool:
        """Where another safeguard is off, the harm to show is the lost write."""
        if judge == "available":
            return not {*self.off} <= {"drain-before-leaving"}
        if judge == "quorums-in-use":
            return self.barrier_fails or not {*self.off} <= QUORUMS
        return bool(self.off) and (judge != "streamed" or STREAMING.isdisjoint(self.off))


ENTRY = entry(
    Vnodes,
    scenarios=(
        Scenario("write-during-bootstrap", "A write before a node bootstraps, a read after it"),
        Scenario(
            "write-during-small-bootstrap",
            "The same story with two replicas. It is small enough to search quickly",
            {"nodes": 3, "rf": 2},
        ),
        Scenario("write-during-replace", "A dead node is replaced", {"operation": "replace"}),
        Scenario("write-during-decommission", "A node leaves", {"operation": "decommission"}),
        Scenario("write-during-removenode", "A dead node is removed", {"operation": "removenode"}),
        Scenario(
            "fence-without-drain",
            "A fence protects the data. A drain fails, but the published server continues",
            {"edition": "server", "drain_fails": True},
        ),
    ),
    fuzzing=Fuzzing(
        {"edition": "server", "drain_fails": True, "timeouts": True, "losses": 1, "late": 1},
        {"commit": 0.1},
    ),
    rows=partial(commit_rows, where=lambda epoch: epoch.title.partition(" (")[0]),
)
