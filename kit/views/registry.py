"""From a model to its panels and macros; a model nobody drew yet gets the default ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from msgspec import Struct

from kit.model import Model
from kit.views.default import STATE
from kit.views.frame import LAMPS, Macro
from kit.views.panel import Panel, Scene
from kit.views.question import Question, changed_fields

Run = Callable[[Model[Any, Any], Any], Iterator[Any]]


class Views(Struct, frozen=True):
    """All a player needs to show a model.

    ``question`` asks about the step of a scene before it is shown; None where nothing is worth
    asking. ``runs`` are the macros with the generator of their ordinary actions.
    """

    panels: tuple[Panel, ...]
    runs: tuple[tuple[Macro, Run], ...] = ()
    question: Callable[[Scene], Question | None] = changed_fields

    @property
    def macros(self) -> tuple[Macro, ...]:
        """The macros without what they do, as a frame shows them."""
        return tuple(macro for macro, _ in self.runs)


DEFAULT = Views((STATE, LAMPS))
_VIEWS: dict[str, str | Views] = {
    "tcm": "kit.views.tcm",
    "dataplane": "kit.views.storage",
    "coordinator": "kit.views.storage.coordinator",
    "replica": "kit.views.storage.replica",
}


def register(family: str, views: Views) -> None:
    """Draw every model whose name is ``family``, or begins with ``family/``, with ``views``."""
    _VIEWS[family] = views


def for_model(model: Model[Any, Any]) -> Views:
    """Return the views of a model: those of its name, of its family, or the default ones."""
    found = _VIEWS.get(model.name) or _VIEWS.get(model.name.split("/")[0]) or DEFAULT
    if isinstance(found, str):
        views = import_module(found).VIEWS
        assert isinstance(views, Views)
        return views
    return found
