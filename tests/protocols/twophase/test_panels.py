"""The picture of two-phase commit: who stands where, what travels, and the same in words."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build
from kit.protocols.twophase.panels import gates, managers
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from kit.views.fragment import Frag
from kit.views.gate import gates_of
from kit.views.panel import Panel, Scene
from kit.views.registry import for_model
from tests.recording.walking import Visit
from tests.views.frames import part


def panel(scene: Scene, name: str = "managers") -> Panel:
    """A panel of the family."""
    return next(each for each in for_model(scene.model).panels if each.name == name)


def unread(scene: Scene) -> list[str]:
    """The envelopes of a picture."""
    parked = panel(scene).draw(scene).walk()
    words = (str(one) for one in parked if "envelope" in str(one.get("class")))
    return [each.partition("<title>")[2].partition("</title>")[0] for each in words]


def character(scene: Scene, key: str) -> Frag:
    """Who takes part."""
    found = part(panel(scene).draw(scene), key)
    assert found is not None
    return found


def test_no_gate_or_refusal_waits_for_an_aborted_rm() -> None:
    """In every state; and a node says prepared, unread or carried out only where it is so."""
    m: Any = build("twophase", {"rms": 2})
    every = Visit(m)
    assert [*every.lines()]
    for s in every.known:
        scene = Scene(m, s)
        aborted = {f"RM{rm}" for rm in range(m.rms) if s.aborted >> rm & 1}
        waited = [gate.missing for gate in gates_of(scene, gates) if not gate.is_open]
        waited += [why.missing for _, why in scene.options() if why]
        assert not aborted.intersection(name for names in waited for name in names)
        for name, state, _, follows in managers(scene):
            ended = s.tm > 0 and state in ("committed", "aborted")
            assert ("carried out" in follows) == ended, (name, s)
            said = character(scene, f"n:{name}").text()
            assert ("has yet to read" in said) == ("unread" in follows), (name, s)
            assert ("must do as told" in said) == (state == "prepared"), (name, s)


COMMIT = ("prepare RM0", "receive-prepared RM0", "decide commit", "receive-decision RM0")


ABORT = ("give-up RM0", "decide abort", "receive-decision RM0")


@pytest.mark.parametrize(
    ("verbs", "told"),
    [
        (COMMIT, ["RM0 → transaction manager: prepared", "transaction manager → RM0: commit"]),
        (ABORT[1:], ["transaction manager → RM0: abort"]),
    ],
)
def test_a_message_travels_in_the_step_that_reads(verbs: tuple[str, ...], told: list[str]) -> None:
    """The flow of a decision says what was decided."""
    model = TwoPhase(TwoPhaseParameters(1))
    state, sentences = model.start(), []
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None
        after = model.act(state, option[0])
        sentences += [flow.text for flow in flows(model, state, option[0], after)]
        state = after
    assert sentences == told
