"""The largest ring of the requirements, run as a program: what it took, and what came out."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from kit import spark as ks

NODES, TOKENS = 10_000, 256


def main() -> int:
    """A join among 10,000 nodes: every table in Parquet, then all reports; a line of JSON."""
    took: dict[str, float] = {}
    began = time.monotonic()

    def lap(name: str) -> None:
        took[name] = round(time.monotonic() - began - sum(took.values()), 1)
        print(f"{name}: {took[name]} s, {peak}", file=sys.stderr, flush=True)

    with ks.Peak() as peak, tempfile.TemporaryDirectory() as folder:
        spark = ks.session()
        town = ks.sample(NODES, TOKENS)
        plan = ks.history(town.ring, town.keyspaces, [town.bootstrap()])
        job = ks.pipeline(spark, plan, sizes={"ks": 10**15})
        lap("start and plan")
        with ks.Progress(spark, "tables"):
            job.write(Path(folder) / "cluster")
        lap("tables")
        with ks.Progress(spark, "sums"):
            affected = job.affected()
        lap("sums")
        with ks.Progress(spark, "quorums"):
            quorums = job.quorums()
        lap("quorums")
        found = {
            "ranges": int(affected["ranges"].iloc[0]),
            "steps": len(affected),
            "missed": int(quorums["missed"].sum()),
            "judged": int(quorums["ranges"].sum()),
            "moving": affected["moving"].tolist(),
            "reads": float(job.ownership()["reads_share"].sum()),
            "peak": peak.peak,
            "seconds": took,
        }
        ks.stop(spark)
    print(peak, file=sys.stderr)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
