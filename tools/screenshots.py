"""Takes pictures of the Player in every scenario, and lays them out on a contact sheet.

Six scenarios are taken in three sizes of window, in the light and in the dark, at their start,
middle and end; every other one once. All come from exported pages, so that no kernel is needed,
and go to ``build/screenshots/`` with ``index.html`` and ``contact-sheet.png``. The middle of the
worked bootstrap goes to ``images/player.png`` as well, which the README shows.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_source
from kit.views.export import export_html

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.programs import chromium  # noqa: E402  # run as a script, the root is not on the path

TARGET = ROOT / "build" / "screenshots"
README_PICTURE = ROOT / "images" / "player.png"
README_SHOT = "tcm-bootstrap-1280-light-middle"
MOST_BYTES = 200_000
PATIENCE = 120_000  # milliseconds
NO_BROWSER = "no Chromium here: `make programs` brings one, or set KIT_CHROMIUM"
SHOWN_AT = "(at) => document.querySelector('.kp-where').textContent.startsWith(`${at} / `)"


class Shot(NamedTuple):
    """One picture: the window in CSS px, the colour scheme, and which step of the run."""

    width: int
    height: int
    scheme: Literal["light", "dark"]
    step: Literal["start", "middle", "end"]

    def of(self, scenario: str) -> str:
        """The name of this picture of a scenario."""
        return f"{scenario.replace('/', '-')}-{self.width}-{self.scheme}-{self.step}"


OFTEN = (
    *("tcm/bootstrap", "tcm/decommission", "tcm/two-bootstraps", "tcm/rf3"),
    *("dataplane/write-and-read", "twophase/one-gives-up"),
)
ONCE = (Shot(1280, 720, "light", "middle"),)
TABLE = (
    Shot(1280, 720, "light", "start"),
    *ONCE,
    Shot(1280, 720, "light", "end"),
    Shot(1280, 720, "dark", "middle"),
    Shot(700, 720, "light", "middle"),
    Shot(700, 720, "dark", "end"),
    Shot(1920, 1080, "light", "middle"),
)


def shots() -> dict[str, tuple[Shot, ...]]:
    """The pictures to take of each scenario that comes with the kit."""
    known = [f"{entry.name}/{one.name}" for entry in entries().values() for one in entry.scenarios]
    return {name: TABLE if name in OFTEN else ONCE for name in known}


def played(scenario: str) -> Timeline:
    """The whole run of a scenario, until it rests."""
    timeline = open_source(scenario).timeline
    while timeline.forward() is not None:
        pass
    return timeline


@contextmanager
def browsing(program: Path) -> Iterator[Browser]:
    """A headless browser, until it is no longer needed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run"],
            timeout=PATIENCE,
        )
        yield browser
        browser.close()


def photograph(browser: Browser, page_file: Path, shot: Shot, step: int) -> bytes:
    """Take one picture of an exported page; what travels in the step stands there as arrows."""
    page = browser.new_page(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme=shot.scheme,
        reduced_motion="reduce",
    )
    page.set_default_timeout(PATIENCE)
    page.goto(f"{page_file.as_uri()}#step-{max(step - 1, 0)}")
    page.wait_for_selector(".kp[data-my-on]")  # before that nobody hears a press
    if step:
        page.wait_for_function(SHOWN_AT, arg=step - 1)
        page.keyboard.press("ArrowRight")
    page.wait_for_function(SHOWN_AT, arg=step)
    picture = page.screenshot()
    page.close()
    return picture


def sheet(names: list[str]) -> str:
    """The contact sheet as a page: each picture with its name below it."""
    figure = '<figure><a href="{0}.png"><img src="{0}.png" alt=""></a><figcaption>{0}</figcaption>'
    style = (
        "body{display:grid;grid-template-columns:repeat(6,1fr);gap:8px;font:12px sans-serif}"
        "figure{margin:0}img{width:100%;border:1px solid #888}"
    )
    figures = "</figure>".join(figure.format(escape(name)) for name in names)
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Contact sheet</title>'
        f"<style>{style}</style>{figures}</figure></html>"
    )


def take(browser: Browser, folder: Path) -> list[str]:
    """Take every picture of every scenario; their names."""
    names = []
    for scenario, wanted in shots().items():
        timeline = played(scenario)
        path = export_html(timeline, folder / "page.html").path
        last = len(timeline.moments) - 1
        steps = {"start": 0, "middle": last // 2, "end": last}
        for shot in wanted:
            names.append(shot.of(scenario))
            picture = photograph(browser, path, shot, steps[shot.step])
            (TARGET / f"{names[-1]}.png").write_bytes(picture)
    return names


def main() -> int:
    """Take all pictures; 1 when there is no browser or the README's picture is too large."""
    program = chromium()
    if program is None:
        print(f"screenshots: {NO_BROWSER}")
        return 1
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, browsing(program) as browser:
        names = take(browser, Path(folder))
        (TARGET / "index.html").write_text(sheet(names), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1920, "height": 1080})
        page.goto((TARGET / "index.html").as_uri())
        page.screenshot(path=TARGET / "contact-sheet.png", full_page=True)
    picture = Image.open(TARGET / f"{README_SHOT}.png").convert("RGB")
    picture.quantize(dither=Image.Dither.NONE).save(README_PICTURE, optimize=True)
    if (size := README_PICTURE.stat().st_size) >= MOST_BYTES:
        print(f"screenshots: {README_PICTURE} has {size:,} bytes, allowed: below {MOST_BYTES:,}")
        return 1
    print(f"screenshots: {len(names)} pictures, {(TARGET / 'index.html').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
