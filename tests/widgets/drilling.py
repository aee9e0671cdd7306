"""A drill on a bare page: its Player and its terminal side by side, both with their real kernel."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from kit.views.shell import browser_module
from kit.views.styles import terminal_style, widget_style
from kit.widgets import DrillBoard

TRAITS = ("shell", "prompt", "entries", "typed", "buttons", "side", "banner")
SHIM = """
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
window.waiting = 0;
window.models = {};
const mount = (module, name, el, traits) => {
  const heard = {};
  const deliver = (list) => {
    for (const one of list) {
      const { traits: changed, message } = one;
      Object.assign(traits, changed);
      for (const key of Object.keys(changed ?? {})) heard[`change:${key}`]?.();
      if (message) heard["msg:custom"]?.(message);
    }
  };
  window.models[name] = deliver;
  module.render({ el, model: {
    get: (key) => traits[key], on: (key, hear) => { heard[key] = hear; }, off() {},
    set: (key, value) => { traits[key] = value; },
    send: async (content) => {
      window.waiting += 1;
      const told = JSON.parse(await window.kernel(name, JSON.stringify(content)));
      for (const [whom, list] of Object.entries(told)) {
        for (const one of list) if (one.traits?.pack) one.traits.pack = bytes(one.traits.pack);
        window.models[whom](list);
      }
      window.waiting -= 1;
    },
  } });
};
const given = JSON.parse(document.getElementById("traits").textContent);
given.player.pack = bytes(given.player.pack);
mount(player, "player", document.getElementById("player"), given.player);
mount(terminal, "terminal", document.getElementById("terminal"), given.terminal);
"""
TABS = 40  # far more than there are stops before the terminal's field
FIELD = "() => document.activeElement?.matches('.kit-line input')"
SETTLED = "() => window.waiting === 0"
SIDE_BY_SIDE = "kit-drill lm-Widget widget-hbox"


class DrillDesk:
    """The page; ``errors`` are those of its scripts."""

    def __init__(self, page: Page, board: DrillBoard, folder: Path) -> None:
        self.page, self.board = page, board
        self.errors: list[str] = []
        self.told: dict[str, list[dict[str, Any]]] = {"player": [], "terminal": []}
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.expose_function("kernel", self._kernel)
        board.player.stage.send = lambda content, **_: self._tell("player", message=content)
        board.terminal.answer = lambda content: self._tell("terminal", message=content)
        board.player.stage.observe(self._repack, "pack")
        board.stage.observe(self._changed, list(TRAITS))
        file = folder / "drill.html"
        file.write_text(self._html(), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector(".kp-frame")
        self.settle()

    def _tell(self, whom: str, **said: Any) -> None:
        self.told[whom].append(json.loads(json.dumps(said)))

    def _repack(self, change: dict[str, Any]) -> None:
        self._tell("player", traits={"pack": base64.b64encode(change["new"]).decode()})

    def _changed(self, change: dict[str, Any]) -> None:
        self._tell("terminal", traits={change["name"]: change["new"]})

    def _kernel(self, name: str, text: str) -> str:
        stage = self.board.player.stage if name == "player" else self.board.stage
        stage._handle_custom_msg(json.loads(text), [])
        told, self.told = self.told, {"player": [], "terminal": []}
        return json.dumps(told)

    def _html(self) -> str:
        player, terminal = self.board.player.stage, self.board.stage
        traits = {
            "player": {
                "pack": base64.b64encode(player.pack).decode(),
                **{name: getattr(player, name) for name in ("shell", "live", "closed")},
            },
            "terminal": {name: getattr(terminal, name) for name in TRAITS},
        }
        data = json.dumps(traits).replace("<", "\\u003c")
        scripts = (
            browser_module("widget").replace("export default", "window.player ="),
            browser_module("terminal").replace("export default", "window.terminal ="),
            SHIM,
        )
        modules = "".join(f'<script type="module">{script}</script>' for script in scripts)
        return (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>drill</title>'
            f"<style>body{{margin:8px}}{widget_style()}{terminal_style()}</style>"
            f'<main class="{" ".join(self.board.box._dom_classes)}"><div class="{SIDE_BY_SIDE}">'
            '<div class="kit-player" id="player"></div>'
            '<div class="kit-beside" id="terminal"></div></div></main>'
            f'<script type="application/json" id="traits">{data}</script>{modules}</html>'
        )

    def settle(self) -> None:
        """Wait until the kernel has answered all that was said."""
        self.page.wait_for_function(SETTLED, polling=20)

    def into_the_field(self) -> None:
        """Go to the terminal's field by Tab."""
        for _ in range(TABS):
            if self.page.evaluate(FIELD):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError("Tab never reaches the field")

    def type(self, line: str) -> None:
        """Type a line into the field that has the focus, and press Enter."""
        self.page.keyboard.type(line)
        self.press("Enter")

    def press(self, key: str) -> None:
        """Press a key, and wait for what the kernel says."""
        self.page.keyboard.press(key)
        self.settle()

    def value(self) -> str:
        """What stands in the field."""
        return self.page.input_value(".kit-line input")

    def output(self) -> str:
        """All that the terminal shows."""
        return self.page.inner_text(".kit-typed")
