"""How many controls a reader sees at once: few enough to be taken in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.views.breaks import draw_break
from kit.views.fragment import PRESSED, Frag
from kit.views.frame import frame
from kit.views.panel import scene_of
from kit.views.registry import for_model
from kit.views.shell import shell
from tests.protocols.test_on_record import opened, stories

MOST = 12
ASIDE = {"kp-sheet", "kp-page", "kp-cover", "kp-break", "kp-marks", "kp-tables"}
"""What lies over the board, or is a part of the picture or of the words."""


def controls(part: Frag) -> Iterator[str]:
    """What is seen of a part, and can be pressed; the switch is one."""
    kinds = {*(part.get("class") or "").split()}
    if part.tag == "svg" or part.get("hidden") is not None or kinds & {*ASIDE, PRESSED}:
        return
    if "kp-tabs" in kinds:
        yield "switch"
    elif part.tag in ("button", "summary", "input", "select"):
        yield part.text() or part.get("aria-label") or part.tag
    else:
        for kid in part.kids:
            if isinstance(kid, Frag):
                yield from controls(kid)


@pytest.mark.parametrize("story", sorted({story for _, story in stories()}))
def test_a_board_has_few_controls(story: str) -> None:
    """At most twelve at the first step, in the middle and at the end, the shell's among them."""
    timeline = opened(story)
    views = for_model(timeline.model)
    around = [*controls(shell())]
    path = timeline.path(timeline.tip)
    for number in (path[0], path[len(path) // 2], path[-1]):
        scene = scene_of(timeline, number)
        drawn = frame(scene, views.panels, views.macros, views)
        seen = [*around, *controls(drawn)]
        if scene.suggested is None or draw_break(scene, None, views.named):  # nothing is predicted
            seen.remove("Predict first")
        assert len(seen) <= MOST, seen
