"""Drills of the CMS: a member is lost, its quorum, all of it.

Where no quorum comes back, an operator may boot a node from a file of metadata, which names that
node the only member: that is the model's override. The file is made by JMX and by a tool that comes
with the server; what is typed for both is the kit's own.
Sources: CEP-21, "Failure Recovery"; published code, ``ReconfigureCMS``, ``CMSOperations``,
``TransformClusterMetadataHelper`` and ``Startup.reinitializeWithClusterMetadata``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.console import drill
from kit.console.cassandra import SEEN
from kit.console.drill import CommandReply, DrillMoment, Grade, GradeRow, judged
from kit.console.forms import Form, Given, Slot
from kit.console.server import cql_rows
from kit.errors import Refused, counted
from kit.masks import nodes_in
from kit.protocols.cms.cms import SCENARIOS, Cms, CmsState, alive, entries_of, working
from kit.protocols.cms.facts.tools import SCHEMA_CHANGE, CmsServers, LoggedEvent
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.members import CHANGE

WANTED = 3
"""How many members the CMS is to have at the end."""
BUDGETS = {"orders": 9, "changes": 9, "requests": 2, "crashes": 4, "longest": 24}
"""What may be done in a drill, and how long the log may get by it."""
BY_ITSELF = (Cms.repair_paxos, Cms.catch_up, Cms.advance, Cms.complete_leave)
"""What the cluster does without an operator."""
COLUMN = "note"
ALTER = f"ALTER TABLE shop.orders ADD {COLUMN} text"
SELECT = "SELECT id FROM shop.orders"
DUMP, OPTIONS = "clustermetadata.dump", "/etc/cassandra/jvm-server.options"
BOOT = f"edit {OPTIONS} -Dcassandra.unsafe_boot_with_clustermetadata"
CHECKED = "change checked"
DUMPED, ALONE = "{} dumped at {}", "{} alone in its dump at {}"
ALTERED = "table altered at {}"
NEWEST = "the newest epoch dumped"
SET, UNSET = "option of {} set", "option of {} unset"


def own_step(m: Cms, s: CmsState) -> Any:
    """The next thing that the cluster does by itself."""
    rules = (rule for kind in BY_ITSELF for rule in m.rules if rule.action is kind.struct)
    return next((action for rule in rules for action, _ in rule.ready(s)), None)


class LostCms(CmsServers):
    """The servers of a cluster whose CMS has lost members."""

    does: Mapping[str, str] = {**CmsServers.does, ALTER: "submit *"}
    stops, starts = Cms.crash.struct, Cms.restart.struct

    def is_unroutable(self, now: DrillMoment, at: int) -> bool:
        """Whether nobody can go to a machine; one whose node has left is still there."""
        return self.machine_is(now, at) == "lost"

    def server(self, now: DrillMoment, given: Given) -> str:
        """A node that has left has no server of the cluster."""
        name = super().server(now, given)
        if left := self.has_left(now, name):
            raise Refused(f"{left}: its server is no longer needed")
        return name

    def acted(self, now: DrillMoment, given: Given, command: str) -> CommandReply:
        """Whatever changes metadata needs a quorum of the CMS."""
        self.answering(now, "cqlsh" if command == ALTER else "nodetool")
        if not now.model.has_quorum(now.state):
            readers, able = now.model.newest(now.state).readers, working(now.model, now.state)
            silent = ", ".join(now.model.named(readers & ~able))
            raise Refused(f"nothing is committed: no quorum of the CMS answers ({silent})")
        return super().acted(now, given, command)

    def alter(self, now: DrillMoment, given: Given) -> CommandReply:
        """Raises Refused, as the server does, where the log has this column already."""
        reply = self.acted(now, given, ALTER)
        logs = [now.state.nodes[at].log for at in nodes_in(working(now.model, now.state))]
        if any(is_alter(now, each) for log in logs for each in log.entries):
            raise Refused(f"Column with name '{COLUMN}' already exists")
        last = max(log.epoch for log in logs)
        return replace(reply, marks=(ALTERED.format(last + 1),))

    def logged(self, now: DrillMoment) -> list[LoggedEvent]:
        """The table of what an operator has changed here."""
        changed = {"kind": SCHEMA_CHANGE, "event": ALTER}
        logged = super().logged(now)
        return [replace(each, **changed) if is_alter(now, each) else each for each in logged]

    def select(self, now: DrillMoment, given: Given) -> CommandReply:
        """Data is read at QUORUM of its replicas, with the CMS or without."""
        if given["table"] != "shop.orders":
            return super().select(now, given)
        self.answering(now, "cqlsh")
        refusal = now.model.refusal(now.state, Cms.serve_request(now.place))
        if refusal is not None:
            raise Refused(f"{refusal.reason}: {', '.join(refusal.missing)}")
        return CommandReply(tuple(cql_rows(("id",), [{"id": 7}])))

    def change_status(self, now: DrillMoment, given: Given) -> CommandReply:
        """It is noted that somebody has seen the end of the change."""
        marks = () if [*unfinished(now)] else (CHECKED,)
        return replace(super().change_status(now, given), marks=marks)

    def turned(self, now: DrillMoment, name: str, *, on: bool) -> tuple[Any, ...]:
        """A server starts from a file of metadata if its option says so. Refused for an old one."""
        turns = super().turned(now, name, on=on)
        if not (on and is_set(now, name)):
            return turns
        if not now.state.open:
            raise Refused(f"{name} would go back to {DUMP}: remove the option first")
        self.dumped(now, ALONE)
        return (*turns, Cms.force_member(name), Cms.resume_consensus())

    def dump(self, now: DrillMoment, given: Given) -> CommandReply:
        """All metadata that this node knows goes to a file on it."""
        epoch = now.model.epoch(now.state, self.answering(now, "jmx"))
        return CommandReply((f"{DUMP}: epoch {epoch}",), marks=(DUMPED.format(now.place, epoch),))

    def stand_alone(self, now: DrillMoment, given: Given) -> CommandReply:
        """In the file a node becomes the only member."""
        epoch = self.dumped(now, DUMPED)
        kept = (node.log.epoch for node in now.state.nodes if node.health in ("up", "down"))
        newest = (NEWEST,) if epoch == max(kept) else ()
        marks = (ALONE.format(now.place, epoch), *newest)
        return CommandReply((f"{DUMP}: member {given['address']}",), marks=marks)

    def dumped(self, now: DrillMoment, mark: str) -> int:
        """The epoch of the file on this machine. Raises Refused where it is not what is needed."""
        epoch = int(now.model.epoch(now.state, now.here))
        if mark.format(now.place, epoch) not in now.marks:
            why = "" if mark == DUMPED else f" that names {now.place} as the only member"
            older = f": {now.place} would lose what came after an older one" * (mark == ALONE)
            raise Refused(f"there is no {DUMP} of epoch {epoch}{why}{older}")
        return epoch

    def set_option(self, now: DrillMoment, given: Given) -> CommandReply:
        """Whoever writes this confirms that commits may be lost."""
        self.dumped(now, ALONE)
        actions = () if now.state.open else (Cms.open_override(),)
        return CommandReply(actions=actions, marks=(SET.format(now.place),))

    def unset_option(self, now: DrillMoment, given: Given) -> CommandReply:
        """The option goes, so that the next start does not go back."""
        marks = (UNSET.format(now.place),) if is_set(now, now.place) else ()
        return CommandReply(marks=marks)


def is_set(now: DrillMoment, name: str) -> bool:
    """Whether the option of a node names a file."""
    return SET.format(name) in now.marks and UNSET.format(name) not in now.marks


def is_alter(now: DrillMoment, entry: Entry | LoggedEvent) -> bool:
    """Whether an entry is the statement of the drill; the model has one event for all changes."""
    return entry.event == CHANGE and ALTERED.format(entry.epoch) in now.marks


SERVERS = LostCms()
SLOTS = SERVERS.slots(
    address=Slot("the address of this machine", lambda now: [SERVERS.hosts(now)[now.here].address])
)
FORMS: tuple[Form, ...] = (
    *SERVERS.understood("on", "ssh", "nodetool"),
    *SERVERS.systemctl(),
    SERVERS.reading(SELECT, "read data at QUORUM", table="shop.orders"),
    *SERVERS.understood("SELECT"),
    SERVERS.reading("SELECT * FROM shop.orders", "read data at QUORUM", False, table="shop.orders"),
    Form(ALTER, "a schema change", SERVERS.alter),
    Form(ALTER.replace("TABLE", "TABLE IF EXISTS"), "a schema change", SERVERS.alter,
         offered=False),
    Form("jmx dumpClusterMetadata", "write what this node knows to a file here", SERVERS.dump,
         own=True),
    Form(f"addtocmstool {DUMP} {{address}}", "make this node the only member in the file",
         SERVERS.stand_alone),
    Form(f"{BOOT}: {DUMP}", "load the file at the next start, whatever that loses",
         SERVERS.set_option, own=True),
    Form(f"{BOOT}={DUMP}", "load the file at the next start, whatever that loses",
         SERVERS.set_option, offered=False, own=True),
    Form(f"{BOOT}:", "remove the option", SERVERS.unset_option, own=True),
)  # fmt: skip


# -- the grade, and the checklist that the run ticks -----------------------------------------------


def up(now: DrillMoment) -> list[str]:
    """The nodes whose servers run."""
    return [*now.model.named(alive(now.model, now.state))]


def unfinished(now: DrillMoment) -> Iterator[str]:
    """The faults that the CMS still has."""
    m, s = now.model, now.state
    newest, able = m.newest(s), working(m, s)
    if not m.commits(s):
        yield "nothing can be committed"
    if gone := newest.writers & ~able:
        yield f"members that are not up: {', '.join(m.named(gone))}"
    if (count := newest.readers.bit_count()) != WANTED or newest.pending:
        yield f"{counted(count, 'member')} instead of {WANTED}"
    if left := [name for name in m.names if is_set(now, name)]:
        yield f"{', '.join(left)}: the next start goes back to {DUMP}"


def grade(now: DrillMoment) -> Grade:
    """The CMS is whole, no node has lost its place in the cluster, and what could not be kept."""
    m, run = now.model, now.run
    taken = m.newest(run[0].state).cluster & ~m.newest(now.state).cluster
    out = [f"{', '.join(m.named(taken))}: out of the cluster, along with its ranges"] * bool(taken)
    known = [stored_by_somebody(step.state) for step in run]
    gone = sorted(set().union(*known) - known[-1])
    events = ", ".join(f"“{event}” of epoch {epoch}" for epoch, event in gone)
    lost = f"no disk has this any more: {events}"
    refused = sum(not m.serving(step.state) for step in run)
    return Grade(
        (
            judged("CMS whole", [*unfinished(now)], f"{WANTED} members, and all of them are up"),
            judged("cluster whole", out, "each node that is lost can still be replaced"),
            GradeRow("metadata lost", None, lost if gone else "nothing"),
            GradeRow("data unavailable", None, f"at QUORUM in {refused} of {len(run)} states"),
        )
    )


def stored_by_somebody(s: CmsState) -> set[tuple[int, str]]:
    """The events that are on a disk that is there, with their epochs."""
    there = (node.log for node in s.nodes if node.health in ("up", "down"))
    return {(each.epoch, each.event) for log in there for each in entries_of(log)}


def _has_forced(now: DrillMoment) -> bool:
    return any(isinstance(step.action, Cms.force_member) for step in now.run)


def last_size(now: DrillMoment) -> int:
    """How many members an operator asked for last; 0: nobody did."""
    steps = (step.action for step in reversed(now.run))
    sizes = (each.size for each in steps if isinstance(each, Cms.reconfigure.struct))
    return next(sizes, 0)


STEPS: dict[str, tuple[str, Callable[[DrillMoment], bool]]] = {
    "members": ("list the members, and see which are up",
                lambda now: any(SEEN.format(name) in now.marks for name in now.model.names)),
    "return": ("start every server that still has its disk",
               lambda now: all(node.health != "down" for node in now.state.nodes)),
    "epochs": ("ask every node that is up for its epoch",
               lambda now: {SEEN.format(name) for name in up(now)} <= now.marks),
    "file": ("on the node with the newest epoch, dump the metadata with it as the only member",
             lambda now: NEWEST in now.marks),
    "override": ("boot that node from the file", _has_forced),
    "option": ("remove the option, and let quorums decide again",
               lambda now: not any(is_set(now, name) for name in up(now)) and _has_forced(now)),
    "reconfigure": (f"ask for {WANTED} members",
                    lambda now: last_size(now) == WANTED),
    "check": ("check that no change is still under way", lambda now: CHECKED in now.marks),
}  # fmt: skip
"""The steps of all three drills: what is to be done, and whether the run shows it."""


def _drill(name: str, title: str, task: str, steps: str) -> drill.DrillKind:
    [scenario] = [each for each in SCENARIOS if each.name == name]
    return drill.DrillKind(
        title=title,
        task=task,
        forms=FORMS,
        slots=SLOTS,
        opened=lambda model: Cms(replace(model.parameters, **BUDGETS)),
        begun=lambda model: scenario.script,
        starts_at=lambda model: model.names[-1],
        own_step=own_step,
        checklist=drill.procedure({step: STEPS[step] for step in steps.split()}),
        grade=grade,
    )


MEMBER_LOST = _drill(
    "member-lost",
    "A member of the CMS is lost",
    "C, one of three members, is lost with its disk. A new machine will take its place tomorrow. "
    "If one more member goes, nothing can be committed. Get back to three members tonight.",
    "members reconfigure check",
)
QUORUM_LOST = _drill(
    "quorum-lost",
    "The CMS has lost its quorum",
    "Two of three members don't answer, and no table can be changed. Somebody wants to boot a "
    "node from a metadata file. Do only what is needed, and leave three members.",
    "members return reconfigure check",
)
CMS_LOST = _drill(
    "cms-lost",
    "The whole CMS is lost",
    "A was the only member and is lost with its disk: nothing can be committed unless you force "
    "it. Lose no more of the log than is already lost, and leave three members.",
    "members return epochs file override option reconfigure check",
)
