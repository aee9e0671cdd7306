"""The epoch log: a line a committed event, beside the counter of epochs."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll

LAST = 30


def draw_log(scene: Scene) -> Frag:
    """Draw the last epochs, newest first; say how many came before."""
    found = facts.log(scene.model, scene.state)
    shown, earlier = found[-LAST:], max(0, len(found) - LAST)
    return scroll(
        "epoch log",
        h(
            "p",
            h("b", f"epoch {facts.epoch(scene.model, scene.state)}"),
            f" · {len(found)} committed",
            class_="counter",
        ),
        h(
            "ol",
            [
                h(
                    "li",
                    h("b", str(line.epoch)),
                    h("span", line.text),
                    h("small", line.operation),
                    k=f"log:{line.epoch}",
                    class_="entry",
                )
                for line in reversed(shown)
            ],
            class_="log",
        ),
        h("p", f"and {earlier} earlier epochs", class_="soft") if earlier else None,
    )


def log_text(scene: Scene) -> str:
    """Write the log, a line an epoch."""
    found = facts.log(scene.model, scene.state)
    return "\n".join(f"  {line.epoch}  {line.text} ({line.operation})" for line in found) or (
        "  nothing is committed yet"
    )


LOG = Panel("log", "Epoch log", "foot", draw_log, log_text)
