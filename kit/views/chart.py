"""A chart: a drawn figure and the same facts in words, whoever draws it."""

import io
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.views.fragment import h
from kit.views.palette import MATPLOTLIB


class Chart(Struct, frozen=True):
    """A drawn figure (PNG) and the same in words.

    The words are what a screen reader, a closed notebook and a comparison of outputs see.
    """

    png: bytes
    words: str

    def __repr__(self) -> str:
        return self.words

    def html(self) -> str:
        """The picture as an element of a page, for what is drawn again and again."""
        source = f"data:image/png;base64,{b64encode(self.png).decode()}"
        return h("img", src=source, alt=self.words).html()

    def _repr_mimebundle_(self, **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return (
            {"text/plain": self.words, "image/png": self.png},
            {"image/png": {"alt": self.words}},
        )


def style() -> dict[str, Any]:
    """The look of the kit's charts, for ``matplotlib.style.use`` and ``matplotlib.rc_context``."""
    return dict(MATPLOTLIB)


def styled() -> AbstractContextManager[None]:
    """While entered, Matplotlib has the kit's style."""
    # Loaded by who draws, not by whoever judges a task of the same lesson.
    context: AbstractContextManager[None] = import_module("matplotlib").rc_context(style())
    return context


@contextmanager
def canvas(ax: Any, width: float, height: float) -> Iterator[Any]:
    """The axes to draw on in the kit's style: ``ax``, or (None) those of a figure of so many
    inches, which belongs to no window and no notebook backend. BadInput for anything else.
    """
    if ax is not None and not isinstance(ax, import_module("matplotlib.axes").Axes):
        raise BadInput("ax", ax, "axes of Matplotlib, or None")
    with styled():
        new = import_module("matplotlib.figure").Figure
        yield new(figsize=(width, height)).subplots() if ax is None else ax


def chart(axes: Any, words: str) -> Chart:
    """The figure that axes are on as a chart. The same figure is the same file: no program name, no
    version.
    """
    held = io.BytesIO()
    with styled():  # ticks are made when they are drawn
        axes.get_figure(root=True).savefig(held, format="png", metadata={"Software": None})
    return Chart(held.getvalue(), words)
