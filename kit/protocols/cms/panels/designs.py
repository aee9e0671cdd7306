"""One run in three designs, as time lines: the log's, and below it one of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.protocols.cms.facts.commit import entry_times
from kit.protocols.cms.rules.designs import DESIGNS, EntryTimes, committed, usable
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll
from kit.views.spacetime import dot, tag

WIDTH, LEFT, RIGHT = 336, 30, 12
ROW, TITLE, DOWN = 20, 32, 5
NUMBERED = 12
"""Steps that are numbered; of more every other one, and so on."""
LEGEND = (
    "log: dashed until the entry is committed · a node: dashed while an epoch that it has is "
    "hidden, until most nodes have acknowledged it; solid once it can use the "
    "epoch · two steps: a second round, assumed to be as long as the first, commits what was "
    "admitted"
)


def _lines(scene: Scene, design: str) -> Iterator[tuple[str, str, int, int | None]]:
    for times in entry_times(scene.model, scene.way()):
        epoch = f"e{times.epoch}"
        yield "log", epoch, times.begun, committed(times, design)
        may = usable(times, design)
        for name, has, use in zip(scene.model.names, times.applied, may, strict=True):
            if has is not None:
                yield name, epoch, has if design == DESIGNS[1] else use or has, use


def _ends(scene: Scene) -> int:
    steps = (use or 0 for design in DESIGNS for *_, use in _lines(scene, design))
    return max(len(scene.way()), *steps, 1)


def _draw(scene: Scene) -> Frag:
    names, last = ("log", *scene.model.names), _ends(scene)
    scale = (WIDTH - LEFT - RIGHT) / last

    def x(step: int) -> float:
        return round(LEFT + scale * step, 1)

    drawn, high = list[Frag](), TITLE + ROW * len(names)
    for place, design in enumerate(DESIGNS):
        top = high * place
        drawn.append(tag(design, LEFT, top + TITLE / 2, "tag strong", "start"))
        rows = {name: top + TITLE + ROW * (at + 0.6) for at, name in enumerate(names)}
        drawn += [tag(name, LEFT - 4, y + DOWN, "soft", "end") for name, y in rows.items()]
        for name, epoch, begins, solid in _lines(scene, design):
            y, until = rows[name], last if solid is None else solid
            parts = [h("path", d=f"M{x(begins)} {y}H{x(until)}", class_="message away")]
            if solid is not None:
                parts += [
                    h("path", d=f"M{x(solid)} {y}H{x(last) + RIGHT}", class_="message"),
                    dot(x(solid), y),
                    tag(epoch, x(solid), y - DOWN, "tag", "middle"),
                ]
            drawn.append(h("g", parts, k=f"design:{design}:{name}:{epoch}"))
    foot, every = high * len(DESIGNS), -(-last // NUMBERED)
    drawn += [
        h("g", tag(f"{step}", x(step), foot + ROW - DOWN, "soft"), k=f"design:step:{step}")
        for step in range(every, last + 1, every)
    ]
    picture = h(
        "svg",
        drawn,
        viewBox=f"0 0 {WIDTH} {foot + ROW}",
        width=WIDTH,
        height=foot + ROW,
        role="img",
        aria_label=_text(scene),
    )
    return scroll("timelines of three designs", picture, h("p", LEGEND, class_="soft legend"))


def _text(scene: Scene) -> str:
    times = entry_times(scene.model, scene.way())
    said = (_said(scene.model.names, each, design) for design in DESIGNS for each in times)
    return "\n".join(said) or "Nothing is committed yet."


def _said(names: Sequence[str], times: EntryTimes, design: str) -> str:
    may = usable(times, design)
    users = (
        f"{name} can use it from step {step}" for name, step in zip(names, may, strict=True) if step
    )
    begun, end = times.begun, committed(times, design)
    opening = f"{design}: epoch {times.epoch} begins at step {begun}, is committed at step {end}"
    return "; ".join((opening, ", ".join(users) or "no node can use it yet"))


DESIGN_LINES = Panel(
    "designs", "This run, next to two abandoned designs", _draw, _text, tab="Designs", still=True
)
