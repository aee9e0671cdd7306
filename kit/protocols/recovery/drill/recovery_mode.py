"""The drill of a recovery by RECOVERY mode, as the older documents have it.

The model knows of a mistyped ``group0_upgrade_state`` only that it is no known value; what was
typed is in a mark of the drill.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.console import drill
from kit.console.forms import Form, Given, Slot
from kit.console.server import LOG_FILE, NodeTable, Row
from kit.errors import Refused
from kit.masks import nodes_in, union
from kit.model.flows import ServerLine
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.drill import lost_majority
from kit.protocols.recovery.lost_majority import MOST_FAULTS, NO_GROUP, group_uuid
from kit.protocols.recovery.mode_cluster import MODES, ModeNode, ModeState
from kit.protocols.recovery.orders import ANY_ORDER, by_servers
from kit.protocols.recovery.recovery_mode import LOG, RecoveryMode
from kit.protocols.recovery.rules.procedure import OLD_STEPS

STATE, GROUP_ID = "group0_upgrade_state", "raft_group0_id"
COMPARED = "compared"
"""The mark of one schema version, seen on all live nodes while all were in RECOVERY mode."""


# -- system tables ---------------------------------------------------------------------------------


def mistyped(now: drill.DrillMoment, number: int) -> tuple[tuple[int, str], ...]:
    """The values that were typed on a node and are no known ones, in their order.

    Each has the last moment of the run before it.
    """
    begins = f"mistyped {number} "
    marks = (m.removeprefix(begins).split(" ", 2) for m in now.marks if m.startswith(begins))
    by_order = sorted(marks, key=lambda mark: int(mark[0]))
    return tuple((int(at), value) for _, at, value in by_order)


def last_mistyped(now: drill.DrillMoment, number: int, at: int) -> str:
    """The text that was typed for the model's ``unknown`` on a node, before a moment of the run."""
    typed = (text for before, text in reversed(mistyped(now, number)) if before < at)
    return next(typed, "unknown")


def _local(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    node = now.state.nodes[number]
    if node.value:
        is_known = node.value != "unknown"
        value = node.value if is_known else last_mistyped(now, number, len(now.run))
        yield {"key": STATE, "value": value}
    has_id = node.group_id != NO_GROUP
    yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if has_id else None}


def _discovery(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    for at in nodes_in(now.state.nodes[number].discovery):
        host = now.model.host(at)
        yield {"key": "peers", "ip_addr": host.address, "raft_server_id": host.host_id}


def _history(now: drill.DrillMoment, number: int) -> Iterator[Row]:
    if newest := now.state.nodes[number].history:
        yield {"key": "history", "state_id": f"{newest:08x}-fe88-11f0-8002-000000000001"}


# -- what may be typed -----------------------------------------------------------------------------


class ModeServers(lost_majority.LostServers):
    """The servers of a cluster that recovers by RECOVERY mode."""

    log = LOG
    tables = (
        NodeTable("scylla_local", "key text; value text", _local),
        NodeTable("discovery", "key text, ip_addr text; raft_server_id uuid", _discovery),
        NodeTable("group0_history", "key text, state_id timeuuid", _history, descending=True),
    )
    stops, starts, isolates = act.Stop, act.StartServer, act.Isolate

    def reached(self, now: drill.DrillMoment, at: int) -> set[int]:
        """The nodes that a node hears, and itself."""
        return {at, *(i for i in range(len(now.state.nodes)) if now.state.hears(at, i))}

    def version(self, now: drill.DrillMoment, at: int) -> str:
        """It is of the columns, or of the entry that group 0 wrote."""
        return str(now.state.nodes[at].version_id)

    def describe(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """One version on all live nodes is a step of the procedure."""
        reply, step = super().describe(now, given), act.Compare()
        if now.model.refusal(now.state, step) is not None:
            return reply
        marks = (COMPARED,) if now.state.in_recovery_mode else ()
        return replace(reply, actions=() if now.state.compared else (step,), marks=marks)

    def written(self, now: drill.DrillMoment) -> tuple[tuple[ServerLine, ...], ...]:
        """A server logs the value that it finds in its table: what was typed."""

        def as_typed(at: int, line: ServerLine) -> ServerLine:
            value = last_mistyped(now, now.number(line.node), at)
            return replace(line, text=line.text.replace("state: unknown", f"state: {value}"))

        every = enumerate(super().written(now))
        return tuple(tuple(as_typed(at, line) for line in lines) for at, lines in every)

    def grep(self, now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        """RECOVERY mode read on every live node is a step."""
        m, s, lines = now.model, now.state, self.searched(now, given)
        marks = (f"log {now.place}",) if any("RECOVERY mode" in line for line in lines) else ()
        read = {f"log {name}" for name in m.named(s.live)} <= {*now.marks, *marks}
        able = read and not s.logs_read and m.refusal(s, act.ReadLogs()) is None
        return drill.CommandReply(lines, actions=(act.ReadLogs(),) * able, marks=marks)


SERVERS = ModeServers()


def update(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """``group0_upgrade_state`` is written: what is no known value is taken for recovery later."""
    number, value = SERVERS.answering(now, "cqlsh"), str(given["text"])
    if value in MODES and value not in ("", "recovery", "unknown"):
        raise Refused(f"{value} is written only by the server, never by hand")
    if value == "recovery":
        return query(act.SetRecovery)(now, given)
    if now.node.value != "unknown" and not now.state.mistypes:
        raise Refused("no other value can be written here now: write recovery")
    mark = f"mistyped {number} {len(mistyped(now, number))} {len(now.run) - 1} {value}"
    return replace(query(act.Mistype)(now, given), marks=(mark,))


def query(kind: Any) -> Callable[[drill.DrillMoment, Given], drill.CommandReply]:
    """A query on this node that is one step of the model; none where it changes nothing."""

    def answer(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
        SERVERS.answering(now, "cqlsh")
        action = kind(now.place)
        return drill.CommandReply(actions=(action,) if now.has(action) else ())

    return answer


def leave(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """The row goes that an operator wrote; one that the server wrote stays."""
    SERVERS.answering(now, "cqlsh")
    value = now.node.value
    if value not in ("", "recovery", "unknown"):
        said = f"{STATE} is {value} on {now.place}: the server wrote it"
        raise Refused(f"{said} (the model does not include a start without it)")
    return query(act.Unset)(now, given)


def remove(now: drill.DrillMoment, given: Given) -> drill.CommandReply:
    """``nodetool removenode``; a removal needs every other node that is not ignored.

    Source: published ``storage_service::removenode`` of the servers that had RECOVERY mode.
    """
    here, m, s = SERVERS.answering(now, "nodetool"), now.model, now.state
    named = 0
    for each in (given["host_id"], *given.get("host_ids", ())):
        number = SERVERS.number(now, {"host_id": each})
        if s.nodes[number].standing == "live":
            done = "removed" if each == given["host_id"] else "ignored"
            raise Refused(f"{m.names[number]} is not given up, so it cannot be {done}")
        named |= 1 << number
    removal = act.Remove(m.names[SERVERS.number(now, given)])
    needed = m.named(s.unheard(here, s.dead & ~named))
    if needed and m.refusal(s, removal) is None:
        raise Refused(f"other nodes are dead but not ignored ({', '.join(needed)})")
    return drill.CommandReply(actions=(removal,))


WRITING = (
    f"UPDATE system.scylla_local SET value = {{text}} WHERE key = '{STATE}'",
    f"INSERT INTO system.scylla_local (key, value) VALUES ('{STATE}', {{text}})",
    f"INSERT INTO system.scylla_local (value, key) VALUES ({{text}}, '{STATE}')",
)
LOOK = "RECOVERY mode"
FORMS = SERVERS.completed(
    *SERVERS.understood("on", "ssh", "nodetool", "firewall"),
    SERVERS.reading("SELECT * FROM {table}", "read a system table of this node", columns=("*",)),
    *SERVERS.understood("SELECT"),
    Form(f"UPDATE system.scylla_local SET value = 'recovery' WHERE key = '{STATE}'",
         "enter RECOVERY mode at the next start",
         lambda now, given: update(now, {"text": "recovery"})),
    *(Form(text, "write another value", update, offered=False) for text in WRITING),
    *SERVERS.understood("restart", "systemctl", "stop", "start"),
    Form(f"grep '{LOOK}' {LOG_FILE}", "check whether this node is in RECOVERY mode",
         lambda now, given: SERVERS.grep(now, {"pattern": LOOK})),
    *SERVERS.understood("grep", "journalctl", f"cat {LOG_FILE}"),
    *lost_majority.removing(remove),
    *lost_majority.truncating("discovery", "delete the discovery state",
                              query(act.TruncateDiscovery)),
    *lost_majority.truncating("group0_history", "delete group 0's history",
                              query(act.TruncateHistory)),
    Form(f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'",
         "delete the persisted id of group 0", query(act.DropId)),
    Form(f"DELETE FROM system.scylla_local WHERE key = '{STATE}'", "leave RECOVERY mode",
         leave),
    *SERVERS.understood("happen"),
)  # fmt: skip


# -- the grade, and the checklist that the run ticks -----------------------------------------------


def grade(now: drill.DrillMoment) -> drill.Grade:
    """The run, graded; the same run has the same grade, whatever was typed."""
    answered = union(step.state.answered for step in now.run)
    needed = drill.steps_needed(RecoveryMode(now.model.parameters), act.BY_OPERATOR)
    whole = "all live nodes run in one group 0, and the Raft upgrade is done"
    return drill.Grade(
        (
            drill.judged("cluster whole", list(_unfinished(now.model, now.state)), whole),
            lost_majority.one_group(now),
            lost_majority.nothing_lost(now, act.Die, answered, "entries"),
            drill.operator_steps(now, act.BY_OPERATOR, needed),
            lost_majority.data_unavailable(now),
        )
    )


def _unfinished(m: RecoveryMode, s: ModeState) -> Iterator[str]:
    if s.is_whole:
        return
    if s.dead:
        yield f"dead, but not removed: {', '.join(m.named(s.dead))}"
    live = [(m.names[i], s.nodes[i]) for i in nodes_in(s.live)]
    others = dict.fromkeys(node.mode for _, node in live if node.mode != "group 0")
    for mode in others:
        yield f"{', '.join(name for name, node in live if node.mode == mode)}: {mode}"
    if len({node.group for _, node in live} - {NO_GROUP}) > 1:
        yield "the live nodes run in different groups"
    if not others and not s.can_change_schema:
        yield "group 0 has no majority"


def checklist(now: drill.DrillMoment) -> tuple[drill.CheckedStep, ...]:
    """The documents' steps, ticked by the run."""
    words = {"dead": lost_majority.ever_dead(now)}
    steps = {step.name: (step.what.format(**words), DONE[step.name]) for step in OLD_STEPS}
    over = dict.fromkeys(steps, lambda now: bool(now.state.is_whole))  # a step would begin again
    return drill.procedure(steps, {**over, "isolate": DONE["remove"]})(now)


def _all(holds: Callable[[ModeNode], bool]) -> Callable[[drill.DrillMoment], bool]:
    return lambda now: any(not s.live & ~s.where(holds) for s in (each.state for each in now.run))


def _each(kind: Any, behind: Any = None) -> Callable[[drill.DrillMoment], bool]:
    def done(now: drill.DrillMoment) -> bool:
        names: set[str] = set()
        begun = behind is None
        for step in now.run:
            if behind and isinstance(step.action, behind):
                names, begun = set(), True
            elif begun and isinstance(step.action, kind):
                names.add(step.action.node)
        return names >= {*now.model.named(now.state.live)}

    return done


def _compared(now: drill.DrillMoment) -> bool:
    """Whether the versions were looked at in their place: what was equal before tells nothing."""
    steps = (step for step in now.run if isinstance(step.action, act.Compare))
    return COMPARED in now.marks or any(step.state.in_recovery_mode for step in steps)


DONE: dict[str, Callable[[drill.DrillMoment], bool]] = {
    "isolate": lambda now: now.state.isolated,
    "enter": _each(act.SetRecovery),
    "rolling restart": _all(lambda node: node.mode == "recovery"),
    "check mode": lambda now: any(step.state.logs_read for step in now.run),
    "remove": lambda now: not now.state.dead,
    "truncate": _all(lambda n: n.discovery == n.history == 0 and n.group_id == NO_GROUP),
    "compare": _compared,
    "leave": _each(act.Unset),
    "restart again": _each(act.StartServer, behind=act.Unset),
    "upgrade": lambda now: now.state.is_whole,
}


# -- the drill -------------------------------------------------------------------------------------


def opened(model: RecoveryMode) -> RecoveryMode:
    """The same group, in which nodes may crash and come back, and a value may be mistyped."""
    return RecoveryMode(
        replace(
            model.parameters,
            crashes=max(model.crashes, lost_majority.TIMES),
            deaths=max(model.deaths, len(model.names) - len(model.given_up) - 1),
            returns=max(model.returns, len(model.given_up)),
            changes=max(model.changes, lost_majority.TIMES),
            mistypes=MOST_FAULTS,
        ),
        ANY_ORDER,
    )


DRILL = drill.DrillKind(
    title="Recover a group 0 with RECOVERY mode",
    task="The dead nodes will not come back on their own. Enter RECOVERY mode, remove "
    "them, leave RECOVERY mode, and let the Raft upgrade run to its end. help lists the "
    "commands.",
    forms=FORMS,
    slots=SERVERS.slots(text=Slot("a text in single quotes", quoted=True, is_text=True)),
    opened=opened,
    starts_at=lambda model: model.named(model.start().live)[0],
    own_step=by_servers,
    checklist=checklist,
    grade=grade,
)
