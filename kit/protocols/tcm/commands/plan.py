"""``plan``: a dry run of an operation on somebody's own ring."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.commands.layout import put
from kit.commands.rings import opened
from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.opening import Imported
from kit.operators.importers.sizes import read_sizes, sizes_of_nodes
from kit.protocols.tcm.commands.plan_text import as_text
from kit.protocols.tcm.dry_run.in_flight import operations_of
from kit.protocols.tcm.dry_run.plan import as_json, rehearse
from kit.protocols.tcm.rules.operations import operation_from, parse_operation
from kit.protocols.tcm.rules.steps import SHAPES, Shape
from kit.ring.sizes import Sizes

ACCEPTED, REFUSED = 0, 1
WITH_VALUE = ("--while", "--shape", "--sizes", "--with", "--keyspace")
REPEATABLE = ("--while", "--with", "--keyspace")
OF_OPERATION = ("--tokens", "--dc", "--rack")
KEYSPACE = 'ks={"class": "SimpleStrategy", "replication_factor": 3}'
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


def plan(argv: list[str]) -> int:
    """Rehearse an operation on a ring file; 0 when it is accepted, 1 when it is refused."""
    if _wants_help(argv):
        put(PLAN_HELP.rstrip())
        return ACCEPTED
    words = plan_words(argv)
    shape = _shape(words.values.get("--shape", "cep"))
    if not words.rest:
        raise BadInput("RINGFILE", None, "a ring file, then an operation (plan --help)")
    given = opened(words.rest[0], words.several["--with"], words.several["--keyspace"])
    if not given.keyspaces:
        raise BadInput("keyspaces", None, f"one or more: --keyspace '{KEYSPACE}'")
    operation = operation_from(words.rest[1:])
    in_flight = operations_of(given) + tuple(
        parse_operation(text) for text in words.several["--while"]
    )
    sizes = _sizes(words.values.get("--sizes"), given)
    rehearsal = rehearse(given, operation, in_flight=in_flight, shape=shape, sizes=sizes)
    rehearsal = replace(rehearsal, warnings=(*given.warnings, *rehearsal.warnings))
    put(as_json(rehearsal) if words.json else as_text(rehearsal))
    return ACCEPTED if rehearsal.accepted else REFUSED


def _wants_help(argv: list[str]) -> bool:
    """Whether some word asks for help that is not the value of the option before it."""
    before = [None, *argv]
    return any(
        word in ("-h", "--help") and former not in (*WITH_VALUE, *OF_OPERATION)
        for former, word in zip(before, argv, strict=False)
    )


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
