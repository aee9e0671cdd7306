"""Click to painted change and scrubbing, in JupyterLab, against the barest one-table widget.

The baseline is an anywidget that draws one table by ``innerHTML`` from rows that its Python side
sends whole: no keys, no tween, no actions, no text for screen readers. Both are measured in the
same browser, the same notebook and the same run. Sizes of exported pages come with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.figures import HEAD, Figure, scratch, unmeasured
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.export import export_html
from tests.widgets.browsing import launch
from tests.widgets.laboratory import run_all, server, write_notebook
from tools.programs import chromium

CLICKS = 28
SCRUBS = 80
ROUNDS = 4
WARM = 2
AIM = 1.5
SIZES = ((10, 1), (64, 16))

BARE = '''
import anywidget, traitlets

class Bare(anywidget.AnyWidget):
    """One table, drawn whole each time; steps that it has are kept in the page."""

    _esm = """
    export default { render({ model, el }) {
      el.innerHTML = "<button>step</button><input type=range min=0 max=0 value=0><div></div>";
      const [button, range, box] = el.children, seen = [];
      const draw = (rows) => { box.innerHTML = "<table>" + rows.map((row) =>
        "<tr>" + row.map((cell) => `<td>${cell}</td>`).join("") + "</tr>").join("") + "</table>"; };
      const take = () => { seen.push(model.get("rows")); range.max = seen.length - 1;
        range.value = seen.length - 1; draw(seen.at(-1)); };
      button.onclick = () => model.send({ act: "step" });
      range.oninput = () => requestAnimationFrame(() => draw(seen[Number(range.value)]));
      model.on("change:rows", take); take();
    } };
    """
    rows = traitlets.List().tag(sync=True)

    def __init__(self, timeline):
        self._timeline = timeline
        super().__init__(rows=self._cells())
        self.on_msg(self._step)

    def _cells(self):
        now, model = self._timeline.state, self._timeline.model
        step = str(len(self._timeline.moments))
        return [[row.label, " ".join(row.reads), " ".join(row.writes), step]
                for row in facts.rows(model, now)]

    def _step(self, widget, content, buffers):
        self._timeline.forward()
        self.rows = self._cells()
'''

CELL = """
from kit.model.registry import build
from kit.protocols.tcm.facts import moment as facts
from kit.model.timeline import Timeline
from kit.widgets import Player
{bare}
made = {{"nodes": {nodes}, "tokens": {tokens}, "rf": 3}}
bare = Bare(Timeline(build("tcm", made)))
player = Player(build("tcm", made), controls=False)
bare.add_class("bare")
"""

# Time from the event to the first frame painted after the picture changed, in milliseconds.
MEASURE = """async ([act, box, count]) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  }));
  const changed = (node) => new Promise((done) => {
    const watch = new MutationObserver(() => { watch.disconnect(); done(); });
    watch.observe(node, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  const sleep = () => new Promise((done) => setTimeout(done, act.rest));
  const pause = async () => {
    do await sleep(); while (document.querySelector(`${box} [aria-busy=true]`));
  };
  const scope = document.querySelector(box), times = [];
  for (let i = 0; i < count; i += 1) {
    const target = scope.querySelector(act.of);
    const change = changed(scope.querySelector(act.watch));
    const began = performance.now();
    if (act.scrub) {
      const max = Number(target.max);
      target.value = Math.abs(((i + 1) % (2 * max)) - max);
      target.dispatchEvent(new Event("input", { bubbles: true }));
    } else target.click();
    await change;
    times.push(await painted() - began);
    await pause();
  }
  return times;
}"""

# The counter changes with what is seen; pages that nobody sees follow, and are waited for.
# After a click both rest for a tenth of a second: nobody presses sooner, and the next step is drawn
# by then, or not. A slider goes on at once.
PLAYER_CLICK = {"of": "[data-do=step]", "watch": ".kp-where", "rest": 100}
PLAYER_SCRUB = {"of": "[data-do=scrub]", "watch": ".kp-where", "rest": 30, "scrub": True}
BARE_CLICK = {"of": "button", "watch": "div:last-child", "rest": 100}
BARE_SCRUB = {"of": "input", "watch": "div:last-child", "rest": 30, "scrub": True}


def at(times: list[float], share: float) -> float:
    """The value below which this share of the times lies."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def measured(page: Page, act: dict[str, Any], box: str, count: int) -> list[float]:
    """The times of one kind of use; the first few, which warm up, are left away."""
    found = page.evaluate(MEASURE, [act, box, count + WARM])
    return [float(one) for one in found[WARM:]]


def in_turn(
    page: Page, ours: dict[str, Any], theirs: dict[str, Any], count: int
) -> tuple[list[float], list[float]]:
    """Both measured in turns, so that what else the machine does falls on both alike."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        found[1].extend(measured(page, theirs, ".bare", count // ROUNDS))
        found[0].extend(measured(page, ours, ".kp", count // ROUNDS))
    return found


def compared(name: str, ours: list[float], theirs: list[float], aimed: bool) -> Figure:
    """One row: the p95 of both and their ratio, the median beside it."""
    mine, base = at(ours, 0.95), at(theirs, 0.95)
    ratio = mine / base
    return Figure(
        f"{name} (p50 {at(ours, 0.5):.0f} against {at(theirs, 0.5):.0f} ms)",
        f"{mine:.0f} ms",
        f"bare table {base:.0f} ms",
        ratio,
        f"at most {AIM}" if aimed else "",
        ratio <= AIM if aimed else None,
    )


def in_the_browser(nodes: int, tokens: int) -> Iterator[Figure]:
    """The figures of one size of ring."""
    size = f"{nodes} nodes × {tokens}"
    path = chromium()
    if path is None:
        for use in ("click", "scrub"):
            yield unmeasured(f"{use} to painted, {size}", "no Chromium here: set KIT_CHROMIUM")
        return
    folder = scratch()
    write_notebook(
        folder / "player.ipynb",
        CELL.format(bare=BARE, nodes=nodes, tokens=tokens),
        "bare",
        "player",
    )
    with sync_playwright() as playwright, server(folder) as address:
        browser = launch(playwright, path)
        page = browser.new_page(viewport={"width": 1280, "height": 2400})
        run_all(page, address, "player.ipynb", ".kp-frame")
        page.wait_for_selector(".bare table", timeout=90_000)
        less = 1 if tokens == 1 else 2  # where nothing is aimed at, half of them will do
        ours, theirs = in_turn(page, PLAYER_CLICK, BARE_CLICK, CLICKS // less)
        yield compared(f"click to painted, {size}", ours, theirs, tokens == 1)
        ours, theirs = in_turn(page, PLAYER_SCRUB, BARE_SCRUB, SCRUBS // less)
        yield compared(f"scrub to painted, {size}", ours, theirs, tokens == 1)
        browser.close()


def exported() -> Iterator[Figure]:
    """The size of a page of 200 steps with all panels."""
    folder = scratch()
    for nodes, limit in ((10, 200_000), (64, 500_000)):
        joins = [f"bootstrap X{i} --tokens {100 * i + 50}" for i in range(1, 9)]
        timeline = Timeline(build("tcm", {"nodes": nodes, "rf": 3, "operations": joins}))
        while len(timeline.moments) <= 200:
            timeline.forward()
        made = export_html(timeline, folder / f"{nodes}.html")
        yield Figure(
            f"exported page, 200 steps, {nodes} nodes, all panels",
            f"{made.size / 1000:.0f} kB",
            f"limit {limit / 1000:.0f} kB",
            made.size / limit,
            "at most 1",
            made.size <= limit and not made.left_out,
        )


def figures() -> Iterator[Figure]:
    """Everything there is to say about the player's speed and the pages' size."""
    for nodes, tokens in SIZES:
        yield from in_the_browser(nodes, tokens)
    yield from exported()


if __name__ == "__main__":
    print(HEAD)
    for figure in figures():
        print(figure.row)
