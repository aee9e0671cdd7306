"""The badges over the stage: the epoch, whether all is at rest, whether every property holds."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.dry_run import counted, fragile, rehearsed
from kit.views.fragment import Frag, h
from kit.views.frame import scene_verdicts
from kit.views.panel import Panel, Scene


def resting(scene: Scene) -> bool:
    """Whether reads equal writes everywhere and no operation is under way."""
    model, state = scene.model, scene.state
    return facts.at_rest(model, state) and not facts.operations(model, state)


def draw_status(scene: Scene) -> Frag:
    """Draw three badges, each a word and a shape as well as a colour."""
    rest = resting(scene)
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    return h(
        "ul",
        h("li", f"epoch {facts.epoch(scene.model, scene.state)}", k="badge:epoch", class_="plain"),
        h(
            "li",
            "= at rest: reads equal writes" if rest else "… in transition",
            k="badge:rest",
            class_="badge" if rest else "badge busy",
        ),
        h(
            "li",
            f"! broken: {'; '.join(broken)}" if broken else "✓ all properties hold",
            k="badge:lamps",
            class_="badge broken" if broken else "badge",
        ),
        _fragile(scene) if rehearsed(scene) else None,
        class_="badges",
        aria_label="status",
    )


def _fragile(scene: Scene) -> Frag:
    """Draw whether one more death would break a quorum."""
    nodes, broken = fragile(scene)
    if broken:
        words = f"! {counted(broken, 'range')} without a quorum"
    else:
        words = f"! {counted(nodes, 'node')} must not die" if nodes else "✓ survives any one death"
    kind = "badge broken" if broken else "badge busy" if nodes else "badge"
    return h("li", words, k="badge:deaths", class_=kind)


def status_text(scene: Scene) -> str:
    """Write the badges as one line."""
    rest = "at rest" if resting(scene) else "in transition"
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    verdict = f"BROKEN: {'; '.join(broken)}" if broken else "all properties hold"
    return f"epoch {facts.epoch(scene.model, scene.state)}, {rest}, {verdict}"


STATUS = Panel("status", "Status", "head", draw_status, status_text, still=True)
