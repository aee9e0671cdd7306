"""The epoch log: a line per committed event, beside the counter of epochs."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.worked import worked_row
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll

LAST = 30


def draw_log(scene: Scene) -> Frag:
    """Draw the last epochs, newest first; say how many came before."""
    lines = facts.log(scene.model, scene.state)
    shown, earlier = lines[-LAST:], max(0, len(lines) - LAST)
    return scroll(
        "epoch log",
        h(
            "p",
            h("b", f"epoch {facts.epoch(scene.model, scene.state)}"),
            f" · {len(lines)} committed",
            class_="counter",
        ),
        h("p", _computed(scene), k="log:computed", class_="soft"),
        h(
            "ol",
            [
                h(
                    "li",
                    h("b", str(line.epoch)),
                    h("span", line.text),
                    h("small", line.operation),
                    _small(_groups(scene, line.epoch)),
                    k=f"log:{line.epoch}",
                    class_="entry",
                )
                for line in reversed(shown)
            ],
            class_="log",
        ),
        h("p", f"and {earlier} earlier epochs", class_="soft") if earlier else None,
    )


def _computed(scene: Scene) -> str:
    times = facts.computed(scene.model, scene.state)
    return f"placement computations: {times}, one at the start and one per epoch"


def _small(text: str | None) -> Frag | None:
    return None if text is None else h("small", text)


def _groups(scene: Scene, epoch: int) -> str | None:
    """What the epoch made of the range that the worked example is about."""
    row = worked_row(scene.model, scene.state, epoch)
    if row is None:
        return None
    return f"{row.label}: reads {', '.join(row.reads)}; writes {', '.join(row.writes)}"


def log_text(scene: Scene) -> str:
    """Write the log, a line per epoch, and how often placements were computed."""
    lines = []
    for line in facts.log(scene.model, scene.state):
        groups = _groups(scene, line.epoch)
        parts = (f"{line.epoch}  {line.text} ({line.operation})", groups)
        lines.append("  " + "; ".join(part for part in parts if part))
    return "\n".join([*(lines or ["  nothing is committed yet"]), f"  {_computed(scene)}"])


LOG = Panel("log", "Epoch log", draw_log, log_text, tab="Log")
