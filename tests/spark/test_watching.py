"""Progress from Spark's own status, and the memory of all processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from kit.spark.progress import Peak, Progress, Status, resident
from tests.waiting import Gate, until


class Noted:
    """A bar that notes what it is shown."""

    def __init__(self) -> None:
        self.shown: list[Status] = []
        self.last: tuple[str, Status] | None = None

    def show(self, title: str, status: Status) -> None:
        """Note it."""
        self.shown.append(status)

    def end(self, title: str, status: Status) -> None:
        """Note the last one."""
        self.last = title, status


class OpeningGates(Noted):
    """A bar that opens a gate when it is shown that a task runs, and one when a task is done."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.running, self.done = Gate(folder / "running"), Gate(folder / "done")

    def show(self, title: str, status: Status) -> None:
        """Note it, and open what is to be opened."""
        super().show(title, status)
        if status.running:
            self.running.open()
        if status.done:
            self.done.open()


def test_the_bar_is_fed_by_spark(spark: Any, tmp_path: Path) -> None:
    """While a job runs the bar is told of its tasks; at the end it has seen them all.

    No task goes on before the bar has seen one run, and the last not before it has seen one done.
    """
    bar = OpeningGates(tmp_path)
    running, done = bar.running, bar.done

    def through_the_gates(batches: Any) -> Any:
        for batch in batches:
            running.wait()
            if 7 in batch.column(0).to_pylist():
                done.wait()
            yield batch

    with Progress(spark, "numbers", bar, seconds=0.05) as progress:
        assert spark.range(0, 8, 1, 8).mapInArrow(through_the_gates, "id bigint").count() == 8
    assert bar.last == ("numbers", progress.status)
    assert progress.status.done == progress.status.total >= 8
    assert progress.status.running == 0
    counts = [status.done for status in bar.shown]
    assert counts == sorted(counts)
    assert any(0 < status.done < 8 for status in bar.shown)
    assert any(status.running for status in bar.shown)


def test_jobs_outside_are_not_counted(spark: Any) -> None:
    """What ran before, or runs after, belongs to no bar."""
    spark.range(5).count()
    with Progress(spark, "nothing", Noted()) as progress:
        pass
    assert progress.status == Status()


def test_the_peak_counts_children() -> None:
    """The memory of a process that we start is in the peak, and stays there when it has ended."""
    held = 200 * 2**20
    program = f"x = bytearray({held}); import sys; sys.stdin.read()"
    before = resident()
    with (
        Peak(seconds=0.05) as peak,
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as child,
    ):
        until(lambda: peak.peak - before > held * 0.8, "the child's memory is seen")
        child.communicate()
    assert resident() < peak.peak
    assert repr(peak).startswith("peak of all processes: ")
