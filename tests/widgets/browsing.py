"""A Chromium, and a bare page in which a real Player is used without JupyterLab."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Playwright, ViewportSize

from kit.views.shell import browser_module
from kit.views.styles import widget_style
from kit.widgets import Player

USUAL: ViewportSize = {"width": 1280, "height": 720}

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page's Python runs for seconds here: compiling it once takes a fifth less processor time.
    "--js-flags=--liftoff-only",
]

SHIM = """
const heard = {};
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const traits = JSON.parse(document.getElementById("traits").textContent);
traits.pack = bytes(traits.pack);
window.sent = [];
const deliver = (list) => {
  for (const one of list)
    if (one.pack) { traits.pack = bytes(one.pack); heard["change:pack"](); }
    else heard["msg:custom"](one);
};
window.deliver = deliver;
window.calls = 0;
window.leave = player.render({ el: document.getElementById("player"), model: {
  get: (name) => traits[name], on: (name, hear) => { heard[name] = hear; }, off() {},
  set: (name, value) => { traits[name] = value; },
  send: async (news) => {
    window.sent.push(news);
    if (window.cut) return;
    window.calls += 1;
    const [place, answer] = JSON.parse(await window.kernel(JSON.stringify(news)));
    deliver(answer);
    window.place = place;
    window.calls -= 1;
  },
} });
"""

NORMAL = """(html) => {
  const clean = (root) => {
    for (const one of [root, ...root.querySelectorAll("*")]) {
      for (const { name } of [...one.attributes])
        if (name.startsWith("data-my-")) one.removeAttribute(name);
      if (one.tagName === "DETAILS") one.removeAttribute("open");
      if (one.matches("[data-choice],.kp-page")) one.removeAttribute("hidden");
      if (one.matches("[data-roving],[data-tab]")) one.removeAttribute("aria-pressed");
      if (one.hasAttribute("data-roving")) one.removeAttribute("tabindex");
      // What is pinned follows the view, and words that it would halve are hidden.
      if (one.matches("[data-pinned],text[style]")) one.removeAttribute("style");
    }
    return root;
  };
  const box = document.createElement("template");
  box.innerHTML = html;
  const wanted = clean(box.content.firstChild);
  const found = clean(document.querySelector(".kp-stage").firstChild.cloneNode(true));
  if (wanted.isEqualNode(found)) return "";
  const walk = (a, b, path) => {
    if (a.isEqualNode(b)) return null;
    for (let i = 0; i < Math.max(a.childNodes.length, b.childNodes.length); i += 1) {
      const one = a.childNodes[i], two = b.childNodes[i];
      if (!one || !two) return `${path}: ${(one || two).outerHTML || (one || two).data}`;
      const deeper = walk(one, two, `${path} > ${one.nodeName}`);
      if (deeper) return deeper;
    }
    const text = (one) => (one.outerHTML || one.data).slice(0, 300);
    return `${path}: wanted ${text(a)} found ${text(b)}`;
  };
  return walk(wanted, found, "root");
}"""

SETTLED = """() => {
  document.getAnimations().forEach((one) => one.finish());
  return window.calls === 0 && document.querySelector(".kp-where").textContent === window.place
    && !document.querySelector(".kp [aria-busy=true]")
    && document.getAnimations().every((one) => one.playState !== "running");
}"""


SHOWN = """(at) => document.querySelector(".kp-where").textContent === at
  && !document.querySelector(".kp [aria-busy=true]")"""

SERIOUS = """async ([within, runOnly, impacts]) => {
  const chosen = runOnly ? { runOnly } : {};
  const { violations } = await axe.run(
    within ?? document, { resultTypes: ["violations"], ...chosen });
  return violations.filter(({ impact }) => impacts.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120))}`);
}"""

OPEN = """(which) => {
  const sheet = document.querySelector(which);
  if (!sheet.open) sheet.querySelector("summary").click();
}"""


def launch(playwright: Playwright, path: Path) -> Browser:
    """Start the browser at ``path``."""
    return playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=120_000)


class Place:
    """A page for one desk after the other; what happens on it reaches the one that stands there."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.desk: Desk | None = None
        page.on("pageerror", self._failed)
        page.expose_function("kernel", self._kernel)

    def _failed(self, error: object) -> None:
        if self.desk is not None:
            self.desk.errors.append(str(error))

    def _kernel(self, text: str) -> str:
        return self.desk.answer(text) if self.desk is not None else '["", []]'

    def clear(self) -> None:
        """Leave the page as a new one is: empty, of usual size, the mouse in its corner."""
        self.page.goto("about:blank")
        self.desk = None
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(USUAL)
        self.page.emulate_media(
            color_scheme="light", reduced_motion="no-preference", forced_colors="none"
        )


class Desk:
    """A Player on a bare page: clicks in the page reach the real Python side."""

    def __init__(self, place: Place, player: Player, folder: Path, *, cover: bool = False) -> None:
        self.page = page = place.page
        self.player = player
        self.outbox: list[dict[str, Any]] = []
        self.errors: list[str] = []
        place.desk = self
        player.stage.send = self._post
        player.stage.observe(self._repack, "pack")
        self.file = folder / "desk.html"
        self.file.write_text(self._html(), encoding="utf-8")
        page.goto(self.file.as_uri())
        page.wait_for_selector(".kp-frame")
        if not cover:
            page.evaluate("document.querySelector('.kp').setAttribute('data-my-begun', '')")
        # What is drawn when the browser tells a size (the names of the time bar) stands after that.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        self.settle()

    def _post(self, content: dict[str, Any], **_: Any) -> None:
        self.outbox.append(json.loads(json.dumps(content)))

    def _repack(self, change: dict[str, Any]) -> None:
        self.outbox.append({"pack": base64.b64encode(change["new"]).decode()})

    def answer(self, text: str) -> str:
        """Where Python is after a message of the page, and what it says to it."""
        self.player.hear(json.loads(text))
        return json.dumps([self.where(), self.drain()])

    def drain(self) -> list[dict[str, Any]]:
        """Take what Python has said since the last time."""
        news, self.outbox = self.outbox, []
        return news

    def flush(self) -> None:
        """Bring to the page what a Python call has said."""
        self.page.evaluate("window.deliver", self.drain())
        self.settle()

    def _html(self) -> str:
        stage = self.player.stage
        traits = {
            "pack": base64.b64encode(stage.pack).decode(),
            "shell": stage.shell,
            "live": stage.live,
            "closed": stage.closed,
            "steps": stage.steps,
            "story": stage.story,
        }
        data = json.dumps(traits).replace("<", "\\u003c")
        script = browser_module("widget").replace("export default", "const player =") + SHIM
        return (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>desk</title>'
            f"<style>{widget_style()}</style><main id=player></main>"
            f'<script type="application/json" id="traits">{data}</script>'
            f'<script type="module">{script}</script></html>'
        )

    def settle(self) -> None:
        """Wait until the page has told the kernel where it is and nothing is under way.

        What moves or travels in a step is let arrive at once, as by a reader who presses on.
        """
        self.page.evaluate("(at) => { window.place = at; }", self.where())
        self.page.wait_for_function(SETTLED, polling=20)

    def where(self) -> str:
        """The text of the counter that the Python side would show."""
        timeline = self.player.timeline
        path = [
            m
            for m in timeline.path()
            if m == timeline.tip or not self.player.rendered.moments[m].inner
        ]
        if timeline.at not in path:
            return f"{path.index(next(m for m in path if m > timeline.at))} / {len(path) - 1}"
        return f"{path.index(timeline.at)} / {len(path) - 1}"

    def wait_where(self, text: str) -> None:
        """Wait for the counter to show ``text``, and for the pages that nobody sees to follow."""
        self.page.wait_for_function(SHOWN, arg=text, polling=20)

    def difference(self, moment: int | None = None) -> str:
        """Where the page differs from the flattened frame; empty when it does not."""
        at = self.player.timeline.at if moment is None else moment
        found = self.page.evaluate(NORMAL, self.player.rendered.html(at))
        assert isinstance(found, str)
        return found

    def do(self, name: str) -> None:
        """Press a control by mouse."""
        do(self.page, name)

    def turn_to(self, panel: str) -> None:
        """Show a panel."""
        turn_to(self.page, panel)

    def open(self, sheet: str) -> None:
        """Open what lies over the pane: ``more``, ``waiting``, ``promises``."""
        self.page.evaluate(OPEN, f".kp details.{sheet}")

    def choose(self, verb: str) -> None:
        """Do an action that is not the next one: open the board of all of them and press it."""
        self.open("more")
        self.page.click(f".kp-stage .actions button:text-is('{verb}')")

    def branch(self, do: str, leaf: int) -> None:
        """Show or compare the branch that ends at a moment, by its button on the map."""
        self.page.click(f"[data-do={do}][data-leaf='{leaf}']")


MakeDesk = Callable[..., Desk]


def do(within: Page | Locator, name: str) -> None:
    """Press a control of a player, also one that stands behind the three dots."""
    button = within.locator(f"[data-do={name}]")
    shown = within.locator(f"[data-do={name}]:visible")
    if shown.count():
        shown.first.click(force=True)
    else:
        within.locator("[data-do=scrub]").first.focus()
        button.first.evaluate("(one) => one.click()")


def turn_to(page: Page, panel: str) -> None:
    """Show a panel by its tab, or by its name in the list of all."""
    tabs = page.locator(f".kp-stage [data-tab='{panel}']")
    if not tabs.first.is_visible():
        page.evaluate(OPEN, ".kp-stage .kp-tabs details")
    tabs.locator("visible=true").first.click()


def walked(name: str, steps: int) -> Player:
    """A player some steps into a scenario."""
    player = Player(name)
    for _ in range(steps):
        player.step()
    player.stage.pack = player.rendered.pack().compressed()
    return player


GRAVE = ["serious", "critical"]
ALL = ["minor", "moderate", *GRAVE]


def serious(
    page: Page, within: str | None = None, rules: list[str] | None = None, *, least: bool = False
) -> list[str]:
    """What axe finds serious or critical on a page, or within a part of it, by these rules; with
    ``least`` also what is minor or moderate.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate(SERIOUS, [within, rules, ALL if least else GRAVE])
    assert isinstance(found, list)
    return found
