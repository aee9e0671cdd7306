"""What travels in chosen steps of CEP-21: who commits, who applies, who streams what to whom."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import Flow, flows
from kit.protocols.tcm.panels.ring import draw_ring
from kit.views.fragment import keys
from kit.views.panel import Scene
from tests.protocols.tcm.driving import Drive

JOIN = "bootstrap X --tokens 150"


def moved(drive: Drive, verb: str) -> tuple[Flow, ...]:
    """What travels in a step, which is done."""
    action = drive.find(verb)
    drive.act(verb)
    return flows(drive.model, drive.states[-2], action, drive.state)


def test_whoever_drives_an_operation_commits_its_epochs() -> None:
    """The newcomer's commits travel from its place on the ring into the log."""
    drive = Drive(operations=(JOIN,))
    start = Flow("request", "n:X:150", "log", "epoch 1", "X → log: commits epoch 1")
    assert moved(drive, JOIN) == (start,)
    drive.ready()
    assert [flow.text for flow in moved(drive, "commit X")] == ["X → log: commits epoch 2"]


def test_an_operator_is_not_in_the_picture() -> None:
    """What an operator commits comes from nobody: a removal moves nothing into the log."""
    drive = Drive(nodes=5, rf=3, operations=("removenode B",))
    assert moved(drive, "removenode B") == ()
    drive.ready()
    assert moved(drive, "commit B") == ()


def test_a_node_that_leaves_commits_its_last_epoch_from_where_it_was() -> None:
    """In its last commit the leaving node has no place on the ring any more."""
    drive = (
        Drive(nodes=4, operations=("decommission D",)).act("decommission D").commit("D", 2).ready()
    )
    place = f"n:D:{drive.metadata.ring.nodes[3].tokens[0]}"
    [flow] = moved(drive, "commit D")
    assert drive.metadata.sequence("D") is None
    assert flow.from_key == place
    assert place not in keys(draw_ring(Scene(drive.model, drive.state)))


def test_an_entry_travels_from_the_log_to_whoever_applies_it() -> None:
    """Also one that arrives above a gap; with the gap filled all held epochs are applied."""
    drive = Drive(window=2, barrier=False, operations=(JOIN,)).act(JOIN, "apply X", "commit X")
    assert [flow.text for flow in moved(drive, "deliver 2 to A")] == ["log → A: epoch 2"]
    whole = Flow("entry", "log", "n:A:100", "epochs 1 to 2", "log → A: epochs 1 to 2")
    assert moved(drive, "apply A") == (whole,)


def test_the_ring_shows_how_an_epoch_reaches_a_node() -> None:
    """A trail from the log in the middle, which says which epoch that is."""
    drive = Drive(operations=(JOIN,)).act(JOIN)
    action, before = drive.find("apply B"), drive.state
    drive.act("apply B")
    drawn = draw_ring(Scene(drive.model, drive.state, before, action))
    assert [part.key for part in drawn.walk() if "trail" in (part.get("class") or "").split()] == [
        "trail:log>n:B:200"
    ]
    assert not [key for key in keys(drawn) if key.startswith("label:")]


def test_a_peer_is_asked_and_answers() -> None:
    """Catching up is a question and, after it, the epochs that the peer has applied."""
    drive = Drive(peers=True, operations=(JOIN,)).act(JOIN, "apply B")
    assert moved(drive, "ask B for A") == (
        Flow("request", "n:A:100", "n:B:200", "above 0?", "A → B: asks for epochs above 0"),
        Flow("entry", "n:B:200", "n:A:100", "epoch 1", "B → A: epoch 1", 1),
    )


@pytest.mark.parametrize(
    ("rf", "streamed"),
    [
        (1, {"B": "B → X: streams (100, 150]"}),
        (2, {"B": "B → X: streams (0, 100], (300, 400]", "C": "C → X: streams (100, 150]"}),
    ],
)
def test_streams_lead_along_the_ring_into_the_new_replica(rf: int, streamed: Any) -> None:
    """With one replica more another node gives the range up: the streams follow the placements."""
    drive = Drive(rf=rf, operations=(JOIN,)).act(JOIN).commit("X").repeat("apply ")
    for source, text in streamed.items():
        [flow] = moved(drive, f"stream X: {source} to X")
        assert (flow.kind, flow.to_key, flow.around) == ("data", "n:X:150", "ring")
        assert flow.from_key.startswith(f"n:{source}:")
        assert flow.text == text


def test_where_the_displaced_node_is_dead_a_quorum_streams() -> None:
    """The new node gets each range from as many of the old replicas as hold every write."""
    drive = Drive(nodes=4, rf=3, operations=("replace B Z",)).act("replace B Z")
    drive.repeat("apply ")
    verb = next(verb for verb in drive.verbs() if verb.startswith("stream "))
    sources = {flow.text.split(" → ")[0] for flow in moved(drive, verb)}
    assert len(sources) >= 2
    assert "B" not in sources


def test_a_node_that_is_given_up_is_given_up_by_another() -> None:
    """Where being out of sight is reason enough, the commit comes from who lost sight."""
    drive = Drive(operations=(JOIN,), cancels=1, off=("operator-cancel",)).act(JOIN)
    [flow] = moved(drive, "give-up X by A")
    assert (flow.from_key, flow.to_key) == ("n:A:100", "log")


def test_the_few_tokens_of_a_step_are_drawn_on_a_large_ring() -> None:
    """Of a ring with more tokens than names the ends of what travels are drawn, and no others."""
    drive = Drive(nodes=16, tokens=4, rf=3)
    drive.act(next(verb for verb in drive.verbs() if verb.startswith("bootstrap ")))
    action, before = drive.find("apply C"), drive.state
    drive.act("apply C")
    scene = Scene(drive.model, drive.state, before, action)
    spots = {key for key in keys(draw_ring(scene)) if key.startswith("n:")}
    assert spots == {flow.to_key for flow in scene.flows()}
    assert not {key for key in keys(draw_ring(Scene(drive.model, before))) if key.startswith("n:")}


def test_a_node_that_moves_receives_where_it_will_be() -> None:
    """The token that it will own is drawn as coming, the one that it gives up as going."""
    drive = Drive(nodes=5, operations=("move B --tokens 450",)).act("move B --tokens 450")
    drive.commit("B").repeat("apply ")
    assert {flow.to_key for flow in moved(drive, "stream B: E to B")} == {"n:B:450"}
    drawn = {part.key: part for part in draw_ring(Scene(drive.model, drive.state)).walk()}
    assert "joining" in (drawn["n:B:450"].get("class") or "")
    assert "leaving" in (drawn["n:B:200"].get("class") or "")
    drive.finish("B")
    assert "n:B:200" not in keys(draw_ring(Scene(drive.model, drive.state)))


def test_who_takes_a_place_stands_before_its_owner() -> None:
    """A replacing node has the dead one's token: both can be seen, one inside the other."""
    drive = Drive(nodes=4, rf=3, operations=("replace B Z",)).act("replace B Z")
    drawn = {part.key: part for part in draw_ring(Scene(drive.model, drive.state)).walk()}
    assert drawn["n:B:200"].get("transform") != drawn["n:Z:200"].get("transform")
    drive.finish("Z")
    last = {part.key: part for part in draw_ring(Scene(drive.model, drive.state)).walk()}
    assert last["n:Z:200"].get("transform") == drawn["n:B:200"].get("transform")


def test_a_stream_on_a_large_ring_has_a_way_to_go() -> None:
    """With many tokens per node a stream begins at one an eighth of the ring away, or more."""
    drive = Drive(nodes=16, tokens=4, rf=3)
    drive.act(next(verb for verb in drive.verbs() if verb.startswith("bootstrap "))).commit("X")
    drive.repeat("apply ")
    space = drive.model.tcm.cluster.ring.space
    verbs = [verb for verb in drive.verbs() if verb.startswith("stream ")]
    assert verbs
    for verb in verbs:
        for flow in moved(drive, verb):
            begin, end = (int(key.rsplit(":", 1)[1]) for key in (flow.from_key, flow.to_key))
            far = abs(begin - end)
            assert min(far, space.high - space.low - far) * 8 >= space.high - space.low
