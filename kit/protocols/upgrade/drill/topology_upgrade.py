"""The drill of the topology upgrade: newer versions, a POST, and GET until every node is done.

What the coordinator and the nodes do by themselves takes time: ``wait`` lets one such step pass.
Source: Topology over Raft, "Upgrade from legacy topology to raft-based topology".
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kit.engine.drill import (
    CheckedStep,
    CommandReply,
    DrillKind,
    DrillMoment,
    Grade,
    GradeRow,
    judged,
    refusal_line,
)
from kit.engine.forms import Form, Given
from kit.errors import Refused
from kit.operators import printing
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade import topology_upgrade as act
from kit.protocols.upgrade.drill.raft_upgrade import NODE, host, seen
from kit.protocols.upgrade.rules import DONE, FEATURE, NOT_UPGRADED, ROUTE
from kit.protocols.upgrade.topology_upgrade import (
    MOST,
    TopologyNode,
    TopologyUpgrade,
    TopologyUpgradeRun,
)

TABLE = "system.topology"
COLUMNS = (
    *("key", "host_id", "datacenter", "rack", "node_state", "tokens"),
    *("transition_state", "version", "fence_version", "upgrade_state"),
)
VERSION = 1
"""Of the topology and of the fence: the model has none, and no operation runs."""
APART = 100  # between the tokens of two nodes
ANSWERED = "answered done"
STEPS = {
    "versions": "upgrade every node to the newest version",
    "feature": f"wait until {FEATURE} is enabled",
    "post": f"no topology operation runs: POST {ROUTE}",
    "watch": f"GET {ROUTE} on each node, until all of them answer done",
}
BY_OPERATOR = (act.Upgrade, act.Post)


def opened(model: TopologyUpgrade) -> TopologyUpgrade:
    """The same cluster, in which nodes may go down."""
    return TopologyUpgrade(replace(model.parameters, crashes=MOST))


def _answering(now: DrillMoment) -> int:
    """The machine that one is on, whose server answers.

    Raises:
        Refused: where it is down.
    """
    m: TopologyUpgrade = now.model
    number = m.number(now.place)
    if not now.state.nodes[number].is_up:
        raise Refused(f"{now.place}: connection refused, the server is down")
    return number


def status(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool status``: what gossip tells; who joins in the old way is joining."""
    _answering(now)
    letters = {"normal": "N", "joining": "J"}
    hosts = (
        (host(at), ("U" if node.is_up else "D") + letters[node.standing])
        for at, node in enumerate(now.state.nodes)
        if node.standing in letters
    )
    return CommandReply(tuple(printing.status_lines(hosts)))


def _rows(now: DrillMoment, number: int) -> Iterator[printing.Row]:
    s: TopologyUpgradeRun = now.state
    view = s.nodes[number].view
    for at in nodes_in(s.rows if view != NOT_UPGRADED else 0):
        there = host(at)
        yield {
            "key": "topology", "host_id": there.host_id, "datacenter": there.dc,
            "rack": there.rack, "node_state": "normal", "tokens": [str(APART * (at + 1))],
            "transition_state": None, "version": VERSION, "fence_version": VERSION,
            "upgrade_state": view,
        }  # fmt: skip


def select(now: DrillMoment, given: Given) -> CommandReply:
    """The table, as this node has applied it."""
    rows = list(_rows(now, _answering(now)))
    return CommandReply(tuple(printing.cql_rows(COLUMNS, rows)))


def select_json(now: DrillMoment, given: Given) -> CommandReply:
    """The same as JSON."""
    rows = list(_rows(now, _answering(now)))
    return CommandReply(tuple(printing.json_rows(COLUMNS, rows)))


def get(now: DrillMoment, given: Given) -> CommandReply:
    """The state that this node knows; that it is done is noted."""
    number = _answering(now)
    view = now.state.nodes[number].view
    return CommandReply((view,), marks=(seen(ANSWERED, number),) if view == DONE else ())


def post(now: DrillMoment, given: Given) -> CommandReply:
    """The upgrade is triggered."""
    _answering(now)
    s: TopologyUpgradeRun = now.state
    if s.upgrade_state != NOT_UPGRADED:
        raise Refused(f"the upgrade has begun: upgrade_state is {s.upgrade_state}")
    return CommandReply(actions=(act.Post(now.place),))


def upgrade(now: DrillMoment, given: Given) -> CommandReply:
    """A node restarts with the newer version."""
    name = str(given["node"])
    node = now.state.nodes[now.model.number(name)]
    if node.is_new:
        raise Refused(f"{name} has the newer version")
    return CommandReply(actions=(act.Upgrade(name),))


def start(now: DrillMoment, given: Given) -> CommandReply:
    """A node that was down comes back; a new one asks to join."""
    name = str(given["node"])
    node = now.state.nodes[now.model.number(name)]
    if node.standing == "outside":
        return CommandReply(actions=(act.StartJoining(name),))
    if node.is_up:
        raise Refused(f"{name} is up already: there is nothing to start")
    return CommandReply(actions=(act.Restart(name),))


def crash(now: DrillMoment, given: Given) -> CommandReply:
    """A node goes down."""
    return CommandReply(actions=(act.Crash(str(given["node"])),))


def wait(now: DrillMoment, given: Given) -> CommandReply:
    """The next thing that the cluster does by itself.

    Raises:
        Refused: with the reason, where it cannot go on.
    """
    m: TopologyUpgrade = now.model
    own = (*BY_OPERATOR, act.StartJoining, act.Restart, act.Crash)
    action = next((a for a in m.actions(now.state) if not isinstance(a, own)), None)
    if action is None:
        held = [refusal for a, refusal in m.waiting(now.state) if not isinstance(a, own)]
        raise Refused(refusal_line(held[0]) if held else "nothing goes on by itself")
    return CommandReply(actions=(action,))


def on(now: DrillMoment, given: Given) -> CommandReply:
    """Another machine, of a node that has asked to join at least."""
    name = str(given["node"])
    if now.state.nodes[now.model.number(name)].standing == "outside":
        raise Refused(f"{name} is no node of the cluster yet: start it")
    return CommandReply(place=name)


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    m: TopologyUpgrade = now.model
    broken = [
        witness
        for each in m.properties
        if each.kind == "always"
        for witness in [next(filter(None, (each.check(step.state) for step in now.run)), None)]
        if witness
    ]
    pairs = zip(m.names, now.state.nodes, strict=True)
    behind = [f"{name}: {why}" for name, node in pairs for why in _behind(node)]
    used = sum(isinstance(step.action, BY_OPERATOR) for step in now.run)
    needed = m.older + 1
    left = [name for name in STEPS if not _done(now, name)]
    looked = f"left out: {', '.join(left)}" if left else "every node has answered done"
    return Grade(
        (
            judged("upgrade done", behind, "every member knows that it is done"),
            judged("one topology", broken, "whoever reads the table found every member in it"),
            GradeRow("steps", None, f"{used} of the operator; the procedure takes {needed}"),
            GradeRow("checklist", None, looked),
        )
    )


def _behind(node: TopologyNode) -> Iterator[str]:
    """What a node of the cluster lacks: it is down, joins, or does not know the end."""
    if node.standing == "outside":
        return
    if not node.is_up:
        yield "down"
    elif node.standing != "normal":
        yield node.standing
    elif node.view != DONE:
        yield node.view


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The documents' steps, ticked by the run; the answers of the route by marks."""
    return tuple(CheckedStep(name, what, _done(now, name)) for name, what in STEPS.items())


def _done(now: DrillMoment, name: str) -> bool:
    s: TopologyUpgradeRun = now.state
    members = [i for i, node in enumerate(s.nodes) if node.standing == "normal"]
    if name == "versions":
        return all(s.nodes[i].is_new for i in members)
    if name == "feature":
        return s.has_feature
    if name == "post":
        return s.upgrade_state != NOT_UPGRADED
    return {seen(ANSWERED, i) for i in members} <= now.marks


SLOTS = {"node": NODE}
FORMS = (
    Form("on {node}", "go to a machine", on, own=True),
    Form("ssh {node}", "the same", on, offered=False),
    Form("nodetool status", "who is up", status),
    Form("upgrade {node}", "restart a node with the newer version", upgrade, own=True),
    Form(f"POST {ROUTE}", "start the topology upgrade", post),
    Form(f"GET {ROUTE}", "how far it is, as this node knows", get),
    Form("wait", "the cluster goes on by a step", wait, own=True),
    Form(f"SELECT * FROM {TABLE}", "the table, as this node has it", select),
    Form(f"SELECT JSON * FROM {TABLE}", "the same as JSON", select_json, offered=False),
    Form("start {node}", "start a node that is down, or a new one that joins", start, own=True),
    Form("happen crash {node}", "a node goes down", crash, own=True),
)
DRILL = DrillKind(
    title="Bring the topology into Raft",
    task="The topology is told by gossip. Upgrade the nodes that run an older version, start the "
    "topology upgrade by its route, and watch it until every node is done. help lists the "
    "commands; wait lets the cluster go on.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.names[0],
    checklist=checklist,
    grade=grade,
)
