"""What a broken promise points at: the parts that light up, in every panel; quorums that miss each
other, as two outlines without a common member.
"""

from __future__ import annotations

from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.parts import Missed, about, missed
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import chip
from kit.views.promises import scene_verdicts


def guilty_parts(scene: Scene) -> frozenset[str]:
    """The keys of all nodes and ranges that the witnesses of this moment name."""
    witnesses = tuple(v.witness or "" for v in scene_verdicts(scene) if not v.ok)
    if not witnesses:
        return frozenset()

    def work() -> frozenset[str]:
        return frozenset().union(*(about(scene.model, scene.state, words) for words in witnesses))

    return memo(scene.model, ("guilty", scene.state.tcm.events, witnesses), work)


def _missed(scene: Scene) -> Missed | None:
    model, state = scene.model, scene.state
    return memo(model, ("missed", state.tcm.events), lambda: missed(model, state))


def draw_missed(scene: Scene) -> Frag | None:
    """Draw who is read from beside who was written to; None where all majorities meet."""
    apart = _missed(scene)
    if apart is None:
        return None
    return h(
        "div",
        _outline("read", f"a read at epoch {apart.read_epoch}", apart.reads),
        h("b", "nobody in both"),
        _outline("write", f"a write at epoch {apart.write_epoch}", apart.writes),
        k="missed",
        class_="missed",
    )


def _outline(side: str, words: str, names: tuple[str, ...]) -> Frag:
    chips = [chip(name, key=f"missed:{side}:{name}") for name in names]
    return h("div", h("span", words), h("div", chips, class_="outlined"))


def missed_words(scene: Scene) -> str:
    """Say the same; empty where all majorities meet."""
    apart = _missed(scene)
    if apart is None:
        return ""
    return (
        f"A read at epoch {apart.read_epoch} from {', '.join(apart.reads)} and a write at epoch "
        f"{apart.write_epoch} to {', '.join(apart.writes)} have nobody in common."
    )
