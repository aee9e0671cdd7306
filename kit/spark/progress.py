"""What is seen while Spark works: a bar while it starts, another for its tasks, its memory."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from time import monotonic
from typing import Any, Protocol, runtime_checkable

import psutil
from msgspec import Struct

from kit.edge.arguments import checked
from kit.edge.progress import Terminal, in_notebook
from kit.spark.machine import SparkUnavailable
from kit.spark.sessions import Spark, is_remote, living, session
from kit.views.static import display_widget


@contextmanager
def looking(seconds: float, look: Callable[[], object]) -> Iterator[threading.Thread]:
    """Calls ``look`` every so many seconds on its own thread while entered, until it fails."""
    done = threading.Event()

    def run() -> None:
        with suppress(Exception):
            while not done.wait(seconds):
                look()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        done.set()
        thread.join()


GROUP = "spark.jobGroup.id"


class Status(Struct, frozen=True):
    """Tasks that are done, that run, and that there are, of all jobs since the bar began."""

    done: int = 0
    running: int = 0
    total: int = 0

    @property
    def text(self) -> str:
        """``12 of 40 tasks``."""
        return f"{self.done} of {self.total} tasks"


@runtime_checkable
class Bar(Protocol):
    """Something that shows a status."""

    def show(self, title: str, status: Status) -> None:
        """Show it; called again and again."""
        ...

    def end(self, title: str, status: Status) -> None:
        """Show the last one, and be still."""
        ...


class TextBar:
    """A line of text that is written over, and stays when it is full."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or sys.stderr.write
        self._terminal = Terminal(self._write)
        self._last: Status | None = None

    def show(self, title: str, status: Status) -> None:
        """``[######......] pipeline: 12 of 40 tasks``."""
        if status != self._last:
            self._terminal.draw(status.done, status.total, f"{title}: {status.text}")
            self._last = status

    def end(self, title: str, status: Status) -> None:
        """The full bar, and a new line."""
        self.show(title, status)
        self._write("\n")


class WidgetBar:
    """A progress widget; where it is not shown stands one line, the same before and after."""

    def __init__(self, words: str = "{}: progress of Spark's tasks is shown here") -> None:
        """``words`` are that line, with a place for the title."""
        widgets: Any = import_module("ipywidgets")
        self._words, self._shown = words, False
        self._progress = widgets.IntProgress(min=0, max=1, layout={"width": "20em"})
        self._label = widgets.Label()
        self.box = widgets.HBox([self._progress, self._label])

    def show(self, title: str, status: Status) -> None:
        """Move the bar; its label says the same."""
        self.draw(status.done, status.total, f"{title}: {status.text}", title)

    def draw(self, done: int, total: int, label: str, title: str = "") -> None:
        """Move the bar to ``done`` of ``total``, with a label."""
        self._progress.max = max(total, 1)
        self._progress.value, self._label.value = done, label
        if not self._shown:
            self._shown = True
            display_widget(self.box, self._words.format(title))

    def end(self, title: str, status: Status) -> None:
        """The last status stays."""
        self.show(title, status)


class Progress:
    """Shows the progress of all that Spark does for this thread while it is entered.

    Embedded Spark and a standalone master are asked through the status tracker; a Connect server
    tells by itself. ``status`` holds what was last known. Without Spark (None) nothing is shown.
    """

    @checked
    def __init__(
        self,
        spark: Spark | None,
        title: str = "Spark",
        bar: Bar | None = None,
        seconds: float = 0.25,
    ) -> None:
        """``bar`` is a widget in a notebook and text elsewhere, unless given."""
        self.status = Status()
        self._spark: Any = spark
        self._title = title
        self._bar = bar
        self._seconds = seconds
        self._group = f"kit-{uuid.uuid4().hex}"
        self._stages: dict[tuple[str, int], tuple[int, int]] = {}
        self._looking = ExitStack()

    def __enter__(self) -> Progress:
        if self._spark is None:
            return self
        living(self._spark)
        self._bar = self._bar or (WidgetBar() if in_notebook() else TextBar())
        self._bar.show(self._title, self.status)
        if is_remote(self._spark):
            self._spark.registerProgressHandler(self._server_progress)
        else:
            self._spark.sparkContext.setJobGroup(self._group, self._title)
            self._looking.enter_context(looking(self._seconds, self._look))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._spark is None:
            return
        self._looking.close()
        if is_remote(self._spark):
            self._spark.removeProgressHandler(self._server_progress)
        else:
            self._spark.sparkContext.setLocalProperty(GROUP, None)
        if kind is not None:
            return
        if not is_remote(self._spark):
            self._ask()
        # Stages that Spark skipped, since their results were there, will never run.
        self.status = Status(self.status.done, 0, self.status.done)
        if self._bar is not None:
            self._bar.end(self._title, self.status)

    def _look(self) -> None:
        self._ask()
        if self._bar is not None:
            self._bar.show(self._title, self.status)

    def _ask(self) -> None:
        tracker = self._spark.sparkContext.statusTracker()
        done = running = total = 0
        seen: set[int] = set()
        for job in tracker.getJobIdsForGroup(self._group):
            info = tracker.getJobInfo(job)
            seen.update(info.stageIds if info is not None else ())
        for stage in seen:
            stage_info = tracker.getStageInfo(stage)
            if stage_info is not None:
                done += stage_info.numCompletedTasks
                running += stage_info.numActiveTasks
                total += stage_info.numTasks
        self.status = Status(done, running, total)

    def _server_progress(
        self, stages: Any, inflight_tasks: int, operation_id: Any, done: bool
    ) -> None:
        for stage in stages or ():
            key = str(operation_id), int(stage.stage_id)
            self._stages[key] = int(stage.num_completed_tasks), int(stage.num_tasks)
        counts = self._stages.values()
        finished, total = sum(d for d, _ in counts), sum(t for _, t in counts)
        self.status = Status(finished, inflight_tasks, total)
        if self._bar is not None:
            self._bar.show(self._title, self.status)


USUAL = 20  # seconds that a start takes on a small machine
LOOK = 0.5  # seconds between two looks at the clock


@contextmanager
def starting() -> Iterator[None]:
    """Shows that Spark starts while it is entered: a bar of seconds in a notebook, else nothing."""
    if not in_notebook():
        yield
        return
    began, bar = monotonic(), WidgetBar("Spark is starting: progress is shown here")

    def show() -> None:
        seconds = round(monotonic() - began)
        words = f"Spark is starting: {seconds} s ({USUAL} s is usual)"
        bar.draw(min(seconds, USUAL - 1), USUAL, words)  # full only at the end

    show()
    try:
        with looking(LOOK, show):
            yield
    finally:
        bar.draw(USUAL, USUAL, f"after {round(monotonic() - began)} s")


def session_or_none(
    master: str | None = None, *, tell: Callable[[str], None] = print
) -> Any | None:
    """A session as ``session`` gives it, or None: what takes one then runs in this process."""
    try:
        with starting():
            return session(master)
    except SparkUnavailable as why:
        tell(f"Spark cannot be used here: {why}. A smaller run with the plain engine follows.")
        return None


class Peak:
    """Samples the resident memory of a process tree while it is entered.

    Resident sizes are added up, so that pages which processes share count several times: the true
    peak is at most ``peak`` (bytes).
    """

    @checked
    def __init__(self, seconds: float = 0.2) -> None:
        """Sample every so many seconds."""
        self.peak = 0
        self._seconds = seconds
        self._looking = ExitStack()

    def __enter__(self) -> Peak:
        self._looking.enter_context(looking(self._seconds, self._look))
        return self

    def __exit__(self, *error: object) -> None:
        self._looking.close()
        self._look()

    def _look(self) -> None:
        self.peak = max(self.peak, resident())

    def __repr__(self) -> str:
        return f"peak of all processes: {self.peak / 2**30:.1f} GiB"


def resident() -> int:
    """The resident bytes of this process and all its descendants, now."""
    own = psutil.Process()
    return sum(map(_resident, [own, *own.children(recursive=True)]))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has ended meanwhile
        return 0
