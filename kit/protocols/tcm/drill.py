"""Drills of a cluster that follows CEP-21: an operation is stuck, a node's epoch lags.

Nobody pushes an entry twice, and nobody asks for one in the background: a node learns what it lacks
when a message shows it a newer epoch, or when it starts. What a log says of a barrier is our own.
Source: published ``ProgressBarrier``, ``PeerLogFetcher``, ``Startup``.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from kit.console import drill as drills
from kit.console.cassandra import SEEN
from kit.console.forms import Form, Given
from kit.errors import Refused
from kit.model.flows import ServerLine, ServerLog
from kit.model.log import Apply, CatchUp, Deliver
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment
from kit.protocols.tcm.facts.tools import TcmServers
from kit.protocols.tcm.rules.metadata import Advance
from kit.protocols.tcm.tcm import Crash, Restart, Stream

BY_ITSELF = (("log", Deliver), ("log", Apply), ("tcm", Stream), ("tcm", Advance))
JOIN, TOKEN = "bootstrap X --tokens 150", 50
INSERT = "INSERT INTO shop.orders (id) VALUES (7)"
LOG_FILE = "/var/log/cassandra/system.log"
LOOKED = "log read"
UNDONE = "the join of {} was undone, and this drill has no other one"


def own_step(m: TcmCluster, s: Any) -> Any:
    """The next thing that the cluster does by itself.

    Whoever holds something back above a gap is deaf: later epochs reach it, its next one does not.
    """
    deaf = [name for name, held in zip(m.names, s.log.held, strict=True) if held]
    return next(
        (
            action
            for kind in BY_ITSELF
            for action, _ in m.lifted[kind].ready(s)
            if kind[0] == "tcm" or (action.action.node in deaf) is (kind[1] is Deliver)
        ),
        None,
    )


class OperatedServers(TcmServers):
    """The servers of a cluster in which something does not go on."""

    unit = "cassandra"

    def __init__(self) -> None:
        super().__init__()
        self.log = ServerLog(waits)

    def turned(self, now: drills.DrillMoment, name: str, *, on: bool) -> tuple[Any, ...]:
        """A crash is how a server stops; who starts asks the others for what it lacks.

        Raises Refused for a node whose join was undone.
        """
        if on and name in undone_joins(now):
            raise Refused(UNDONE.format(name))
        turn = now.model.wrap["tcm"]((Restart if on else Crash)(name))
        return (turn, *(self.hearing(now, [name]) if on else ()))

    def acted(self, now: drills.DrillMoment, given: Given, command: str) -> drills.CommandReply:
        """The answer to a submission has what the submitter lacks."""
        reply = super().acted(now, given, command)
        return replace(reply, actions=(*reply.actions, *self.hearing(now, [now.place])))

    def hearing(self, now: drills.DrillMoment, names: Iterable[str]) -> Iterator[Any]:
        """Those that hear of a newer epoch ask a node that has applied it."""
        applied, held = now.model.applied(now.state), now.state.log.held
        best = max(filter(partial(self.is_up, now), range(len(applied))), key=applied.__getitem__)
        for name in names:
            if held[now.number(name)] and applied[best] > applied[now.number(name)]:
                yield now.model.wrap["log"](CatchUp(name, now.model.names[best]))

    def insert(self, now: drills.DrillMoment, given: Given) -> drills.CommandReply:
        """A message has its sender's epoch: who coordinates and who stores the row hear of it."""
        epoch = self.service(now, self.answering(now, "cqlsh")).epoch
        rows = moment.rows(now.model, now.state, at=epoch)
        [row] = [row for row in rows if row.left < TOKEN <= row.right]
        there = [name for name in row.writes if self.is_up(now, now.number(name))]
        if 2 * len(there) <= len(row.reads):
            raise Refused("no quorum of the replicas answers")
        return drills.CommandReply(
            actions=(*self.hearing(now, dict.fromkeys((now.place, *there))),)
        )

    def grep(self, now: drills.DrillMoment, given: Given) -> drills.CommandReply:
        """What this node's log says of a barrier; the file is there when the server is down."""
        lines, has_read = self.reads(now, given)
        return drills.CommandReply(lines, marks=(LOOKED,) if has_read else ())


def waits(m: TcmCluster, before: Any, action: Any, s: Any) -> Iterator[ServerLine]:
    """Where nothing goes on any more each node that is up logs whom its operation waits for."""
    if own_step(m, s) is not None:
        return
    for sequence in m.tcm.sequences(s.tcm):
        if sequence.node not in s.tcm.down:
            refusal = m.refusal(s, m.wrap["tcm"](Advance(sequence.node)))
            for line in refusal.evidence if refusal else ():
                if "needs" in line:
                    yield ServerLine(sequence.node, "ProgressBarrier", line, own=True)


SERVERS = OperatedServers()
FORMS: tuple[Form, ...] = (
    *SERVERS.understood("on", "ssh", "nodetool"),
    *SERVERS.systemctl(),
    *SERVERS.understood("SELECT"),
    Form(INSERT, "write a row at QUORUM", SERVERS.insert),
    *SERVERS.logs(LOG_FILE, "show what this node's log says about barriers"),
)


# -- the grades, and the checklists ----------------------------------------------------------------


def undone_joins(now: drills.DrillMoment) -> list[str]:
    """The nodes that were to join, and do so no more."""
    m, s = now.model, now.state
    pairs = zip(m.tcm.cluster.ring.nodes, m.snapshot(s).metadata.ring.nodes, strict=True)
    waiting = [node.name for first, node in pairs if not (first.tokens or node.tokens)]
    return [name for name in waiting if not m.tcm.sequence(s.tcm, name)]


def behind(now: drills.DrillMoment) -> list[str]:
    """The nodes that have not applied the newest epoch."""
    m, applied = now.model, now.model.applied(now.state)
    present = m.tcm.present(now.state.tcm)
    return [n for n, at in zip(m.names, applied, strict=True) if n in present and at < max(applied)]


def grade(now: drills.DrillMoment, stopped: int) -> drills.Grade:
    """All that is under way has ended, and no node was stopped or taken out for it."""
    m, s = now.model, now.state
    ring, under_way = m.snapshot(s).metadata.ring.nodes, m.tcm.sequences(s.tcm)
    waits = [f"{each.plan.operation.title} waits before {each.next.name}" for each in under_way]
    out = [node.name for node in ring if not node.tokens and not m.tcm.sequence(s.tcm, node.name)]
    crashes = (step.action.action for step in now.run[1:])
    stops = [each.node for each in crashes if isinstance(each, Crash)][stopped:]
    late, down = ", ".join(behind(now)), ", ".join(s.tcm.down)
    return drills.Grade(
        (
            drills.judged("operations done", waits, "nothing is under way"),
            drills.judged("one epoch", [f"{late}: at an older epoch"] * bool(late),
                   "all nodes are at the same epoch"),
            drills.judged("cluster whole", [*(UNDONE.format(name) if name in undone_joins(now)
                                       else f"{name} is not a member" for name in out),
                                     *([f"{down}: down"] * bool(down))],
                   "all nodes are up and are members"),
            drills.judged("nobody stopped", [f"{name}: stopped needlessly" for name in stops],
                   "no server was stopped"),
        )
    )  # fmt: skip


def start_over(now: drills.DrillMoment) -> Iterator[drills.CheckedStep]:
    """What comes before all other steps where nothing that is typed can end the task any more."""
    for name in undone_joins(now):
        yield drills.CheckedStep("start over", UNDONE.format(name), done=False)


def _drill(
    title: str, task: str, begun: tuple[str, ...], stopped: int, steps: Any
) -> drills.DrillKind:
    usual = drills.procedure(steps)
    return drills.DrillKind(
        title=title,
        task=task,
        forms=FORMS,
        slots=SERVERS.slots(),
        opened=lambda model: model,
        begun=lambda model: begun,
        starts_at=lambda model: model.names[1],
        own_step=own_step,
        checklist=lambda now: (*start_over(now), *usual(now)),
        grade=partial(grade, stopped=stopped),
    )


STUCK = _drill(
    "An operation is stuck",
    "X has been joining for an hour, and its machine was restarted. Someone wants to "
    "undo the join; someone else wants to remove the node that doesn't answer. Get X in, and do "
    "no more than necessary.",
    ("crash D", JOIN, drills.GO_ON, "crash X"),
    2,
    {
        "barrier": ("in the joining node's log, find which node it is waiting for",
                    lambda now: LOOKED in now.marks),
        "replica": ("start the server that must answer",
                    lambda now: "D" not in now.state.tcm.down),
        "driver": ("start the server that drives the operation: it continues on its own",
                   lambda now: "X" not in now.state.tcm.down),
    },
)  # fmt: skip
LAG = _drill(
    "A node's epoch lags behind",
    "A has been at an older epoch than the others all night, and no client has "
    "called. Someone wants it to leave and join again. Find out what is wrong with A, and do no "
    "more than necessary.",
    (JOIN, "apply X", "commit X", "deliver 102 to A", drills.GO_ON),
    0,
    {
        "epochs": ("ask every node for its epoch and for the entries that wait there",
                   lambda now: {SEEN.format(name) for name in now.model.names} <= now.marks),
        "hear": ("let a request reach the node: the answer tells it of newer epochs",
                 lambda now: not behind(now)),
    },
)  # fmt: skip
