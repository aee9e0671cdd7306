"""The operations an operator knows, as data, in the operator's own words.

Source: CEP-21, "Mapping Cluster Operations to Metadata Transitions"; the commands are those that
operators already use, so each is also one line of text: ``bootstrap X --tokens 150``.
"""

import shlex
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kit.errors import BadInput, first_of
from kit.ring.columns import np
from kit.ring.topology import Node, Ring

Kind = Literal["bootstrap", "decommission", "move", "replace", "removenode", "assassinate"]
BRINGS: tuple[Kind, ...] = ("bootstrap", "replace")
WRITTEN = {"bootstrap": "join", "decommission": "leave", "removenode": "remove"}
"""What the first traces call the operations that had other words then."""
MOST_NAMED = 4  # tokens in a title


class Operation(Struct, frozen=True, forbid_unknown_fields=True):
    """One operation, as a person writes it and as the log keeps it.

    ``node`` is the one that joins, leaves, moves, takes over or is removed; ``target`` is the
    dead node that ``node`` replaces. ``tokens`` are those a joining or moving node will own.
    """

    kind: Kind
    node: str
    tokens: tuple[int, ...] = ()
    target: str | None = None
    dc: str | None = None
    rack: str | None = None
    force: bool = False

    @property
    def text(self) -> str:
        """The operation as a line that ``kit.protocols.tcm.parameters.parse_operation`` reads."""
        names = [self.target, self.node] if self.target is not None else [self.node]
        words = [self.kind, *(shlex.quote(name) for name in names)]
        if self.tokens:
            words += ["--tokens", ",".join(map(str, self.tokens))]
        for option, value in (("--dc", self.dc), ("--rack", self.rack)):
            if value is not None:
                words += [option, shlex.quote(value)]
        return " ".join([*words, "--force"] if self.force else words)

    @property
    def title(self) -> str:
        """The operation in words."""
        if self.kind == "replace":
            return f"replace {self.target} with {self.node}"
        if not self.tokens:
            return f"{self.kind} {self.node}"
        many = len(self.tokens) > MOST_NAMED
        tokens = f"{len(self.tokens)} tokens" if many else ", ".join(map(str, self.tokens))
        where = "to" if self.kind == "move" else "with" if many else "at"
        return f"{self.kind} {self.node} {where} {tokens}"

    @property
    def dead(self) -> str | None:
        """The node that is gone and can neither stream nor acknowledge; None when all live."""
        if self.kind == "replace":
            return self.target
        return self.node if self.kind in ("removenode", "assassinate") else None

    @property
    def involved(self) -> tuple[str, ...]:
        """The nodes that may take part in no other operation meanwhile."""
        return (self.node,) if self.target is None else (self.node, self.target)


class ResolvedOperation(Struct, frozen=True):
    """An operation whose nodes are codes: what rules plan and judge.

    ``kit.protocols.tcm.parameters`` makes it, once, where a name comes in. ``operation`` is the one
    that was written, ``target`` the code of the dead node that ``node`` replaces.
    """

    operation: Operation
    node: int
    target: int | None = None

    @property
    def dead(self) -> int | None:
        """The node that is gone and can neither stream nor acknowledge; None when all live."""
        if self.operation.dead is None:
            return None
        return self.node if self.target is None else self.target


def validate(ring: Ring, given: ResolvedOperation) -> None:
    """BadInput names what makes no sense on this ring: a node or a token."""
    operation, node = given.operation, ring.nodes[given.node]
    if operation.kind in BRINGS and node.tokens:
        raise BadInput("node", node.name, "a name that is not in the ring yet")
    present = node if given.target is None else ring.nodes[given.target]
    if operation.kind != "bootstrap" and not present.tokens:
        raise no_member(ring, present.name)
    earlier: set[int] = set()
    for at, token in enumerate(operation.tokens):
        ring.space.check(token, f"tokens[{at}]")
        if token in earlier:
            raise BadInput(f"tokens[{at}]", token, "each token once")
        earlier.add(token)
        row = int(np.searchsorted(ring.tokens, token))
        if row < len(ring.tokens) and ring.tokens[row] == token and ring.owners[row] != given.node:
            name = ring.nodes[ring.owners[row]].name
            raise BadInput(
                f"tokens[{at}]", token, f"a token that no node owns; this one belongs to {name}"
            )
    if operation.kind == "move":
        now = node.tokens
        if {*now} == {*operation.tokens}:
            raise BadInput("tokens", operation.tokens, "tokens other than the node's current ones")
        if len(now) != len(operation.tokens):
            raise BadInput(
                "tokens", operation.tokens, f"as many tokens as the node has now ({len(now)})"
            )


def no_member(ring: Ring, name: str) -> BadInput:
    """That a name is no member's, with the members, those first that differ in case only."""
    members = [node.name for node in ring.nodes if node.tokens]
    near = [member for member in members if member.casefold() == name.casefold()]
    names = list(dict.fromkeys([*near, *members]))
    return BadInput("node", name, f"one of {first_of(names, 12)}")


def place(operation: Operation, beside: Node) -> tuple[str, str]:
    """Datacenter and rack of a newcomer: where the operation says, else beside a node."""
    return operation.dc or beside.dc, operation.rack or beside.rack


def placed(ring: Ring, given: ResolvedOperation) -> Ring:
    """The ring with the newcomer of an operation where it belongs, still without tokens.

    Who is a member stays where it is.
    """
    beside = ring.nodes[given.node if given.target is None else given.target]
    return ring.placed(given.node, *place(given.operation, beside))


def ring_after(ring: Ring, given: ResolvedOperation) -> Ring:
    """The ring once the operation is done; its newcomer is in its place already."""
    match given.operation.kind:
        case "bootstrap" | "move":
            return ring.move(given.node, given.operation.tokens)
        case "replace":
            assert given.target is not None
            return ring.replace(given.target, given.node)
        case _:
            return ring.leave(given.node)


class TcmSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard of the model, by its name: on unless switched off."""

    progress_barrier: bool = True
    write_before_read: bool = True
    old_writer_stays: bool = True
    streams_before_switch: bool = True
    known_before_streams: bool = True
    range_locks: bool = True
    validate_committed: bool = True
    replication_check: bool = True
    apply_in_order: bool = True
    operator_cancel: bool = True
    two_event_cancel: bool = True
    pending_in_metadata: bool = True
    split_first: bool = True
    merge_equality: bool = True
    stream_from_displaced: bool = True


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
    """The properties that set one kind of operation apart.

    ``status`` is the node's state while it is under way, ``done`` after it, which ``became`` says.
    ``driver`` says who carries the steps out: the node itself, or any other (``operator``).
    ``waits_for_prepare``: in edition ``server`` the step after prepare waits for prepare's epoch.
    ``streams`` is False, and all parts are one event, for the one operation that copies nothing.
    """

    status: str
    done: str
    became: str
    driver: Literal["node", "operator"] = "node"
    waits_for_prepare: bool = False
    streams: bool = True


OPERATION_SPECS: dict[Kind, OperationSpec] = {
    "bootstrap": OperationSpec("joining", "joined", "{0.node} is a member"),
    "decommission": OperationSpec("leaving", "left", "{0.node} has left", waits_for_prepare=True),
    "move": OperationSpec("moving", "joined", "{0.node} has moved"),
    "replace": OperationSpec("replacing", "joined", "{0.node} is a member in {0.target}'s place"),
    "removenode": OperationSpec(
        "leaving", "left", "{0.node} is removed", "operator", waits_for_prepare=True
    ),
    "assassinate": OperationSpec(
        "leaving", "left", "{0.node} is removed", "operator", streams=False
    ),
}
BEFORE: dict[Kind, str] = {
    kind: "registered" if kind in BRINGS else "joined" for kind in OPERATION_SPECS
}

SENTENCES: dict[str, str] = {
    "split": "split ranges",
    "add-writes": "add write replicas",
    "switch-reads": "switch reads",
    "drop-writes": "drop old write replicas",
    "merge": "merge equal neighbours",
    "prepare": "prepare: take locks, split ranges if needed",
    "start": "start: add write replicas",
    "mid": "mid: switch reads",
    "finish": "finish: drop old write replicas, merge if possible",
    "assassinate": "remove the node at once, without streaming",
    "cancel": "cancel: restore the placements",
    "cancel-reads": "cancel: move reads back to the old replicas",
    "cancel-writes": "cancel: move writes back to the old replicas",
}


Level = Literal["ALL", "EACH_QUORUM", "QUORUM", "LOCAL_QUORUM", "ONE", "NODE_LOCAL"]
LEVELS: dict[Level, str] = {
    "ALL": "all of the old and new replicas",
    "EACH_QUORUM": "a majority of the old and new replicas in each datacenter",
    "QUORUM": "a majority of the old and new replicas, over all datacenters",
    "LOCAL_QUORUM": (
        "a majority of the old and new replicas in the datacenter of the node that drives it: its "
        "own, or for a dead node the first other one"
    ),
    "ONE": "any one of the old and new replicas",
    "NODE_LOCAL": "no other node: the step does not wait",
}
"""Whose answers a progress barrier asks for; each level falls back to the one behind it.

Source: published ``ProgressBarrier``, ``relaxConsistency``."""
OWN_LEVEL: dict[Edition, Level] = {"documents": "QUORUM", "server": "EACH_QUORUM"}
"""The level of each edition's barrier, as long as nothing else is said."""


def weaker(level: Level) -> Level | None:
    """The level that a barrier falls back to without enough answers; None: nothing is weaker."""
    order = tuple(LEVELS)
    return order[order.index(level) + 1] if level != order[-1] else None


class ProtocolSwitches(Struct, frozen=True):
    """How the protocol runs; without ``merge`` equal neighbours stay cut: no replica moves.

    ``level`` is that at which each barrier begins; None: the edition's own.
    """

    edition: Edition = "documents"
    safeguards: TcmSafeguards = TcmSafeguards()
    merge: bool = True
    level: Level | None = None

    @property
    def first_level(self) -> Level:
        """The level at which each barrier begins."""
        return self.level or OWN_LEVEL[self.edition]

    def forces(self, operation: Operation) -> bool:
        """Whether an operation is begun whatever remains: by an option, or as the server always
        assassinates (published ``Assassinate``).
        """
        return operation.force or (operation.kind == "assassinate" and self.edition == "server")


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
    left_out: set[Part] = {"merge"} if not switches.merge else set()
    if not safeguards.split_first:
        left_out.add("split")
    if not safeguards.old_writer_stays:
        left_out.add("drop")

    def parts_of(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        kept = tuple(part for part in parts if part not in left_out)
        return (*kept, "drop") if "drop" in left_out and "switch" in parts else kept

    return tuple((name, parts_of(parts)) for name, parts in table)


def usual_steps(kind: Kind, edition: Edition) -> tuple[str, ...]:
    """The names of the steps that a plain operation of this kind has, for the diagrams."""
    if not OPERATION_SPECS[kind].streams:
        return (kind,)
    names = tuple(name for name, _ in EDITIONS[edition])
    if kind == "move":
        return names
    # Of the documents' steps; each of the server's has something to do.
    empty = {"bootstrap": ("merge",), "replace": ("split", "merge")}.get(kind, ("split",))
    return tuple(name for name in names if name not in empty)


def transitions(kind: Kind, edition: Edition) -> tuple[tuple[str, str, str], ...]:
    """The operation's state diagram as data: (state, event, next state).

    States are named by the last committed step; cancelling leads back to the first state, in one
    event before the read switch and in two after it. There is none once writes were dropped.
    """
    spec, names = OPERATION_SPECS[kind], usual_steps(kind, edition)
    rows = list(zip((BEFORE[kind], *names[:-1]), names, (*names[:-1], spec.done), strict=True))
    if not spec.streams:
        return tuple(rows)
    switched = names.index("mid" if edition == "server" else "switch-reads")
    rows += [(name, "cancel", BEFORE[kind]) for name in names[:switched]]
    rows.append((names[switched], "cancel-reads", "reads back"))
    return (*rows, ("reads back", "cancel-writes", BEFORE[kind]))


def in_words(edition: Edition) -> Iterator[tuple[str, str, str, str]]:
    """The edition's steps: the operation, the step before, the step after, its words."""
    for kind in OPERATION_SPECS:
        for before, event, after in transitions(kind, edition):
            yield kind, before, after, SENTENCES[event]
