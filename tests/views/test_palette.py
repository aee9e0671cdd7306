"""Colours stay apart for every kind of eye, and text can be read on all of them."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from kit.views.palette import (
    DARK,
    EYES,
    INK_ON,
    LIGHT,
    OKABE_ITO,
    OUTLINE,
    SIGNS,
    contrast,
    difference,
)
from kit.views.styles import page_style

ONLY_FILLS = (OKABE_ITO["orange"], OKABE_ITO["sky"], OKABE_ITO["yellow"])


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize(("one", "other"), list(combinations(SIGNS, 2)))
def test_signs_stay_apart(one: str, other: str, eye: str) -> None:
    """Every pair of colours with a meaning differs by ΔE2000 of 10 or more, whoever looks."""
    assert difference(SIGNS[one], SIGNS[other], eye) >= 10


def test_difference_agrees_with_published_pairs() -> None:
    """Black and white are 100 apart, equal colours 0, and a near pair lies in between."""
    assert difference("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    assert difference("#0072b2", "#0072b2") == 0
    assert difference("#ff0000", "#ff0101") < 1


def test_contrast_agrees_with_wcag() -> None:
    """The ratio is 21 for black on white and 1 for a colour on itself."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", SIGNS)
def test_words_on_signs_can_be_read(name: str) -> None:
    """Text on a fill has a contrast of at least 4.5, the outline around it at least 3."""
    assert contrast(SIGNS[name], INK_ON[name]) >= 4.5
    assert contrast(SIGNS[name], OUTLINE) >= 3


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_themes_can_be_read(theme: dict[str, str]) -> None:
    """Words reach 4.5 on both grounds, and edges of controls 3."""
    for ground in ("bg", "raised"):
        for words in ("ink", "soft", "accent"):
            assert contrast(theme[words], theme[ground]) >= 4.5
        for lines in ("edge", "back"):
            assert contrast(theme[lines], theme[ground]) >= 3
    assert contrast(theme["chip"], OUTLINE) >= 4.5


def test_light_colours_are_fills_only() -> None:
    """Orange, sky blue and yellow are never the colour of text, of a line or of a lamp."""
    names = [name for name, colour in SIGNS.items() if colour in ONLY_FILLS]
    assert sorted(names) == ["added", "changed", "removed"]
    for name in names:
        assert not re.search(
            rf"(?<![-\w])(color|stroke|border-color):var\(--{name}\)", page_style()
        )
    lamp = re.search(r"\.bulb\{[^}]*background:var\(--(\w+)\)", page_style())
    assert lamp is not None
    assert lamp[1] not in names
