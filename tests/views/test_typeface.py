"""The typeface is shipped: small, with its licence, with all letters that the kit writes."""

from __future__ import annotations

import re

import pytest

from kit.views.labels import measured, wide
from kit.views.palette import page_colours
from kit.views.styles import widget_style
from kit.views.typeface import ELSE, FALLBACKS, FAMILIES, FILES, FOLDER, advances, faces
from tests.house.source import ROOT

MOST = 30_000  # bytes of woff2
WRITTEN = (".py", ".toml", ".txt", ".js", ".css", ".md")
UNSEEN = "\n\t"
NO_PAGE = "commands"  # what a shell prints


def test_it_is_small_and_has_its_licence() -> None:
    """No file without a rule, all together few bytes, and the terms of each maker beside them."""
    fonts = {path.stem: path.stat().st_size for path in FOLDER.glob("*.woff2")}
    assert fonts.keys() == FILES.keys()
    assert sum(fonts.values()) <= MOST
    terms = (FOLDER / "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in terms
    makers = re.findall(r"^Copyright .* The (.+) Project Authors", terms, re.MULTILINE)
    assert makers == ["Atkinson Hyperlegible Next", "Atkinson Hyperlegible Mono", "Inter"]


def test_every_letter_that_the_kit_writes_is_in_it() -> None:
    """But for a few signs, each of which is used."""
    parts = (path for path in (ROOT / "kit").rglob("*") if path.suffix in WRITTEN)
    shown = (path for path in parts if NO_PAGE not in path.parts)
    used = set[str]().union(*(path.read_text(encoding="utf-8") for path in shown)) - {*UNSEEN}
    lacking = {letter for letter in used if letter not in advances("plain")}
    assert lacking == {*FALLBACKS}
    assert advances("plain").keys() == advances("bold").keys()


def test_a_text_is_as_wide_as_its_letters() -> None:
    """In proportion to its size; a letter that is lacking counts as a square."""
    assert measured("lW", 20) == (advances("plain")["l"] + advances("plain")["W"]) / 50
    assert measured("mm") < measured("mm", bold=True) < wide("mm")
    assert measured("🔒", 13) == 13 * ELSE / 1000
    assert measured("a\u200bb") == measured("ab")


@pytest.mark.parametrize("kind", FAMILIES)
def test_styles_name_it_first(kind: str) -> None:
    """A page has the fonts in its style, once, and loads nothing."""
    [first, *others] = FAMILIES[kind].split(",")
    assert others
    assert f"@font-face{{font-family:{first};" in faces()
    assert f"--{kind}:{FAMILIES[kind]};" in page_colours()
    assert widget_style().count("@font-face") == len(FILES)
    assert not re.search(r"url\((?!data:)", widget_style())
