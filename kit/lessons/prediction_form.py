"""The form of a prediction: its choices to tick, a button, and the model's reply in place."""

from typing import Any

import ipywidgets

from kit.errors import KitError
from kit.lessons.predictions import Prediction
from kit.lessons.stills import Judgement
from kit.views.fragment import h
from kit.views.parts import prose
from kit.views.static import static_html
from kit.widgets.controls import button

WIDE = ipywidgets.Layout(width="auto")


def form(prediction: Prediction) -> ipywidgets.VBox:
    """The form of one prediction."""
    text = ipywidgets.HTML(h("p", h("strong", prose(prediction.text))).html())
    boxes = [
        ipywidgets.Checkbox(value=False, description=choice, indent=False, layout=WIDE)
        for choice in prediction.choices
    ]
    reply = ipywidgets.HTML()

    def judged(_button: Any) -> None:
        reply.value = reply_to(prediction, [box.description for box in boxes if box.value])

    answer = button("Answer", "compare with the model", judged, "max-content")
    return ipywidgets.VBox([text, *boxes, answer, reply])


def reply_to(prediction: Prediction, chosen: list[str]) -> str:
    """The HTML of the verdict on what was ticked; nothing ticked is said in place, too."""
    verdict = Judgement(False, "Tick at least one box.")
    try:
        verdict = prediction.answer(*chosen) if chosen else verdict
    except KitError as error:
        verdict = Judgement(False, str(error))
    return static_html(verdict.draw(spoken=True))
