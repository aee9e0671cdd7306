"""What learners press in a lesson: the board of a bug hunt, the form of a prediction.

Each button does what the method of the hunt or of the prediction does, and shows what it gives in
place. What cells say to the same hunt is in the board, too.
"""

from typing import Any

import ipywidgets

from kit.errors import KitError
from kit.lessons.hunting import Hunt
from kit.lessons.predictions import Prediction
from kit.lessons.stills import Judgement
from kit.views.fragment import h
from kit.views.parts import prose
from kit.views.static import static_html
from kit.widgets.controls import button
from kit.widgets.player import Player

WIDE = ipywidgets.Layout(width="min(100%, 40em)")


class HuntBoard(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """The widgets of one hunt; ``place`` holds what the last button gave."""

    def __init__(self, hunt: Hunt) -> None:
        super().__init__()
        self.hunt = hunt
        numbers = [str(number) for number in range(1, hunt.variants + 1)]
        self.variant = ipywidgets.ToggleButtons(
            options=numbers, description="Variant", style={"button_width": "3em"}
        )
        self.play = button("Play", "open this variant in a Player", self._play, "max-content")
        finds = "find the shortest run that breaks something"
        self.search = button("Search", finds, self._search, "max-content")
        self.suspect = ipywidgets.Dropdown(description="Missing", layout=WIDE)
        says = "say that this safeguard is missing"
        self.accuse = button("Accuse", says, self._accuse, "max-content")
        self.table, self.reply = ipywidgets.HTML(), ipywidgets.HTML()
        self.place = ipywidgets.VBox()
        self.variant.observe(self._turn, "value")
        buttons = ipywidgets.HBox([self.play, self.search])
        words = ipywidgets.HBox([self.suspect, self.accuse])
        self.children = [self.table, self.variant, buttons, words, self.reply, self.place]
        self._turn(None)
        hunt.watchers.append(self._show)

    @property
    def number(self) -> int:
        """The variant that is chosen."""
        return int(self.variant.value)

    def _turn(self, _change: Any) -> None:
        safeguards = self.hunt.suspected(self.number)
        self.suspect.options = [
            (f"{safeguard.id}  {safeguard.title}", safeguard.id) for safeguard in safeguards
        ]
        self.reply.value, self.place.children = "", ()
        self._show()

    def _show(self) -> None:
        self.table.value = static_html(self.hunt.sheet().draw())

    def _play(self, _button: Any) -> None:
        self.reply.value = ""
        self.place.children = (Player(self.hunt.timeline(self.number), controls=False),)

    def _search(self, _button: Any) -> None:
        try:
            shortest = self.hunt.search(self.number)
        except KitError as error:
            self.reply.value = h("p", prose(str(error)), role="alert").html()
            return
        self.reply.value = static_html(h("div", shortest.sheet().draw(), role="status"))
        self.place.children = (Player(shortest.timeline, controls=False),)

    def _accuse(self, _button: Any) -> None:
        if self.suspect.value is None:
            self.reply.value = h("p", "Choose a safeguard first.", role="alert").html()
            return
        try:
            verdict = self.hunt.accuse(self.number, self.suspect.value)
        except KitError as error:
            verdict = Judgement(False, str(error))
        self.reply.value = static_html(verdict.draw(spoken=True))


def form(prediction: Prediction) -> ipywidgets.VBox:
    """The form of one prediction."""
    text = ipywidgets.HTML(h("p", h("strong", prose(prediction.text))).html())
    boxes = [
        ipywidgets.Checkbox(
            value=False, description=choice, indent=False, layout=ipywidgets.Layout(width="auto")
        )
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
