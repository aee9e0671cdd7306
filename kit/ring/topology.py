"""Who owns which token: nodes and the ring as immutable columns.

A node's *code* is its index in ``Ring.nodes``; every change keeps the codes of earlier nodes, so
that placements of the rings before and after a change can be compared code by code. A node without
tokens is registered but not in the ring.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, chain, pairwise
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from kit.errors import BadInput
from kit.ring.columns import NDArray, check_size, np
from kit.ring.replication import Replication
from kit.ring.tokens import MURMUR3, TokenSpace

Tokens = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]


class Node(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """A node: name, tokens it owns, datacenter and rack."""

    name: str
    tokens: tuple[int, ...]
    dc: str = "dc1"
    rack: str = "r1"


class Geography(Struct, frozen=True):
    """The places of the nodes, as columns by node code, and which of them own tokens.

    ``dc_of``, ``rack_of`` int32 numbers from the dictionaries (a rack is a name within a
    datacenter); ``in_ring`` bool.
    """

    dcs: dict[str, int]
    racks: dict[tuple[str, str], int]
    dc_of: Codes
    rack_of: Codes
    in_ring: Mask


class Packed(Struct, frozen=True):
    """A ring as a few flat columns, node by node: how large rings are made.

    ``names`` and ``places``, (datacenter, rack), are by node code. Each node owns ``counts`` int32
    (nodes,) of ``tokens`` int64 (m,), which stand node by node, in the nodes' own order.
    """

    space: TokenSpace
    names: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    counts: Codes
    tokens: Tokens

    def nodes(self) -> tuple[Node, ...]:
        """The nodes, with tokens as Python integers."""
        ends = list(accumulate(self.counts.tolist(), initial=0))
        line = self.tokens.tolist()
        owned = (tuple(line[begin:end]) for begin, end in pairwise(ends))
        nodes = zip(self.names, owned, self.places, strict=True)
        return tuple(Node(name, tokens, *place) for name, tokens, place in nodes)


def _pack(nodes: tuple[Node, ...], space: TokenSpace) -> Packed:
    counts = np.array([len(node.tokens) for node in nodes], np.int32)
    tokens = np.fromiter(chain.from_iterable(n.tokens for n in nodes), np.int64, int(counts.sum()))
    names, places = tuple(n.name for n in nodes), tuple((n.dc, n.rack) for n in nodes)
    return Packed(space, names, places, counts, tokens)


def _geography(places: Iterable[tuple[str, str]], in_ring: Mask) -> Geography:
    dcs: dict[str, int] = {}
    racks: dict[tuple[str, str], int] = {}
    every = ((dcs.setdefault(place[0], len(dcs)), place) for place in places)
    codes = [(dc, racks.setdefault(place, len(racks))) for dc, place in every]
    dc_of, rack_of = np.ascontiguousarray(np.array(codes, np.int32).reshape(-1, 2).T)
    return Geography(dcs, racks, dc_of, rack_of, in_ring)


def _with_node(known: Geography, code: int, node: Node) -> Geography:
    dcs, racks = {**known.dcs}, {**known.racks}
    dc = dcs.setdefault(node.dc, len(dcs))
    rack = racks.setdefault((node.dc, node.rack), len(racks))
    dc_of, rack_of = known.dc_of, known.rack_of
    in_ring = np.append(known.in_ring[:code], bool(node.tokens))
    if code == len(known.in_ring):
        dc_of, rack_of = np.append(dc_of, np.int32(dc)), np.append(rack_of, np.int32(rack))
    return Geography(dcs, racks, dc_of, rack_of, np.append(in_ring, known.in_ring[code + 1 :]))


def frozen_array(array: NDArray[np.generic]) -> None:
    """Make an array read-only, so that values which share it cannot change."""
    array.flags.writeable = False


class Ring:
    """Sorted token and owner columns; an immutable value, equal by content.

    ``tokens`` int64 (m,) ascending and ``owners`` int32 (m,) node codes; ``rights`` int64 (n,) are
    the right bounds of the stable rows: every token but MIN, and the end of the line. The row
    ``(last token, end]`` belongs to the walk that begins at the first token.
    """

    def __init__(
        self, nodes: tuple[Node, ...], space: TokenSpace, tokens: Tokens, owners: Codes
    ) -> None:
        """Trusts its caller; use ``Ring.of``."""
        self._set(space, tokens, owners)
        self.__dict__["nodes"] = nodes

    def _set(self, space: TokenSpace, tokens: Tokens, owners: Codes) -> None:
        check_size("a ring of {} ranges", len(tokens))
        frozen_array(tokens)
        frozen_array(owners)
        self.space, self.tokens, self.owners = space, tokens, owners

    @classmethod
    def of(cls, nodes: Iterable[Node], space: TokenSpace = MURMUR3) -> Ring:
        """Validate and build: unique names, tokens of the space, each token owned once."""
        given = tuple(nodes)
        known = _BUILT.get(id(given))
        if known is not None and known.space == space:
            return known
        _check_names(given)
        for code, node in enumerate(given):
            _check_tokens(node, space, f"nodes[{code}].tokens")
        ring = cls.unpacked(_pack(given, space))
        ring.__dict__["nodes"] = given
        _BUILT[id(given)] = ring
        return ring

    @classmethod
    def unpacked(cls, packed: Packed, order: NDArray[np.uint32] | None = None) -> Ring:
        """The ring of flat columns, each token owned once; its nodes are made when asked for.

        ``order`` is where each token, ascending, stands: to sort them takes longest.
        """
        owners = np.repeat(np.arange(len(packed.names), dtype=np.int32), packed.counts)
        if order is None:
            order = np.argsort(packed.tokens, kind="stable").astype(np.uint32)
        tokens, owners = packed.tokens[order], owners[order]
        same = np.flatnonzero(tokens[1:] == tokens[:-1])
        if len(same):
            first, second = (packed.names[owners[same[0] + i]] for i in (0, 1))
            _refuse_shared_token(int(tokens[same[0]]), first, second)
        ring = cls.__new__(cls)
        ring._set(packed.space, tokens, owners)
        ring.__dict__.update(packed=packed, order=order)
        return ring

    @cached_property
    def packed(self) -> Packed:
        """The ring as flat columns."""
        return _pack(self.nodes, self.space)

    @cached_property
    def order(self) -> NDArray[np.uint32]:
        """The place of each token, ascending, among those of ``packed``."""
        return np.argsort(self.packed.tokens, kind="stable").astype(np.uint32)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes by code."""
        return self.packed.nodes()

    def __reduce__(self) -> tuple[object, tuple[Packed, NDArray[np.uint32]]]:
        return Ring.unpacked, (self.packed, self.order)

    @cached_property
    def rights(self) -> Tokens:
        """Right bounds of the stable rows, ascending, the last one is the end of the line."""
        owns_min = len(self.tokens) and self.tokens[0] == self.space.low
        tokens = self.tokens[1:] if owns_min else self.tokens
        if not len(tokens) or tokens[-1] != self.space.high:
            tokens = np.append(tokens, np.int64(self.space.high))
            frozen_array(tokens)
        return tokens

    def row_lefts(self, rows: NDArray[np.intp] | None = None) -> Tokens:
        """Left bounds of the stable rows, or of those with these indices."""
        if rows is None:
            return np.append(np.int64(self.space.low), self.rights[:-1])
        return np.where(rows > 0, self.rights[rows - 1], np.int64(self.space.low))

    def row_starts(self, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
        """Index of the token at which the walk of each stable row begins: ``starts(rights)``."""
        size = len(self.tokens)
        first = 1 if size and self.tokens[0] == self.space.low else 0
        starts = first + (np.arange(len(self.rights)) if rows is None else rows)
        starts[starts == size] = 0
        return starts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Node names by code."""
        if "nodes" not in self.__dict__:
            return self.packed.names
        return tuple(node.name for node in self.nodes)

    @cached_property
    def geography(self) -> Geography:
        """Datacenters, racks and membership of the nodes as columns."""
        if "nodes" not in self.__dict__:
            return _geography(self.packed.places, self.packed.counts > 0)
        in_ring = np.array([bool(node.tokens) for node in self.nodes], np.bool_)
        return _geography(((node.dc, node.rack) for node in self.nodes), in_ring)

    @cached_property
    def walked(self) -> dict[Replication, Codes]:
        """What ``kit.ring.natural`` found on this ring, by replication: it is asked for often."""
        return {}

    @cached_property
    def digest(self) -> bytes:
        """Content digest of space and nodes, 16 bytes, the same in every process."""
        encoded = msgspec.msgpack.encode((self.space, self.nodes))
        return hashlib.blake2b(encoded, digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ring):
            return NotImplemented
        return self is other or (self.space == other.space and self.nodes == other.nodes)

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "little")

    def __repr__(self) -> str:
        return f"Ring({len(self.nodes)} nodes, {len(self.tokens)} tokens, {self.space.name})"

    def code(self, name: str) -> int:
        """The code of the node called ``name``; ``BadInput`` when there is none."""
        for code, node in enumerate(self.nodes):
            if node.name == name:
                return code
        raise BadInput("node", name, "one of " + ", ".join(self.names[:20]))

    def placed(self, code: int, dc: str, rack: str) -> Ring:
        """The ring in which that node is in this datacenter and rack."""
        old = self.nodes[code]
        if (old.dc, old.rack) == (dc, rack):
            return self
        nodes = _with_code(self.nodes, code, Node(old.name, old.tokens, dc, rack))
        return Ring(nodes, self.space, self.tokens, self.owners)

    def starts(self, at: Tokens) -> NDArray[np.intp]:
        """Index of the token that owns each of ``at``: the first one not below it, or the first."""
        owners = np.searchsorted(self.tokens, at)
        owners[owners == len(self.tokens)] = 0
        return owners

    def join(self, node: Node) -> Ring:
        """The ring with one more node, whose code is the next one."""
        _check_names((*self.nodes, node))
        return self._changed((*self.nodes, node), len(self.nodes), node.tokens)

    def leave(self, code: int) -> Ring:
        """The ring in which that node owns no token; it stays registered, with its code."""
        return self.move(code, ())

    def move(self, code: int, tokens: Iterable[int]) -> Ring:
        """The ring in which that node owns ``tokens`` instead of those it owned."""
        old = self.nodes[code]
        node = Node(old.name, tuple(tokens), old.dc, old.rack)
        return self._changed(_with_code(self.nodes, code, node), code, node.tokens)

    def replace(self, old: int, new: int) -> Ring:
        """The ring in which ``new``, which owned none (BadInput), owns the tokens of ``old``."""
        if self.nodes[new].tokens:
            allowed = "the name of a node that owns no token yet"
            raise BadInput("node", self.nodes[new].name, allowed)
        return self.leave(old).move(new, self.nodes[old].tokens)

    def _changed(self, nodes: tuple[Node, ...], code: int, tokens: tuple[int, ...]) -> Ring:
        _check_tokens(nodes[code], self.space, f"tokens of {nodes[code].name}")
        rest, owners = self.tokens, self.owners
        if code < len(self.nodes) and self.nodes[code].tokens:
            stay = owners != code
            rest, owners = rest[stay], owners[stay]
        added = np.sort(np.array(tokens, dtype=np.int64))
        places = np.searchsorted(rest, added)
        for place, token in zip(places.tolist(), added.tolist(), strict=True):
            if place < len(rest) and rest[place] == token:
                _refuse_shared_token(token, nodes[owners[place]].name, nodes[code].name)
        for first, second in pairwise(added.tolist()):
            if first == second:
                _refuse_shared_token(first, nodes[code].name, nodes[code].name)
        merged = np.insert(rest, places, added)
        ring = Ring(nodes, self.space, merged, np.insert(owners, places, np.int32(code)))
        ring.__dict__["geography"] = _with_node(self.geography, code, nodes[code])
        return ring


def _with_code(nodes: tuple[Node, ...], code: int, node: Node) -> tuple[Node, ...]:
    return (*nodes[:code], node, *nodes[code + 1 :])


_BUILT: WeakValueDictionary[int, Ring] = WeakValueDictionary()
"""Rings by the identity of their nodes, which no others have while they are there."""


def _check_names(nodes: tuple[Node, ...]) -> None:
    seen: set[str] = set()
    for code, node in enumerate(nodes):
        if not node.name:
            raise BadInput(f"nodes[{code}].name", node.name, "a non-empty text")
        if node.name in seen:
            raise BadInput(f"nodes[{code}].name", node.name, "a name that no other node has")
        seen.add(node.name)


def _check_tokens(node: Node, space: TokenSpace, field: str) -> None:
    own = node.tokens
    if set(map(type, own)) != {int} or not space.low <= min(own) <= max(own) <= space.high:
        for place, token in enumerate(own):
            space.check(token, f"{field}[{place}]")


def _refuse_shared_token(token: int, first: str, second: str) -> None:
    both = f"{first} and {second} both own this one"
    raise BadInput("tokens", token, f"tokens with one owner each, but {both}")
