"""What clients saw: each request from its asking to its answer, the offending one marked."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.breaches import Breach
from kit.protocols.storage.events import Completed, EpochCommitted, Sent
from kit.protocols.storage.panels.event_lines import events, wrong_answers
from kit.views.fragment import Frag, h
from kit.views.labels import Box, fitting, wide
from kit.views.panel import Panel, Scene
from kit.views.sizes import SMALL
from kit.views.spacetime import tag

WIDTH, ROW, TOP = 330, 40, 22
EDGE = 6
LETTERS = SMALL


class RequestSpan(Struct, frozen=True):
    """A request as its client saw it, in steps from 1; ``end`` is None while it waits.

    ``counted`` are the same two steps as the Player's counter shows them.
    """

    number: int
    title: str
    coordinator: str
    begin: int
    end: int | None
    ok: bool
    result: str
    wrong: Breach | None
    counted: tuple[int, int]


def operations(scene: Scene) -> tuple[RequestSpan, ...]:
    """The requests that were asked so far, in the order of their numbers."""
    wrong = wrong_answers(scene)
    spans: dict[int, RequestSpan] = {}
    for step, event in events(scene):
        if isinstance(event, Sent) and event.first:
            spans[event.request] = RequestSpan(
                event.request,
                event.title,
                event.coordinator,
                step + 1,
                None,
                False,
                "",
                None,
                (scene.counted(step), 0),
            )
        elif isinstance(event, Completed):
            begun = spans.get(event.request)
            spans[event.request] = RequestSpan(
                event.request,
                event.title,
                event.coordinator,
                begun.begin if begun else step + 1,
                step + 1,
                event.ok,
                event.result,
                wrong.get(event.request),
                (begun.counted[0] if begun else scene.counted(step), scene.counted(step)),
            )
    return tuple(spans[number] for number in sorted(spans))


def _epochs(scene: Scene) -> list[tuple[int, int]]:
    return [(i + 1, event.epoch) for i, event in events(scene) if isinstance(event, EpochCommitted)]


def draw_operations(scene: Scene) -> Frag:
    """Draw a bar per request, over the steps of the whole run."""
    spans, steps = operations(scene), len(scene.way())
    if not spans:
        return h("p", "Nobody has asked for anything yet.", k="no-operations", class_="soft")
    unit = (WIDTH - 2 * EDGE) / max(steps, 1)
    height = TOP + ROW * len(spans) + 4
    return h(
        "div",
        h(
            "svg",
            _epoch_lines(scene, unit, height),
            [_bar(span, i, unit, steps) for i, span in enumerate(spans)],
            viewBox=f"0 0 {WIDTH} {height}",
            role="img",
            aria_label=f"requests in time: {'; '.join(map(_line, spans))}",
            class_="operations-drawing",
        ),
        h("ul", [h("li", h("b", "! "), words, k=f"wrong:{i}", class_="witness")
                 for i, words in enumerate(_witnesses(scene))]),
    )  # fmt: skip


def _epoch_lines(scene: Scene, unit: float, height: float) -> list[Frag]:
    """A line where an epoch is committed, with its number where there is room; the latest first."""
    places = {step: EDGE + unit * step for step, _ in _epochs(scene)}
    labels = [
        (str(step), (Box(places[step], TOP - 12, wide(str(epoch), LETTERS)),))
        for step, epoch in reversed(_epochs(scene))
    ]
    shown = fitting(labels)
    return [
        h(
            "g",
            h("path", d=f"M{places[step]:.1f} {TOP - 4}V{height}", class_="barrier"),
            tag(str(epoch), min(places[step], WIDTH - 12), TOP - 8) if str(step) in shown else None,
            k=f"op-epoch:{step}",
        )
        for step, epoch in _epochs(scene)
    ]


def _bar(span: RequestSpan, i: int, unit: float, steps: int) -> Frag:
    y = TOP + ROW * i + 4
    left = EDGE + unit * (span.begin - 0.5)
    right = EDGE + unit * ((steps if span.end is None else span.end) + 0.3)
    kind = (
        "open" if span.end is None else "wrong" if span.wrong else "good" if span.ok else "failed"
    )
    sign = {"open": "…", "wrong": "!", "good": "✓", "failed": "✗"}[kind]
    words = f"{sign} {span.title}, {span.coordinator}: {span.result or 'no answer yet'}"
    return h(
        "g",
        tag(words, 0, y + 10, "tag strong", "start"),
        h(
            "rect",
            x=round(left, 1),
            y=y + 15,
            width=round(max(right - left, 10), 1),
            height=14,
            rx=3,
            class_=f"request {kind}",
        ),
        k=f"op:{span.number}",
    )


def _line(span: RequestSpan) -> str:
    if span.end is None:
        return f"{span.title} by {span.coordinator} from step {span.counted[0]}, no answer yet"
    mark = f", BROKEN: {span.wrong.witness}" if span.wrong else ""
    steps = "steps {} to {}".format(*span.counted)
    return f"{span.title} by {span.coordinator}, {steps}: {span.result}{mark}"


def _witnesses(scene: Scene) -> list[str]:
    return [f"step {scene.counted(breach.step)}: {breach.witness}" for breach in scene.breaches()]


def operations_text(scene: Scene) -> str:
    """Write a line per request, and what was broken."""
    lines = [f"  {_line(span)}" for span in operations(scene)]
    lines += [f"! {words}" for words in _witnesses(scene)]
    return "\n".join(lines) or "  nobody has asked for anything yet"


OPERATIONS = Panel(
    "operations", "What clients saw", draw_operations, operations_text, tab="Clients"
)
