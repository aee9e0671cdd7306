"""The steps of every operation, as one table.

A plan has five parts, each a delta of the placements: *split* cuts ranges at new tokens, *add*
gives write replicas, *switch* changes the read replicas, *drop* takes write replicas away, *merge*
joins ranges at given-up tokens. An *edition* says which parts share an epoch: in ``documents`` each
has its own, in ``server`` the split belongs to prepare and the merge to finish.

Source: CEP-21, "Bootstrap" and "Decommission"; the second edition is that of the published code.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.rules.safeguards import TcmSafeguards

Part = Literal["split", "add", "switch", "drop", "merge"]
Edition = Literal["documents", "server"]
PARTS: tuple[Part, ...] = ("split", "add", "switch", "drop", "merge")
EDITIONS: dict[Edition, tuple[tuple[str, tuple[Part, ...]], ...]] = {
    "documents": (
        ("split", ("split",)),
        ("add-writes", ("add",)),
        ("switch-reads", ("switch",)),
        ("drop-writes", ("drop",)),
        ("merge", ("merge",)),
    ),
    "server": (
        ("prepare", ("split",)),
        ("start", ("add",)),
        ("mid", ("switch",)),
        ("finish", ("drop", "merge")),
    ),
}


class OperationSpec(Struct, frozen=True):
    """What sets one kind of operation apart.

    ``status`` is the node's state while it is under way, ``done`` afterwards. ``driver`` says who
    carries the steps out: the node itself, or any other (``operator``). ``waits_for_prepare``:
    in edition ``server`` the step after prepare waits for prepare's epoch. ``streams`` is
    False, and all parts are one event, for the one operation that copies nothing.
    """

    status: str
    done: str
    driver: Literal["node", "operator"]
    waits_for_prepare: bool = False
    streams: bool = True


OPERATION_SPECS: dict[Kind, OperationSpec] = {
    "bootstrap": OperationSpec("joining", "joined", "node"),
    "decommission": OperationSpec("leaving", "left", "node", waits_for_prepare=True),
    "move": OperationSpec("moving", "joined", "node"),
    "replace": OperationSpec("replacing", "joined", "node"),
    "removenode": OperationSpec("leaving", "left", "operator", waits_for_prepare=True),
    "assassinate": OperationSpec("leaving", "left", "operator", streams=False),
}
BEFORE: dict[Kind, str] = {
    kind: "registered" if kind in ("bootstrap", "replace") else "joined" for kind in OPERATION_SPECS
}

SENTENCES: dict[str, str] = {
    "split": "split ranges",
    "add-writes": "add write replicas",
    "switch-reads": "switch reads",
    "drop-writes": "drop old write replicas",
    "merge": "merge equal neighbours",
    "prepare": "prepare: take locks, split ranges",
    "start": "start: add write replicas",
    "mid": "mid: switch reads",
    "finish": "finish: drop old write replicas, merge",
    "assassinate": "take the node out at once, without streaming",
    "cancel": "cancel: restore the placements",
    "cancel-reads": "cancel: reads back to the old replicas",
    "cancel-writes": "cancel: writes back to the old replicas",
}


class ProtocolSwitches(Struct, frozen=True):
    """How the protocol runs: its edition, and which safeguards are on.

    ``merge`` False leaves the merge of equal neighbours out, which changes no token's replicas.
    """

    edition: Edition = "documents"
    safeguards: TcmSafeguards = TcmSafeguards()
    merge: bool = True


ALL_ON = ProtocolSwitches()


def step_table(kind: Kind, switches: ProtocolSwitches) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """The steps of an operation: a name and the parts it commits, in order.

    Safeguards change the table itself: without *split-first* nothing is cut, without
    *write-before-read* the read switch comes before the new writers, without *old-writer-stays*
    the old replica stops writing in the epoch of the read switch.
    """
    if not OPERATION_SPECS[kind].streams:
        return ((kind, PARTS),)
    table, safeguards = EDITIONS[switches.edition], switches.safeguards
    if not safeguards.write_before_read:
        first, second, third, *rest = table
        table = (first, third, second, *rest)
    parts_of = dict(table)
    if not safeguards.split_first:
        parts_of = {name: tuple(p for p in parts if p != "split") for name, parts in table}
    if not safeguards.old_writer_stays:
        parts_of = {name: _drop_with_switch(parts) for name, parts in parts_of.items()}
    if not switches.merge:
        parts_of = {n: tuple(p for p in parts if p != "merge") for n, parts in parts_of.items()}
    return tuple(parts_of.items())


def _drop_with_switch(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    if "switch" in parts:
        return (*parts, "drop")
    return tuple(part for part in parts if part != "drop")


def usual_steps(kind: Kind, edition: Edition) -> tuple[str, ...]:
    """The names of the steps that a plain operation of this kind has, for the diagrams."""
    if not OPERATION_SPECS[kind].streams:
        return (kind,)
    names = tuple(name for name, _ in EDITIONS[edition])
    if edition == "server" or kind == "move":
        return names
    empty = {"bootstrap": ("merge",), "replace": ("split", "merge")}.get(kind, ("split",))
    return tuple(name for name in names if name not in empty)


def transitions(kind: Kind, edition: Edition) -> tuple[tuple[str, str, str], ...]:
    """The operation's state diagram as data: (state, event, next state).

    States are named by the last committed step; cancelling leads back to the first state, in one
    event before the read switch and in two after it. There is none once writes were dropped.
    """
    spec, names = OPERATION_SPECS[kind], usual_steps(kind, edition)
    states = (BEFORE[kind], *names[:-1], spec.done)
    rows = [(states[i], name, states[i + 1]) for i, name in enumerate(names)]
    if not spec.streams:
        return tuple(rows)
    switched = names.index("mid" if edition == "server" else "switch-reads")
    rows += [(name, "cancel", BEFORE[kind]) for name in names[:switched]]
    back = ("reads back", "cancel-writes", BEFORE[kind])
    rows += [(names[switched], "cancel-reads", "reads back"), back]
    return tuple(rows)
