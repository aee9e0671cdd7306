"""``ring`` and ``plan``: somebody's own ring, and rehearsals of operations on it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kit.commands.layout import columns, counted, listed, put
from kit.commands.plan_text import as_text
from kit.errors import BadInput
from kit.importers.opening import Imported, open_ring
from kit.importers.ringfile import RingFile, read_ring
from kit.importers.sizes import read_sizes, sizes_of_nodes
from kit.registry import one_of
from kit.rehearsal import Line, as_json, bounds, label, rehearse
from kit.ring.placements import at_rest
from kit.ring.replication import Keyspace, LocalStrategy
from kit.ring.sizes import Sizes
from kit.tcm.rules_operations import operation_from, parse_operation
from kit.tcm.rules_steps import SHAPES, Shape

ACCEPTED, REFUSED = 0, 1
WITH_VALUE = ("--while", "--shape", "--sizes", "--with", "--keyspace")
REPEATABLE = ("--while", "--with", "--keyspace")
OF_OPERATION = ("--tokens", "--dc", "--rack")
PLAN_HELP = """\
usage: python -m kit plan RINGFILE OPERATION [--while OPERATION]... [--shape SHAPE] [--force]
                          [--with FILE]... [--keyspace KS={...}]... [--sizes FILE] [--json]

Rehearse an operation on a ring: every event it commits with the read and write tables after it,
the ranges it locks, what must be copied and who must know of an event before the next one.

OPERATION is one of
  join NODE --tokens T,... [--dc DC] [--rack RACK]
  leave NODE
  move NODE --tokens T,...
  replace OLD NEW [--dc DC] [--rack RACK]
  remove NODE          the node is dead; the others stream
  assassinate NODE     the node is dead; nothing is streamed
bootstrap, decommission and removenode mean join, leave and remove

options
  --tokens T,...       whole numbers, also negative ones: --tokens -5,7
  --dc, --rack         where the newcomer is; else where the ring's first node is, or where the
                       replaced node was
  --while OPERATION    an operation that is prepared already and still in flight, in quotes;
                       may be given several times
  --shape SHAPE        cep (the default): every part of the plan is an event of its own;
                       implementation: prepare, start, mid, finish, majorities a datacenter
  --force              leave even where too few nodes stay for some keyspace
  --with FILE          another file of the same cluster, such as the text of nodetool status;
                       may be given several times
  --keyspace KS={...}  a keyspace and its replication, which nodetool's texts leave out:
                       'ks={"class": "SimpleStrategy", "replication_factor": 3}'; repeatable
  --sizes FILE         bytes by node or range, to say how many are streamed; without it, the
                       loads that nodetool tells
  --json               the same as JSON

RINGFILE is the text of nodetool ring or describering, a dump of the system tables (JSON or CSV),
or a ring file:
              {"epoch": 0, "nodes": [{"name": "n1", "tokens": [100], "dc": "dc1", "rack": "r1"}],
               "keyspaces": [{"name": "ks", "replication": {"class": "SimpleStrategy",
                                                            "replication_factor": 1}}]}
A sizes file: {"nodes": {"n1": 5000}, "ranges": {"ks": [[null, 100, 2000]]}}, either or both

Ends with 0 when the operation is accepted, 1 when the protocol refuses it, 2 on bad input.

examples
  python -m kit plan ring.json join n5 --tokens 350
  python -m kit plan ring.json replace n3 n9 --sizes sizes.json
  python -m kit plan ring.json leave n3 --while "join n5 --tokens 350" --json
"""


class PlanWords(Struct):
    """What the words of a ``plan`` command say."""

    rest: list[str]
    several: dict[str, list[str]]
    values: dict[str, str]
    json: bool = False


def opened(path: str, others: Sequence[str], keyspaces: Sequence[str]) -> Imported:
    """A ring from a ring file, or from what a cluster's own tools print."""
    if path.endswith(".json") and not others and not keyspaces:
        given = read_ring(path)
        return Imported(given.epoch, given.ring, given.keyspaces)
    return open_ring([path, *others], keyspaces)


def ring(path: str, others: Sequence[str], keyspaces: Sequence[str], *, as_text: bool) -> int:
    """Print the placements of a ring at rest: (left, right, replicas in walk order)."""
    given = opened(path, others, keyspaces)
    for warning in given.warnings:
        print(f"kit: {warning}", file=sys.stderr)
    found = {keyspace.name: _lines(given, keyspace) for keyspace in given.keyspaces}
    put(_ring_text(given, found) if as_text else json.dumps({"keyspaces": found}))
    return ACCEPTED


def _lines(given: RingFile, keyspace: Keyspace) -> list[Line]:
    """The rows of one keyspace; none where each node keeps its own data."""
    if isinstance(keyspace.replication, LocalStrategy):
        return []
    table = at_rest(given.ring, keyspace.replication).reads
    space = given.ring.space
    return [(*bounds(space, r.left, r.right), r.replicas) for r in table.rows(given.ring.names)]


def _ring_text(given: RingFile, found: dict[str, list[Line]]) -> str:
    nodes, tokens = len(given.ring.nodes), len(given.ring.tokens)
    lines = [f"epoch {given.epoch}, {counted(nodes, 'node')}, {counted(tokens, 'token')}"]
    for keyspace in given.keyspaces:
        rows = found[keyspace.name]
        size = counted(len(rows), "range") if rows else "each node keeps its own data"
        lines += ["", f"{keyspace.name}: {keyspace.replication.label}, {size}"]
        lines += columns([(label((left, right)), listed(who)) for left, right, who in rows])
    return "\n".join(lines)


def plan(argv: list[str]) -> int:
    """Rehearse an operation on a ring file; 0 when it is accepted, 1 when it is refused."""
    if {"-h", "--help"} & set(argv):
        put(PLAN_HELP.rstrip())
        return ACCEPTED
    words = plan_words(argv)
    shape = _shape(words.values.get("--shape", "cep"))
    if not words.rest:
        raise BadInput("RINGFILE", None, "a ring file, then an operation (plan --help)")
    given = opened(words.rest[0], words.several["--with"], words.several["--keyspace"])
    operation = operation_from(words.rest[1:])
    seen = tuple(one.operation for one in given.in_flight if one.operation is not None)
    in_flight = seen + tuple(parse_operation(text) for text in words.several["--while"])
    sizes = _sizes(words.values.get("--sizes"), given)
    rehearsal = rehearse(given, operation, in_flight=in_flight, shape=shape, sizes=sizes)
    rehearsal = replace(rehearsal, warnings=(*given.warnings, *rehearsal.warnings))
    put(as_json(rehearsal) if words.json else as_text(rehearsal))
    return ACCEPTED if rehearsal.accepted else REFUSED


def _sizes(path: str | None, given: Imported) -> Sizes | None:
    """The sizes of a file, or else the loads that the cluster's tools told."""
    if path is not None:
        return read_sizes(path, given)
    loads = {name: size for name, size in given.loads.items() if name in given.ring.names}
    return sizes_of_nodes(loads, given) if loads else None


def _shape(text: str) -> Shape:
    found = next((shape for shape in SHAPES if shape == text), None)
    if found is None:
        raise BadInput("--shape", text, one_of(text, list(SHAPES)))
    return found


def plan_words(argv: list[str]) -> PlanWords:
    """Sort the words of a ``plan`` command: its own options, and those of the operation.

    Written by hand because values such as ``-5,7`` begin with a dash.
    """
    found = PlanWords([], {option: [] for option in REPEATABLE}, {})
    options: list[str] = []
    rest = iter(argv)
    for word in rest:
        option, equals, value = word.partition("=")
        if word == "--json":
            found.json = True
        elif option in WITH_VALUE:
            given = value if equals else next(rest, None)
            if not given:
                raise BadInput(option, given, "a value")
            if option in REPEATABLE:
                found.several[option].append(given)
            elif option in found.values:
                allowed = f"each option once, but {', '.join(REPEATABLE)}"
                raise BadInput("option", option, allowed)
            else:
                found.values[option] = given
        elif option.startswith("--"):
            options.append(word)
            if option in OF_OPERATION and not equals:
                options += [value for value in (next(rest, None),) if value is not None]
        else:
            found.rest.append(word)
    # Options may stand anywhere; behind the plain words they are read as the operation's.
    found.rest += options if found.rest else []
    if options and not found.rest:
        raise BadInput("option", options[0], "a ring file and an operation as well (plan --help)")
    return found
