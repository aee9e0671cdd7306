"""What a student sees of splits and merges beside a node that is dead and ignored."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.flows import flows
from kit.model.registry import build
from kit.protocols.tablets.facts import resize as facts
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


AT_REST, GOES_BY_OLD = ("", ""), ("behind", "")
ASKED_OF, CAME = ("behind", "asked"), ("", "answered")
# what is done, one after the other -> how A and B stand then: their note, their part in the barrier
STANDS = {
    "grow": (AT_REST, AT_REST),
    "resize": (GOES_BY_OLD, GOES_BY_OLD),
    "apply A": (AT_REST, GOES_BY_OLD),
    "apply B": (AT_REST, AT_REST),
    "divide 0 A:0": (AT_REST, AT_REST),
    "poll": (AT_REST, AT_REST),
    "finalize": (ASKED_OF, ASKED_OF),
    "apply A of those": (CAME, ASKED_OF),
    "apply B of those": (CAME, CAME),
    "barrier": (AT_REST, AT_REST),
    "commit map": (ASKED_OF, ASKED_OF),
    "apply A of that": (CAME, ASKED_OF),
}


def test_how_each_node_stands_in_the_grid() -> None:
    """A node is behind until it applies. A barrier asks A and B; C is down, and ignored."""
    given = {"tablets": ("A C",), "nodes": 3, "ignored": ("C",)}
    begun, *seen = walked(given, *(verb.partition(" of ")[0] for verb in STANDS))
    assert {host.note for host in facts.grid(begun.model, begun.state).hosts} == {"", "ignored"}
    for scene, (verb, stands) in zip(seen, STANDS.items(), strict=True):
        *asked, ignored = facts.grid(scene.model, scene.state).hosts
        assert tuple((host.note, host.barrier) for host in asked) == stands, verb
        assert {(host.health, host.is_banned) for host in asked} == {("up", False)}
        assert (ignored.note, ignored.barrier, ignored.health) == ("ignored", "", "down")
        assert ignored.is_banned


def test_who_is_ignored_is_a_node() -> None:
    """Another name is told with those that there are."""
    with pytest.raises(BadInput, match="ignored: got 'Z'; allowed: nodes among A, B, C"):
        build("resize", {"ignored": ("Z",)})
