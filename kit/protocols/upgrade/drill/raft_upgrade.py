"""The drill of the Raft upgrade: the option on every node, a rolling restart, and a look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.drill import (
    CheckedStep,
    CommandReply,
    DrillKind,
    DrillMoment,
    Grade,
    GradeRow,
    happened,
    judged,
)
from kit.engine.forms import Form, Given, Slot
from kit.engine.runs import played_out
from kit.engine.server_log import searched
from kit.engine.timeline import Timeline
from kit.errors import BadInput, Refused
from kit.operators import printing
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.raft_upgrade import LOG, MOST, PHASES, RaftUpgrade, address
from kit.protocols.upgrade.rules import KEY, POST
from kit.protocols.upgrade.upgrading_cluster import NO_GROUP, RaftUpgradeState, UpgradingNode

FILE = "/etc/scylla/scylla.yaml"
JOURNAL = "/var/log/scylla.log"
OPTION = "consistent_cluster_management"
FINISHED = "Raft upgrade finished"
EVENTS = ("alter", "crash", "die")
HASHED = 1 << 100
"""What makes a version look like a hash; the model has none."""
QUERY = f"SELECT * FROM system.scylla_local WHERE key = '{KEY}'"
COMPARED, IN_LOG, IN_TABLE = "compared", "log", "table"
"""Marks of what was seen on a node."""


class UpgradingHost(Struct, frozen=True):
    """A node as nodetool names it."""

    address: str
    host_id: str
    dc: str
    rack: str


def seen(what: str, number: int) -> str:
    """The mark of what was seen on a node."""
    return f"{what} {number}"


def host(number: int) -> UpgradingHost:
    """The host of a node."""
    host_id = f"{10 + number:08x}-0000-4000-8000-{10 + number:012x}"
    return UpgradingHost(address(number), host_id, "dc1", f"r{number % 3 + 1}")


def version(node: UpgradingNode) -> str:
    """A schema version as a UUID is written, made of what came by gossip and by group 0."""
    schema, applied = node.schema, node.applied
    text = f"{schema + (applied << 64) + HASHED:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def here(now: DrillMoment) -> int:
    """The number of the machine that one is on."""
    number: int = now.model.number(now.place)
    return number


def answering(now: DrillMoment, tool: str) -> int:
    """The machine that one is on, whose server answers.

    Raises:
        Refused: as the tool says where the server is down.
    """
    number = here(now)
    if not now.state.nodes[number].is_up:
        raise Refused(f"{tool} on {now.place}: connection refused, the server is down")
    return number


def _reached(s: RaftUpgradeState, number: int) -> set[int]:
    return {number, *nodes_in(s.linked(number))}


def status(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool status``."""
    up = _reached(now.state, answering(now, "nodetool"))
    hosts = ((host(at), "U" if at in up else "D") for at in range(len(now.state.nodes)))
    return CommandReply(tuple(printing.status_lines(hosts)))


def describe(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool describecluster``; one version on all nodes is noted for this node."""
    s: RaftUpgradeState = now.state
    number = answering(now, "nodetool")
    up = _reached(s, number)
    versions: dict[str, list[str]] = {}
    unreachable = [address(at) for at in range(len(s.nodes)) if at not in up]
    for at in sorted(up):
        versions.setdefault(version(s.nodes[at]), []).append(address(at))
    agree = len(versions) == 1 and not unreachable
    lines = tuple(printing.cluster_lines(versions, unreachable))
    return CommandReply(lines, marks=(seen(COMPARED, number),) if agree else ())


def query(now: DrillMoment, given: Given) -> CommandReply:
    """The row of ``group0_upgrade_state``; that it says the end is noted for this node."""
    number = answering(now, "cqlsh")
    row = now.state.nodes[number].row
    rows = [{"key": KEY, "value": row}] if row else []
    lines = tuple(printing.cql_rows(("key", "value"), rows))
    return CommandReply(lines, marks=(seen(IN_TABLE, number),) if row == POST else ())


def grep(now: DrillMoment, given: Given) -> CommandReply:
    """Lines of this node's log; that the end is among them is noted."""
    lines = searched(now, LOG, given)
    ended = any(FINISHED in line for line in lines)
    return CommandReply(lines, marks=(seen(IN_LOG, here(now)),) if ended else ())


def configuration(now: DrillMoment, given: Given) -> CommandReply:
    """The lines of the file that matter here."""
    node: UpgradingNode = now.state.nodes[here(now)]
    option = (f"{OPTION}: true",) if node.configured else ()
    return CommandReply(("cluster_name: 'drill'", *option))


def turn_on(now: DrillMoment, given: Given) -> CommandReply:
    """The option is on from the next start on."""
    is_on = now.state.nodes[here(now)].configured
    return CommandReply(actions=() if is_on else (act.Configure(now.place),))


def turn_off(now: DrillMoment, given: Given) -> CommandReply:
    """The option is off from the next start on."""
    is_on = now.state.nodes[here(now)].configured
    return CommandReply(actions=(act.TurnOff(now.place),) if is_on else ())


def install(now: DrillMoment, given: Given) -> CommandReply:
    """The newer version is there from the next start on."""
    name = str(given["node"])
    if now.state.nodes[now.model.number(name)].installed:
        raise Refused(f"{name} has the newer version")
    return CommandReply(actions=(act.Install(name),))


def restart(now: DrillMoment, given: Given) -> CommandReply:
    """The server starts by what it has persisted, also one that was down."""
    name = str(given.get("node", now.place))
    _on_the_network(now, name)
    return CommandReply(actions=(act.Restart(name),))


def on(now: DrillMoment, given: Given) -> CommandReply:
    """Another machine."""
    name = str(given["node"])
    _on_the_network(now, name)
    return CommandReply(place=name)


def _on_the_network(now: DrillMoment, name: str) -> None:
    number = now.model.number(name)
    if now.state.nodes[number].status == "lost":
        raise Refused(f"ssh: connect to host {address(number)}: no route to host")


def happen(now: DrillMoment, given: Given) -> CommandReply:
    """What no operator does: a client changes the schema, a node goes down or is lost."""
    return happened(now, given, EVENTS)


def connection(now: DrillMoment, given: Given) -> CommandReply:
    """Two nodes lose their connection, or get it back."""
    pair = sorted((str(given["node"]), str(given["other"])))
    kind = act.Cut if given["link"] == "cut" else act.Heal
    action = kind(*pair)
    if not now.has(action):
        verbs = (now.model.verb(a) for a in now.model.actions(now.state))
        able = [verb for verb in verbs if verb.split()[0] in ("cut", "heal")]
        raise BadInput("happen", now.model.verb(action), ", ".join(able) or "nothing now")
    return CommandReply(actions=(action,))


def _names(now: DrillMoment) -> Iterable[str]:
    names: tuple[str, ...] = now.model.names
    return names


NODE = Slot("a node", _names)
SLOTS: dict[str, Slot] = {
    "node": NODE,
    "other": Slot("another node", _names),
    "pattern": Slot("words to look for"),
    "event": Slot("what happens", lambda now: EVENTS),
    "link": Slot("what happens to a connection", lambda now: ("cut", "heal")),
}
FORMS: tuple[Form, ...] = (
    Form("on {node}", "go to a machine", on, own=True),
    Form("ssh {node}", "the same", on, offered=False),
    Form("nodetool status", "who is up, as this node sees it", status),
    Form("nodetool describecluster", "the schema versions of the cluster", describe),
    Form(f"cat {FILE}", "the configuration of this node", configuration),
    Form(f"edit {FILE} {OPTION}: true", "turn the option on here", turn_on, own=True),
    Form(f"edit {FILE} {OPTION}: false", "turn it off again", turn_off, own=True),
    Form("install {node}", "install the newer version on a node", install, own=True),
    Form("restart {node}", "restart the server of a node", restart, own=True),
    Form("systemctl restart scylla-server", "restart the server here", restart, offered=False),
    Form("systemctl start scylla-server", "start the server here", restart, offered=False),
    Form(QUERY, "how far this node is on the way into Raft", query),
    Form(f"grep {{pattern}} {JOURNAL}", "lines of this node's log that hold these words", grep),
    Form(f"cat {JOURNAL}", "the whole log of this node", grep),
    Form("happen {event} {node}", "what no operator does", happen, own=True),
    Form("happen {link} {node} {other}", "a pair loses its connection, or gets it back",
         connection, own=True),
)  # fmt: skip


BY_OPERATOR = (act.Install, act.Configure, act.TurnOff, act.Restart)
LOOKING = {"compare": COMPARED, "log": IN_LOG, "query": IN_TABLE}
"""Steps that leave no trace in the cluster, and the marks of who looked."""
STEPS = {
    "compare": "nodetool describecluster on each node: one schema version on all of them",
    "option": "consistent_cluster_management: true in the configuration of each node",
    "rolling restart": "restart the nodes one by one; the last one starts the Raft upgrade",
    "log": "look for its end in the log of each node",
    "query": "group0_upgrade_state is use_post_raft_procedures on each node",
}


def _there(s: RaftUpgradeState) -> list[int]:
    """The nodes that are not lost."""
    return [i for i, node in enumerate(s.nodes) if node.status != "lost"]


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    s: RaftUpgradeState = now.state
    groups = {s.nodes[i].group for i in _there(s)} - {NO_GROUP}
    versions = {version(s.nodes[i]) for i in _there(s)}
    two_groups = ["two groups were created"] if max(len(s.entries), len(groups)) > 1 else []
    apart = ["schema versions differ"] if len(versions) > 1 else []
    unfinished = list(_unfinished(now))
    return Grade(
        (
            judged("upgrade ended", unfinished, "Raft manages the schema of every node"),
            judged("one group", two_groups, "no second group was created"),
            judged("one schema", apart, "every node has the same version"),
            GradeRow("steps", None, _steps(now)),
            GradeRow("looked at", None, _looked_at(now)),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """Nodes that are lost or down, and where each other one stands that has not finished."""
    m: RaftUpgrade = now.model
    for name, node in zip(m.names, now.state.nodes, strict=True):
        if node.status == "lost":
            yield f"{name} is lost for good: the upgrade needs every node, manual recovery is left"
        elif not node.is_up:
            yield f"{name} is down"
        elif not node.has_finished:
            yield f"{name}: {node.position} of {len(PHASES)} phases are behind it"


def _steps(now: DrillMoment) -> str:
    plain = RaftUpgrade(nodes=now.model.nodes, beginning=now.model.beginning)
    timeline = played_out(Timeline(plain))
    needed = sum(isinstance(timeline.moments[at].action, BY_OPERATOR) for at in timeline.path())
    used = sum(isinstance(step.action, BY_OPERATOR) for step in now.run)
    return f"{used} of the operator; the procedure takes {needed}"


def _looked_at(now: DrillMoment) -> str:
    left_out = [name for name in LOOKING if not _done(now, name)]
    return f"left out: {', '.join(left_out)}" if left_out else "every node was looked at"


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The documents' steps, ticked by the run; those that only look by marks."""
    return tuple(CheckedStep(name, what, _done(now, name)) for name, what in STEPS.items())


def _done(now: DrillMoment, name: str) -> bool:
    s: RaftUpgradeState = now.state
    nodes = [s.nodes[i] for i in _there(s)]
    if name == "option":
        return all(node.configured for node in nodes)
    if name == "rolling restart":
        return all(node.enabled and node.is_up for node in nodes)
    return {seen(LOOKING[name], i) for i in _there(s)} <= now.marks


RETRIES = 2
"""How often each node says for whom it waits, before somebody types again."""
OWN = ("gossip", "phase", "catch up", "retry")
"""The kinds of what nodes do by themselves, in the order in which they do it."""


def opened(model: RaftUpgrade) -> RaftUpgrade:
    """The same cluster, in which nodes may go down, and pairs lose their connection."""
    return RaftUpgrade(
        replace(
            model.parameters,
            changes=MOST,
            crashes=MOST,
            deaths=max(model.deaths, 1),
            cuts=MOST,
            turns=MOST,
            restarts=MOST,
            retries=RETRIES,
        )
    )


def own_step(model: RaftUpgrade, state: RaftUpgradeState) -> Any:
    """What nodes do by themselves: schema by gossip, the phases, and to wait."""
    enabled = list(model.actions(state))
    return next((a for kind in OWN for a in enabled if model.kind(a) == kind), None)


DRILL = DrillKind(
    title="Bring a cluster into Raft",
    task="Schema changes still spread by gossip. Turn consistent_cluster_management on in every "
    "node, restart them one by one, and see on each node that the Raft upgrade has ended. help "
    "lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.names[0],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
