"""``ring``: the placements of somebody's own stable ring."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence

from kit.commands.answer import Answer, Rows, listed
from kit.commands.parsing import RING_WORDS, Command
from kit.edge.reading import beginning
from kit.errors import BadInput, counted, one_line
from kit.operators.importers.opening import Imported, is_rows, open_ring
from kit.operators.importers.ringfile import RingFile, doubtful, read_ring
from kit.operators.workload import PLACEMENTS, check_work
from kit.ring.placements import stable_placement
from kit.ring.ranges import Line, bounds, label
from kit.ring.replication import LocalStrategy, Replication

KEYSPACE = 'ks={"class": "SimpleStrategy", "replication_factor": 3}'


def opened(path: str, others: Sequence[str], keyspaces: Sequence[str]) -> Imported:
    """A ring from a ring file, or from what a cluster's own tools print."""
    if path.endswith(".json") and not others and not keyspaces and not is_rows(beginning(path)):
        given = read_ring(path)
        warnings = doubtful(given.ring, given.keyspaces)
        return Imported(given.epoch, given.ring, given.keyspaces, warnings=warnings)
    return open_ring([path, *others], keyspaces)


def replicated(path: str, others: Sequence[str], keyspaces: Sequence[str]) -> Imported:
    """The same, for what needs a keyspace. Raises BadInput when none is known."""
    given = opened(path, others, keyspaces)
    if not given.keyspaces:
        raise BadInput("keyspaces", None, f"one or more: --keyspace '{KEYSPACE}'")
    return given


def _ring(given: Namespace) -> Answer:
    """The placements of a stable ring: (left, right, replicas in walk order)."""
    imported = opened(given.file, vars(given)["with"], given.keyspace)
    check_work(imported, PLACEMENTS)
    under_way = (f"{each.kind} of {each.node}" for each in imported.in_flight)
    before = (f"{each} is under way: this is the ring before it" for each in under_way)
    for warning in (*imported.warnings, *before):
        print(f"kit: {one_line(warning)}", file=sys.stderr)
    alike = {each: _lines(imported, each) for each in {k.replication for k in imported.keyspaces}}
    rows = {keyspace.name: alike[keyspace.replication] for keyspace in imported.keyspaces}
    nodes, tokens = len(imported.ring.nodes), len(imported.ring.tokens)
    heading = f"epoch {imported.epoch}, {counted(nodes, 'node')}, {counted(tokens, 'token')}"
    return Answer({"keyspaces": rows}, [heading], _tables(imported, rows), compact=True)


def _lines(given: RingFile, replication: Replication) -> list[Line]:
    if isinstance(replication, LocalStrategy):
        return []
    table = stable_placement(given.ring, replication).reads
    space = given.ring.space
    return [(*bounds(space, r.left, r.right), r.replicas) for r in table.rows(given.ring.names)]


def _tables(given: RingFile, rows_of: dict[str, list[Line]]) -> Iterator[Rows]:
    for keyspace in given.keyspaces:
        rows = rows_of[keyspace.name]
        size = counted(len(rows), "range") if rows else "each node keeps its own data"
        yield Rows(
            [(label((left, right)), listed(who)) for left, right, who in rows],
            title=f"{keyspace.name}: {keyspace.replication.label}, {size}",
        )


ABOUT = "Which nodes hold each range of a ring in which no operation is under way."
RING = Command("ring", _ring, RING_WORDS, ABOUT)
