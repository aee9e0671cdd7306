"""``group0_history`` beside the log: which command led from which state to which, no-ops greyed."""

from __future__ import annotations

from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.facts.moment import EntryRow
from kit.protocols.group0.facts.timeuuid import timeuuid
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

LAST = 30


def lines(scene: Scene) -> list[tuple[EntryRow, str]]:
    """Each entry of the log, newest first, with what became of it on which nodes."""
    model, state = scene.model, scene.state
    rows = []
    for entry in reversed(facts.entries(model, state)):
        applied = [row.name for row in facts.nodes(model, state) if row.applied >= entry.index]
        if not applied:
            rows.append((entry, "applied by nobody yet"))
        elif not entry.effective:
            rows.append((entry, f"no-op on {', '.join(applied)}"))
        else:
            rows.append((entry, _kept(scene, entry, applied)))
    return rows


def _kept(scene: Scene, entry: EntryRow, applied: list[str]) -> str:
    kept = [n for n in applied if entry.new in facts.history(scene.model, scene.state, n)]
    return f"row on {', '.join(kept)}" if kept else f"row expired on {', '.join(applied)}"


def draw_history(scene: Scene) -> Frag:
    """Draw a row per entry; a command that did nothing is struck out."""
    places = len(scene.model.setup.names)
    rows = lines(scene)[:LAST]
    return scroll(
        "group0_history",
        h(
            "table",
            h(
                "caption",
                "group0_history, newest first; a command without effect (no-op) leaves no row",
            ),
            heads("state id", "description", "built on", "outcome"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", str(entry.new), scope="row", title=timeuuid(entry.new, places)),
                        h("td", f"{entry.text} of {entry.creator}"),
                        h("td", "any state" if entry.previous is None else str(entry.previous)),
                        h("td", outcome),
                        k=f"history:{entry.index}",
                        class_=None if entry.effective else "no-op",
                    )
                    for entry, outcome in rows
                ],
            ),
        ),
        h("p", _shown_as(scene), class_="soft"),
    )


def _shown_as(scene: Scene) -> str:
    newest = scene.state.log[len(scene.state.log) - 1].new if len(scene.state.log) else 0
    shown = timeuuid(newest, len(scene.model.setup.names))
    return f"A state id stands for a TIMEUUID: {newest} for {shown}."


def history_text(scene: Scene) -> str:
    """Write a line per entry."""
    rows = [
        f"  {entry.new}  {entry.text} of {entry.creator}, built on "
        f"{'any state' if entry.previous is None else entry.previous}: {outcome}"
        for entry, outcome in lines(scene)
    ]
    return "\n".join(rows or ["  nothing is committed yet"])


HISTORY = Panel("history", "group0_history", draw_history, history_text, tab="History")
