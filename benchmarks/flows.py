"""Frame rate while something travels over the picture of a large ring, on a bare page.

Each step is pressed forwards by key; from the first frame after the press until the markers are
gone every frame counts, that of the step itself included.
"""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import sync_playwright

from benchmarks.figures import HEAD, Figure, scratch, unmeasured
from benchmarks.player import at
from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, Place, launch
from tools.programs import chromium

NODES, TOKENS = 64, 16
STEPS = 24
RATE, SLOWEST = 55.0, 33.0
"""Aims: frames a second, and the milliseconds within which 95 of 100 frames come."""

FRAMES = """async (count) => {
  const frame = () => new Promise(requestAnimationFrame);
  const bar = document.querySelector("[data-do=scrub]"), times = [];
  for (let i = 0; i < count; i += 1) {
    await frame();
    bar.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    let last = await frame();
    while (document.querySelector(".kp-flow")) {
      const now = await frame();
      times.push(now - last);
      last = now;
    }
  }
  return times;
}"""


def walked() -> Player:
    """A player in a join, so many steps before everything is streamed; the steps are known."""
    player = Player(build("tcm", {"nodes": NODES, "tokens": TOKENS, "rf": 3}), controls=False)
    switched = 3  # epochs: ranges split, write replicas added, reads switched
    for _ in range(switched):
        player.milestone()
    player.goto(player.timeline.at - STEPS)
    return player


def figures() -> Iterator[Figure]:
    """Frames a second, and how long the slowest frames take."""
    rate = f"a flow, {NODES} nodes × {TOKENS}: frames a second"
    slow = f"a flow, {NODES} nodes × {TOKENS}: a frame, p95"
    path = chromium()
    if path is None:
        for name in (rate, slow):
            yield unmeasured(name, "no Chromium here: set KIT_CHROMIUM")
        return
    player = walked()
    player.stage.pack = player.rendered.pack().compressed()
    folder = scratch()
    with sync_playwright() as playwright:
        browser = launch(playwright, path)
        page = browser.new_page(viewport={"width": 1280, "height": 2400})
        Desk(Place(page), player, folder)
        times = [float(time) for time in page.evaluate(FRAMES, STEPS)]
        browser.close()
    mean, slowest = 1000 * len(times) / sum(times), at(times, 0.95)
    yield Figure(
        rate, f"{mean:.0f}", f"{len(times)} frames, p50 {at(times, 0.5):.0f} ms", None,
        f"at least {RATE:.0f}", mean >= RATE,
    )  # fmt: skip
    yield Figure(
        slow, f"{slowest:.0f} ms", f"slowest {max(times):.0f} ms", None,
        f"below {SLOWEST:.0f} ms", slowest < SLOWEST,
    )  # fmt: skip


if __name__ == "__main__":
    print(HEAD)
    for figure in figures():
        print(figure.row)
