"""What a full disk, an interrupt and a Java that dies do to the pipeline, run as a program.

A limit on the size of files stands in for the full disk: the system refuses to write on, through
the very calls that would fail on a disk without room. It holds for Java as well, which inherits it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit import spark as ks
from kit.errors import KitError
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.jobs import JOBS, numbered
from kit.spark import driver, sessions
from kit.spark.sweeping import stored
from tests.waiting import PATIENCE, Gate, until

LIMIT = 400_000  # bytes: more than a small table or what the workers are sent, less than replicas

SMALL = {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}


def a_join(nodes: int, tokens: int) -> History:
    """One more node joins a ring."""
    town = ks.sample(nodes, tokens)
    return ks.history(town.ring, town.keyspaces, [town.bootstrap()])


def below(folder: Path) -> list[str]:
    """All that is there, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def written(write: Callable[[Path], object], folder: Path) -> dict[str, Any]:
    """What became of writing: the line that is said, and what is left."""
    line = ""
    try:
        write(folder / "new" / "cluster")
    except KitError as error:
        line = str(error)
    except KeyboardInterrupt as error:
        line = str(error)
    return {"line": line, "left": below(folder)}


def started() -> Any:
    """A session, however long a busy machine takes for it."""
    return ks.session("local[2]", config=SMALL, patience=PATIENCE)


def idle(spark: Any) -> None:
    """Wait until no job or task runs: a task may outlive the write that it was for."""
    until(lambda: not sessions._busy(spark), "no task runs")


def whole(job: Any, frame: Any) -> Callable[[Path], object]:
    """Write a pipeline whose tables are made so."""
    job.table = frame
    return job.write


WAYS: dict[str, Callable[[Any, Any], Callable[[Path], object]]] = {
    "a pipeline is written": whole,
    "rows are stored": lambda job, frame: lambda place: stored(frame("replicas"), place),
    "rows are fetched": lambda job, frame: lambda place: ks.dicts(frame("replicas")),
    "a frame is made": lambda job, frame: lambda place: frame("replicas").toPandas(),
    "rows are counted": lambda job, frame: lambda place: frame("replicas").count(),
}


def interrupted(spark: Any, job: Any, way: str, folder: Path) -> dict[str, Any]:
    """The same, with Ctrl-C while a task runs: it opens one gate, and stands at the other."""
    with tempfile.TemporaryDirectory() as gates:
        running, over = (Gate(Path(gates) / name) for name in ("running", "over"))

        def frame(name: str) -> Any:
            work = numbered(name, job._held)

            # In the stage of the work, not in one behind it: of two stages the first gives its
            # worker back to the pool before the task is over. Spark ends the workers of a task that
            # outlives its interrupt, those in the pool too; the next job may be given a closed one.
            def held_up(batches: Any) -> Any:
                running.open()
                over.wait()
                yield from work(batches)

            return spark.range(0, 32, 1, 32).mapInArrow(held_up, JOBS[name].schema.ddl)

        def press() -> None:
            running.wait()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()
        found = written(WAYS[way](job, frame), folder)
        found["running"] = len(spark.sparkContext.statusTracker().getActiveJobsIds())
        idle(spark)
        over.open()
    return found


def begun_again(spark: Any) -> bool:
    """Whether another session works once the Java of this one has died."""
    again = started()
    works = again is not spark and again.range(3).count() == 3
    ks.stop(again)
    return works


def main() -> int:
    """Print a line of JSON."""
    # A shell starts what runs in its background deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found: dict[str, Any] = {}
    large, small = a_join(400, 32), a_join(6, 4)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    spark = started()
    for name, engine in (("spark", spark), ("plain", None)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = written(ks.pipeline(engine, large, parts=2).write, Path(folder))
    try:
        ks.pipeline(spark, a_join(2000, 64))
    except KitError as error:
        found["temporary"] = str(error)
    idle(spark)
    found["interrupted"] = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            job = ks.pipeline(spark, large, parts=32)
            found["interrupted"][way] = interrupted(spark, job, way, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        found["after"] = written(ks.pipeline(spark, small).write, Path(folder))
    java: Any = driver._Java.now
    java.proc.kill()
    java.proc.wait()
    found["lives"] = driver.lives()
    found["again"] = begun_again(spark) if "again" in sys.argv else None
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
