"""A chart: a drawn figure and the same facts in words, whoever draws it."""

import io
from importlib import import_module
from typing import Any

from msgspec import Struct

from kit.views.palette import LIGHT

DOTS = 110  # an inch


class Chart(Struct, frozen=True):
    """A drawn figure (PNG) and the same in words.

    The words are what a screen reader, a closed notebook and a comparison of outputs see.
    """

    png: bytes
    words: str

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return (
            {"text/plain": self.words, "image/png": self.png},
            {"image/png": {"alt": self.words}},
        )


def empty_figure(width: float, height: float) -> tuple[Any, Any]:
    """An empty figure (inches) and its axes; it belongs to no window and no notebook backend."""
    # Loaded by who draws, not by whoever judges a task of the same lesson.
    figure = import_module("matplotlib.figure").Figure(
        figsize=(width, height), layout="constrained"
    )
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=LIGHT["ink"])
    return figure, axes


def chart(figure: Any, words: str) -> Chart:
    """The figure as a chart. The same figure is the same file: no program name, no version."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=DOTS, facecolor=LIGHT["bg"], metadata={"Software": None})
    return Chart(held.getvalue(), words)
