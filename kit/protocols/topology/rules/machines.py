"""Transition tables as data: the states of an operation, what is done in each, where it leads.

A *machine* is what one node state goes through. Its rows are all that there is to know of it:
diagrams, buttons, the coordinator's next decision, coverage and the history of a range follow from
them. Source: Topology over Raft, "State transition diagram for nodes" and the list of transition
states.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, convert

Edition = Literal["documents", "server"]
EDITIONS: tuple[Edition, ...] = ("documents", "server")

BOUNDARY = "*"
"""Where a machine begins and ends."""

EdgeKind = Literal["happy", "rollback", "rejected", "proceed"]
Selector = Literal["old", "both", "new"]
BarrierKind = Literal["", "command", "global"]
OnFailure = Literal["rollback", "rejected", "retry", "proceed", "finish"]
_BARRIERS: dict[str, BarrierKind] = {"barrier": "global", "command_barrier": "command"}


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


class EdgeRow(Struct, frozen=True):
    """One way from a state to another, committed in one command of group 0.

    ``version``: it raises the topology version. ``session``: it *opens* a new session or *closes*
    the open one. ``effects`` are the other changes of the tables (``rules.effects``). ``becomes``
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
    """What one kind of operation goes through: its states in order, and its edges."""

    name: str
    states: tuple[StateRow, ...]
    edges: tuple[EdgeRow, ...]

    def state(self, name: str) -> StateRow:
        """The row of a state.

        Raises:
            KeyError: when the machine has no such state.
        """
        for row in self.states:
            if row.name == name:
                return row
        raise KeyError(f"{self.name} has no state {name}")

    def edge(self, source: str, kind: EdgeKind) -> EdgeRow | None:
        """The edge of a kind out of a state; None where there is none."""
        for row in self.edges:
            if row.source == source and row.kind == kind:
                return row
        return None

    @property
    def begins(self) -> EdgeRow:
        """The edge with which the operation begins."""
        edge = self.edge(BOUNDARY, "happy")
        assert edge is not None, f"{self.name} never begins"
        return edge


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
    row = {"name": name, "reads": reads, "writes": writes}
    return convert({**row, "work": [_work_row(each) for each in work.split()]}, StateRow)


def _work_row(text: str) -> dict[str, str]:
    name, _, on_failure = text.partition(":")
    return {"name": name, "on_failure": on_failure or "retry", "barrier": _BARRIERS.get(name, "")}


def _edge_row(source: str, target: str, label: str, kind: str, changes: str) -> EdgeRow:
    row: dict[str, object] = {"source": source, "target": target, "label": label, "kind": kind}
    effects = []
    for word in changes.split():
        if word == "version":
            row["version"] = True
        elif word in ("opens", "closes"):
            row["session"] = word
        elif word.startswith(("becomes:", "when:")):
            key, _, row[key] = word.partition(":")
        else:
            effects.append(word)
    return convert({**row, "effects": effects}, EdgeRow)
