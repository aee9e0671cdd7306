"""The drill of the topology upgrade: newer versions, a POST, and GET until every node is done.

What the coordinator and the nodes do by themselves takes time: ``wait`` lets one such step pass.
Source: Topology over Raft, "Upgrade from legacy topology to raft-based topology".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.console import drill
from kit.console.forms import Form, Given
from kit.console.server import NodeTable, Row, Servers, by_verb
from kit.errors import Refused
from kit.masks import nodes_in
from kit.model.flows import ServerHost, token_of
from kit.protocols.upgrade import topology_upgrade as act
from kit.protocols.upgrade.drill.raft_upgrade import host, mark_of, story
from kit.protocols.upgrade.rules import DONE, FEATURE, NOT_UPGRADED, ROUTE
from kit.protocols.upgrade.topology_upgrade import ENTRY, MOST, TopologyNode, TopologyUpgrade

TABLE = "system.topology"
VERSION = 1
"""Of the topology and of the fence: the model has none, and no operation runs."""
COLUMNS = (
    "key text, host_id uuid; datacenter text, rack text, node_state text, tokens set<text>, "
    "topology_request text, transition_state text static, version bigint static, "
    "fence_version bigint static, upgrade_state text static"
)
ANSWERED = "answered done"
BY_OPERATOR = (act.Upgrade, act.Post)


def _topology(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    s, view = now.state, now.state.nodes[number].view
    if view == NOT_UPGRADED:
        return
    queued = s.where(lambda node: node.standing == "queued")
    if not s.rows | queued:  # a partition of static cells alone
        yield {"key": "topology", "upgrade_state": view}
    for at in nodes_in(s.rows | queued):
        there, waits = host(at), queued >> at & 1
        yield {
            "key": "topology", "host_id": there.host_id, "datacenter": there.dc,
            "rack": there.rack, "node_state": "none" if waits else "normal",
            "tokens": None if waits else [token_of(at)],
            "topology_request": "join" if waits else None,
            "transition_state": None, "version": VERSION, "fence_version": VERSION,
            "upgrade_state": view,
        }  # fmt: skip


class TopologyServers(Servers):
    """The servers of a cluster whose topology goes into group 0."""

    events, stops = ("crash",), act.Crash
    starts = act.Restart
    lacks: Mapping[str, str] = {
        "nodetool describecluster": "there is no schema here",
        **Servers.lacks,
    }
    tables = (NodeTable("topology", COLUMNS, _topology),)

    def hosts(self, now: drill.DrillMoment) -> list[ServerHost]:
        """Those outside, too."""
        return list(map(host, range(len(now.state.nodes))))

    def is_up(self, now: drill.DrillMoment, at: int) -> bool:
        """Outside there is no server yet."""
        node = now.state.nodes[at]
        return bool(node.is_up and node.standing != "outside")

    def is_member(self, now: drill.DrillMoment, at: int) -> bool:
        """True for a member, as gossip tells."""
        return now.state.nodes[at].standing in ("normal", "joining")

    def tokens(self, now: drill.DrillMoment, at: int) -> str:
        """One, as the table has it."""
        return "1"

    def letter(self, now: drill.DrillMoment, at: int) -> str:
        """Who joins in the old way is joining."""
        return "J" if now.state.nodes[at].standing == "joining" else "N"

    def answering(self, now: drill.DrillMoment, tool: str = "") -> int:
        """No tool says its name here."""
        if not self.is_up(now, now.here):
            raise Refused(f"{now.place}: connection refused, the server is down")
        return now.here

    def on(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """A node that has asked to join at least."""
        name = str(given["node"])
        if now.state.nodes[now.model.number(name)].standing == "outside":
            raise Refused(f"{name} is not a node in the cluster yet: start it")
        return drill.CommandReply(place=name)

    def server(self, now: drill.DrillMoment, given: Given) -> str:
        """Also that of a machine outside."""
        return str(given.get("node", now.place))

    def turned(self, now: drill.DrillMoment, name: str, *, on: bool) -> tuple[Any, ...]:
        """A member comes back; another node asks to join, also after a stop: it starts afresh."""
        if on and now.state.nodes[now.number(name)].standing != "normal":
            return (act.StartJoining(name),)
        return super().turned(now, name, on=on)


SERVERS = TopologyServers()


def get(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """The state that this node knows; that it is done is noted."""
    number = SERVERS.answering(now)
    view = now.node.view
    return drill.CommandReply((view,), marks=(mark_of(ANSWERED, number),) if view == DONE else ())


def post(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """The upgrade is triggered."""
    SERVERS.answering(now)
    if now.state.upgrade_state != NOT_UPGRADED:
        raise Refused(f"the upgrade has already begun: upgrade_state is {now.state.upgrade_state}")
    return drill.CommandReply(actions=(act.Post(now.place),))


def wait(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """The next thing that the cluster does by itself. Refused, with the reason, where it cannot."""
    m: TopologyUpgrade = now.model
    own = (*BY_OPERATOR, act.StartJoining, act.Restart, act.Crash)
    if (action := next((a for a in m.actions(now.state) if not isinstance(a, own)), None)) is None:
        held = [refusal for a, refusal in m.waiting(now.state) if not isinstance(a, own)]
        raise Refused(drill.refusal_line(held[0]) if held else "nothing more happens on its own")
    return drill.CommandReply(actions=(action,))


# -- the grade, and the checklist that the run ticks -----------------------------------------------


STEPS: dict[str, tuple[str, Callable[[drill.DrillMoment], bool]]] = {
    "versions": (
        "upgrade every node to the newest version",
        lambda now: not now.state.normal & ~now.state.where(lambda node: node.is_new),
    ),
    "feature": (f"wait until {FEATURE} is enabled", lambda now: now.state.has_feature),
    "post": (
        f"while no topology operation is running: POST {ROUTE}",
        lambda now: now.state.upgrade_state != NOT_UPGRADED,
    ),
    "watch": (
        f"GET {ROUTE} on each node until all nodes answer done",
        lambda now: {mark_of(ANSWERED, i) for i in nodes_in(now.state.normal)} <= now.marks,
    ),
}
checklist = drill.procedure(STEPS)
"""The documents' steps, ticked by the run; the answers of the route by marks."""


def grade(now: drill.DrillMoment) -> drill.Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    return _grade_of(now, checklist(now), BY_OPERATOR, now.model.older + 1)


def _grade_of(
    now: drill.DrillMoment,
    steps: Iterable[drill.CheckedStep],
    by_operator: tuple[type, ...],
    needed: int,
) -> drill.Grade:
    m: TopologyUpgrade = now.model
    witnesses = (
        next(filter(None, (each.check(step.state) for step in now.run)), None)
        for each in m.properties
        if each.kind == "always"
    )
    broken = [str(witness) for witness in witnesses if witness]
    pairs = zip(m.names, now.state.nodes, strict=True)
    behind = [f"{name}: {why}" for name, node in pairs if (why := _behind(node))]
    left = ", ".join(step.name for step in steps if not step.done)
    looked = f"skipped: {left}" if left else "every node answered done"
    return drill.Grade(
        (
            drill.judged("upgrade done", behind, "every member knows that the upgrade is done"),
            drill.judged(
                "one topology", broken, "every node that reads the table finds all members in it"
            ),
            drill.operator_steps(now, by_operator, needed),
            drill.GradeRow("checklist", None, looked),
        )
    )


def _behind(node: TopologyNode) -> str:
    if node.standing == "outside":
        return ""
    if not node.is_up:
        return "down"
    if node.standing != "normal":
        return node.standing
    return node.view if node.view != DONE else ""


FORMS = SERVERS.completed(
    *SERVERS.understood("on", "ssh", "nodetool status"),
    by_verb(TopologyUpgrade.upgrade, "restart a node with the newer version",
            unless=lambda node: node.is_new and "has the newer version"),
    *SERVERS.route("POST", ROUTE, "start the topology upgrade", post),
    *SERVERS.route("GET", ROUTE, "how far the upgrade has come, as this node knows it", get),
    Form("wait", "the cluster takes a step", wait, own=True),
    SERVERS.reading(f"SELECT * FROM {TABLE}", "the table on this node",
                    columns=("*",), table=TABLE),
    SERVERS.reading(f"SELECT JSON * FROM {TABLE}", "the same table as JSON", offered=False,
                    columns=("*",), table=TABLE, json="JSON"),
    Form("start {node}", "start a node that is down, or a new node that joins", SERVERS.start,
         own=True),
    Form("happen {event} {node}", "a node goes down", SERVERS.happen, own=True),
)  # fmt: skip
DRILL = drill.DrillKind(
    title="Move the topology to Raft",
    task="Gossip spreads the topology. Upgrade the nodes that run an older version, POST "
    "to the route that starts the topology upgrade, and watch until every node is done. help "
    "lists the commands; wait lets the cluster take a step.",
    forms=FORMS,
    slots=SERVERS.slots(),
    opened=lambda model: TopologyUpgrade(replace(model.parameters, crashes=MOST)),
    starts_at=lambda model: model.names[0],
    checklist=checklist,
    grade=grade,
)


# -- the drills of stories that begin halfway ------------------------------------------------------


OLD_WAY = replace(
    DRILL,
    title="A node joins before the topology moves to Raft",
    task="C is joining in the old way, and no POST is accepted until it has joined. Move the "
    "topology to Raft, and watch until every node is done. help lists the commands; wait lets the "
    "cluster take a step.",
    begun=lambda model: story(ENTRY, "joined-in-the-old-way")[:1],
)

START = ("start the node that is down", lambda now: not now.state.normal & ~now.state.answering)
heir_checklist = drill.procedure({"start": START, "watch": STEPS["watch"]})
HEIR = replace(
    DRILL,
    title="A topology upgrade lost its coordinator",
    task="A led group 0, and went down while it copied the topology into the table. Let the others "
    "go on, bring A back, and watch until every node is done. help lists the commands; wait lets "
    "the cluster take a step.",
    begun=lambda model: story(ENTRY, "coordinator-dies-halfway")[:-1],
    starts_at=lambda model: model.names[1],
    checklist=heir_checklist,
    grade=lambda now: _grade_of(now, heir_checklist(now), (act.Restart,), 1),
)
