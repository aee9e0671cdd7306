"""The drill of a barrier that does not pass: one node holds it up, and is to be looked at.

A request of an older version runs on at that node, as after a client or a disk that hangs. A
barrier drains such requests, so the operation waits. What a server's log says of it is our own.
Source: Topology over Raft, "Topology guards"; published ``global_token_metadata_barrier``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.console.drill import GO_ON, CommandReply, DrillKind, DrillMoment, Grade, judged, procedure
from kit.console.forms import Form, Given
from kit.console.server import LOG_FILE
from kit.errors import Refused
from kit.model.flows import ServerLine, ServerLog
from kit.protocols.topology import topology as act
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.facts import ClusterServers
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.topology import Topology

HOLDS_UP = "B"
MOST_RESTARTS = 9
LOOKED = "looked at the log of "
BY_OTHERS = (act.BeginRequest, act.ServeRequest, act.CrashMember, act.RestartMember)
"""What neither the coordinator nor a node does by itself."""


class BarrierServers(ClusterServers):
    """The servers of a cluster in which an operation waits."""

    stops, starts = act.CrashMember, act.RestartMember
    does: Mapping[str, str] = {}

    def __init__(self) -> None:
        super().__init__()
        self.log = ServerLog(waits)

    def grep(self, now: DrillMoment, given: Given) -> CommandReply:
        """What the log of this node says of barriers; that somebody has seen it is noted."""
        lines, has_read = self.reads(now, given)
        return CommandReply(lines, marks=(LOOKED + now.place,) if has_read else ())

    def server(self, now: DrillMoment, given: Given) -> str:
        """A node that joins has no server of the cluster yet."""
        name = super().server(now, given)
        if not self.is_member(now, now.number(name)):
            raise Refused(f"{name} is not a node of the cluster yet")
        return name


def own_step(model: Topology, state: Any) -> Any:
    """The next thing that the coordinator or a node does by itself."""
    able = (each for each in model.actions(state) if model.kind(each) not in model.faults)
    return next((each for each in able if not isinstance(each, BY_OTHERS)), None)


def waits(m: Topology, before: Any, action: Any, s: Any) -> Iterator[ServerLine]:
    """The lines of a coordinator and of a node about what they wait for, once nothing goes on."""
    if own_step(m, s) is not None:
        return
    task = task_of(s, m.setting)
    silent = m.named(task.needs & ~s.attempted.answered)
    if s.coordinator != NOBODY and task.work is not None and task.work.barrier and silent:
        said = f"barrier_and_drain in {s.topology.transition}: no answer from {', '.join(silent)}"
        yield ServerLine(m.names[s.coordinator], "raft_topology", said, own=True)
    if s.client != NOBODY:
        versions = f"version {s.client_version}; the newest is {s.topology.version}"
        said = f"waits for a request at {versions}"
        yield ServerLine(m.names[s.client], "token_metadata", said, own=True)


SERVERS = BarrierServers()


def _restarts(now: DrillMoment) -> list[str]:
    steps = (step.action for step in now.run)
    return [each.node for each in steps if isinstance(each, act.RestartMember)]


def grade(now: DrillMoment) -> Grade:
    """The operation ends, and nobody was restarted who held nothing up."""
    topology = now.state.topology
    waits = [f"the join is waiting in {topology.transition}"] if topology.transition else []
    waits += [] if topology.nodes[-1].state == "normal" else ["D is not normal"]
    others = [name for name in _restarts(now) if name != HOLDS_UP]
    held = [f"{', '.join(others)}: restarted, although nothing waited for it"] if others else []
    return Grade(
        (
            judged("operation done", waits, "D has joined"),
            judged("one node", held, "only the node that held up the barrier was restarted"),
        )
    )


def _looked_at(name: str) -> Callable[[DrillMoment], bool]:
    return lambda now: LOOKED + name in now.marks


FORMS = SERVERS.completed(
    *SERVERS.understood("on", "ssh", "nodetool status", "SELECT", "grep"),
    Form(f"cat {LOG_FILE}", "what the log says about barriers", SERVERS.grep),
    *SERVERS.understood("restart", "systemctl restart"),
)
DRILL = DrillKind(
    title="A barrier does not pass",
    task="D is joining, but nothing has happened for an hour. All nodes are up. Somebody suggests "
    "a rolling restart. Find out what is holding up the join, and do no more than you must. A is "
    "the coordinator. help lists the commands.",
    forms=FORMS,
    slots=SERVERS.slots(),
    opened=lambda model: Topology(replace(model.parameters, crashes=MOST_RESTARTS)),
    begun=lambda model: ("join D", "decide", "commit", f"begin {HOLDS_UP}", GO_ON),
    starts_at=lambda model: model.names[0],
    own_step=own_step,
    checklist=procedure({
        "coordinator": ("in the coordinator's log, find which node the barrier waits for",
                        _looked_at("A")),
        "node": ("in that node's log, find what it waits for", _looked_at(HOLDS_UP)),
        "restart": ("restart only that node",
                    lambda now: {*_restarts(now)} == {HOLDS_UP}),
    }),
    grade=grade,
)  # fmt: skip
