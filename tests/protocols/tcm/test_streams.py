"""Streaming: from the displaced replica, or from a quorum for a dead one; before reads switch."""

from __future__ import annotations

import pytest

from tests.protocols.tcm.driving import Drive


def streams(drive: Drive) -> dict[str, tuple[tuple[str, ...], str]]:
    """Range -> who streams it to whom."""
    return {row.label: (row.sources, row.target) for row in drive.operation().streams}


@pytest.mark.spec("A-043")
def test_a_joiner_streams_from_those_it_displaces() -> None:
    """X takes each range from the replica that gives it up there."""
    drive = Drive(operations=("bootstrap X --tokens 150",)).act("bootstrap X --tokens 150")
    assert streams(drive) == {
        "(0, 100]": (("B",), "X"),
        "(100, 150]": (("C",), "X"),
        "(300, 400]": (("B",), "X"),
    }
    wide = Drive(rf=3, operations=("bootstrap X --tokens 150",)).act("bootstrap X --tokens 150")
    assert streams(wide)["(100, 150]"] == (("A",), "X")


@pytest.mark.spec("A-043")
def test_a_leaver_streams_what_it_has() -> None:
    """The leaving node gives each of its ranges to the one that takes its place."""
    drive = Drive(nodes=5, operations=("decommission B",)).act("decommission B")
    assert {givers for givers, _ in streams(drive).values()} == {("B",)}
    assert {target for _, target in streams(drive).values()} == {"C", "D"}


@pytest.mark.spec("A-043")
def test_a_mover_takes_and_gives() -> None:
    """A moving node receives its new ranges and hands its old ones over."""
    drive = Drive(nodes=5, operations=("move B --tokens 450",)).act("move B --tokens 450")
    found = streams(drive).values()
    assert any(target == "B" for _, target in found)
    assert any(givers == ("B",) for givers, _ in found)


@pytest.mark.spec("A-043")
@pytest.mark.parametrize("text", ["removenode B", "replace B Z"])
def test_a_quorum_streams_for_the_dead(text: str) -> None:
    """Nobody can take from a dead node: a majority of the old replicas streams in its place."""
    drive = Drive(nodes=5, rf=3, operations=(text,)).act(text)
    for givers, target in streams(drive).values():
        assert len(givers) == 2
        assert "B" not in givers
        assert target not in givers


@pytest.mark.spec("A-043")
def test_a_quorum_streams_for_one_that_is_down() -> None:
    """Where the displaced replica is down a quorum of the others serves; too few must wait."""
    drive = Drive(rf=3, crashes=2, operations=("bootstrap X --tokens 150",))
    drive.act("bootstrap X --tokens 150").commit("X").act("crash A").repeat("apply ")
    assert streams(drive)["(100, 150]"] == (("B", "C"), "X")
    assert "stream X: A to X" in drive.verbs()
    drive.act("crash B")
    refusal = drive.refusal("stream X: A to X")
    assert "too few of the old replicas" in refusal.reason
    assert set(refusal.missing) == {"A", "B"}
    drive.act("restart A").repeat("apply ").act("stream X: A to X")


def test_too_few_are_left_for_a_quorum() -> None:
    """With RF 2 and a dead replica the only one left has every write that both acknowledged."""
    drive = Drive(nodes=4, rf=2, operations=("removenode B",)).act("removenode B")
    assert all(len(givers) == 1 for givers, _ in streams(drive).values())
    assert drive.finish("B").stable()


def test_nobody_is_left_to_stream() -> None:
    """With RF 1 the dead node's data is gone: the ranges get an owner, and no source is claimed."""
    drive = Drive(nodes=4, rf=1, operations=("removenode B",)).act("removenode B")
    assert {givers for givers, _ in streams(drive).values()} == {()}
    assert drive.finish("B").stable()


@pytest.mark.spec("A-020", "A-029")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "text",
    [
        "bootstrap X --tokens 150",
        "decommission B",
        "move B --tokens 450",
        "replace B Z",
        "removenode B",
    ],
)
def test_reads_switch_only_when_all_is_streamed(edition: str, text: str) -> None:
    """The read switch is refused, with what is missing, until the last stream is complete."""
    drive = Drive(nodes=5, rf=3, edition=edition, operations=(text,)).act(text)
    node = drive.operation().node
    before_switch = {"documents": "switch-reads", "server": "mid"}[edition]
    while drive.metadata.sequence(node).next.name != before_switch:
        assert not any(verb.startswith("stream") for verb in drive.verbs())
        drive.commit(node)
    drive.repeat("apply ")
    todo = [verb for verb in drive.verbs() if verb.startswith("stream ")]
    assert todo
    for count, verb in enumerate(todo):
        refusal = drive.refusal(f"commit {node}")
        assert f"is not complete: {count} of {len(todo)} done" in refusal.reason
        assert len(refusal.evidence) == len(todo) - count
        drive.act(verb)
    assert all(row.done for row in drive.operation().streams)
    drive.act(f"commit {node}")
    assert drive.operation().streams == ()


def test_a_target_that_is_down_cannot_receive() -> None:
    """Streaming to a crashed joiner waits for its restart; what it has received stays."""
    drive = Drive(crashes=1, operations=("bootstrap X --tokens 150",)).act(
        "bootstrap X --tokens 150"
    )
    drive.commit("X").repeat("apply ").act("stream X: B to X", "crash X")
    assert drive.refusal("stream X: C to X").missing == ("X",)
    drive.act("restart X", "stream X: C to X", "commit X")


def test_streams_of_a_cancelled_operation_do_not_count_again() -> None:
    """When an operation is begun anew after a cancel, all must be streamed again."""
    join = "bootstrap X --tokens 150"
    drive = Drive(cancels=1, operations=(join,)).act(join).commit("X").ready().act("cancel X")
    drive.act(join).commit("X").repeat("apply ")
    assert [row.done for row in drive.operation().streams] == [False] * 3
