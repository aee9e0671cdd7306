"""An operation that ends says what it came to, counted from the log and the plan."""

from __future__ import annotations

import pytest

from tests.views.frames import milestones, walk


def ending(name: str, **changes: object) -> str:
    """What the last committed step of a scenario says."""
    return milestones(walk(f"tcm/{name}", **changes))[-1].say


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bootstrap", "X is a member after 4 epochs: 3 ranges moved, no write could be missed."),
        ("rf3", "X is a member after 4 epochs: 4 ranges moved, no write could be missed."),
        ("decommission", "X has left after 4 epochs: 3 ranges moved, no write could be missed."),
        ("move", "B has moved after 5 epochs: 5 ranges moved, no write could be missed."),
        (
            "replace",
            "Z is a member in B's place after 3 epochs: 4 ranges moved, no write could be missed.",
        ),
        ("removenode", "B is removed after 4 epochs: 4 ranges moved, no write could be missed."),
        ("cancel", "Bootstrap X at 150 is undone after 5 epochs: everything is as before, no"),
    ],
)
def test_each_operation_says_what_it_came_to(name: str, words: str) -> None:
    """The words are those of the operation; its epochs and ranges are counted."""
    assert words in ending(name)


@pytest.mark.parametrize("rf", [1, 2, 3, 4])
def test_a_joiner_moves_as_many_ranges_as_it_replicates(rf: int) -> None:
    """On a ring of six nodes with a token each, X replicates its own range and those before it;
    the range that spans the end of the line is two rows, and counts as both.
    """
    said = milestones(walk("tcm/bootstrap", nodes=6, rf=rf, epoch=40))[-1].say
    moved = rf + (rf > 1)
    assert f"epochs: {moved} range{'s' * (moved > 1)} moved, no write could be missed." in said


def test_a_missed_quorum_is_told_at_the_end() -> None:
    """With the old writers gone too early the end names the epoch at which a read could miss."""
    said = ending("rf3", off=("old-writer-stays",))
    assert "but a read could miss a write at epoch 102" in said


def test_epochs_of_others_are_not_counted() -> None:
    """Of joins side by side each counts its own four epochs."""
    said = [one.say for one in milestones(walk("tcm/two-bootstraps")) if "is a member" in one.say]
    assert len(said) == 3
    assert all("after 4 epochs:" in one for one in said)


@pytest.mark.parametrize(
    ("rf", "words"),
    [
        (1, "moved, but what only B had is lost."),
        (2, "moved, no write could be missed."),
    ],
)
def test_data_that_only_a_dead_node_had_is_told_to_be_lost(rf: int, words: str) -> None:
    """With one replica nobody streams what the removed node had, and the end says so."""
    run = walk("tcm/removenode", nodes=4, rf=rf)
    assert milestones(run)[-1].say.endswith(words)
    said = [each.say for each in run.moments]
    assert any(each.startswith("Only B had the data that C takes over") for each in said) == (
        rf == 1
    )
