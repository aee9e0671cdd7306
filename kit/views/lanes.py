"""Who takes part in a run: what each has seen of it, and the run as a sequence diagram in text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kit.edge.words import say
from kit.engine.actors import NetworkModel
from kit.engine.flows import Flow, FlowKind, flows
from kit.engine.timeline import Breach, PassedStep
from kit.views.actions import concerned
from kit.views.fragment import Frag
from kit.views.panel import Scene
from kit.views.spacetime import run_of

PICTORIAL = "states:"
"""Begins the keys of places that are in a picture only."""
NOBODY = ("log", "network", "op", "request", "sent")
ARROWS: dict[FlowKind, str] = {"answer": "-->>", "data": "-)", "refusal": "-x"}
ESCAPES = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "%": "#37;"}


def who(key: str) -> str:
    """Whom or what the key of a place in a picture belongs to: ``n:A:100`` is A's."""
    first, *rest = key.split(":")
    named = [part for part in rest if part and not part.isdecimal()]
    return named[-1] if named else first


def ends(model: Any, step: PassedStep) -> list[tuple[Flow, str, str]]:
    """What travels in a step, from whom to whom."""
    moved = flows(model, step.before, step.action, step.after)
    return [
        (flow, who(flow.from_key), who(flow.to_key))
        for flow in moved
        if not flow.from_key.startswith(PICTORIAL) and not flow.to_key.startswith(PICTORIAL)
    ]


# -- what one of them has seen ---------------------------------------------------------------------


def seen(scene: Scene) -> Mapping[str, frozenset[int]]:
    """For each node the steps (from 0) of the way here that it has seen; empty: nobody can say.

    On a network these are its own steps, and what it heard of with a message: all that the sender
    had seen when it sent it. Elsewhere they are the steps in which it sent or received something.
    """
    if isinstance(scene.model, NetworkModel):
        return _heard(scene)
    had: dict[str, set[int]] = {}
    for number, step in enumerate(scene.way()):
        for _, source, target in ends(scene.model, step):
            for name in {source, target}.difference(NOBODY):
                had.setdefault(name, set()).add(number)
    return {name: frozenset(steps) for name, steps in had.items()}


def _heard(scene: Scene) -> Mapping[str, frozenset[int]]:
    run = run_of(scene)
    had: dict[str, list[frozenset[int]]] = {name: [frozenset()] for name in run.nodes}
    for step in range(1, run.steps + 1):
        arrived = [a for a in run.arrows if a.fate == "received" and a.ended_at == step]
        sent = {a.source for a in run.arrows if a.sent_at == step and a.copied_at is None}
        acts = {mark.node for mark in run.marks if mark.at == step} | sent
        for name, before in had.items():
            new = set(before[-1])
            for arrow in arrived:
                if arrow.target == name and arrow.source in had:
                    new |= had[arrow.source][arrow.sent_at] | {step - 1}
            before.append(frozenset(new | ({step - 1} if name in acts else set())))
    return {name: steps[-1] for name, steps in had.items()}


def how_seen(scene: Scene) -> str:
    """What is meant by that, in a sentence."""
    if isinstance(scene.model, NetworkModel):
        return say("A node has seen its own steps, and what it heard of by messages.")
    return say("This model has no lanes: shown are the steps in which a node sends or receives.")


def known_parts(picture: Frag, name: str) -> list[str]:
    """The keys of the parts of a picture that one node knows: itself, and the cards that it has."""
    known = []
    for part in picture.walk():
        if part.key is None:
            continue
        reached = (kid for kid in part.kids if isinstance(kid, Frag) and kid.key)
        cards = (kid for kid in reached if (kid.get("class") or "").startswith("reached "))
        is_own = part.get("data-of") == name or part.key == f"n:{name}"
        if is_own or any(name in (kid.key or "").split(":") for kid in cards):
            known.append(part.key)
    return known


# -- the run as text -------------------------------------------------------------------------------


def mermaid(
    model: Any, way: Sequence[PassedStep], numbers: Iterable[int], broken: Breach | None = None
) -> str:
    """Write steps (from 0) of a run as a sequence diagram of Mermaid; names are escaped.

    A step in which nothing travels is a note over those whom it concerns.
    """
    steps = [(number, way[number], ends(model, way[number])) for number in numbers]
    names = dict.fromkeys(name for _, _, moved in steps for _, *pair in moved for name in pair) or {
        model.name: None
    }
    ids = {name: f"p{number}" for number, name in enumerate(names, start=1)}
    every = ",".join(dict.fromkeys((next(iter(ids.values())), [*ids.values()][-1])))
    lines = [f"participant {ids[name]} as {escaped(name)}" for name in names]
    for number, step, moved in steps:
        for flow, source, target in moved:
            said = escaped(f"{number + 1}. {flow.label or flow.text}")
            lines.append(f"{ids[source]}{ARROWS.get(flow.kind, '->>')}{ids[target]}: {said}")
        if not moved:
            things = json.loads(concerned(model, step.action))
            over = next((ids[name] for name in things if name in ids), every)
            said = model.describe(step.before, step.action, step.after)
            lines.append(f"Note over {over}: {escaped(f'{number + 1}. {said}')}")
    if broken is not None:
        lines.append(f"Note over {every}: {escaped(f'! {broken.title}: {broken.witness}')}")
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in lines), ""])


def escaped(text: str) -> str:
    """A text in which nothing means anything to Mermaid."""
    words = "".join(ESCAPES.get(letter, letter) for letter in " ".join(text.split()))
    return re.sub(r"\b([Ee])nd\b", r"\1#110;d", words)
