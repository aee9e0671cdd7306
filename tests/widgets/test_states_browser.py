"""Where there is no ``dot``, the browser lays a graph of states out by itself."""

from __future__ import annotations

from typing import Any

import graphviz_anywidget
import pytest
from playwright.sync_api import BrowserContext

from kit.model.registry import build
from kit.views.states import dot_of, reached

RENDER = """async ([source, dot]) => {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: given } = await import(address);
  const widget = typeof given === "function" ? await given() : given;
  const traits = { dot_source: dot, selected_direction: "bidirectional", search_type: "included",
                   case_sensitive: false, enable_zoom: true, freeze_scroll: false };
  const el = document.body.appendChild(document.createElement("div"));
  const none = () => {};
  const model = { get: (name) => traits[name], on: none, off: none, set: none, save_changes: none };
  await widget.render({ model, el, signal: new AbortController().signal });
}"""


@pytest.mark.browser
def test_the_browser_draws_the_graph_without_a_network(context: BrowserContext) -> None:
    """The WebAssembly build draws every state and every step, and asks nobody for anything."""
    found = reached(build("twophase", {"rms": 1}))
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    module: Any = graphviz_anywidget.GraphvizAnyWidget._esm
    page.evaluate(RENDER, [str(module), dot_of(found)])
    page.wait_for_function("document.querySelectorAll('svg g.node').length === 12")
    assert page.locator("svg g.edge").count() == len(found.edges)
    assert "transaction manager: undecided" in page.locator("svg").first.text_content()
    assert [address for address in asked if not address.startswith(("blob:", "data:"))] == []
