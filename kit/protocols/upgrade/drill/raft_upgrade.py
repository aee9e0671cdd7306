"""The drill of the Raft upgrade: the option on every node, a rolling restart, and a look.

Source: manual on Raft, "Enabling Raft", "Verifying that the Raft upgrade procedure finished".
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.console import drill
from kit.console.forms import Form, Given, Slot
from kit.console.server import CONFIGURATION, NodeTable, Row, Servers, by_verb, possible
from kit.errors import BadInput
from kit.masks import nodes_in
from kit.model.flows import ServerHost, host_id
from kit.model.registry import Entry
from kit.protocols.upgrade import raft_upgrade as act
from kit.protocols.upgrade.raft_upgrade import (
    ENTRY,
    LOG,
    PHASES,
    Cluster,
    RaftUpgrade,
    UpgradingNode,
)
from kit.protocols.upgrade.rules import KEY, POST

OPTION, GROUP_ID = "consistent_cluster_management", "raft_group0_id"
FINISHED = "Raft upgrade finished"
QUERY = f"SELECT * FROM system.scylla_local WHERE key = '{KEY}'"
COMPARED, IN_LOG, IN_TABLE = "compared", "log", "table"
VERSIONS, LOSS, WAITS = "versions", "loss", "waits"
"""Marks of what was seen on a node; ``VERSIONS`` are seen even where they differ."""
NOT_YET = "not in synchronize state yet"
RETRIES = 2
"""How often each node says for whom it waits, before somebody types again."""
OWN = ("gossip", "phase", "catch up", "retry")
"""The kinds of what nodes do by themselves, in the order in which they do it."""
BY_OPERATOR = (act.Install, act.Configure, act.TurnOff, act.Restart)


def mark_of(what: str, number: int) -> str:
    """The mark of what was seen on a node."""
    return f"{what} {number}"


def host(number: int) -> ServerHost:
    """The host of a node."""
    return ServerHost(act.address(number), host_id(number), rack=f"r{number % 3 + 1}")


def _local(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    node: UpgradingNode = now.state.nodes[number]
    if node.row:
        yield {"key": KEY, "value": node.row}
    if node.group:
        yield {"key": GROUP_ID, "value": str(node.group)}


class UpgradingServers(Servers):
    """The servers of a cluster on its way into Raft."""

    log, events = LOG, ("alter", "crash", "die")
    tables = (NodeTable("scylla_local", "key text; value text", _local),)
    stops, starts = act.Crash, act.Restart

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

    def status(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """That it shows a node which is lost is noted."""
        lost = now.state.where(lambda node: node.status == "lost")
        marks = (mark_of(LOSS, now.here),) if lost else ()
        return replace(super().status(now, given), marks=marks)

    def describe(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """Which versions there are is noted, and one version on all nodes, for this node."""
        versions, unreachable = self.versions(now)
        agree = len(versions) == 1 and not unreachable
        noted = (VERSIONS, COMPARED) if agree else (VERSIONS,)
        marks = tuple(mark_of(each, now.here) for each in noted)
        return replace(super().describe(now, given), marks=marks)

    def select(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """Rows of a table; that one says the end of the upgrade is noted for this node."""
        reply = super().select(now, given)
        ended = any(POST in line for line in reply.lines)
        return replace(reply, marks=(mark_of(IN_TABLE, now.here),) if ended else ())

    def grep(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """That the end is among the lines is noted, or for whom this node waits."""
        lines = self.searched(now, given)
        words = {IN_LOG: FINISHED, WAITS: NOT_YET}
        marks = (what for what, text in words.items() if any(text in line for line in lines))
        return drill.CommandReply(lines, marks=tuple(mark_of(each, now.here) for each in marks))

    def configuration(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """The lines of the file that matter here."""
        option = (f"{OPTION}: true",) if now.node.configured else ()
        return drill.CommandReply(("cluster_name: 'drill'", *option))

    def restart(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """The server starts by what it has persisted, also one that was down."""
        return drill.CommandReply(actions=(self.starts(self.server(now, given)),))


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
FORMS = SERVERS.completed(
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


def _looked(
    what: str, nodes: Callable[[Iterable[bool]], bool] = all
) -> Callable[[drill.DrillMoment], bool]:
    return lambda now: nodes(mark_of(what, i) in now.marks for i in nodes_in(now.state.left))


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
    plain = RaftUpgrade(nodes=now.model.nodes, beginning=now.model.beginning)
    needed = drill.steps_needed(plain, BY_OPERATOR)
    return _grade_of(now, "upgrade ended", needed, checklist(now))


def _grade_of(
    now: drill.DrillMoment, ended: str, needed: int, steps: Iterable[drill.CheckedStep]
) -> drill.Grade:
    left_out = ", ".join(step.name for step in steps if not step.done and step.name in LOOKING)
    looked = f"skipped: {left_out}" if left_out else "every node was checked"
    return drill.Grade(
        (
            drill.judged(ended, list(_unfinished(now)), IN_USE),
            *_one_of_each(now.state),
            drill.operator_steps(now, BY_OPERATOR, needed),
            drill.GradeRow("looked at", None, looked),
        )
    )


def _one_of_each(s: Cluster) -> Iterator[drill.GradeRow]:
    there = _there(s)
    groups = {node.group for node in there} - {act.NO_GROUP}
    two_groups = ["two groups were created"] if max(len(s.entries), len(groups)) > 1 else []
    apart = ["schemas differ"] if len({(node.schema, node.applied) for node in there}) > 1 else []
    yield drill.judged("one group", two_groups, "no second group was created")
    yield drill.judged("one schema", apart, "every node has the same version")


IN_USE = "Raft manages the schema on every node"
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
    more = dict.fromkeys(("changes", "crashes", "cuts", "turns", "restarts"), act.MOST)
    parameters = replace(model.parameters, deaths=max(model.deaths, 1), retries=RETRIES, **more)
    return RaftUpgrade(parameters)


def own_step(model: RaftUpgrade, state: Cluster) -> Any:
    """The steps that nodes take by themselves: schema by gossip, the phases, and to wait."""
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


# -- the drills of stories that take another way ---------------------------------------------------


def story(entry: Entry, name: str) -> tuple[str, ...]:
    """The verbs of a model's story, without those by which a node only says that it waits."""
    [script] = [each.script for each in entry.scenarios if each.name == name]
    return tuple(verb for verb in script if not verb.startswith("retry"))


new_checklist = drill.procedure({
    "start": (
        "start the node that is down: it gets the newest schema from its group",
        lambda now: all(node.is_up and node.serves for node in _there(now.state)),
    ),
    **{name: STEPS[name] for name in ("compare", "query")},
})  # fmt: skip


NEW_CLUSTER = replace(
    DRILL,
    title="A new cluster that uses Raft",
    task="A new cluster uses Raft from the start, so there is no upgrade. C is down, and a client "
    "has changed the schema without it: a majority is enough. Bring C back, and check on each "
    "node that Raft is in use and the schema is the same. help lists the commands.",
    begun=lambda model: story(ENTRY, "new-cluster")[:3],
    checklist=new_checklist,
    grade=lambda now: _grade_of(now, "Raft in use", 1, new_checklist(now)),
)

APART_STEPS = {
    "compare": (
        "nodetool describecluster on each node: do all show one schema version?",
        _looked(VERSIONS),
    ),
    "leave": (
        "if they differ, ask support and do not begin: nothing in this drill makes them agree",
        lambda now: _looked(VERSIONS)(now) and not now.state.has_begun,
    ),
}
apart_checklist = drill.procedure(APART_STEPS, {"leave": lambda now: now.state.has_begun})


def apart_grade(now: drill.DrillMoment) -> drill.Grade:
    """Who compares the versions first does not begin an upgrade that cannot end."""
    stuck = "the upgrade has begun, and cannot end while the schemas differ"
    unseen = [] if _looked(VERSIONS)(now) else ["the versions were not compared on every node"]
    return drill.Grade(
        (
            drill.judged("versions compared", unseen, "they differ: that is a case for support"),
            drill.judged(
                "upgrade not begun", [stuck] * now.state.has_begun, "schemas have to agree first"
            ),
        )
    )


NEVER_AGREES = replace(
    DRILL,
    title="May the upgrade to Raft begin?",
    task="Somebody wants to move this cluster to Raft today. Find out first whether all nodes have "
    "one schema. If they do not, nothing in this drill makes them agree: then the upgrade must "
    "not begin. help lists the commands.",
    checklist=apart_checklist,
    grade=apart_grade,
)


lost_checklist = drill.procedure({
    "status": ("nodetool status on a live node: which node is down?", _looked(LOSS, any)),
    "log": ("in a live node's log, find which node the upgrade waits for", _looked(WAITS, any)),
})  # fmt: skip


def lost_grade(now: drill.DrillMoment) -> drill.Grade:
    """The cause is known; what helps is another procedure."""
    unseen = [f"{step.name}: not looked at" for step in lost_checklist(now) if not step.done]
    lost = ", ".join(now.model.named(now.state.where(lambda node: node.status == "lost")))
    known = f"{lost} is lost for good, and the upgrade needs every node"
    then = "it cannot end here: a manual recovery does that (drill recovery_mode/recovery-mode)"
    return drill.Grade(
        (
            drill.judged("cause known", unseen, known),
            *_one_of_each(now.state),
            drill.GradeRow("upgrade", None, then),
        )
    )


NODE_DIES = replace(
    DRILL,
    title="A Raft upgrade is stuck",
    task="The upgrade has been running for an hour, and clients cannot change the schema. Find out "
    "which node it waits for, and why. No command of this drill makes it end: what does is a "
    "manual recovery, which is a drill of its own. help lists the commands.",
    begun=lambda model: (*story(ENTRY, "node-dies-halfway"), drill.GO_ON),
    checklist=lost_checklist,
    grade=lost_grade,
)
