"""Colours stay apart for every kind of eye, and text can be read on all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import nbformat
import pytest

import kit
from kit.catalogue.course import without_magics
from kit.views.palette import DARK, FORCED, HUES, LIGHT, SHADES, contrast, hues, lab_colours
from kit.views.styles import FOLDER, sheets
from tests.house.source import ROOT
from tests.views.eyes import EYES, difference

PROTOCOLS = Path(kit.__file__).parent / "protocols"
FILLS = {hue: fill for hue, (fill, *_) in HUES.items()}


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize(("one", "other"), list(combinations(FILLS, 2)))
def test_hues_stay_apart(one: str, other: str, eye: str) -> None:
    """The hues of two nodes differ by ΔE2000 of 15 or more, whoever looks."""
    assert difference(FILLS[one], FILLS[other], eye) >= 15


def test_a_hue_goes_to_each_name_of_a_small_cast_only() -> None:
    """Seven nodes have a hue each, by order of name; of eight nodes none has one."""
    assert hues(["X", "A", "C"]) == {"A": "h-a", "C": "h-b", "X": "h-c"}
    assert len({*hues("ABCDEFG").values()}) == len(HUES) == 7
    assert hues("ABCDEFGH") == {}


def test_difference_agrees_with_published_pairs() -> None:
    """Black and white are 100 apart, equal colours 0, and a near pair lies in between."""
    assert difference("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    assert difference("#0072b2", "#0072b2") == 0
    assert difference("#ff0000", "#ff0101") < 1


def test_contrast_agrees_with_wcag() -> None:
    """The ratio is 21 for black on white and 1 for a colour on itself."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("hue", HUES)
def test_letters_and_edges_of_hues_can_be_read(hue: str) -> None:
    """A letter on a hue has a contrast of at least 4.5, its edge on either ground at least 3."""
    fill, ink, *edges = HUES[hue]
    assert contrast(fill, ink) >= 4.5
    for edge, theme in zip(edges, (LIGHT, DARK), strict=True):
        assert contrast(edge, theme["bg"]) >= 3
        assert contrast(edge, theme["raised"]) >= 3


@pytest.mark.parametrize("shade", SHADES)
def test_words_on_shades_can_be_read(shade: str) -> None:
    """Ink on what charts fill has a contrast of at least 4.5."""
    assert contrast(SHADES[shade], LIGHT["ink"]) >= 4.5


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
    """Words reach 4.5 on every ground, and edges of controls 3."""
    for ground in (theme["bg"], theme["raised"], laid(theme["faint"], theme["bg"])):
        assert min(contrast(theme[words], ground) for words in ("ink", "soft")) >= 4.5
        assert contrast(theme["edge"], ground) >= 3
    assert contrast(theme["broken"], theme["on-broken"]) >= 4.5
    assert contrast(theme["broken"], theme["bg"]) >= 4.5
    assert contrast(theme["line"], theme["ink"]) >= 4.5


def test_every_colour_is_in_the_palette() -> None:
    """Nothing has a colour of its own: no sheet or script, no code of the kit, no cell."""
    mixed = re.compile(r"(?<!\.)#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?)\(")
    written = [*sheets(), *(PROTOCOLS.parent / "widgets" / "browser").glob("*.js")]
    loose = [path for path in written if mixed.search(path.read_text("utf-8"))]
    found = [
        f"{name}: {node.value}"
        for name, text in programs()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and OWN.search(node.value)
    ]
    assert (loose, found) == ([], [])


NAMED = (
    "(?:black|white|gr[ae]y|silver|red|orange|gold|yellow|green|teal|blue|navy|purple|pink|brown)"
)
OWN = re.compile(
    r"(?<!&)#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b(?!;)|\b(?:rgba?|hsla?)\(\d"
    rf"|(?:color|background|fill|stroke)\s*[=:]\s*\"?{NAMED}\b|^(?:tab:)?{NAMED}$|fontsize=\"?\d"
)
"""A colour of a style sheet, of Matplotlib or of Graphviz, or the size of a drawing's letters."""


def programs() -> Iterator[tuple[str, str]]:
    """The kit's modules but the palette, and the code cells of all lessons."""
    for path in (PROTOCOLS.parent).rglob("*.py"):
        if path.name != "palette.py":
            yield path.name, path.read_text("utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                yield path.name, without_magics(cell.source)


def rules() -> Iterator[tuple[str, str, str]]:
    """Every declaration of every sheet: its selector, its name, its value."""
    for path in sheets():
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
            for name, value in re.findall(r"([\w-]+): ([^;]+);", body):
                yield " ".join(selector.split()), name, value


TYPE = (8.8, 11, 12, 13, 14, 15, 16, 17, 22, 24, 28)
"""Letters, px: up to 12 in drawings, which are drawn larger; 22 and 24 on a projector."""
SPACE = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 40, 56, 60, 84, 92)
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


BREAKS = {
    ".guilty>.inked, .inked.broken",
    ".guilty .message",
    ".joined, .lanes .ink.wrong, .wrong .seat-of, .lanes .card.wrong .box",
    ".lanes .card.card.wrong .box",
    ".kp .guilty>th",
    ".kp .witness",
    ".kp .badge.broken, .kp .lamp.bad .bulb, .kp-pop.broken>summary",
    ".broken",
    ".kp-break .bad",
    ".kp-break h2.say",
    ".kp-break .witness::before",
    "[data-my-still] .kp-picture",
    ".kp-ticks .cause",
    ".kp-ticks i.bad",
    ".kp-fork .bad",
}
"""What names a promise that breaks, or a part of what broke it."""


def test_vermilion_is_a_broken_promise() -> None:
    """No other rule has that colour: neither an error, nor a cut, nor what is dead."""
    assert {selector for selector, _, value in rules() if "(--broken)" in value} == BREAKS


PLANNED = {
    ".away": "not arrived yet",
    ".dashed": "not yet so",
    ".plan>:is(.fill, .disc, .slip), .joins>.disc": "planned, or to come",
    ".tile.dashed>:is(rect, .piece)": "on its way to the log",
    ".joining .head": "to come",
    ".kp .badge.busy, .kp .bulb.waits": "not done yet",
    ".busy": "not done yet",
    ".swatch.dashed": "planned, in a legend",
    ".waits": "not done yet",
    ".envelope.waits .box": "not sent yet",
    ".kp-ghost": "a guess",
    ".kp .cell.held": "not applied yet",
    ".kp .cell.lacks": "not applied yet",
    ".joining .disc, .plan .fill, .lanes .plan .box, .copies .plan": "planned",
    ".kp .bubble.asked, .kp .bubble.silent, .kp .bubble.waiting, .kp .bubble.open": "not said yet",
    ".bubble.asked, .bubble.silent, .bubble.waiting, .bubble.open": "not said yet",
}
"""What is drawn with dashes: what is planned, or not yet true. Nothing else may be."""
PLANNED_BY = {
    "frame.py": "what a legend says of it",
    "grid.py": "a copy that is planned",
    "members.py": "a node that has not joined yet",
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


def test_every_colour_of_a_sheet_has_a_name() -> None:
    """What sheets call a colour is in the palette: grey, ink, the hue of a node, or a break."""
    known = {*LIGHT, "h", "on", "ed"}
    for path in sheets():
        text = path.read_text("utf-8")
        used = set(re.findall(r"(?:fill|stroke|color|background): var\(--([a-z-]+)[,)]", text))
        assert used <= known, path


def test_the_set_up_has_the_colours_that_it_uses() -> None:
    """It stands outside of the board in JupyterLab: what its rules name is set for it, too."""
    text = (FOLDER / "controls.css").read_text("utf-8")
    used = {name for name in re.findall(r"var\(--([a-z-]+)", text) if not name.startswith("jp-")}
    own = lab_colours().rpartition(".kit-player{")[2]
    assert used
    assert {name for name in used if f"--{name}:" not in own} == set()
