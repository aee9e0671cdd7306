"""A frame: what a person sees at one moment of a history, whatever the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from kit.engine.model import Model, Verdict, verdicts
from kit.errors import Refusal
from kit.views.flows import flow_lines
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene, section
from kit.views.parts import act_button, bulb

MOST_EVIDENCE, LEAST_EVIDENCE = 24, 4
"""Facts told of a refusal; fewer where many are refused."""
MOST_LISTED = 200
"""Actions that a picker lists; of more, the first that may happen now."""
MANY = 12
"""Above this many actions of a kind, one control with a picker stands for them."""


class Macro(Struct, frozen=True):
    """A named run of ordinary actions that is offered as one button."""

    name: str
    title: str


def frame(scene: Scene, panels: Sequence[Panel], macros: Sequence[Macro] = ()) -> Frag:
    """Draw a whole frame. Its root says the step in one sentence (``data-say``)."""
    shown = [panel for panel in panels if panel.shown is None or panel.shown(scene)]

    def area(name: str) -> list[Frag]:
        return [section(panel, panel.draw(scene)) for panel in shown if panel.area == name]

    aside = area("side")
    return h(
        "div",
        h("header", narration(scene), *area("head"), k="head", class_="kp-head"),
        h("div", action_board(scene, macros), k="acts", class_="kp-acts", data_quiet=True),
        h("div", *area("main"), k="main", class_="kp-main"),
        h("div", *aside, k="aside", class_="kp-aside"),
        h("div", *area("foot"), k="foot", class_="kp-foot"),
        k="frame",
        class_="kp-frame" if aside else "kp-frame plain",
        data_say=scene.say,
    )


def frame_text(scene: Scene, panels: Sequence[Panel]) -> str:
    """Write the step, what travels in it, and every panel of a frame, one under the other."""
    step = "\n".join(filter(None, [scene.say, *flow_lines(scene.flows())]))
    parts = [step] if step else []
    parts += [
        f"{panel.title}\n{panel.text(scene)}".rstrip()
        for panel in panels
        if panel.shown is None or panel.shown(scene)
    ]
    return "\n\n".join(parts)


def narration(scene: Scene) -> Frag:
    """Say what happened in the step, and which milestone it reached."""
    name = scene.milestone
    said = name is None or name.lower() in scene.say.lower()
    badge = None if said else h("span", name, k="milestone", class_="milestone")
    return h("p", badge, h("span", scene.say), k="say", class_="say", data_quiet=True)


def mark(model: Model[Any, Any], action: Any) -> str:
    """Return the digest by which a button names its action: 12 hex digits."""
    return _digest(model.name, action)


@lru_cache(8192)
def _digest(name: str, action: Any) -> str:
    plain = repr((type(action).__name__, msgspec.to_builtins(action)))
    return hashlib.blake2b(f"{name} {plain}".encode(), digest_size=6).hexdigest()


def action_board(scene: Scene, macros: Sequence[Macro] = ()) -> Frag:
    """Draw the actions of a state grouped by kind: what may happen, and what must wait and why."""
    model, state = scene.model, scene.state
    options = sorted(model.options(state), key=lambda option: option[1] is not None)
    rows = [(model.kind(action), action, refusal) for action, refusal in options]
    order = {kind: i for i, kind in reversed(list(enumerate(kind for kind, _, _ in rows)))}
    groups = groupby(sorted(rows, key=lambda row: order[row[0]]), key=lambda row: row[0])
    boards = [_group(scene, kind, [(a, r) for _, a, r in items]) for kind, items in groups]
    runs = h(
        "div",
        h("h4", "runs"),
        [
            h(
                "button",
                macro.title,
                k=f"macro:{macro.name}",
                type="button",
                class_="act",
                data_act=f"macro:{macro.name}",
                data_refused=scene.closed,
                aria_disabled="true" if scene.closed else None,
            )
            for macro in macros
        ],
        k="kind: runs",
        class_="kind",
        role="group",
        aria_label="runs of several actions",
    )
    return h(
        "details",
        h("summary", h("h3", "Actions")),
        boards or h("p", "Nothing can happen here.", class_="soft"),
        runs if macros else None,
        k="panel:actions",
        class_="panel actions",
        open=True,
    )


def _group(scene: Scene, kind: str, items: list[tuple[Any, Refusal | None]]) -> Frag:
    body = _picker(scene, kind, items) if len(items) > MANY else _buttons(scene, items)
    return h(
        "div",
        h("h4", kind),
        body,
        k=f"kind:{kind}",
        class_="kind",
        role="group",
        aria_label=f"actions: {kind}",
        data_group=kind,
    )


def refusal_text(refusal: Refusal, most: int = MOST_EVIDENCE) -> str:
    """Write a refusal as one line: the reason, its evidence, who is missing.

    Of more than ``most`` facts or nodes the rest is counted.
    """
    parts = [refusal.reason.rstrip("."), *_first(refusal.evidence, most)]
    if refusal.missing:
        parts.append(f"missing: {', '.join(_first(refusal.missing, most))}")
    return "; ".join(parts) + "."


def _first(words: tuple[str, ...], most: int) -> list[str]:
    rest = len(words) - most
    return [*words[:most], f"and {rest} more"] if rest > 0 else list(words)


def _buttons(scene: Scene, items: list[tuple[Any, Refusal | None]]) -> list[Frag]:
    stuck = len(items) <= 2 and all(refusal is not None for _, refusal in items)
    buttons = []
    for action, refusal in items:
        verb, name = scene.model.label(scene.state, action), mark(scene.model, action)
        why = refusal_text(refusal) if refusal else scene.closed
        buttons.append(
            act_button(
                verb,
                f"act:{name}",
                f"do:{name}",
                why,
                kind="act suggested" if action == scene.suggested else "act",
            )
        )
        if refusal is not None and stuck:
            buttons.append(h("small", refusal.reason, k=f"why:{name}", class_="why"))
    return buttons


def _picker(scene: Scene, kind: str, items: list[tuple[Any, Refusal | None]]) -> list[Frag]:
    options = []
    ready = [item for item in items if item[1] is None]
    listed = items if len(items) <= MOST_LISTED else (ready or items)[:MOST_LISTED]
    for action, refusal in listed:
        why = refusal_text(refusal, LEAST_EVIDENCE) if refusal else scene.closed
        verb, name = scene.model.label(scene.state, action), mark(scene.model, action)
        options.append(_option(f"{verb} (not now)" if refusal else verb, name, why))
    few = f"; {len(listed)} are listed" if len(listed) < len(items) else ""
    return [
        h("select", options, k=f"pick:{kind}", data_pick=True, aria_label=f"which {kind}"),
        h(
            "button",
            "do",
            k=f"go:{kind}",
            type="button",
            class_="act",
            data_act="pick",
            aria_label=f"do the chosen action: {kind}",
        ),
        h("small", f"{len(ready)} of {len(items)} may happen now{few}", class_="soft"),
    ]


@lru_cache(8192)
def _option(word: str, name: str, why: str | None) -> Frag:
    """Draw one action of a picker; in a large cluster most are the same in every frame."""
    return h("option", word, k=f"act:{name}", value=f"do:{name}", data_refused=why)


def scene_verdicts(scene: Scene) -> tuple[Verdict, ...]:
    """Judge a scene by the model's properties, and by what its monitors remember."""
    return verdicts(scene.model, scene.state, scene.before, scene.action, scene.memories)


def draw_lamps(scene: Scene) -> Frag:
    """Draw a lamp a property: letter, shape and colour; a broken one names its witness."""
    return h(
        "ul",
        [
            h(
                "li",
                bulb("✓", "holds") if verdict.ok else bulb("!", "broken"),
                h("span", verdict.title),
                None if verdict.ok else h("strong", verdict.witness or "", class_="witness"),
                k=f"lamp:{verdict.name}",
                class_="lamp ok" if verdict.ok else "lamp bad",
            )
            for verdict in scene_verdicts(scene)
        ],
        class_="lamps",
    )


def lamps_text(scene: Scene) -> str:
    """Write the lamps, a line each."""
    return "\n".join(
        f"[ok] {verdict.title}" if verdict.ok else f"[BROKEN] {verdict.title}: {verdict.witness}"
        for verdict in scene_verdicts(scene)
    )


LAMPS = Panel(
    "lamps",
    "Properties",
    "foot",
    draw_lamps,
    lamps_text,
    shown=lambda scene: bool(
        scene.memories or any(p.kind in ("always", "step") for p in scene.model.properties)
    ),
)
