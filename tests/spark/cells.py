"""What a notebook's cells do, run as a program; the environment names the master."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from kit import spark as ks


class _Quiet:
    """A bar that shows nothing."""

    def show(self, title: str, status: object) -> None:
        """Nothing."""

    def end(self, title: str, status: object) -> None:
        """Nothing."""


def main() -> int:
    """The cells; prints what the tests look at."""
    quick = os.environ.get("SPARK_DAEMON_JAVA_OPTS", "")
    spark = ks.session(config={"spark.executor.extraJavaOptions": quick})
    print(ks.about(spark).master)
    town = ks.sample(nodes=12, tokens=8)
    plan = ks.history(town.ring, town.keyspaces, [town.join()])
    with tempfile.TemporaryDirectory() as folder:
        job = ks.pipeline(spark, plan, parts=2, sizes={"ks": 10**12})
        with ks.Progress(spark, "placements", _Quiet()) as progress:
            job.write(Path(folder) / "cluster")
        print(progress.status.text)
        print(ks.same_as_engine(job, ks.pipeline(None, plan, sizes={"ks": 10**12})))
        runs = [ks.as_tables(ks.drawn(seed, nodes=4), f"seed-{seed}") for seed in range(2)]
        store = ks.store(Path(folder) / "traces", *runs)
        same = ks.Traces(spark, store).lag().equals(ks.PlainTraces(*runs).lag())
        watch = ks.Watch(spark, store)
        print(same, watch.follow(2).equals(ks.PlainTraces(*runs).lag()))
        watch.stop()
    ks.stop(spark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
