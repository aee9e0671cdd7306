"""The states that a model reaches, in a notebook: a graph while one can read it, else a table."""

from importlib import import_module
from typing import Any

from kit.edge.arguments import checked
from kit.model.model import Model
from kit.model.vet import check_contract
from kit.views.states import (
    MOST_COUNTED,
    States,
    can_be_drawn,
    dot_of,
    draw_states,
    reached,
    states_text,
)
from kit.views.static import bundle_of, static_html

WIDGET = "application/vnd.jupyter.widget-view+json"


class StatesPicture:
    """The picture, and the same in words.

    It is drawn by ``dot``, or read from ``images/`` if it is there. Where neither is at hand a
    small WebAssembly build of Graphviz draws it in the browser, as long as the kernel lives; what
    is stored then is the list of states and steps.
    """

    def __init__(self, states: States, name: str = "states") -> None:
        """``name`` is that of a committed picture of the same graph, if there is one."""
        self.states = states
        self._name = name

    def __repr__(self) -> str:
        return states_text(self.states)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "text/plain": repr(self),
            "text/html": static_html(draw_states(self.states, self._name)),
        }
        if self.states.places and not can_be_drawn(self.states, self._name):
            # The view of a widget that lays the graph out.
            draw = import_module("graphviz_anywidget").graphviz_widget_simple
            data = bundle_of(draw(dot_of(self.states)))
            shown |= {kind: data[kind] for kind in (WIDGET,) if kind in data}
        return shown


@checked
def states(
    model: Model[Any, Any], most: int = MOST_COUNTED, *, picture: str | None = None
) -> StatesPicture:
    """Draw all states of a model, up to ``most``, as a picture.

    Up to a hundred states are drawn as a graph. For more, a table says what each kind of action
    does. ``picture`` names a committed drawing under ``images/``.

    Raises BadInput when ``most`` is below 1, or the model does not keep its word.
    """
    check_contract(model)
    return StatesPicture(reached(model, most), picture or "states")
