"""Takes pictures of the player: every panel and the whole page, in the light and in the dark.

They come from an exported page of the worked bootstrap at its second epoch, in a window of
1280 by 720. All go to ``build/screenshots/``; the light page goes to ``images/player.png`` as well,
which the README shows.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from kit.widgets import Player

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.programs import chromium  # noqa: E402  # run as a script, the root is not on the path

Scheme = Literal["light", "dark"]
TARGET = ROOT / "build" / "screenshots"
README_PICTURE = ROOT / "images" / "player.png"
MOST_BYTES = 200_000
WINDOW: ViewportSize = {"width": 1280, "height": 720}
OTHERS: tuple[ViewportSize, ...] = ({"width": 700, "height": 600}, {"width": 1920, "height": 1080})
SHEETS = ("promises", "waiting", "more", "kp-tree")
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
EPOCHS, SHOWN = 4, 2
PATIENCE = 120_000  # milliseconds
STILL = "document.getAnimations().every((one) => one.playState !== 'running')"


def exported(folder: Path) -> Path:
    """Export the worked bootstrap, from its start to its last epoch."""
    player = Player("tcm/bootstrap")
    for _ in range(EPOCHS):
        player.milestone()
    return player.export(folder / "bootstrap.html").path


def photograph(page: Page, scheme: Scheme) -> None:
    """Write the window, each tab and each sheet of it by name, and the windows of other sizes."""
    page.screenshot(path=TARGET / f"player-{scheme}.png")
    for tab in page.locator(".kp-stage [data-tab]").all():
        tab.click()
        page.screenshot(path=TARGET / f"{tab.get_attribute('data-tab')}-{scheme}.png")
    page.locator(".kp-stage [data-tab]").first.click()
    for sheet in SHEETS:
        page.click(f".kp .{sheet} > summary")
        page.screenshot(path=TARGET / f"{sheet}-{scheme}.png")
    page.keyboard.press("Escape")
    for window in OTHERS:
        page.set_viewport_size(window)
        page.screenshot(path=TARGET / f"player-{window['width']}-{scheme}.png")


def opened(browser: Browser, path: Path, scheme: Scheme) -> Page:
    """Open the page where the joiner is written to and not read yet, with nothing that moves."""
    context = browser.new_context(
        viewport=WINDOW, color_scheme=scheme, offline=True, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(path.as_uri())
    page.click("[data-do=first]")
    for _ in range(SHOWN):
        page.click("[data-do=milestone]")
    page.wait_for_function(
        f"(said) => document.querySelector('.kp-stage .say').textContent.includes(said) && {STILL}",
        arg=f"Epoch {SHOWN}:",
    )
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    return page


def main() -> int:
    """Take all pictures; 1 when there is no browser or the README's picture is too large."""
    program = chromium()
    if program is None:
        print("screenshots: no Chromium here: `make programs` brings one, or set KIT_CHROMIUM")
        return 1
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = exported(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run"],
            timeout=PATIENCE,
        )
        for scheme in SCHEMES:
            photograph(opened(browser, path, scheme), scheme)
        browser.close()
    made = sorted(TARGET.glob("*.png"))
    light = TARGET / "player-light.png"
    size = light.stat().st_size
    if size >= MOST_BYTES:
        print(
            f"screenshots: {light.name} has {size:,} bytes, allowed are fewer than {MOST_BYTES:,}"
        )
        return 1
    shutil.copy(light, README_PICTURE)
    print(
        f"screenshots: {len(made)} pictures in {TARGET.relative_to(ROOT)}, images/player.png anew"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
