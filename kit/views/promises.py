"""The promises of a model: which hold, which were broken on the way here, by whom and when.

A promise that was broken once stays marked: a later state in which all is well does not heal it.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kit.errors import counted
from kit.model.model import Verdict, verdicts
from kit.model.timeline import Breach, Timeline
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, sheet

Named: TypeAlias = Callable[[Scene, str], Iterable[str]]
"""Gives the things (``data_of``) that a witness names."""


def nothing(scene: Scene, witness: str) -> Iterable[str]:
    """No thing: where a family does not say what a witness names."""
    return ()


def scene_verdicts(scene: Scene) -> tuple[Verdict, ...]:
    """Judge a scene by the model's properties, and by what its monitors remember."""
    judged = (scene.model, scene.state, scene.before, scene.action, scene.memories)
    return scene.once("verdicts", lambda: verdicts(*judged))


def _breaches(scene: Scene) -> dict[str, Breach]:
    return {breach.name: breach for breach in scene.breaches()}


def draw_lamps(scene: Scene, named: Named = nothing) -> Frag:
    """Draw a lamp a promise: letter, shape and colour; a broken one says by what, and when.

    What its witness names, and the step that broke it, is lit with it.
    """
    broken = _breaches(scene)
    judged = scene_verdicts(scene)
    return h(
        "ul", [_lamp(scene, each, broken.get(each.name), named) for each in judged], class_="lamps"
    )


def _lamp(scene: Scene, verdict: Verdict, breach: Breach | None, named: Named) -> Frag:
    good = verdict.ok and breach is None
    witness = verdict.witness or (breach.witness if breach else "")
    step = [step_key(breach.step)] if breach else []
    cost = breach.cost if breach else verdict.cost
    return h(
        "li",
        bulb("✓", "holds", "bulb kept")
        if good
        else bulb("!", "a known cost" if cost else "broken", "bulb broken"),
        h("span", verdict.title),
        None if good else h("strong", witness, class_="witness"),
        h("small", cost.remark()) if cost else None,
        h("small", f"broken at step {scene.counted(breach.step)}") if breach else None,
        _to_the_break(scene, breach) if breach else None,
        k=f"lamp:{verdict.name}",
        class_="lamp ok" if good else "lamp bad",
        data_of=None if good else f"broken:{verdict.name}",
        data_names=None if good else json.dumps(sorted({*named(scene, witness), *step})),
    )


def _to_the_break(scene: Scene, breach: Breach) -> Frag | None:
    moments = scene.moments()
    if not moments:
        return None
    there = moments[breach.step]
    return h("button", "show the break", type="button", data_do="broke", data_moment=there)


def step_key(step: int) -> str:
    """The key of a step of the way here (from 0): what broke a promise is lit with it."""
    return f"step:{step + 1}"


def lamps_text(scene: Scene) -> str:
    """Write the lamps, a line each."""
    broken, lines = _breaches(scene), []
    for verdict in scene_verdicts(scene):
        breach, words = broken.get(verdict.name), f"[ok] {verdict.title}"
        if not verdict.ok:
            words = f"[BROKEN] {verdict.title}: {verdict.witness}"
        elif breach is not None:
            step = scene.counted(breach.step)
            words = f"[BROKEN at step {step}] {verdict.title}: {breach.witness}"
        if cost := breach.cost if breach else verdict.cost:
            words += f"; {cost.remark()}"
        lines.append(words)
    return "\n".join(lines)


def promises_badge(scene: Scene) -> tuple[str, bool]:
    """Say in a few words whether all promises hold, and whether that is so.

    Broken ones are named by the step that broke them, or the first of them.
    """
    broken = _breaches(scene)
    judged = scene_verdicts(scene)
    bad = {verdict.name for verdict in judged if not verdict.ok} | broken.keys()
    if not bad:
        return f"✓ {counted(len(judged), 'promise')} hold{'s' * (len(judged) == 1)}", True
    steps = {scene.counted(breach.step) for breach in broken.values()}
    step = f"step {min(steps, default=0)}"
    what = f"broken, first at {step}" if len(steps) > 1 else f"broken at {step}"
    if broken and all(breach.cost for breach in broken.values()):
        what = f"at known costs, from {step} on"
    return f"! {len(bad)} of {len(judged)} {what}", False


def draw_promises(scene: Scene, named: Named = nothing) -> Frag:
    """Draw all promises as one badge that opens the lamps."""
    words, good = promises_badge(scene)
    kind = "kp-pop promises" if good else "kp-pop promises broken"
    badge = h("summary", words, class_="badge kept" if good else "badge")
    return sheet(badge, draw_lamps(scene, named), key="promises", kind=kind)


def _promises(model: Any, memories: tuple[Any, ...]) -> bool:
    return bool(memories or any(p.kind in ("always", "step") for p in model.properties))


LAMPS = Panel(
    "lamps",
    "Properties",
    draw_lamps,
    lamps_text,
    shown=lambda scene: _promises(scene.model, scene.memories),
)


def verdict_at(timeline: Timeline) -> str:
    """``holds``, or the id of the promise that was broken first on the way to the current moment,
    known costs last; empty where nothing is promised.
    """
    if not _promises(timeline.here, timeline.memories()):
        return ""
    broken: list[Breach | Verdict] = [*timeline.breaches(timeline.at)]
    if not timeline.at:
        broken += (each for each in timeline.verdicts() if not each.ok)
    return min(broken, key=lambda each: each.cost is not None).name if broken else "holds"


def judged(scene: Scene) -> str:
    """All verdicts in a few words, for a status line: what is broken, or that nothing is."""
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    if not broken:
        return "all promises hold"
    return f"BROKEN: {'; '.join(broken)}"
