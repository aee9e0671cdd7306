"""The placement pipeline on Spark: rows a second, growth, two cores against one, against pandas.

The job is a join in a ring of two datacenters with three racks each: placements of every step, and
all sums over them. Spark runs embedded, after one run of each that warms it up; runs take turns and
the best counts. On one core all parts are one task, so that one Python worker does them; beside it
stands what the machine itself gives to two processes at that time.
The pandas job starts from the same Parquet and ends in the same sums, which are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd

from benchmarks.figures import Figure, alternating, seconds, show, spoken
from kit import spark as ks
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.pipelines import OnSpark, Pipeline, added_up

TOKENS = 256
SMALL, LARGE = 200, 2000  # nodes
PARTS = 4
AIM_GROWTH, AIM_CORES = 10.0, 1.6
ROUNDS = 3
COUNT = 10_000_000
KEYS = ["group", "step", "measure", "unit"]


def a_join(nodes: int) -> History:
    """One more node joins a ring of so many."""
    drawn = ks.sample(nodes, TOKENS)
    return ks.history(drawn.ring, drawn.keyspaces, [drawn.bootstrap()])


def rows(job: Pipeline) -> int:
    """How many rows of replicas the job makes."""
    return int(job.affected()["ranges"].sum())


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    small, large = a_join(SMALL), a_join(LARGE)
    spark = ks.session("local[2]")
    try:
        first, job = (OnSpark(spark, found, PARTS) for found in (small, large))
        works = first.measured, job.measured, partial(on_one_core, job)
        for work in works:
            work()
        short, long, one = alternating(ROUNDS, *works)
        alone = ks.pipeline(None, large, parts=PARTS)
        by_itself = seconds(lambda: alone.measures)
        yield speed(rows(alone), long, by_itself)
        growth, cores = long / short, one / long
        name, aim = f"Spark: ten times the ranges ({SMALL} to {LARGE} nodes)", "at most 10"
        yield Figure(name, spoken(long), spoken(short), growth, aim, growth <= AIM_GROWTH)
        name, aim = "Spark: two cores against one, the same job", f"at least {AIM_CORES}"
        beside = f"{spoken(one)} (machine: {two_cores_give():.2f})"
        yield Figure(name, spoken(long), beside, cores, aim, cores >= AIM_CORES)
        yield against_pandas(first, small.wanted(0, 0))
    finally:
        ks.stop(spark)


def on_one_core(job: OnSpark) -> None:
    """The same parts in a single task, so that one worker does all of it."""
    added_up(job.made("measures", tasks=1))


def two_cores_give() -> float:
    """How much faster two processes count than one: all that this machine gives now."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(counted, range(2)))
        together = seconds(lambda: list(pool.map(counted, range(8))))
    return seconds(lambda: [counted(i) for i in range(8)]) / together


def counted(_: int) -> int:
    """Work that needs a core and nothing else."""
    return sum(range(COUNT))


def speed(count: int, long: float, alone: float) -> Figure:
    """Rows a second on Spark, and in this process without it."""
    name = f"Spark: placements and sums, {LARGE} x {TOKENS}, {count / 1e6:.1f} M rows"
    ours, theirs = (f"{count / time / 1e3:.0f} k rows/s" for time in (long, alone))
    return Figure(name, ours, f"{theirs} in one process", alone / long)


def against_pandas(job: Pipeline, wanted: int) -> Figure:
    """Sums of all kinds from stored replicas: Spark and pandas give the same, in these times."""
    found: list[pd.DataFrame] = []
    with tempfile.TemporaryDirectory() as folder:
        place = job.write(Path(folder) / "cluster")
        job.measured()
        ours = min(seconds(job.measured) for _ in range(ROUNDS))
        theirs = seconds(lambda: found.append(by_pandas(place, wanted)))
        check(job.measures, found[0])
    name = f"Spark: the sums over stored replicas, {SMALL} x {TOKENS}"
    return Figure(name, spoken(ours), f"{spoken(theirs)} by pandas", theirs / ours)


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
            lost = _lost(asked, codes[kind], one=level == "ONE")
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


def _lost(long: pd.DataFrame, codes: pd.Series, *, one: bool) -> pd.DataFrame:
    """The (range, unit) rows in which the others of the range are no quorum."""
    part = long.assign(unit=long["node"].map(codes), row=long.index)
    size = part.groupby("row").size()
    keys = ["row", "unit", "group", "step", "high", "low"]
    together = part.groupby(keys, sort=False).size().reset_index(name="count")
    total = together["row"].map(size)
    needed = 1 if one else total // 2 + 1
    return together[total - together["count"] < needed]


if __name__ == "__main__":
    show(figures())
