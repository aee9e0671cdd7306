"""Colours stay apart for every kind of eye, and text can be read on all of them."""

from __future__ import annotations

import ast
import re
from itertools import combinations
from pathlib import Path

import pytest

import kit
from kit.views.palette import (
    DARK,
    EYES,
    INK_ON,
    LIGHT,
    OKABE_ITO,
    OUTLINE,
    RACKS,
    SIGNS,
    STATES,
    contrast,
    difference,
)
from kit.views.styles import page_style, sheets

PROTOCOLS = Path(kit.__file__).parent / "protocols"
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


@pytest.mark.parametrize("shape", RACKS)
def test_words_on_the_grounds_of_racks_can_be_read(shape: str) -> None:
    """What is written in a shape has a contrast of at least 4.5."""
    assert contrast(RACKS[shape], OUTLINE) >= 4.5


def test_every_colour_is_in_the_palette() -> None:
    """No family has a colour of its own, neither in a sheet nor in a drawing."""
    mixed = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|color-mix)\(")
    sheets = [path for path in PROTOCOLS.rglob("*.css") if mixed.search(path.read_text("utf-8"))]
    texts = [
        f"{path.relative_to(PROTOCOLS)}: {node.value}"
        for path in PROTOCOLS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_colour(node.value)
    ]
    assert (sheets, texts) == ([], [])


def is_colour(text: str) -> bool:
    """Whether a text is a colour as style sheets write them."""
    return bool(re.fullmatch(r"#[0-9a-fA-F]{3,8}|rgba?\(.*\)|hsla?\(.*\)", text))


def test_every_colour_of_a_sheet_has_a_name() -> None:
    """What sheets call a colour is in the palette, else a variable that a sheet sets."""
    known = {*SIGNS, *STATES, *RACKS, *LIGHT, "outline", *(f"on-{name}" for name in INK_ON)}
    for path in sheets():
        text = path.read_text("utf-8")
        used = set(re.findall(r"(?:fill|stroke|color|background): var\(--([a-z-]+)\)", text))
        assert used <= known, path


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
