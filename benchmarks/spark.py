"""The placement pipeline and the sizes of tablets on Spark: rows a second, growth, peers.

The job is a join in a ring of two datacenters with three racks each: placements of every step, and
all sums over them. Spark runs embedded, after one run of each that warms it up; runs take turns and
the best counts. Rows a second are those between a large ring and one of a tenth, so that what a
start costs is left out. On one core all parts are one task, so that one Python worker does them;
beside it stands what the machine itself gives to two processes in the same rounds. Before each run
of a large ring comes one of a small ring, so that workers unpack every ring anew.
Pandas and DuckDB start from the same Parquet and end in the same sums, which are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import duck_sums
from benchmarks.figures import Figure, alternating, seconds, show, spoken, unmeasured
from kit import spark as ks
from kit.protocols.tablets.spark.sizes import TableSum
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.pipelines import OnSpark, Pipeline

TOKENS = 256
TINY, SMALL, LARGE = 100, 1000, 10_000  # nodes
TABLETS, OF_A_TABLE = {"nodes": 3000, "tables": 50}, 33_334
AIM_SPEED, AIM_GROWTH, AIM_CORES, AIM_PEER = 5e6, 10.0, 1.6, 0.5
ROUNDS = 2
SHORT_ROUNDS = 10  # of what takes a tenth of a second, and until Java has compiled what is used
COUNT, TIMES = 10_000_000, 4
KEYS = ["group", "step", "measure", "unit"]


def a_join(nodes: int) -> History:
    """One more node joins a ring of so many."""
    drawn = ks.sample(nodes, TOKENS)
    joined: History = ks.history(drawn.ring, drawn.keyspaces, [drawn.bootstrap()])
    return joined


def rows(case: History) -> int:
    """How many rows of replicas there are at all steps; a join cuts some ranges at most."""
    return len(case.ring.rights) * len(case.stages)


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    spark = ks.session("local[2]")
    try:
        small = a_join(SMALL)
        yield from of_the_ring(spark, small, a_join(LARGE))
        yield against_pandas(OnSpark(spark, a_join(TINY)), small.wanted(0, 0))
        with duck_sums.installed() as python:
            if python is None:
                yield unmeasured("Spark against DuckDB", f"{duck_sums.PACKAGE} cannot be installed")
                return
            yield against_duckdb(OnSpark(spark, small), python)
            yield from of_tablets(spark, python)
    finally:
        ks.stop(spark)


def of_the_ring(spark: Any, small: History, large: History) -> Iterator[Figure]:
    """Rows a second beyond the start, growth, and cores."""
    first, job = OnSpark(spark, small), OnSpark(spark, large)
    with ProcessPoolExecutor(2) as pool:
        alone, both = partial(counted_by, map), partial(counted_by, pool.map)
        works = first.measured, job.measured, first.measured, partial(on_one_core, job), alone, both
        for work in works:
            work()
        short, long, again, one, counting, shared = alternating(SHORT_ROUNDS, *works)
    short = min(short, again)
    speed = (rows(large) - rows(small)) / max(long - short, 1e-9)
    plain = ks.pipeline(None, large)
    by_itself = rows(large) / seconds(lambda: plain.measures)
    name = f"Spark: placements and sums, from {spoken_rows(small)} to {spoken_rows(large)}"
    beside, aim = (
        f"{by_itself / 1e6:.1f} M rows/s in one process",
        f"at least {AIM_SPEED / 1e6:g} M",
    )
    ours = f"{speed / 1e6:.1f} M rows/s"
    yield Figure(name, ours, beside, speed / by_itself, aim, speed >= AIM_SPEED)
    name, growth = f"Spark: ten times the ranges ({SMALL} to {LARGE} nodes)", long / short
    yield Figure(name, spoken(long), spoken(short), growth, "at most 10", growth <= AIM_GROWTH)
    name, cores = "Spark: two cores against one, the same job", one / long
    beside, aim = f"{spoken(one)} (machine: {counting / shared:.2f})", f"at least {AIM_CORES}"
    yield Figure(name, spoken(long), beside, cores, aim, cores >= AIM_CORES)


def spoken_rows(case: History) -> str:
    """How many rows, in millions."""
    return f"{rows(case) / 1e6:.1f} M rows"


def on_one_core(job: OnSpark) -> None:
    """The same parts in a single task, so that one worker does all of it."""
    job.measured(tasks=1)


def counted_by(each: Callable[[Callable[[int], int], range], Iterable[int]]) -> None:
    """Count several times, one after the other or in some processes."""
    list(each(counted, range(TIMES)))


def counted(_: int) -> int:
    """Work that needs a core and nothing else."""
    return sum(range(COUNT))


def against_pandas(job: Pipeline, wanted: int) -> Figure:
    """Sums of all kinds from stored replicas: Spark and pandas give the same, in these times."""
    found: list[pd.DataFrame] = []
    with tempfile.TemporaryDirectory() as folder:
        place = job.write(Path(folder) / "cluster")
        job.measured()
        ours = min(seconds(job.measured) for _ in range(ROUNDS))
        theirs = seconds(lambda: found.append(by_pandas(place, wanted)))
        check(job.measures, found[0])
    name = f"Spark: the sums over stored replicas, {TINY} x {TOKENS}"
    return Figure(name, spoken(ours), f"{spoken(theirs)} by pandas", theirs / ours)


def against_duckdb(job: OnSpark, python: Path) -> Figure:
    """The same sums from stored replicas by DuckDB on two threads."""
    with tempfile.TemporaryDirectory() as folder:
        place = job.write(Path(folder) / "cluster")
        job.measured()
        ours = min(seconds(job.measured) for _ in range(ROUNDS))
        statements = duck_sums.ring_sums(place, job.history.wanted(0, 0))
        theirs, sums = duck_sums.added_up(python, statements, ROUNDS)
        check(job.measures, sums.astype(dict.fromkeys(("ranges", "high", "low"), "int64")))
    name = f"Spark: the sums over stored replicas, {SMALL} x {TOKENS}"
    return against(name, ours, theirs)


def of_tablets(spark: Any, python: Path) -> Iterator[Figure]:
    """The bytes of every table from stored tablets: by pandas, by DuckDB, ten times as many."""
    cluster, more = (ks.tablets(spark, **TABLETS, tablets=n) for n in (OF_A_TABLE, OF_A_TABLE * 10))
    with tempfile.TemporaryDirectory() as folder:
        place = cluster.write(Path(folder) / "tablets")
        much = more.write(Path(folder) / "more")
        sums, large = cluster.sums(), more.sums()
        longer = min(seconds(more.sums) for _ in range(ROUNDS))
        ours = min(seconds(cluster.sums) for _ in range(SHORT_ROUNDS))
        frames: list[pd.DataFrame] = []
        plain = seconds(lambda: frames.append(bytes_by_pandas(place)))
        theirs, table = duck_sums.added_up(python, duck_sums.tablet_sums(place), SHORT_ROUNDS)
        of_much, _ = duck_sums.added_up(python, duck_sums.tablet_sums(much), ROUNDS)
    known = {number: (each.replicas, each.bytes) for number, each in sums.items() if each.bytes}
    plainly = {at: (row["count"], row["sum"]) for at, row in frames[0].iterrows() if at in known}
    in_sql = {at: (n, size) for at, n, size, _ in table.itertuples(index=False) if at in known}
    assert plainly == known == in_sql
    name = f"Spark: sizes of {millions(sums)} tablet replicas"
    yield Figure(name, spoken(ours), f"{spoken(plain)} by pandas", plain / ours)
    yield against(name, ours, theirs)
    name, growth = f"Spark: sizes of {millions(large)} tablet replicas", longer / ours
    beside = f"{spoken(ours)} for {millions(sums)}"
    yield Figure(name, spoken(longer), beside, growth, "at most 10", growth <= AIM_GROWTH)
    yield against(name, longer, of_much)


def millions(sums: Mapping[int, TableSum]) -> str:
    """How many replicas there are."""
    return f"{sum(each.replicas for each in sums.values()) / 1e6:.1f} M"


def bytes_by_pandas(place: Path) -> pd.DataFrame:
    """How many replicas each table has, and their bytes."""
    frame = pd.read_parquet(place, columns=["table", "bytes"])
    sizes = frame.explode("bytes").astype("int64")
    return sizes.groupby("table")["bytes"].agg(["sum", "count"])


def against(name: str, ours: float, theirs: float) -> Figure:
    """A row beside DuckDB."""
    ratio = theirs / ours
    aim = f"at least {AIM_PEER}"
    return Figure(name, spoken(ours), f"{spoken(theirs)} by DuckDB", ratio, aim, ratio >= AIM_PEER)


def check(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    """Both give the same sums."""
    ours, theirs = (
        frame[frame["ranges"] > 0].sort_values(KEYS, ignore_index=True)[
            [*KEYS, "ranges", "high", "low"]
        ]
        for frame in (ours, theirs)
    )
    pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)


def by_pandas(folder: Path, wanted: int) -> pd.DataFrame:
    """All measures with pandas alone, as one would write it: explode the lists, group, count."""
    frame = pd.read_parquet(folder / "replicas")
    nodes = pd.read_parquet(folder / "nodes").set_index("node")
    nodes["rack"] = nodes["dc"] + "/" + nodes["rack"]
    places = {"node": nodes.index.to_series(), "rack": nodes["rack"], "dc": nodes["dc"]}
    codes = {kind: pd.Series(pd.factorize(s)[0], nodes.index) for kind, s in places.items()}
    width = frame["right"].to_numpy("uint64") - frame["left"].to_numpy("uint64")
    frame["high"], frame["low"] = (width >> 32).astype("int64"), (width % 2**32).astype("int64")
    both = [set(r) | set(w) for r, w in zip(frame["reads"], frame["writes"], strict=True)]
    moving = [set(r) != set(w) for r, w in zip(frame["reads"], frame["writes"], strict=True)]
    extra = pd.Series([max(len(group) - wanted, 0) for group in both])
    times = {
        "all": 1,
        "changed": frame["changed"],
        "locked": frame["locked"],
        "moving": pd.Series(moving),
        "extra": extra,
    }
    found = [
        _weighted(frame, name, pd.Series(factor, frame.index).astype("int64"))
        for name, factor in times.items()
    ]
    for side in ("reads", "writes"):
        long = frame[["group", "step", "high", "low", side]].explode(side)
        long = long.rename(columns={side: "node"}).astype({"node": "int64"})
        found.append(_counted(long, side, long["node"]))
        levels = {"ONE": long, "QUORUM": long}
        levels |= {
            f"LOCAL_QUORUM {dc}": long[long["node"].map(nodes["dc"]) == dc]
            for dc in sorted(set(nodes["dc"]))
        }
        for (level, asked), kind in product(levels.items(), ("node", "rack", "dc")):
            least = {"ONE": 1, "QUORUM": wanted // 2 + 1}.get(level)
            lost = _lost(asked, codes[kind], wanted, least)
            found.append(_counted(lost, f"lost {side[:-1]} {level} {kind}", lost["unit"]))
    return pd.concat(found, ignore_index=True)


def _weighted(frame: pd.DataFrame, name: str, factor: pd.Series) -> pd.DataFrame:
    part = frame[["group", "step"]].assign(
        ranges=factor, high=factor * frame["high"], low=factor * frame["low"]
    )
    return part.groupby(["group", "step"], as_index=False).sum().assign(measure=name, unit=-1)


def _counted(long: pd.DataFrame, name: str, unit: pd.Series) -> pd.DataFrame:
    part = long[["group", "step", "high", "low"]].assign(ranges=1, unit=unit)
    return part.groupby(["group", "step", "unit"], as_index=False).sum().assign(measure=name)


def _lost(long: pd.DataFrame, codes: pd.Series, wanted: int, least: int | None) -> pd.DataFrame:
    """The (range, unit) rows in which the others of the range are no quorum: at ``least`` so many
    of those that are wanted, and whoever is pending; None: a majority.
    """
    part = long.assign(unit=long["node"].map(codes), row=long.index)
    size = part.groupby("row").size()
    keys = ["row", "unit", "group", "step", "high", "low"]
    together = part.groupby(keys, sort=False).size().reset_index(name="count")
    total = together["row"].map(size)
    needed = total // 2 + 1 if least is None else least + (total - wanted).clip(lower=0)
    return together[total - together["count"] < needed]


if __name__ == "__main__":
    show(figures())
