"""What lessons do on Spark, on a cluster or over Spark Connect. It is run as a program, since Spark
cannot be embedded in the same process as well. The kit's variables name the cluster or the server.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa

from kit import spark as ks
from kit.model.family import model_places
from kit.spark.traces import PlainTraces
from tests.waiting import PATIENCE


def table(spark: Any, folder: Path) -> dict[str, Any]:
    """One table that workers make, next to the plain engine's."""
    town = ks.sample(nodes=6, tokens=4)
    plan = ks.history(town.ring, town.keyspaces, [town.bootstrap()])
    ours, theirs = (ks.dicts(ks.pipeline(on, plan).table("ranges")) for on in (spark, None))
    return {"table": len(theirs) > 0 and sorted(map(repr, ours)) == sorted(map(repr, theirs))}


def placements(spark: Any, folder: Path) -> dict[str, Any]:
    """A pipeline next to the plain engine, before and after it is written."""
    town = ks.sample(nodes=12, tokens=8)
    plan = ks.history(town.ring, town.keyspaces, [town.bootstrap()])
    job, alone = ks.pipeline(spark, plan, parts=2), ks.pipeline(None, plan)
    same = ks.same_as_engine(job)
    job.write(folder / "cluster")
    written = sorted(path.name for path in (folder / "cluster").iterdir())
    return {
        "same": same,
        "written": written,
        "from what was written": job.ownership().equals(alone.ownership()),
    }


def traces(spark: Any, folder: Path) -> dict[str, Any]:
    """Reports over runs, and a table that follows their folder, next to the plain ones."""
    runs = [ks.as_tables(ks.drawn(seed, nodes=5), f"seed-{seed}") for seed in range(2)]
    stored = ks.store(folder / "traces", *runs)
    reports, plain = ks.read_traces(spark, stored), PlainTraces(*runs)
    watch = ks.watch(spark, stored)
    followed = watch.follow(len(runs), seconds=PATIENCE)
    watch.stop()
    return {
        "waits": reports.barrier_waits().equals(plain.barrier_waits()),
        "followed": followed.equals(plain.lag()),
    }


def models(spark: Any, folder: Path) -> dict[str, Any]:
    """Walks of every model, which workers find by its name, next to the plain engine's."""

    def walks(on: Any, name: str) -> Any:
        return ks.sweep(on, name, range(2), steps=6, tasks=None if on is None else 2)

    names = sorted(model_places())
    ours = reduce(lambda some, more: some.union(more), (walks(spark, name) for name in names))
    theirs = pa.concat_tables([walks(None, name) for name in names])
    return {"models": ours.toArrow().to_pylist() == theirs.to_pylist(), "names": names}


PARTS = {"table": table, "placements": placements, "traces": traces, "models": models}


def main() -> int:
    """Print a line of JSON: what the parts that the command line names have seen."""
    spark = ks.session(patience=PATIENCE)
    seen: dict[str, Any] = {"about": ks.about(spark).lasting}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:]:
            seen |= PARTS[name](spark, Path(folder))
    print(json.dumps(seen))
    ks.stop(spark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
