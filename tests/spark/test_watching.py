"""Progress from Spark's own status, and the memory of all processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.spark.progress import Peak, Progress, Status, TextBar, WidgetBar, looking, resident
from tests.waiting import PATIENCE, Gate, until
from tools.notebooks import LIVE


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


def test_text_is_written_over() -> None:
    """The text bar says title and counts, writes only what is new, and ends its line."""
    written: list[str] = []
    bar = TextBar(written.append)
    bar.show("ranges", Status(1, 1, 4))
    bar.show("ranges", Status(1, 1, 4))
    bar.end("ranges", Status(4, 0, 4))
    assert written == [
        f"\r[{'#' * 7}{'.' * 23}] ranges: 1 of 4 tasks",
        f"\r[{'#' * 30}] ranges: 4 of 4 tasks",
        "\n",
    ]


def test_the_widget_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widget's value, maximum and label are the status; it is displayed once, and the words in
    its place do not depend on how many tasks there were.
    """
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    bar = WidgetBar()
    bar.show("ranges", Status(3, 1, 8))
    progress, label = bar.box.children
    assert (progress.value, progress.max, label.value) == (3, 8, "ranges: 3 of 8 tasks")
    bar.end("ranges", Status(8, 0, 8))
    assert (progress.value, label.value) == (8, "ranges: 8 of 8 tasks")
    [bundle] = shown
    assert bundle["text/plain"] == "ranges: progress of Spark's tasks is shown here"
    assert LIVE in bundle


def test_without_spark_there_is_no_bar() -> None:
    """The same cell runs where Spark does not."""
    bar = Noted()
    with Progress(None, "nothing", bar) as progress:
        pass
    assert (bar.shown, bar.last, progress.status) == ([], None, Status())


def test_a_look_that_fails_is_the_last_one() -> None:
    """Watching never disturbs the work: an error in it ends the watching, and is not thrown."""
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        raise ZeroDivisionError

    with looking(0.01, look) as thread:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert looks == [1]


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
