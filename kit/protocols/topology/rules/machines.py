"""Transition tables as data: the states of an operation, what is done in each, where it leads.

A *machine* is what one node state goes through. Its rows are all that there is to know of it:
diagrams, buttons, the coordinator's next decision, coverage and the history of a range follow from
them. Source: Topology over Raft, "State transition diagram for nodes" and the list of transition
states.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from msgspec import Struct, convert

NODE_STATE_OF = {
    "replace": "replacing",
    "join": "bootstrapping",
    "remove": "removing",
    "leave": "decommissioning",
    "rebuild": "rebuilding",
}
"""The state that a node has while its request is carried out."""
NODE_REQUESTS = tuple(NODE_STATE_OF)
"""The requests of nodes in the order in which edition ``server`` prefers them."""
IN_TRANSITION = tuple(NODE_STATE_OF.values())
NODE_STATES = ("none", *IN_TRANSITION, "normal", "left")
CLEANUP_STATUSES = ("clean", "needed", "running")

Edition = Literal["documents", "server"]
EDITIONS: tuple[Edition, ...] = ("documents", "server")
Tables = Literal["documents", "server", "server-2025"]
"""Whose tables: those of the documents, of the server, of its releases before 2026.1."""
TABLES: tuple[Tables, ...] = ("documents", "server", "server-2025")
OLD_STATE = "tablet_draining"
"""The state that only servers before 2026.1 have: it tells whose tables a dump or journal needs."""
_OWN = {"documents": "D", "server": "SN", "server-2025": "SO"}


class Known(Struct, frozen=True):
    """A transition state, or a request of the whole cluster: whether this family plays it.

    ``edition`` is ``server`` where only the published code has it. ``about`` explains it.
    """

    name: str
    played: bool = True
    edition: Edition = "documents"
    about: str = ""

    @property
    def stored(self) -> str:
        """How the server's table spells a transition state: with spaces."""
        return self.name.replace("_", " ")

    def spelled(self, edition: Edition) -> str:
        """How an edition's table spells it: that of the documents as they name it."""
        return self.stored if edition == "server" else self.name


TRANSITION_STATES = (
    Known("join_group0"),
    Known("commit_cdc_generation"),
    Known("tablet_draining"),
    Known("write_both_read_old"),
    Known("write_both_read_new"),
    Known("tablet_migration"),
    Known(
        "tablet_resize_finalization",
        about="No tablet is in transition. After the barrier, the coordinator commits the new map "
        "of each table that is ready to be split or merged.",
    ),
    Known("left_token_ring"),
    Known("rollback_to_normal"),
    Known("truncate_table", edition="server"),
    Known("snapshot_tables", played=False, edition="server"),
    Known("lock"),
)
TRANSITION_STATE = {each.name: each for each in TRANSITION_STATES}
OLDER_NAMES = {"tablet_split_finalization": "tablet_resize_finalization"}
"""Names that older releases of the server stored, which the published code still reads."""

_PLAYED = ("new_cdc_generation", "cleanup", "keyspace_rf_change", "truncate_table")
_UNPLAYED = ("noop_request", "snapshot_tables", "finalize_migration", "quiesce", "restore_tablets")
GLOBAL_REQUESTS = (*map(Known, _PLAYED), *(Known(name, False, "server") for name in _UNPLAYED))
GLOBAL_REQUEST = {each.name: each for each in GLOBAL_REQUESTS}


def transition_state(text: str) -> Known | None:
    """The transition state that a text names, spelled either way; None for no known one."""
    name = text.strip().replace(" ", "_")
    return TRANSITION_STATE.get(OLDER_NAMES.get(name, name))


BOUNDARY = "*"
"""Where a machine begins and ends."""
REQUEST = {"error": "the request fails", "done": "the request is done"}
START, END, NULL = "(start)", "(end)", "null"
"""What words call the boundary, and the transition state that is null."""

EdgeKind = Literal["happy", "rollback", "rejected", "proceed"]
Selector = Literal["old", "both", "new"]
BarrierKind = Literal["", "command", "global"]
OnFailure = Literal["rollback", "rejected", "retry", "proceed", "finish"]
_BARRIERS: dict[str, BarrierKind] = {"barrier": "global", "command_barrier": "command"}


def machine_of_request(kind: str, *, zero_token: bool) -> str:
    """The machine that carries a request out; nodes that will own no tokens have another one."""
    name = NODE_STATE_OF.get(kind, kind)
    return f"{name}_zero_token" if zero_token and kind in ("join", "replace") else name


class WorkRow(Struct, frozen=True):
    """One thing that the coordinator does in a state, and where its failure leads.

    ``barrier``: *command*, a read barrier on each node; *global*, the global token metadata barrier
    with its drain. ``on_failure``: the edge of that kind; *retry* for ever; *proceed* as if it had
    not failed; *finish* the operation with an error, by the happy edge.
    """

    name: str
    on_failure: OnFailure
    barrier: BarrierKind = ""


class StateRow(Struct, frozen=True):
    """One state of a machine: its work in order, and which replicas requests use meanwhile.

    ``reads`` and ``writes`` are the selectors of vnode tables: replicas by the ring without the
    operation (*old*), by the changed one (*new*), or *both*.
    """

    name: str
    work: tuple[WorkRow, ...]
    reads: Selector = "old"
    writes: Selector = "old"


USED: dict[tuple[Selector, Selector], str] = {
    ("old", "old"): "Reads and writes go to the old replicas.",
    ("old", "both"): "Writes now go to old and new replicas; reads still ask the old ones.",
    ("new", "both"): "Reads now ask the new replicas; writes still go to old and new ones.",
    ("new", "new"): "Reads and writes go only to the new replicas.",
}


def reason_for(before: StateRow | None, after: StateRow | None) -> str:
    """The purpose of a state: whom requests ask from now on, else its first work."""
    if before == after:
        return ""
    if after is None:
        return "This change is over, so the next one can begin."
    use = after.reads, after.writes
    if use != (("old", "old") if before is None else (before.reads, before.writes)):
        return USED.get(use, "")
    work = after.work[0] if after.work else None
    if work is None:
        return ""
    if work.name == "stream" and after.writes == "both":
        return "New writes reach the new replicas, so it is time to copy the older data."
    if work.name == "cleanup_leaving":
        return "The old replica is no longer asked, so its data can be deleted."
    if work.barrier:
        return "The next state can begin once every node has reached this one."
    return ""


class EdgeRow(Struct, frozen=True):
    """One way from a state to another, committed in one command of group 0.

    ``version``: it raises the topology version. ``session``: it *opens* a new session or *closes*
    the open one. ``effects`` are the other changes of the tables (``rules.work``). ``becomes``
    is the node's state afterwards, where the edge begins or ends the operation. ``when`` names what
    must be true for it, where a failure leads to more than one state (kind *proceed*: onwards, as
    if nothing had failed).
    """

    source: str
    target: str
    label: str = ""
    kind: EdgeKind = "happy"
    version: bool = False
    session: Literal["", "opens", "closes"] = ""
    effects: tuple[str, ...] = ()
    becomes: str = ""
    when: str = ""


class Machine(Struct, frozen=True):
    """The machine of one kind of operation: its states in order, and its edges."""

    name: str
    states: tuple[StateRow, ...]
    edges: tuple[EdgeRow, ...]

    def state(self, name: str) -> StateRow:
        """The row of a state. Raises KeyError when the machine has no such state."""
        for row in self.states:
            if row.name == name:
                return row
        raise KeyError(f"{self.name} has no state {name}")

    def edge(self, source: str, kind: EdgeKind) -> EdgeRow | None:
        """The first edge of a kind out of a state; None where there is none."""
        of = (row for row in self.edges if row.source == source and row.kind == kind)
        return next(of, None)

    @property
    def begins(self) -> EdgeRow:
        """The edge with which the operation begins."""
        edge = self.edge(BOUNDARY, "happy")
        assert edge is not None, f"{self.name} never begins"
        return edge


def machine_in_words(table: Machine) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a table about each state, followed by each edge out of it.

    A row has the table's name, the state, where an edge leads (a state: empty) and the words.
    """
    states = {each.name: each for each in table.states}
    for name in dict.fromkeys([BOUNDARY, *states, *(edge.source for edge in table.edges)]):
        source = START if name == BOUNDARY else name or NULL
        if (state := states.get(name)) is not None:
            uses = f"reads {state.reads}, writes {state.writes}"
            work = [f"{each.name} (fails: {each.on_failure})" for each in state.work]
            yield table.name, source, "", "; ".join([uses, *work])
        for edge in table.edges:
            if edge.source == name:
                kind = "" if edge.kind == "happy" else f" ({edge.kind})"
                target = END if edge.target == BOUNDARY else edge.target or NULL
                yield table.name, source, f"{target}{kind}", _changes(edge)


def _changes(edge: EdgeRow) -> str:
    session = f"{edge.session} session" if edge.session else ""
    effects = (REQUEST.get(each, each.replace("_", " ")) for each in edge.effects)
    becomes, when = f"node becomes {edge.becomes}", f"only when {edge.when.replace('_', ' ')}"
    said = (edge.label, when * bool(edge.when), "version + 1" * edge.version, session)
    return "; ".join(filter(None, (*said, *effects, becomes * bool(edge.becomes)))) or "–"


def tables_with(states: Iterable[str | None], edition: Edition) -> Tables:
    """Whose tables have these states, of an edition: a server's before 2026.1 where they tell."""
    return "server-2025" if edition == "server" and OLD_STATE in states else edition


def own_rows(whose: Tables, rows: Iterable[str]) -> list[str]:
    """The rows of these tables; one that not all have begins with letters of those that do.

    ``D``: the documents; ``S``: the server; ``N``, ``O``: the server from 2026.1 on, or before.
    """
    parted = (row.partition(" ") for row in rows)
    return [rest for mark, _, rest in parted if not mark or {*mark} & {*_OWN[whose]}]


def of_tables(whose: Tables, tables: str) -> Iterator[Machine]:
    """The machines of one of the ``TABLES``, in the order of the tables.

    An empty line stands between two tables, ``#`` begins a remark. Below a machine's name stand its
    states, with three bars each, and its edges, with four.
    """
    for block in tables.strip().split("\n\n"):
        name, *rows = (line for line in block.splitlines() if not line.startswith("#"))
        own = own_rows(whose, rows)
        states, edges = ("\n".join(row for row in own if row.count("|") == n) for n in (3, 4))
        yield machine(name, states, edges)


@cache  # what editions share is one machine
def machine(name: str, states: str, edges: str) -> Machine:
    """A machine from its two tables as text, a row per line, columns between bars.

    Columns of a state: name, reads, writes, work. Work is a list of ``name:on_failure`` (without
    one: *retry*); ``barrier`` is the global barrier, ``command_barrier`` the other one.

    Columns of an edge: source, target, label, kind, changes. Changes are the words ``version``,
    ``opens``, ``closes``, ``becomes:state``, ``when:condition`` and effects.
    """
    return Machine(
        name,
        tuple(_state_row(*_cells(line)) for line in states.strip().splitlines()),
        tuple(_edge_row(*_cells(line)) for line in edges.strip().splitlines()),
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _state_row(name: str, reads: str, writes: str, work: str) -> StateRow:
    pieces = (each.partition(":") for each in work.split())
    rows = [
        {"name": each, "on_failure": on_failure or "retry", "barrier": _BARRIERS.get(each, "")}
        for each, _, on_failure in pieces
    ]
    return convert({"name": name, "reads": reads, "writes": writes, "work": rows}, StateRow)


def _edge_row(source: str, target: str, label: str, kind: str, changes: str) -> EdgeRow:
    words = changes.split()
    said = dict(word.split(":") for word in words if ":" in word)
    session = next((word for word in words if word in ("opens", "closes")), "")
    effects = [w for w in words if ":" not in w and w not in ("version", "opens", "closes")]
    row = {"source": source, "target": target, "label": label, "kind": kind, "session": session}
    return convert({**row, **said, "version": "version" in words, "effects": effects}, EdgeRow)
