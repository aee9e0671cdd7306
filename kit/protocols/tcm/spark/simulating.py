"""The placement simulator over many seeds as a table, and all violations found so far in one.

A row is one simulated cluster. It holds its seed and size, so anybody runs it again without Spark,
to the same events and the same last state; a run that fails also carries its trace, which opens in
the player. The same seeds give the same rows on every engine and however they are cut into tasks.
Source: CEP-21, "Test Plan".
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from kit.errors import BadInput, KitError
from kit.model.model import fingerprint
from kit.model.registry import entry_of, safeguards_off
from kit.model.timeline import Timeline
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.simulators.placements import Simulation, Size, simulate, size_of, smaller
from kit.search.fuzz import CLEAN
from kit.spark.schemas import table
from kit.spark.sessions import Spark
from kit.spark.workers import seeded

SOURCE = "simulation"
SIMULATIONS = table(
    "simulations",
    "a simulated cluster",
    "seed bigint: the seed that it was drawn from",
    "steps int: how many actions it took",
    "events int: how many of them were committed events, one epoch each",
    "nodes int: the most nodes that it had",
    "at_once int: the most operations that were under way at once",
    "refused int: how often an operation had to wait",
    "verdict string: clean, or the property that its last event breaks",
    "witness string: what is wrong there",
    "fingerprint string: the content of its last state",
    "size string: what was simulated, in JSON",
    "off array<string>: the safeguards that were off",
    "trace string: the run as a trace, in JSON, when it fails",
)
VIOLATIONS = table(
    "violations",
    "a run that fails",
    f"source string: {SOURCE}, or walk",
    "seed bigint: the seed that it was drawn from",
    "steps int: how many steps it took",
    "verdict string: what its last step breaks",
    "trace string: the run as a trace, in JSON",
)


def simulations(
    spark: Spark | None,
    seeds: Sequence[int],
    *,
    off: Iterable[str] = (),
    tasks: int | None = None,
    **sizes: Any,
) -> Any:
    """A Spark frame with a row for each seed, made when it is used, in so many tasks.

    ``sizes`` are the fields of ``kit.protocols.tcm.simulators.placements.Size``. Without Spark
    (None) it is an Arrow table, made here and now. BadInput comes before any task begins.
    """
    without = safeguards_off(entry_of("tcm"), tuple(off))
    return seeded(spark, seeds, partial(_batches, size_of(sizes), without), SIMULATIONS, tasks)


def replay(row: Any) -> Simulation:
    """A row's simulation (of Spark's, of pandas' or a mapping), run again here, without Spark.

    BadInput for what is no such row; KitError when the run does not end as the row says.
    """
    try:
        seed, size, off = int(row["seed"]), row["size"], tuple(row["off"])
        verdict, last = row["verdict"], row["fingerprint"]
        fields = msgspec.json.decode(size, type=dict[str, Any])
    except (KeyError, ValueError, TypeError, msgspec.MsgspecError):
        raise BadInput("row", row, "a row of simulations, with its seed and size") from None
    simulation = simulate(seed, size_of(fields), off=off)
    if (simulation.verdict, _last(simulation)) != (verdict, last):
        ends = f"ends here as {simulation.verdict}, not as in the row"
        raise KitError(f"the simulation of seed {seed} {ends}")
    return simulation


def repeated(row: Any) -> Timeline | None:
    """The run of a row of simulations, done again as by ``replay``; None for any other row."""
    try:
        row["fingerprint"], row["size"]
    except (KeyError, ValueError, TypeError, IndexError):
        return None
    return replay(row).timeline()


def shrunk(row: Any, run: Timeline) -> Timeline | None:
    """The run of a simulation that fails, made small, its column not kept; None for other rows."""
    values = row.asDict() if hasattr(row, "asDict") else dict(row)
    simulated = values.get("source") == SOURCE or {"fingerprint", "size"} <= values.keys()
    if not simulated or not isinstance(run.model, TcmCluster):
        return None
    return Timeline.along(run.model, smaller(run.model, run.actions(), values["verdict"]))


def violations(*tables: Any) -> Any:
    """All failing rows of simulations and of sweeps (``kit.spark.sweep``) in one table, by seed.

    Spark frames give a Spark frame, Arrow tables an Arrow table; BadInput for anything else.
    """
    plain = [isinstance(table, pa.Table) for table in tables]
    if not tables or len(set(plain)) != 1:
        raise BadInput("tables", f"{len(tables)} tables", "one or more frames of the same kind")
    parts = [_failing(table) for table in tables]
    if plain[0]:
        return pa.concat_tables(parts).sort_by([("source", "ascending"), ("seed", "ascending")])
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    # One part is sorted as it is: to cut many, Spark would first make all rows once for a sample.
    return whole.repartition(1).sortWithinPartitions("source", "seed")


def _failing(table: Any) -> Any:
    names = set(table.column_names if isinstance(table, pa.Table) else table.columns)
    if not {"seed", "steps", "verdict", "trace"} <= names:
        raise BadInput("tables", ", ".join(sorted(names)), "rows of simulations or of a sweep")
    source = SOURCE if "fingerprint" in names else "walk"
    columns = ["seed", "steps", "verdict", "trace"]
    if isinstance(table, pa.Table):
        rows = [row for row in table.select(columns).to_pylist() if row["verdict"] != CLEAN]
        return pa.Table.from_pylist([{"source": source, **row} for row in rows], VIOLATIONS.arrow)
    return table.where(f"verdict != '{CLEAN}'").selectExpr(f"'{source}' as source", *columns)


def _batches(size: Size, off: tuple[str, ...], seeds: Iterable[int]) -> Iterator[pa.RecordBatch]:
    for seed in seeds:
        yield SIMULATIONS.batch([_row(simulate(seed, size, off=off))])


def _row(run: Simulation) -> tuple[Any, ...]:
    counts = len(run.actions), len(run.turns), run.most_nodes, run.at_once, run.refused
    ends = run.verdict, run.witness or "", _last(run)
    size = msgspec.json.encode(run.size).decode()
    trace = "" if run.ok else msgspec.json.encode(run.trace()).decode()
    return run.seed, *counts, *ends, size, list(run.off), trace


def _last(simulation: Simulation) -> str:
    model = simulation.model()
    state = model.start()
    for action in simulation.actions:
        state = model.apply(state, action)
    return fingerprint(state)
