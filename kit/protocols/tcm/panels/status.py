"""The badges over the picture: the epoch, whether all is stable, whom a ring of one's own needs."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.dry_run import fragile, own_ring
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges
from kit.views.promises import scene_verdicts


def resting(scene: Scene) -> bool:
    """Whether reads equal writes everywhere and no operation is under way."""
    model, state = scene.model, scene.state
    return facts.stable(model, state) and not facts.operations(model, state)


def draw_status(scene: Scene) -> Frag:
    """Draw the badges, each a word and a shape as well as a colour."""
    rest = resting(scene)
    return badges(
        facts.epoch(scene.model, scene.state),
        badge("rest", "= stable: reads equal writes")
        if rest
        else badge("rest", "… in transition", "busy"),
        _fragile(scene) if own_ring(scene) else None,
    )


def _fragile(scene: Scene) -> Frag:
    """Draw whether one more death would break a quorum."""
    nodes, broken = fragile(scene)
    if broken:
        return badge("deaths", f"! {counted(broken, 'range')} without a quorum", "broken")
    if nodes:
        return badge("deaths", f"! {counted(nodes, 'node')} must not die", "busy")
    return badge("deaths", "✓ survives any one death")


def status_text(scene: Scene) -> str:
    """Write the badges as one line."""
    rest = "stable" if resting(scene) else "in transition"
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    verdict = f"BROKEN: {'; '.join(broken)}" if broken else "all properties hold"
    return f"epoch {facts.epoch(scene.model, scene.state)}, {rest}, {verdict}"


STATUS = Panel("status", "Status", draw_status, status_text, still=True)
