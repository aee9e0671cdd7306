"""What a picture is drawn from, and what a panel is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from kit.views.fragment import Frag, Kid, h

Area = Literal["head", "main", "side", "foot"]


class Scene(Struct, frozen=True):
    """One moment to draw: the state, the step that led to it, and whether one may act.

    ``model`` is a Model of any family; its own views know which. ``before`` and ``action`` are None
    at the start; ``before`` serves only to mark what changed. ``suggested`` is the action that the
    step button would do. ``closed`` is the sentence to answer with where acting is impossible (an
    exported page). ``memories`` is what the model's monitors remember at this moment.
    """

    model: Any
    state: Any
    before: Any = None
    action: Any = None
    say: str = ""
    milestone: str | None = None
    closed: str | None = None
    suggested: Any = None
    memories: tuple[Any, ...] = ()


class Panel(Struct, frozen=True):
    """One picture of a moment, and the same in words.

    ``optional`` panels are the first to be left out of an export that grows too large; those
    with ``folded`` are shown as a title that opens; those with ``still`` make up the picture that a
    notebook keeps without a kernel. ``shown`` tells whether there is anything.
    """

    name: str
    title: str
    area: Area
    draw: Callable[[Scene], Frag]
    text: Callable[[Scene], str]
    optional: bool = False
    folded: bool = False
    still: bool = False
    shown: Callable[[Scene], bool] | None = None


def section(panel: Panel, body: Kid) -> Frag:
    """Frame a panel's picture with its title; the title folds it away."""
    return h(
        "details",
        h("summary", h("h3", panel.title)),
        body,
        k=f"panel:{panel.name}",
        class_=f"panel {panel.area} {panel.name}",
        open=not panel.folded,
    )
