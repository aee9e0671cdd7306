"""What a broken promise points at: the keys of the parts that light up, in every panel."""

from __future__ import annotations

from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.parts import about
from kit.views.panel import Scene
from kit.views.promises import scene_verdicts


def guilty_parts(scene: Scene) -> frozenset[str]:
    """The keys of all nodes and ranges that the witnesses of this moment name."""
    witnesses = tuple(v.witness or "" for v in scene_verdicts(scene) if not v.ok)
    if not witnesses:
        return frozenset()

    def work() -> frozenset[str]:
        return frozenset().union(*(about(scene.model, scene.state, words) for words in witnesses))

    return memo(scene.model, ("guilty", scene.state.tcm.events, witnesses), work)
