"""Makes the silent clip of the worked bootstrap, ``images/bootstrap.webp``, for the README.

An exported page is stepped in a headless browser. Its animations are held and moved on by hand, so
that each frame shows the same instant on a slow machine and on a fast one.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kit.views.export import export_html  # noqa: E402  # run as a script, the root is not on the path
from tools.programs import chromium  # noqa: E402  # as above
from tools.screenshots import NO_BROWSER, PATIENCE, SHOWN_AT, browsing, played  # noqa: E402  # as above

CLIP = ROOT / "images" / "bootstrap.webp"
SCENARIO = "tcm/bootstrap"
WIDTH, HEIGHT = 840, 560
LENGTH = 20_000  # milliseconds in all
BETWEEN = 240  # milliseconds between frames while something moves
QUALITY = 10

HOLD = """
const { animate } = Element.prototype;
Element.prototype.animate = function (...told) {
  const made = animate.apply(this, told);
  made.pause();
  return made;
};
"""
# One frame's time later; whether something still moves. What has arrived ends by itself.
LATER = """(between) => {
  for (const one of document.getAnimations()) {
    one.currentTime += between;
    if (one.currentTime >= one.effect.getComputedTiming().endTime) one.finish();
  }
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(
    () => done(document.getAnimations().some((one) => one.playState === "paused")))));
}"""


def picture(page: Page) -> Image.Image:
    """What the page shows now."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def moving(page: Page) -> list[Image.Image]:
    """The frames of what moves in the step that was just done, without the last, which stays."""
    frames = []
    while page.evaluate(LATER, BETWEEN):
        frames.append(picture(page))
    return frames


def filmed(page: Page, steps: int) -> tuple[list[Image.Image], list[int]]:
    """All frames and how long each is shown; what stays between two steps shares what is left."""
    scenes: list[tuple[list[Image.Image], Image.Image]] = [([], picture(page))]
    for step in range(1, steps + 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(SHOWN_AT, arg=step)
        scenes.append((moving(page), picture(page)))
    rest = LENGTH - BETWEEN * sum(len(frames) for frames, _ in scenes)
    each = rest // (len(scenes) + 1)  # the end stays twice as long
    frames = [one for moved, still in scenes for one in (*moved, still)]
    times = [time for moved, _ in scenes for time in (*[BETWEEN] * len(moved), each)]
    return frames, [*times[:-1], LENGTH - sum(times[:-1])]


def main() -> int:
    """Make the clip; 1 when there is no browser."""
    program = chromium()
    if program is None:
        print(f"clip: {NO_BROWSER}")
        return 1
    timeline = played(SCENARIO)
    with tempfile.TemporaryDirectory() as folder, browsing(program) as browser:
        path = export_html(timeline, Path(folder) / "page.html").path
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light",
            reduced_motion="no-preference",
        )
        page.set_default_timeout(PATIENCE)
        page.add_init_script(HOLD)
        page.goto(f"{path.as_uri()}#step-0")
        page.wait_for_function(SHOWN_AT, arg=0)
        frames, times = filmed(page, len(timeline.moments) - 1)
    first, *rest = frames
    first.save(
        CLIP,
        save_all=True,
        append_images=rest,
        duration=times,
        loop=0,
        quality=QUALITY,
        minimize_size=True,
    )
    print(f"clip: {len(frames)} frames, {CLIP.stat().st_size:,} bytes, {CLIP.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
