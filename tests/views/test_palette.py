"""Colours stay apart for every kind of eye, and text can be read on all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

import kit
from kit.views.palette import (
    DARK,
    FORCED,
    INK_ON,
    LIGHT,
    OKABE_ITO,
    OUTLINE,
    RACKS,
    SIGNS,
    STATES,
    contrast,
)
from kit.views.styles import page_styles, sheets
from tests.views.eyes import EYES, difference

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


@pytest.mark.parametrize("ink", ["#000000", "#ffffff"])
def test_words_on_shades_of_the_readers_colours_can_be_read(ink: str) -> None:
    """Black on white and white on black: a fill that is mixed of both lets the ink be read."""
    shares = [int(share) for text in FORCED.values() for share in re.findall(r"(\d+)%", text)]
    assert shares
    for share in shares:
        grey = round(255 * (share if ink == "#ffffff" else 100 - share) / 100)
        assert contrast(ink, f"#{bytes([grey] * 3).hex()}") >= 4.5


def laid(colour: str, ground: str) -> str:
    """What a colour of four short digits, the last one its strength, is over a ground."""
    *parts, strength = (int(digit * 2, 16) for digit in colour[1:])
    below = bytes.fromhex(ground[1:])
    mixed = (
        round((mine * strength + other * (255 - strength)) / 255)
        for mine, other in zip(parts, below, strict=True)
    )
    return f"#{bytes(mixed).hex()}"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_themes_can_be_read(theme: dict[str, str]) -> None:
    """Words reach 4.5 on both grounds, and edges of controls 3."""
    for ground in (theme["bg"], laid(theme["raised"], theme["bg"])):
        for words in ("ink", "soft", "accent"):
            assert contrast(theme[words], ground) >= 4.5
        for lines in ("edge", "back"):
            assert contrast(theme[lines], ground) >= 3
    assert contrast(theme["chip"], OUTLINE) >= 4.5


@pytest.mark.parametrize("shape", RACKS)
def test_words_on_the_grounds_of_racks_can_be_read(shape: str) -> None:
    """What is written in a shape has a contrast of at least 4.5."""
    assert contrast(RACKS[shape], OUTLINE) >= 4.5


def test_every_colour_is_in_the_palette() -> None:
    """Nothing has a colour of its own, neither a sheet nor a script nor the drawing of a family."""
    mixed = re.compile(r"(?<!\.)#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?)\(")
    written = [*sheets(), *(PROTOCOLS.parent / "widgets" / "browser").glob("*.js")]
    loose = [path for path in written if mixed.search(path.read_text("utf-8"))]
    texts = [
        f"{path.relative_to(PROTOCOLS)}: {node.value}"
        for path in PROTOCOLS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_colour(node.value)
    ]
    assert (loose, texts) == ([], [])


def rules() -> Iterator[tuple[str, str, str]]:
    """Every declaration of every sheet: its selector, its name, its value."""
    for path in sheets():
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
            for name, value in re.findall(r"([\w-]+): ([^;]+);", body):
                yield " ".join(selector.split()), name, value


TYPE = (11, 12, 13, 14, 15, 17, 22, 28)
"""Letters, px: up to 12 in drawings, which are drawn larger; the last two on a projector."""
SPACE = (0, 1, 2, 4, 6, 8, 12, 16, 24, 36)
RADIUS = (0, 3, 6, 11)
"""Corners, px: of a mark, of a box, of a chip."""
LINES = (0, 1, 1.5, 2, 3, 4)
"""Borders and outlines, px."""
SCALES = {
    r"font|font-size": TYPE,
    r"(margin|padding)(-\w+)*|gap|(column|row)-gap": SPACE,
    r"border-radius": RADIUS,
    r"border(-(left|right|top|bottom))?(-width)?|outline(-offset)?": LINES,
}


PLACE = 100
"""What is as far from an edge is a place and no distance."""


def test_every_size_is_of_its_scale() -> None:
    """Letters, distances, corners and borders have sizes of the few that there are."""
    found = []
    for selector, name, value in rules():
        scale = next((each for kind, each in SCALES.items() if re.fullmatch(kind, name)), None)
        own = value.partition("/")[0] if name == "font" else re.sub(r"calc\(.*\)", "", value)
        sizes = [abs(float(size)) for size in re.findall(r"(-?\d*\.?\d+)px", own)]
        sizes = [size for size in sizes if size < PLACE]
        if scale is not None and not {*sizes} <= {*scale}:
            found.append(f"{selector}: {name}: {value}")
    assert not found


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_theme_has_two_greys(theme: dict[str, str]) -> None:
    """Quiet words and edges share one, what only parts or fills has the other."""
    others = {"bg", "raised", "ink", "accent", "back", "chip"}
    assert len({colour for name, colour in theme.items() if name not in others}) == 2


GREEN = {".kp .badge.kept", ".kp .bulb.kept", ".kept", ".kit-terminal .kit-passed"}
"""A promise, all promises, the same in stored output, and an exam in which all were kept."""


def test_green_is_a_kept_promise() -> None:
    """No other rule is green, and no chart."""
    assert {selector for selector, _, value in rules() if "holds)" in value} == GREEN
    named = re.compile(r"SIGNS\[.holds.\]|OKABE_ITO\[.green.\]")
    kit_files = PROTOCOLS.parent.rglob("*.py")
    users = [path.name for path in kit_files if named.search(path.read_text("utf-8"))]
    assert users == ["palette.py"]


PLANNED = {
    ".away": "not arrived yet",
    ".dashed": "not yet so",
    ".joining .body": "to come",
    ".leaving .body": "to go",
    ".letter.pending .seat": "to be read later",
    ".kp .chip.pending": "to be read later",
    ".chip.pending": "to be read later",
    ".kp .badge.busy, .kp .bulb.waits": "not done yet",
    ".busy": "not done yet",
    ".waits": "not done yet",
    ".envelope.waits .box": "not sent yet",
    ".kp-ghost": "a guess",
    ".kp .cell.held": "not applied yet",
    ".kp .cell.lacks": "not applied yet",
    ".span.open .bar": "not ended yet",
    ".request.open": "not answered yet",
    ".kp .bubble.asked, .kp .bubble.silent, .kp .bubble.waiting, .kp .bubble.open": "not said yet",
    ".bubble.asked, .bubble.silent, .bubble.waiting, .bubble.open": "not said yet",
}
"""What is drawn with dashes: what is planned, or not yet true. Nothing else may be."""
PLANNED_BY = {
    "grid.py": "a node that joins, leaves, or lags",
    "members.py": "a node that has not joined yet",
    "resize.py": "two tablets that are still apart",
    "ring.py": "a node that comes or goes",
    "spacetime.py": "a message that is held",
    "tape.py": "a card that is not committed",
}
"""Drawings that give a part the class."""


def test_dashed_is_what_is_not_yet_so() -> None:
    """One pattern, one meaning: rules and drawings with dashes are listed; dots are copies."""
    dashed = {
        (selector, value)
        for selector, name, value in rules()
        if "dashed" in value or (name == "stroke-dasharray" and selector != ".copy")
    }
    assert {selector for selector, _ in dashed} == {*PLANNED}
    assert all(value == "4 3" or "dashed" in value for _, value in dashed)
    users = [p for p in PROTOCOLS.parent.rglob("*.py") if 'dashed"' in p.read_text("utf-8")]
    assert {path.name for path in users} - {"shell.py"} <= {*PLANNED_BY}
    charts = [p for p in PROTOCOLS.parent.rglob("*.py") if "linestyle" in p.read_text("utf-8")]
    assert not charts


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
            rf"(?<![-\w])(color|stroke|border-color):var\(--{name}\)", "".join(page_styles())
        )
    lamp = re.search(r"\.bulb\{[^}]*background:var\(--(\w+)\)", "".join(page_styles()))
    assert lamp is not None
    assert lamp[1] not in names
