"""Who takes part in a run: the steps that each has seen, and what travels in them, as texts."""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from kit.formats.recorded import RecordedRun
from kit.model.actors import NetworkModel
from kit.model.flows import Flow, flows, whose
from kit.model.timeline import Breach, PassedStep
from kit.views.actions import concerned
from kit.views.fragment import Frag, h
from kit.views.labels import measured
from kit.views.panel import Scene
from kit.views.spacetime import Spacetime, arrow_path, run_of, tag
from kit.views.static import standalone_svg

PICTORIAL = "states:"
"""Begins the keys of places that are in a picture only."""
NOBODY = ("log", "network", "op", "request", "sent")
ARROWS: dict[str, str] = {"answer": "-->>", "data": "-)", "refusal": "-x"}
ESCAPES = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "%": "#37;"}


def ends(model: Any, step: PassedStep) -> list[tuple[Flow, str, str]]:
    """What travels in a step, from whom to whom."""
    moved = flows(model, step.before, step.action, step.after)
    names = getattr(model, "names", ())
    return [
        (flow, whose(flow.from_key, names), whose(flow.to_key, names))
        for flow in moved
        if not flow.from_key.startswith(PICTORIAL) and not flow.to_key.startswith(PICTORIAL)
    ]


# -- what one of them has seen ---------------------------------------------------------------------


def seen(scene: Scene) -> Mapping[str, frozenset[int]]:
    """For each node the steps (from 0) of the way here that it has seen; empty: nobody can say.

    On a network these are its own steps, and what it heard of with a message: all that the sender
    had seen when it sent it. Of a recorded run they are the steps that change something of it,
    elsewhere those that it does, or in which it sends or receives something.
    """
    if isinstance(scene.model, NetworkModel):
        return _seen_steps(scene)
    had: dict[str, set[int]] = {}
    did: dict[str, set[int]] = {}
    for number, step in enumerate(scene.way()):
        pairs = [pair for _, *pair in ends(scene.model, step)]
        names = {*changes(scene.model, step), *(name for pair in pairs for name in pair)}
        for name in names.difference(NOBODY):
            had.setdefault(name, set()).add(number)
        did.setdefault(scene.model.actor_of(step.before, step.action), set()).add(number)
    # An actor may be a thing that is no node: it has no lane unless something travels there.
    return {name: frozenset(steps | did.get(name, set())) for name, steps in had.items()}


def _seen_steps(scene: Scene) -> Mapping[str, frozenset[int]]:
    run = run_of(scene)
    done = [(mark.node, mark.at) for mark in run.marks if mark.node]
    done += [(a.source, a.sent_at) for a in run.arrows if a.sent_at and a.copied_at is None]
    done += [(a.target, a.ended_at) for a in run.arrows if a.fate == "received" and a.ended_at]
    return {
        name: frozenset(step - 1 for node, step in done if step <= clock.get(node, 0))
        for name, clock in run.known.items()
    }


def how_seen(scene: Scene) -> str:
    """What is meant by that, in a sentence."""
    if isinstance(scene.model, NetworkModel):
        return "A node has seen its own steps and whatever it has heard through messages."
    if isinstance(scene.model, RecordedRun):
        return "What a node hears was not recorded. These are the steps that change the node."
    return "This model has no lanes. A node has seen the steps in which it acts, sends or receives."


def known_parts(picture: Frag, name: str) -> list[str]:
    """The keys of the parts of a picture that one node knows: itself, and the cards that it has."""
    known = []
    for part in picture.walk():
        if part.key is None:
            continue
        reached = (kid for kid in part.kids if isinstance(kid, Frag) and kid.key)
        cards = (kid for kid in reached if (kid.get("class") or "").startswith("reached "))
        is_own = part.get("data-of") == name or part.key == f"n:{name}"
        if is_own or any(f":{name}:" in f":{kid.key}:" for kid in cards):
            known.append(part.key)
    return known


def changes(model: Any, step: PassedStep) -> dict[str, dict[str, str]]:
    """The nodes of a recorded run that a step changes, and what is said of them then."""
    return model.changed(step.before, step.after) if isinstance(model, RecordedRun) else {}


# -- the run as text -------------------------------------------------------------------------------


Line = tuple[str, str, str, str]
"""A line of a sequence diagram: an arrow of a kind, or (empty) a note; from, to, its words."""


def sequence(
    model: Any, way: Sequence[PassedStep], numbers: Iterable[int], broken: Breach | None = None
) -> tuple[list[str], list[Line]]:
    """Who takes part in steps (from 0) of a run, and a line for each thing that travels in them.

    A step in which nothing travels is a note over whom it concerns, or over each that it changes.
    """
    steps = [(number, way[number], ends(model, way[number])) for number in numbers]
    pairs = [pair for _, _, moved in steps for _, *pair in moved]
    known = model.nodes if isinstance(model, RecordedRun) else ()
    names = list(dict.fromkeys(name for pair in pairs for name in pair)) or [*known] or [model.name]
    every, lines = (names[0], names[-1]), list[Line]()
    for number, step, moved in steps:
        begun = f"{number + 1}. "
        lines += [(f.kind, source, to, begun + (f.label or f.text)) for f, source, to in moved]
        if not moved:
            things = json.loads(concerned(model, step.action))
            over = [*changes(model, step)] or [name for name in things if name in names][:1]
            said = model.describe(step.before, step.action, step.after)
            spans = [(name, name) for name in over] or [every]
            lines += [("", *span, begun + said) for span in spans]
    if broken is not None:
        lines.append(("", *every, f"! {broken.title}: {broken.witness}"))
    return names, lines


def mermaid(
    model: Any, way: Sequence[PassedStep], numbers: Iterable[int], broken: Breach | None = None
) -> str:
    """Write steps (from 0) of a run as a sequence diagram of Mermaid; names are escaped."""
    names, rows = sequence(model, way, numbers, broken)
    ids = {name: f"p{number}" for number, name in enumerate(names, start=1)}
    lines = [f"participant {ids[name]} as {escaped(name)}" for name in names]
    for kind, source, target, said in rows:
        over = ",".join(dict.fromkeys((ids[source], ids[target])))
        arrow = f"{ids[source]}{ARROWS.get(kind, '->>')}{ids[target]}"
        lines.append(f"{arrow if kind else f'Note over {over}'}: {escaped(said)}")
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in lines), ""])


def escaped(text: str) -> str:
    """A text in which nothing means anything to Mermaid."""
    plain_text = "".join(ESCAPES.get(letter, letter) for letter in " ".join(text.split()))
    return re.sub(r"\b([Ee])nd\b", r"\1#110;d", plain_text)


LANE, ROW = 170, 30  # pixels


def svg(model: Any, way: Sequence[PassedStep], numbers: Iterable[int]) -> str:
    """Draw steps (from 0) of a run as a sequence diagram: an SVG document of its own."""
    names, rows = sequence(model, way, numbers)
    at = {name: LANE * (place + 0.5) for place, name in enumerate(names)}
    high, wide, kids = ROW * (len(rows) + 2), float(LANE * len(names)), list[Frag]()
    for name, x in at.items():
        kids += [h("path", d=f"M{x} {ROW}V{high - ROW / 2}", class_="life"), tag(name, x, 18)]
    for y, (kind, source, target, said) in zip(range(2 * ROW, high, ROW), rows, strict=True):
        first, last, room = at[source], at[target], measured(said) / 2 + 8
        middle = max((first + last) / 2, room)
        wide = max(wide, middle + room)
        if kind:
            begun = first + 30 * (first == last)
            kids.append(h("path", d=arrow_path(begun, y, last, y), class_="message"))
        kids.append(tag(said, middle, y - 6 * bool(kind)))
    drawn = h("svg", kids, viewBox=f"0 0 {wide:.0f} {high}", aria_label=model.title)
    return standalone_svg(drawn, ground=True)


SHIVIZ = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
"""The expression that ShiViz reads a log with, unless another one is given."""


def shiviz(scene: Scene, numbers: Container[int]) -> str:
    """Write steps (from 0) of a run as a log with vector clocks for ShiViz: its expression, an
    empty line, events.

    Elsewhere than on a network a step is an event at each end of what travels in it.
    """
    model, lines = scene.model, [SHIVIZ, ""]
    clocks: dict[str, dict[str, int]] = {}
    stamps: dict[tuple[str, int], dict[str, int]] = {}

    def event(name: str, step: int, said: str, heard: Mapping[str, int] | None = None) -> None:
        host = "_".join((name or model.name).split())
        clock = clocks.setdefault(host, {})
        clock |= {each: max(n, clock.get(each, 0)) for each, n in (heard or {}).items()}
        clock[host] = clock.get(host, 0) + 1
        stamps[name, step] = dict(clock)
        if not step or step - 1 in numbers:
            lines.append(f"step {step}: {' '.join(said.split())}")
            lines.append(f"{host} {json.dumps(clock, ensure_ascii=False)}")

    run = run_of(scene) if isinstance(model, NetworkModel) else Spacetime((), 0)
    arrived = {a.ended_at: a for a in run.arrows if a.fate == "received"}
    acts = {mark.at: mark.node for mark in run.marks if not mark.alarm}
    for name in dict.fromkeys(arrow.source for arrow in run.arrows if not arrow.sent_at):
        event(name, 0, "begins")
    for number, step in enumerate(scene.way(), start=1):
        said = model.describe(step.before, step.action, step.after)
        if run.nodes:
            arrow = arrived.get(number)
            heard = stamps[arrow.source, arrow.sent_at] if arrow else None
            event(arrow.target if arrow else acts.get(number, ""), number, said, heard)
            continue
        moved = sorted(ends(model, step), key=lambda each: each[0].leg)
        if not moved:
            things = json.loads(concerned(model, step.action))
            lane = next((each for each in things if each in clocks), "")
            for name in changes(model, step) or [lane]:
                event(name, number, said)
        for flow, source, target in moved:
            event(source, number, flow.text)
            if source != target:
                event(target, number, flow.text, stamps[source, number])
    return "\n".join([*lines, ""])
