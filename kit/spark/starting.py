"""What a notebook shows while Spark starts: a bar that fills in about the time that this takes."""

from __future__ import annotations

from importlib import import_module
from time import monotonic
from types import TracebackType
from typing import Any

from kit.spark.looking import Looking
from kit.spark.progress import display_widget, in_notebook

USUAL = 20  # seconds that a start takes on a small machine
LOOK = 0.5  # seconds between two looks at the clock


class StartBar:
    """A bar of seconds and a label; where it is not shown stands one line."""

    def __init__(self) -> None:
        """Nothing is displayed yet."""
        widgets: Any = import_module("ipywidgets")
        self.progress = widgets.IntProgress(min=0, max=USUAL, layout={"width": "20em"})
        self.label = widgets.Label()
        self.box = widgets.HBox([self.progress, self.label])
        self.show(0)

    def show(self, seconds: float) -> None:
        """So long it has taken. The bar is full only at the end."""
        self.progress.value = min(int(seconds), USUAL - 1)
        self.label.value = f"Spark starts: {seconds:.0f} s, {USUAL} s are usual"

    def end(self, seconds: float) -> None:
        """It has started, or given up; the line below says which."""
        self.progress.value = USUAL
        self.label.value = f"after {seconds:.0f} s"


class Starting:
    """Shows that Spark starts while it is entered; outside a notebook nothing."""

    def __init__(self, bar: StartBar | None = None) -> None:
        """``bar`` is one of widgets in a notebook, unless given."""
        self.bar = bar
        self._looking: Looking | None = None
        self._began = 0.0

    def __enter__(self) -> Starting:
        self._began = monotonic()
        if self.bar is None and in_notebook():
            self.bar = StartBar()
            display_widget(self.bar.box, "Spark starts: a bar moves here")
        if self.bar is not None:
            self._looking = Looking(LOOK, self._look).__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._looking is not None and self.bar is not None:
            self._looking.__exit__()
            self.bar.end(monotonic() - self._began)

    def _look(self) -> None:
        assert self.bar is not None
        self.bar.show(monotonic() - self._began)
