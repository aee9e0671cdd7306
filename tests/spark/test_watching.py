"""Progress from Spark's own status, and the memory of all processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from kit.spark.progress import Peak, Progress, Status, resident
from tests.waiting import Gate, until


class Noted:
    """A paper that notes what is drawn on it, and opens a gate when it is told that a task runs,
    and one when a task is done.
    """

    def __init__(self, folder: Path) -> None:
        self.drawn: list[tuple[int, int | None, str]] = []
        self.running, self.done = Gate(folder / "running"), Gate(folder / "done")

    def draw(self, done: int, total: int | None, words: str) -> None:
        """Note it, and open what is to be opened."""
        self.drawn.append((done, total, words))
        if not words.endswith(" 0 running"):
            self.running.open()
        if done:
            self.done.open()

    def clear(self) -> None:
        """Note that it is taken away."""
        self.drawn.append((0, None, ""))


def test_the_bar_is_fed_by_spark(spark: Any, tmp_path: Path) -> None:
    """While a job runs the bar is told of its tasks; at the end all are known, and it is gone.

    No task goes on before the bar has seen one run, and the last not before it has seen one done.
    """
    paper = Noted(tmp_path)
    running, done = paper.running, paper.done

    def through_the_gates(batches: Any) -> Any:
        for batch in batches:
            running.wait()
            if 7 in batch.column(0).to_pylist():
                done.wait()
            yield batch

    with Progress(spark, "numbers", paper, seconds=0.05) as progress:
        assert spark.range(0, 8, 1, 8).mapInArrow(through_the_gates, "id bigint").count() == 8
    *drawn, last = paper.drawn
    assert last == (0, None, "")
    assert progress.status.done == progress.status.total >= 8
    assert progress.status.running == 0
    counts = [done for done, _, _ in drawn]
    assert counts == sorted(counts)
    assert any(0 < done < 8 for done in counts)
    assert drawn[0] == (0, 0, "numbers: 0 of 0 tasks, 0 running")


def test_jobs_outside_are_not_counted(spark: Any, tmp_path: Path) -> None:
    """What ran before, or runs after, belongs to no bar."""
    spark.range(5).count()
    with Progress(spark, "nothing", Noted(tmp_path)) as progress:
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
