"""A bar that shows how far Spark's tasks are, from what Spark itself says of them."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from kit.edge.arguments import checked
from kit.engine.progress import Terminal
from kit.spark.given import Spark
from kit.spark.looking import Looking
from kit.spark.sessions import is_remote

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
        """``write`` takes text; the error stream's by default."""
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

    def __init__(self) -> None:
        """Nothing is displayed yet."""
        widgets: Any = import_module("ipywidgets")
        self._progress = widgets.IntProgress(min=0, max=1, layout={"width": "20em"})
        self._label = widgets.Label()
        self.box = widgets.HBox([self._progress, self._label])
        self._shown = False

    def show(self, title: str, status: Status) -> None:
        """Move the bar; its label says the same."""
        self._progress.max = max(status.total, 1)
        self._progress.value = status.done
        self._label.value = f"{title}: {status.text}"
        if not self._shown:
            self._shown = True
            display_widget(self.box, f"{title}: a bar follows Spark's tasks here")

    def end(self, title: str, status: Status) -> None:
        """The last status stays."""
        self.show(title, status)


def display_widget(widget: Any, words: str) -> None:
    """Display a widget; a closed notebook has ``words`` in its place.

    What a widget shows changes with time and machine, so it is no part of the words.
    """
    display: Any = import_module("IPython.display")
    bundle = widget._repr_mimebundle_()
    live = bundle[0] if isinstance(bundle, tuple) else bundle
    display.display({**(live or {}), "text/plain": words}, raw=True)


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
        self._looking: Looking | None = None

    def __enter__(self) -> Progress:
        if self._spark is None:
            return self
        self._bar = self._bar or (WidgetBar() if in_notebook() else TextBar())
        self._bar.show(self._title, self.status)
        if is_remote(self._spark):
            self._spark.registerProgressHandler(self._server_progress)
        else:
            self._spark.sparkContext.setJobGroup(self._group, self._title)
            self._looking = Looking(self._seconds, self._look).__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._spark is None:
            return
        if self._looking is None:
            self._spark.removeProgressHandler(self._server_progress)
        else:
            self._looking.__exit__()
            self._spark.sparkContext.setLocalProperty(GROUP, None)
        if error is not None:
            return
        if self._looking is not None:
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
        """What the status tracker knows of the jobs begun here."""
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
        """What a Connect server tells of one of its operations."""
        for stage in stages or ():
            key = str(operation_id), int(stage.stage_id)
            self._stages[key] = int(stage.num_completed_tasks), int(stage.num_tasks)
        counts = self._stages.values()
        finished, total = sum(d for d, _ in counts), sum(t for _, t in counts)
        self.status = Status(finished, inflight_tasks, total)
        if self._bar is not None:
            self._bar.show(self._title, self.status)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs us."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
