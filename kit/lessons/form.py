"""A prediction as a form of widgets: tick, press the button, read the verdict in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets

from kit.errors import KitError
from kit.lessons.judgements import Judgement
from kit.views.fragment import h
from kit.views.parts import prose
from kit.views.static import static_html

if TYPE_CHECKING:
    from kit.lessons.predictions import Prediction

WIDE = ipywidgets.Layout(width="auto")
NARROW = ipywidgets.Layout(width="max-content")


def form(prediction: Prediction) -> ipywidgets.VBox:
    """The form of one prediction."""
    text = ipywidgets.HTML(h("p", h("strong", prose(prediction.text))).html())
    boxes = [
        ipywidgets.Checkbox(value=False, description=choice, indent=False, layout=WIDE)
        for choice in prediction.choices
    ]
    button = ipywidgets.Button(
        description="Answer", tooltip="compare with the model", layout=NARROW
    )
    reply = ipywidgets.HTML()

    def judged(_button: Any) -> None:
        reply.value = reply_to(prediction, [box.description for box in boxes if box.value])

    button.on_click(judged)
    return ipywidgets.VBox([text, *boxes, button, reply])


def reply_to(prediction: Prediction, chosen: list[str]) -> str:
    """The HTML of the verdict on what was ticked; nothing ticked is said in place, too."""
    if not chosen:
        return static_html(Judgement(False, "Tick at least one box.").draw(spoken=True))
    try:
        return static_html(prediction.answer(*chosen).draw(spoken=True))
    except KitError as error:
        return static_html(Judgement(False, str(error)).draw(spoken=True))
