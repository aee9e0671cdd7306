"""What a page shows of every model: words that can be read, and nothing that axe finds."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page

from tests.widgets.browsing import serious
from tests.widgets.exporting import NAMES, Pages, opened
from tests.widgets.legible import FLAWS, TABS_WITH_DRAWINGS

pytestmark = pytest.mark.browser

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
"""A scenario of each model."""

# In every step, with the panels shown one after the other that have a drawing.
READ = f"""(withTabs) => {{
  const flaws = {FLAWS};
  const drawn = {TABS_WITH_DRAWINGS};
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const found = new Set();
  for (const tab of withTabs && drawn().length ? drawn() : [null]) {{
    if (tab) document.querySelector(`.kp-stage [data-tab="${{tab}}"]`).click();
    press("Home");
    for (let i = 0; i <= Number(range.max); i += 1) {{
      for (const flaw of flaws()) found.add(`step ${{i}}: ${{flaw}}`);
      press("j");
    }}
  }}
  return [...found];
}}"""


@pytest.mark.parametrize("name", NAMES)
def test_words_of_drawings_lie_apart(reader: Page, pages: Pages, name: str) -> None:
    """In every step no word of a drawing is over another, cut off, small, or under an arrow."""
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, pages(name))
    for width, height in ((840, 560), (1280, 720)):
        reader.set_viewport_size({"width": width, "height": height})
        assert reader.evaluate(READ, width == 840) == [], width
    reader.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", FIRST)
def test_axe_finds_nothing_serious(
    reader: Page, pages: Pages, name: str, scheme: Literal["light", "dark"]
) -> None:
    """Names, roles, scopes and contrast hold in both themes, on every tab of every model's page."""
    reader.emulate_media(color_scheme=scheme)
    opened(reader, pages(name))
    for tab in reader.locator(".kp-stage [data-tab]").all():
        tab.click()
        reader.keyboard.press("j")
        assert serious(reader) == [], tab.text_content()
    reader.emulate_media(color_scheme="light")
