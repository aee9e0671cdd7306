"""What a tcm model is built from: a ring, its keyspaces, the operations at hand, the switches."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from kit.edge.arguments import text
from kit.errors import BadInput, about, counted, nearest
from kit.model.parameters import BUDGET, check_limits
from kit.protocols.tcm.rules import operations as ops
from kit.ring.ranges import Range
from kit.ring.replication import (
    LARGEST_FACTOR,
    EverywhereStrategy,
    Keyspace,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.sizes import Stored
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring

KINDS: tuple[ops.Kind, ...] = get_args(ops.Kind)
LONGEST_LINE = 100_000  # characters of an operation
TAKES_TOKENS = ("bootstrap", "move")
ALSO = {former: kind for kind, former in ops.WRITTEN.items()}
"""Shorter words for the same operations; they are read, and never shown."""
FORM = (
    "bootstrap NODE --tokens T,… [--dc DC --rack RACK], decommission NODE, "
    "move NODE --tokens T,…, replace OLD NEW [--dc DC --rack RACK], removenode NODE "
    "or assassinate NODE, each with --force"
)


OPTIONS = {"--tokens": "once", "--dc": "once", "--rack": "once", "--force": "flag once"}
"""The options of an operation: each stands once, with a value or as a flag."""


def read_words(argv: Iterable[str], options: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
    """Plain words, and options by name, in any order; BadInput names what is unknown or wrong.

    An option stands ``once`` or ``several`` times, each with a value, or is a ``flag``. Whatever
    has one dash is a value or a name: ``--tokens -5,7``.
    """
    words, known, left = list[str](), [*options], [*argv]
    given: dict[str, Any] = {name: [] for name in known if options[name] == "several"}
    while left:
        word = left.pop(0)
        name, equals, rest = word.partition("=")
        kind = options.get(name)
        if not word.startswith("--"):
            words.append(word)
        elif kind is None:
            allowed = f"{', '.join(known[:-1])} or {known[-1]}{nearest(name, known)}"
            raise BadInput("option", name, allowed)
        elif "once" in kind and name in given:
            raise BadInput("option", name, "each option once")
        elif "flag" in kind:
            if equals:
                raise BadInput(name, rest, "no value")
            given[name] = True
        else:
            follows = bool(left) and not left[0].startswith("--")
            value = rest if equals else left.pop(0) if follows else None
            if not value:
                raise BadInput(name, value, "a value")
            given[name] = [*given[name], value] if kind == "several" else value
    return words, given


def parse_operation(text: str) -> ops.Operation:
    """An operation from one line, strictly: BadInput names the word that is wrong."""
    if len(text) > LONGEST_LINE:
        raise BadInput("operation", text, f"a line of at most {LONGEST_LINE} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput("operation", text, f"{FORM} ({error})") from None
    return operation_of(*read_words(words, OPTIONS))


def operation_of(words: list[str], given: Mapping[str, Any]) -> ops.Operation:
    """The operation of plain words and the options beside them; BadInput names a wrong word."""
    first, *nodes = words or [""]
    kind = next((kind for kind in KINDS if kind == ALSO.get(first, first)), None)
    line = " ".join(words)
    if kind is None:
        raise BadInput("operation", line, FORM + nearest(first.casefold(), (*KINDS, *ALSO)))
    wanted = 2 if kind == "replace" else 1
    if len(nodes) != wanted or not all(nodes):
        raise BadInput("operation", line, f"{kind} with {counted(wanted, 'node name')}: {FORM}")
    tokens, dc, rack = map(given.get, ("--tokens", "--dc", "--rack"))
    if (tokens is not None) != (kind in TAKES_TOKENS):
        needed = "needs --tokens" if kind in TAKES_TOKENS else "takes no --tokens"
        raise BadInput("--tokens", tokens, f"{kind} {needed}")
    for option, value in (("--dc", dc), ("--rack", rack)):
        if value is not None and kind not in ops.BRINGS:
            raise BadInput(option, value, "no such option except with bootstrap and replace")
    return ops.Operation(
        kind,
        nodes[-1],
        _tokens(tokens or ""),
        nodes[0] if kind == "replace" else None,
        dc,
        rack,
        "--force" in given,
    )


def _tokens(text: str) -> tuple[int, ...]:
    words = text.split(",") if text else []
    if not all(re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", word, re.ASCII) for word in words):
        raise BadInput("--tokens", text, "whole numbers separated by commas")
    return tuple(map(int, words))


def register(ring: Ring, operations: Iterable[ops.Operation]) -> Ring:
    """The ring that knows the newcomers of operations, without tokens, where they belong."""
    for operation in operations:
        if operation.kind not in ops.BRINGS:
            continue
        codes = {name: code for code, name in enumerate(ring.names)}
        beside = ring.nodes[codes.get(operation.target or operation.node, 0)]
        where = ops.place(operation, beside)
        if operation.node in codes:
            ring = ring.placed(codes[operation.node], *where)
        else:
            ring = ring.join(Node(operation.node, (), *where))
    return ring


def resolve(ring: Ring, operation: ops.Operation) -> ops.ResolvedOperation:
    """The operation by node codes, whose newcomer is registered; BadInput names an unknown node."""
    codes = {name: code for code, name in enumerate(ring.names)}
    for name in operation.involved:
        if name not in codes:
            raise ops.no_member(ring, name)
    target = None if operation.target is None else codes[operation.target]
    return ops.ResolvedOperation(operation, codes[operation.node], target)


def enter(
    ring: Ring, operations: Iterable[ops.Operation]
) -> tuple[Ring, tuple[ops.ResolvedOperation, ...]]:
    """The ring that knows the newcomers of operations, and these by node codes, as ``resolve``."""
    given = tuple(operations)
    ring = register(ring, given)
    return ring, tuple(resolve(ring, operation) for operation in given)


STEP = 100
MOST_NODES = 1000
MOST_TOKENS = 256
MOST_FAULTS = 1000


def _of(title: str | None, description: str, ge: Any = None, le: Any = None, **ring: Any) -> Meta:
    """A parameter's words and limits; ``ring`` says where the form of one's own ring has it."""
    schema = ring or None
    return Meta(title=title, description=description, ge=ge, le=le, extra_json_schema=schema)


_made = partial(_of, ring="generated")


def _end(which: str) -> Meta:
    words = f"the {which} token of your own ring (null: Murmur3's)"
    return _of(None, words, ring="own", hidden=True)


class ClusterParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A ring with its keyspaces, and the operations on it: for every model that has a cluster."""

    nodes: Annotated[
        int, _made("nodes", "how many nodes the generated ring has", 1, MOST_NODES)
    ] = 3
    tokens: Annotated[
        int,
        _made(
            *("tokens per node", "how many tokens each node has, evenly spread (100, 200, …)"),
            *(1, MOST_TOKENS),
        ),
    ] = 1
    rf: Annotated[
        int,
        _of(
            "replication factor",
            "how many replicas keyspace ks has (with strategy network: in each datacenter)",
            1,
            MOST_NODES,
            ring="replicas",
        ),
    ] = 2
    strategy: Annotated[
        Literal["simple", "network", "everywhere"],
        _made("strategy", "the replication strategy of keyspace ks"),
    ] = "simple"
    dcs: Annotated[
        int,
        _made(
            "datacenters", "how many datacenters there are; nodes are assigned to them in turn", 1
        ),
    ] = 1
    racks: Annotated[
        int,
        _made(
            "racks per datacenter",
            "how many racks each datacenter has; nodes are assigned to them in turn",
            *(1, MOST_NODES),
        ),
    ] = 1
    members: Annotated[
        tuple[Node, ...],
        _of(None, "the nodes of your own ring, instead of a generated one", ring="own"),
    ] = ()
    keyspaces: Annotated[
        tuple[Keyspace, ...], _of(None, "your own keyspaces, instead of ks", ring="own")
    ] = ()
    low: Annotated[int | None, _end("lowest")] = None
    high: Annotated[int | None, _end("highest")] = None
    operations: Annotated[
        tuple[str, ...],
        _of(
            None,
            "lines such as `bootstrap X --tokens 150`, also for nodes that other "
            "lines add (default: a bootstrap into the middle of the second range)",
            ring="own",
        ),
    ] = ()
    edition: Annotated[
        ops.Edition, _of("edition", "which events of an operation share an epoch")
    ] = "documents"
    epoch: Annotated[
        int, _of("epoch", "the epoch of the first state", -(2**62), 2**63 - 1, hidden=True)
    ] = 0
    cancels: Annotated[
        int, _of("cancels", "how many operations can be cancelled", 0, MOST_FAULTS, **BUDGET)
    ] = 0


class TcmParameters(ClusterParameters, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A ring with its keyspaces, the operations at hand, and how the protocol is played."""

    menu: Annotated[
        bool, _of("offer every operation", "you can try any operation, not only the given ones")
    ] = False
    crashes: Annotated[
        int, _of("crashes", "how many nodes can crash", 0, MOST_FAULTS, **BUDGET)
    ] = 0
    window: Annotated[
        int,
        _of(
            "entries ahead of a gap",
            "how far ahead of a gap a log entry can arrive (1: never)",
            1,
            64,
        ),
    ] = 1
    peers: Annotated[bool, _of(None, "nodes can ask each other for the log")] = False
    holds: Annotated[
        bool, _of(None, "a test can hold back any commit, and any node's access to the log")
    ] = False
    barrier: Annotated[bool, _of("progress barrier", "without it, no event waits for answers")] = (
        True
    )
    level: Annotated[
        ops.Level | Literal["own"],
        _of(
            "barrier level",
            "whose answers a barrier needs: ALL, EACH_QUORUM (the server's own), QUORUM (the "
            "documents'), LOCAL_QUORUM, ONE or NODE_LOCAL",
        ),
    ] = "own"
    relax: Annotated[
        ops.Level | Literal["never"],
        _of("relaxed down to", "the weakest level that a barrier without answers falls back to"),
    ] = "never"
    merge: Annotated[
        bool, _of("merge equal neighbours", "without it, ranges stay split after an operation")
    ] = True
    focus: Annotated[
        tuple[int, int] | None,
        _of(None, "the part of the line that the worked example shows", ring="own"),
    ] = None
    stored: Annotated[
        Stored | None, _of(None, "how many bytes your own ring holds, as far as known")
    ] = None


class Cluster(Struct, frozen=True):
    """A checked configuration: the stable ring and what may be done to it.

    ``names`` are all nodes that may ever take part, members first. ``resolved`` gives the
    operations, as they were written, by node codes.
    """

    ring: Ring
    keyspaces: tuple[Keyspace, ...]
    operations: tuple[ops.Operation, ...]
    resolved: dict[ops.Operation, ops.ResolvedOperation]
    names: tuple[str, ...]
    focus: Range | None


def cluster(given: TcmParameters) -> Cluster:
    """The configuration of the parameters; BadInput names the one that is out of its limits."""
    _check_limits(given)
    ring = Ring.of(given.members, _space(given)) if given.members else _generated(given)
    keyspaces = given.keyspaces or (Keyspace("ks", _replication(given)),)
    _check_keyspaces(keyspaces)
    operations = tuple(map(parse_operation, given.operations)) or (_newcomer(ring),)
    if given.menu:
        operations = _menu(ring, operations)
    # Nodes that come later are known from the start, so that a node keeps its code for ever.
    ring = register(ring, operations)
    resolved = _resolved(ring, operations)
    focus = Range(*given.focus) if given.focus else None
    return Cluster(ring, keyspaces, operations, resolved, ring.names, focus)


def _resolved(
    ring: Ring, operations: tuple[ops.Operation, ...]
) -> dict[ops.Operation, ops.ResolvedOperation]:
    brought = {operation.node for operation in operations if operation.kind in ops.BRINGS}
    resolved = {}
    for operation in operations:
        try:
            resolved[operation] = resolve(ring, operation)
            node, kind = operation.node, operation.kind
            if {"replace": operation.target, "bootstrap": None}.get(kind, node) in brought:
                for at, token in enumerate(operation.tokens):
                    ring.space.check(token, f"tokens[{at}]")
            else:
                ops.validate(ring, resolved[operation])
        except BadInput as error:
            raise error if len(operations) == 1 else about(operation.text, error) from None
    return resolved


def level_of(given: TcmParameters) -> ops.Level | None:
    """The level at which barriers begin; None: the edition's own."""
    return None if given.level == "own" else given.level


def _check_limits(given: TcmParameters) -> None:
    check_limits(given)
    if given.dcs > given.nodes:
        raise BadInput("dcs", given.dcs, f"a number from 1 to {given.nodes}")
    for at, node in enumerate(given.members):
        for part, name in (("name", node.name), ("dc", node.dc), ("rack", node.rack)):
            text(f"members[{at}].{part}", name)
        if not node.tokens:
            raise BadInput(f"members[{at}].tokens", (), "at least one token")
    first, order = level_of(given) or ops.OWN_LEVEL[given.edition], tuple(ops.LEVELS)
    below = order[order.index(first) + 1 :]
    if given.relax != "never" and given.relax not in below:
        raise BadInput("relax", given.relax, ", ".join(("never", *below)))
    for field, end in (("low", given.low), ("high", given.high)):
        if end is not None and not given.members:
            raise BadInput(field, end, "no end of the line unless members are given")
    if given.focus is not None and given.focus[0] >= given.focus[1]:
        raise BadInput("focus", given.focus, "a left bound below a right bound")


def _check_keyspaces(keyspaces: tuple[Keyspace, ...]) -> None:
    """Parameters may come from a trace, which nobody read as strictly as a ring file."""
    times = Counter(keyspace.name for keyspace in keyspaces)
    for keyspace in keyspaces:
        if times[keyspace.name] > 1:
            raise BadInput("keyspaces", keyspace.name, "each keyspace once")
    for keyspace in keyspaces:
        text("keyspace", keyspace.name)
        factors: tuple[tuple[str, int], ...] = ()
        least, kept = 0, keyspace.replication
        if isinstance(kept, SimpleStrategy):
            factors, least = (("replication_factor", kept.replication_factor),), 1
        elif isinstance(kept, NetworkTopologyStrategy):
            factors = kept.factors
        for name, factor in factors:
            if not least <= factor <= LARGEST_FACTOR:
                allowed = f"a number from {least} to {LARGEST_FACTOR}"
                raise BadInput(f"keyspace {keyspace.name}: {name}", factor, allowed)


def _space(given: TcmParameters) -> TokenSpace:
    if given.low is None and given.high is None:
        return MURMUR3
    low, high = given.low or 0, given.high
    if high is None or low >= high:
        raise BadInput("high", high, f"a last token above low ({low})")
    return small(high, low)


def _generated(given: TcmParameters) -> Ring:
    count = given.nodes
    nodes = tuple(
        Node(
            node_name(i, count),
            tuple(STEP * (turn * count + i + 1) for turn in range(given.tokens)),
            f"dc{i % given.dcs + 1}",
            f"r{i // given.dcs % given.racks + 1}",
        )
        for i in range(count)
    )
    return Ring.of(nodes, small(STEP * (count * given.tokens + 1)))


def node_name(i: int, count: int) -> str:
    """A, B, C… in small rings (X, Y and Z are left for newcomers), n1, n2… in large ones."""
    return "ABCDEFGHIJKLMNOPQRSTUVW"[i] if count <= 23 else f"n{i + 1}"


def _replication(given: TcmParameters) -> Replication:
    if given.strategy == "network":
        return NetworkTopologyStrategy(tuple((f"dc{i + 1}", given.rf) for i in range(given.dcs)))
    return EverywhereStrategy() if given.strategy == "everywhere" else SimpleStrategy(given.rf)


def _newcomer(ring: Ring) -> ops.Operation:
    """A bootstrap into the middle of ranges all over the ring, as many as the first node owns."""
    rights = ring.tokens.tolist()
    if len(rights) < 2:
        low = rights[0] if rights else ring.space.low
        return ops.Operation("bootstrap", "X", ((low + ring.space.high + 1) // 2,))
    wanted = len(ring.nodes[0].tokens) or 1
    every = max(1, len(rights) // wanted)
    middles = [(left, (left + right) // 2) for left, right in pairwise(rights)]
    if not (tokens := [middle for left, middle in middles[::every] if left < middle]):
        raise BadInput("tokens", "no free token between neighbours", "operations of your own")
    return ops.Operation("bootstrap", "X", tuple(tokens[:wanted]))


def _menu(ring: Ring, operations: tuple[ops.Operation, ...]) -> tuple[ops.Operation, ...]:
    members = [node for node in ring.nodes if node.tokens]
    kinds: tuple[ops.Kind, ...] = ("decommission", "removenode", "assassinate")
    menu = [*operations, *(ops.Operation(kind, node.name) for kind in kinds for node in members)]
    taken = {token for operation in operations for token in operation.tokens}
    taken |= set(ring.tokens.tolist())
    for node in members:
        tokens = tuple(token + STEP // 4 for token in node.tokens)
        if len(tokens) == 1 and not taken & set(tokens) and max(tokens) <= ring.space.high:
            menu.append(ops.Operation("move", node.name, tokens))
    if "Z" not in (operation.node for operation in operations):
        menu += [ops.Operation("replace", "Z", target=node.name) for node in members]
    return tuple(dict.fromkeys(menu))
