"""The operations an operator knows, as data, in the operator's own words.

Source: CEP-21, "Mapping Cluster Operations to Metadata Transitions"; the commands are those that
operators already use, so each is also one line of text: ``bootstrap X --tokens 150``.
"""

from __future__ import annotations

import shlex
from typing import Literal

from msgspec import Struct

from kit.errors import BadInput
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node, Ring

Kind = Literal["bootstrap", "decommission", "move", "replace", "removenode", "assassinate"]
WRITTEN = {"bootstrap": "join", "decommission": "leave", "removenode": "remove"}
"""What the first traces call the operations that had other words then."""
MOST_NAMED = 4  # tokens in a title


class Operation(Struct, frozen=True, forbid_unknown_fields=True):
    """One operation.

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
        """The operation as a line that ``kit.protocols.tcm.words.parse_operation`` reads."""
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
        match self.kind:
            case "bootstrap" | "move":
                if len(self.tokens) > MOST_NAMED:
                    return f"{self.kind} {self.node} at {len(self.tokens)} tokens"
                return f"{self.kind} {self.node} at {', '.join(map(str, self.tokens))}"
            case "replace":
                return f"replace {self.target} by {self.node}"
            case _:
                return f"{self.kind} {self.node}"

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


def validate(ring: Ring, keyspaces: tuple[Keyspace, ...], operation: Operation) -> None:
    """Check that an operation speaks of this ring.

    Raises:
        BadInput: for an unknown node or datacenter, a node that is already a member, a token
            that is owned already or lies outside the space.
    """
    members = [node.name for node in ring.nodes if node.tokens]
    absent = operation.node if operation.kind in ("bootstrap", "replace") else None
    if absent is not None and absent in members:
        raise BadInput("node", absent, "a name that is not in the ring yet")
    present = operation.target if operation.kind == "replace" else operation.node
    if operation.kind != "bootstrap" and present not in members:
        near = [name for name in members if name.casefold() == str(present).casefold()]
        raise BadInput("node", present, "one of " + _names([*near, *members]))
    if operation.dc is not None:
        _known_datacenter(ring, keyspaces, operation.dc)
    owned = dict(zip(ring.tokens.tolist(), ring.owners.tolist(), strict=True))
    earlier: set[int] = set()
    for place, token in enumerate(operation.tokens):
        ring.space.check(token, f"tokens[{place}]")
        owner = ring.nodes[owned[token]].name if token in owned else None
        if token in earlier:
            raise BadInput(f"tokens[{place}]", token, "each token once")
        earlier.add(token)
        if owner is not None and owner != operation.node:
            raise BadInput(f"tokens[{place}]", token, f"a token that nobody owns; {owner} does")
    if operation.kind == "move":
        now = ring.nodes[ring.code(operation.node)].tokens
        if sorted(now) == sorted(operation.tokens):
            raise BadInput("tokens", operation.tokens, "other tokens than the node has now")
        if len(now) != len(operation.tokens):
            raise BadInput("tokens", operation.tokens, f"as many tokens as now ({len(now)})")


def _known_datacenter(ring: Ring, keyspaces: tuple[Keyspace, ...], dc: str) -> None:
    """A datacenter is known when a member is in it, or a keyspace keeps replicas there."""
    known = {node.dc for node in ring.nodes if node.tokens}
    for keyspace in keyspaces:
        if isinstance(keyspace.replication, NetworkTopologyStrategy):
            known |= {name for name, _ in keyspace.replication.factors}
    if dc not in known:
        raise BadInput("dc", dc, "one of " + _names(sorted(known)))


def register(ring: Ring, operation: Operation) -> Ring:
    """The ring in which the newcomer of an operation is known, still without tokens.

    Unless the operation says where, a replacement is put where the replaced node is; a joining
    node where it was before, or beside the ring's first one.
    """
    if operation.kind not in ("bootstrap", "replace"):
        return ring
    by_name = {node.name: node for node in ring.nodes}
    known = by_name.get(operation.node)
    beside = by_name.get(operation.target or operation.node, ring.nodes[0])
    place = operation.dc or beside.dc, operation.rack or beside.rack
    if known is None:
        return ring.join(Node(operation.node, (), *place))
    if (known.dc, known.rack) == place:
        return ring
    nodes = (Node(known.name, known.tokens, *place) if n is known else n for n in ring.nodes)
    return Ring(tuple(nodes), ring.space, ring.tokens, ring.owners)


def ring_after(ring: Ring, operation: Operation) -> Ring:
    """The ring once the operation is done; its newcomer is registered already."""
    match operation.kind:
        case "bootstrap" | "move":
            return ring.move(operation.node, operation.tokens)
        case "replace":
            assert operation.target is not None
            newcomer = ring.nodes[ring.code(operation.node)]
            return ring.replace(operation.target, newcomer)
        case _:
            return ring.leave(operation.node)


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown
