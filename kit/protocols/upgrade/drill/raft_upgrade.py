"""The drill of the Raft upgrade: the option on every node, a rolling restart, and a look.

Source: manual on Raft, "Enabling Raft", "Verifying that the Raft upgrade procedure finished".
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.engine import drill
from kit.engine.flows import ServerHost, host_id
from kit.engine.forms import Form, Given, Slot
from kit.engine.server import CONFIGURATION, NodeTable, Row, Servers, by_verb, possible
from kit.errors import BadInput
from kit.masks import nodes_in
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.raft_upgrade import LOG, MOST, PHASES, RaftUpgrade, address
from kit.protocols.upgrade.rules import KEY, POST
from kit.protocols.upgrade.upgrading_cluster import NO_GROUP, Cluster, UpgradingNode

OPTION, GROUP_ID = "consistent_cluster_management", "raft_group0_id"
FINISHED = "Raft upgrade finished"
QUERY = f"SELECT * FROM system.scylla_local WHERE key = '{KEY}'"
COMPARED, IN_LOG, IN_TABLE = "compared", "log", "table"
"""Marks of what was seen on a node."""
RETRIES = 2
"""How often each node says for whom it waits, before somebody types again."""
OWN = ("gossip", "phase", "catch up", "retry")
"""The kinds of what nodes do by themselves, in the order in which they do it."""
BY_OPERATOR = (act.Install, act.Configure, act.TurnOff, act.Restart)


def seen(what: str, number: int) -> str:
    """The mark of what was seen on a node."""
    return f"{what} {number}"


def host(number: int) -> ServerHost:
    """The host of a node."""
    return ServerHost(address(number), host_id(number), rack=f"r{number % 3 + 1}")


def _local(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    node: UpgradingNode = now.state.nodes[number]
    if node.row:
        yield {"key": KEY, "value": node.row}
    if node.group:
        yield {"key": GROUP_ID, "value": str(node.group)}


class UpgradingServers(Servers):
    """The servers of a cluster on its way into Raft."""

    log, events = LOG, ("alter", "crash", "die")
    tables = (NodeTable("scylla_local", ("key", "value"), _local),)

    def hosts(self, now: drill.DrillMoment) -> list[ServerHost]:
        """All of them, also those that are lost."""
        return list(map(host, range(len(now.state.nodes))))

    def is_unroutable(self, now: drill.DrillMoment, at: int) -> bool:
        """Whether a node is lost for good."""
        return bool(now.state.nodes[at].status == "lost")

    def reached(self, now: drill.DrillMoment, at: int) -> set[int]:
        """Those that have a connection to a node, and itself."""
        return {at, *nodes_in(now.state.linked(at))}

    def version(self, now: drill.DrillMoment, at: int) -> str:
        """The schema version of a node."""
        held: UpgradingNode = now.state.nodes[at]
        return held.version

    def describe(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """One version on all nodes is noted for this node."""
        versions, unreachable = self.versions(now)
        agree = len(versions) == 1 and not unreachable
        marks = (seen(COMPARED, now.here),) if agree else ()
        return replace(super().describe(now, given), marks=marks)

    def select(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """The row of ``group0_upgrade_state``; that it says the end is noted for this node."""
        reply, ended = super().select(now, given), now.node.row == POST
        return replace(reply, marks=(seen(IN_TABLE, now.here),) if ended else ())

    def grep(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """That the end is among the lines is noted."""
        lines = self.searched(now, given)
        ended = any(FINISHED in line for line in lines)
        return drill.CommandReply(lines, marks=(seen(IN_LOG, now.here),) if ended else ())

    def configuration(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """The lines of the file that matter here."""
        option = (f"{OPTION}: true",) if now.node.configured else ()
        return drill.CommandReply(("cluster_name: 'drill'", *option))

    def restart(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """The server starts by what it has persisted, also one that was down."""
        name = str(given.get("node", now.place))
        self.on(now, {"node": name})
        return drill.CommandReply(actions=(act.Restart(name),))

    start = restart


SERVERS = UpgradingServers()


def turn(kind: Any, is_on: bool) -> Callable[[drill.DrillMoment, Given], drill.CommandReply]:
    """The option is on, or off, from the next start on."""
    return lambda now, given: drill.CommandReply(
        actions=() if now.node.configured is is_on else (kind(now.place),)
    )


def connection(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """Two nodes lose their connection, or get it back."""
    kind = act.Cut if given["link"] == "cut" else act.Heal
    action = kind(*sorted((given["node"], given["other"])))
    if not now.has(action):
        raise BadInput("happen", now.model.verb(action), possible(now, ("cut", "heal")))
    return drill.CommandReply(actions=(action,))


SLOTS = SERVERS.slots(
    other=Slot("another node", lambda now: now.model.names),
    link=Slot("what happens to the connection", lambda now: ("cut", "heal")),
)
FORMS: tuple[Form, ...] = (
    *SERVERS.understood("on", "ssh", "nodetool", f"cat {CONFIGURATION}"),
    Form(f"edit {CONFIGURATION} {OPTION}: true", "turn the option on here",
         turn(act.Configure, True), own=True),
    Form(f"edit {CONFIGURATION} {OPTION}: false", "turn the option off again here",
         turn(act.TurnOff, False), own=True),
    by_verb(RaftUpgrade.install, "install the newer version on a node",
            unless=lambda node: node.installed and "has the newer version"),
    *SERVERS.understood("restart", "systemctl restart", "systemctl start"),
    SERVERS.reading(QUERY, "how far this node has come with the upgrade",
                    columns=("*",), table="system.scylla_local", column="key", value=KEY),
    *SERVERS.understood("grep", "journalctl", "cat /var", "happen"),
    Form("happen {link} {node} {other}", "two nodes lose their connection, or get it back",
         connection, own=True),
)  # fmt: skip


# -- the grade, and the checklist that the run ticks -----------------------------------------------


def _there(s: Cluster) -> list[UpgradingNode]:
    return [s.nodes[i] for i in nodes_in(s.left)]


def _looked(what: str) -> Callable[[drill.DrillMoment], bool]:
    """Whether something was seen on each node that is not lost: it leaves no trace there."""
    return lambda now: {seen(what, i) for i in nodes_in(now.state.left)} <= now.marks


STEPS: dict[str, tuple[str, Callable[[drill.DrillMoment], bool]]] = {
    "compare": (
        "nodetool describecluster on each node: all show one schema version",
        _looked(COMPARED),
    ),
    "option": (
        "set consistent_cluster_management: true in each node's configuration",
        lambda now: all(node.configured for node in _there(now.state)),
    ),
    "rolling restart": (
        "restart the nodes one by one; the last one starts the Raft upgrade",
        lambda now: all(node.enabled and node.is_up for node in _there(now.state)),
    ),
    "log": ("look for the end of the upgrade in each node's log", _looked(IN_LOG)),
    "query": (
        "check that group0_upgrade_state is use_post_raft_procedures on each node",
        _looked(IN_TABLE),
    ),
}
checklist = drill.procedure(STEPS)
"""The documents' steps, ticked by the run; those that only look by marks."""


def grade(now: drill.DrillMoment) -> drill.Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    s, there = now.state, _there(now.state)
    groups = {node.group for node in there} - {NO_GROUP}
    two_groups = ["two groups were created"] if max(len(s.entries), len(groups)) > 1 else []
    apart = ["schemas differ"] if len({(node.schema, node.applied) for node in there}) > 1 else []
    left_out = ", ".join(
        step.name for step in checklist(now) if not step.done and step.name in LOOKING
    )
    looked = f"skipped: {left_out}" if left_out else "every node was checked"
    plain = RaftUpgrade(nodes=now.model.nodes, beginning=now.model.beginning)
    return drill.Grade(
        (
            drill.judged(
                "upgrade ended", list(_unfinished(now)), "Raft manages the schema on every node"
            ),
            drill.judged("one group", two_groups, "no second group was created"),
            drill.judged("one schema", apart, "every node has the same version"),
            drill.operator_steps(now, BY_OPERATOR, drill.steps_needed(plain, BY_OPERATOR)),
            drill.GradeRow("looked at", None, looked),
        )
    )


LOOKING = ("compare", "log", "query")
"""Steps that leave no trace in the cluster."""


def _unfinished(now: drill.DrillMoment) -> Iterator[str]:
    for name, node in zip(now.model.names, now.state.nodes, strict=True):
        if node.status == "lost":
            yield f"{name} is lost for good, and the upgrade needs every node: do a manual recovery"
        elif not node.is_up:
            yield f"{name} is down"
        elif not node.has_finished:
            yield f"{name}: {node.position} of {len(PHASES)} phases done"


# -- the drill -------------------------------------------------------------------------------------


def opened(model: RaftUpgrade) -> RaftUpgrade:
    """The same cluster, in which nodes may go down, and pairs lose their connection."""
    more = dict.fromkeys(("changes", "crashes", "cuts", "turns", "restarts"), MOST)
    parameters = replace(model.parameters, deaths=max(model.deaths, 1), retries=RETRIES, **more)
    return RaftUpgrade(parameters)


def own_step(model: RaftUpgrade, state: Cluster) -> Any:
    """What nodes do by themselves: schema by gossip, the phases, and to wait."""
    enabled = list(model.actions(state))
    return next((a for kind in OWN for a in enabled if model.kind(a) == kind), None)


DRILL = drill.DrillKind(
    title="Move a cluster to Raft",
    task="Schema changes still spread by gossip. Turn on consistent_cluster_management on "
    "every node, restart the nodes one by one, and check on each node that the Raft upgrade "
    "has ended. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.names[0],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
