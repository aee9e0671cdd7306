"""What a student sees of splits and merges beside a node that is dead and ignored."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.flows import flows
from kit.engine.registry import build
from kit.errors import BadInput
from tests.protocols.tablets.resize.test_seen import MERGES, drawn, lines, walked

ASKED = ("apply A", "apply B")


@pytest.mark.spec("D-042")
@pytest.mark.parametrize(
    ("given", "begun", "ends"),
    [
        (
            {"tablets": ("A C",)},
            ("grow", "resize", *ASKED, "divide 0 A:0"),
            {"A": "0, 1", "C": "0/1"},
        ),
        (
            {"tablets": ("A C", "A C"), **MERGES, "grows": 0},
            ("shrink", "resize"),
            {"A": "0", "C": "0/2, 1/2"},
        ),
    ],
    ids=["split", "merge"],
)
def test_nothing_waits_for_a_node_that_is_ignored(
    given: dict[str, Any], begun: tuple[str, ...], ends: dict[str, str]
) -> None:
    """C is dead and ignored, which its cells say: neither its number is waited for, nor that it
    applies anything, and the barrier sends it nothing.
    """
    given = {**given, "nodes": 3, "ignored": ("C",)}
    polls = ("poll",) * ("grow" in begun)
    finals = (*polls, "finalize", *ASKED, "barrier", "commit map", *ASKED)
    scenes = list(walked(given, *begun, *finals))
    for scene in scenes:
        own = {head: words for head, words in lines(scene, "readiness").items() if "C:0" in head}
        assert own
        assert all(", ignored," in words for words in own.values())
        note = drawn(scene, "grid", "host:C")
        assert note is not None
        assert "ignored" in note.text()
        verbs = map(scene.model.verb, scene.model.actions(scene.state))
        assert not [verb for verb in verbs if " C" in verb]
    assert {k: v for k, v in lines(scenes[-1], "grid").items() if k in ends} == ends
    barrier = [s for s in scenes if s.state.phase == "barrier"][-1]
    option = barrier.model.find(barrier.state, "barrier")
    assert option is not None
    after = barrier.model.act(barrier.state, option[0])
    sent = flows(barrier.model, barrier.state, option[0], after)
    assert {flow.text.split()[2] for flow in sent if flow.label == "barrier"} == {"A:", "B:"}


def test_who_is_ignored_is_a_node() -> None:
    """Another name is told with those that there are."""
    with pytest.raises(BadInput, match="ignored: got 'Z'; allowed: nodes among A, B, C"):
        build("resize", {"ignored": ("Z",)})
