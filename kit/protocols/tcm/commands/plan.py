"""``plan``: a dry run of an operation on somebody's own ring."""

from __future__ import annotations

from argparse import Namespace
from typing import NoReturn

from msgspec.structs import replace

from kit.commands.layout import put, put_parts
from kit.commands.rings import replicated
from kit.engine.registry import edition_of
from kit.errors import BadInput, about
from kit.operators.importers.opening import Imported
from kit.operators.importers.sizes import read_sizes, sizes_of_nodes
from kit.operators.workload import DRY_RUN_AS_JSON, DRY_RUN_IN_WORDS, check_work
from kit.protocols.tcm.commands.plan_text import as_text
from kit.protocols.tcm.dry_run.in_flight import operations_of
from kit.protocols.tcm.dry_run.plan import dry_run, json_parts
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.steps import EDITIONS
from kit.protocols.tcm.words import Each, Once, OperationWords, operation_of, parse_operation
from kit.ring.sizes import Sizes

ACCEPTED, REFUSED = 0, 1
PLAN_HELP = """\
usage: python -m kit plan RINGFILE OPERATION [--while OPERATION]... [--edition EDITION] [--force]
                          [--with FILE]... [--keyspace KS={...}]... [--sizes FILE] [--json]

Rehearse an operation on a ring: every event it commits with the read and write tables after it,
the ranges it locks, what must be copied and who must know of an event before the next one.

OPERATION is one of
  bootstrap NODE --tokens T,... [--dc DC] [--rack RACK]
  decommission NODE
  move NODE --tokens T,...
  replace OLD NEW [--dc DC] [--rack RACK]
  removenode NODE          the node is dead; the others stream
  assassinate NODE     the node is dead; nothing is streamed
join, leave and remove are read as bootstrap, decommission and removenode

options
  --tokens T,...       whole numbers, also negative ones: --tokens -5,7
  --dc, --rack         where the newcomer is; else where the ring's first node is, or where the
                       replaced node was
  --while OPERATION    an operation that is prepared already and still in flight, in quotes;
                       may be given several times
  --edition EDITION    documents (the default): every part of the plan is an event of its own;
                       server: prepare, start, mid, finish, majorities a datacenter
  --force              decommission even where too few nodes stay for some keyspace
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
  python -m kit plan ring.json bootstrap n5 --tokens 350
  python -m kit plan ring.json replace n3 n9 --sizes sizes.json
  python -m kit plan ring.json decommission n3 --while "bootstrap n5 --tokens 350" --json
"""


class PlanWords(OperationWords):
    """The words of a ``plan`` command: its own options beside those of the operation."""

    def __init__(self) -> None:
        super().__init__()
        for option in ("--while", "--with", "--keyspace"):
            self.add_argument(option, action=Each, default=[])
        self.add_argument("--edition", "--variant", "--shape", action=Once)
        self.add_argument("--sizes", action=Once)
        self.add_argument("--json", action="store_true")
        self.add_argument("-h", "--help", action="store_true")


def plan(argv: list[str]) -> int:
    """Rehearse an operation on a ring file; 0 when it is accepted, 1 when it is refused."""
    given = PlanWords().read(argv)
    if given.help:
        put(PLAN_HELP.rstrip())
        return ACCEPTED
    edition = edition_of(given.edition or "documents", EDITIONS, "--edition")
    if not given.words:
        _without_a_ring(given)
    ring = replicated(given.words[0], getattr(given, "with"), given.keyspace)
    check_work(ring, DRY_RUN_AS_JSON if given.json else DRY_RUN_IN_WORDS)
    operation = operation_of(given.words[1:], given)
    in_flight = operations_of(ring) + tuple(map(_in_flight, getattr(given, "while")))
    sizes = _sizes(given.sizes, ring)
    report = dry_run(ring, operation, in_flight=in_flight, edition=edition, sizes=sizes)
    report = replace(report, warnings=(*ring.warnings, *report.warnings))
    if given.json:
        put_parts(json_parts(report))
    else:
        put(as_text(report))
    return ACCEPTED if report.accepted else REFUSED


def _in_flight(text: str) -> Operation:
    try:
        return parse_operation(text)
    except BadInput as error:
        raise about(f"--while {text}", error) from None


def _without_a_ring(given: Namespace) -> NoReturn:
    """Nothing can be planned: an option of an operation is named where there is one."""
    for option in ("tokens", "dc", "rack", "force"):
        if getattr(given, option) is not None:
            allowed = "a ring file and an operation as well (plan --help)"
            raise BadInput("option", f"--{option}", allowed)
    raise BadInput("RINGFILE", None, "a ring file, then an operation (plan --help)")


def _sizes(path: str | None, given: Imported) -> Sizes | None:
    """The sizes of a file, or else the loads that the cluster's tools told."""
    if path is not None:
        return read_sizes(path, given)
    loads = {name: size for name, size in given.loads.items() if name in given.ring.names}
    return sizes_of_nodes(loads, given) if loads else None
