"""A page shows the typeface that it brings, and its letters are as wide as the table says."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from kit.views.labels import measured
from kit.views.typeface import FALLBACKS, NEXT, advances
from tests.widgets.exporting import Pages, opened

pytestmark = pytest.mark.browser

FACES = {"plain": (f"400 1000px {NEXT}", {}), "bold": (f"700 1000px {NEXT}", {"bold": True})}
CHECKED = """(font) => document.fonts.check(font, "X → ✓")"""
WIDTHS = """async ([font, texts]) => {
  await document.fonts.load(font, "X → ✓");
  const span = document.body.appendChild(document.createElement("span"));
  span.style.cssText = `font:${font};font-variant-numeric:tabular-nums;position:absolute;`
    + "white-space:pre;visibility:hidden";
  const widths = texts.map((text) => {
    span.textContent = text;
    return span.getBoundingClientRect().width;
  });
  span.remove();
  return widths;
}"""
DRAWN = """() => [...document.querySelectorAll(".kp-picture svg text")]
  .filter((one) => !one.children.length && one.textContent.length > 5 && one.checkVisibility())
  .map((one) => {
    const { fontSize, fontWeight, fontFamily } = getComputedStyle(one);
    return [one.textContent, parseFloat(fontSize), Number(fontWeight), fontFamily,
      one.getComputedTextLength()];
  })"""


def test_a_page_draws_with_it(reader: Page, pages: Pages) -> None:
    """All faces are loaded; what is drawn is as wide as was reckoned, a bold text at most."""
    opened(reader, pages("tcm/bootstrap"))
    assert reader.evaluate("document.fonts.ready.then((all) => all.size)") == 3
    for weight in (400, 700):
        assert reader.evaluate(CHECKED, f"{weight} 13px {NEXT}")
    drawn: list[Any] = reader.evaluate(DRAWN)
    assert drawn
    for text, size, weight, family, width in drawn:
        assert NEXT in family
        most, least = (measured(text, size, bold=bold) for bold in (weight > 400, weight > 600))
        assert least * 0.98 <= width <= most * 1.02, text


@pytest.mark.parametrize("kind", FACES)
def test_its_letters_are_as_wide_as_the_table_says(reader: Page, pages: Pages, kind: str) -> None:
    """Each, digits of one width; a text within two in a hundred; what is lacking is no wider."""
    opened(reader, pages("tcm/bootstrap"))
    font, how = FACES[kind]
    texts = [*advances(kind), "X gets every write, and nobody reads from it yet", "1,024 tokens"]
    for text, width in zip(texts, reader.evaluate(WIDTHS, [font, texts]), strict=True):
        assert width == pytest.approx(measured(text, 1000, **how), rel=0.02), text
    others = [sign for sign in FALLBACKS if sign < "\ufff0"]
    assert max(reader.evaluate(WIDTHS, [font, others])) <= 1000
