"""Questions and tables on opened dumps: the same answers as the command's, and what would help."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, BadType, KitError
from kit.lessons.predictions import predict
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.what_if import drain, given_up, joined, lose, up_again
from kit.protocols.tablets.lessons.dumps import (
    drain_table,
    losses_table,
    resize_table,
    takes_over,
    to_resize,
    worst_loss,
)
from tests.house.source import ROOT
from tests.saying import like

DATA = ROOT / "notebooks" / "data"
LEAVING, DOWN = (f"{n:08x}-0000-4000-8000-{n:012x}" for n in (6, 5))
NEWCOMER = "00000007-0000-4000-8000-000000000007"


@pytest.fixture(scope="module")
def cluster() -> OpenedTablets:
    """The dumps that lie beside the notebooks."""
    return open_tablets(
        DATA / "tablets.csv",
        topology=DATA / "tablets-topology.csv",
        status=DATA / "tablets-status.txt",
        sizes=DATA / "tablet-sizes.csv",
        loads=DATA / "tablets-loads.csv",
    )


def test_a_drain_without_a_place_counts_the_reasons_against_each_node(
    cluster: OpenedTablets,
) -> None:
    """Each stuck replica is counted once for each other node, by its one reason."""
    without = given_up(cluster, DOWN)
    report = drain(without, LEAVING)
    assert len(report.stuck) == report.replicas > 0
    question = takes_over(without, "00000006").question
    assert question.right == ()
    assert str(report.replicas) in question.text
    sheet = drain_table(without, "00000006")
    for row in sheet.rows:
        assert int(row[2]) + sum(map(int, row[3:])) == report.replicas
    [down] = [row for row in sheet.rows if row[0] == "00000005"]
    assert down[-1] == str(report.replicas)


@pytest.mark.parametrize("helps", ["00000005", "00000007"])
def test_a_stuck_drain_goes_through_once_a_node_is_back_or_joins(
    cluster: OpenedTablets, helps: str
) -> None:
    """Both are tried on a copy, and the opened dump answers as before."""
    before = drain(cluster, LEAVING)
    other = up_again(cluster, DOWN) if helps == "00000005" else joined(cluster, NEWCOMER, LEAVING)
    assert takes_over(other, LEAVING).question.right == (helps,)
    assert "0 cannot" in drain_table(other, LEAVING).title
    assert drain(cluster, LEAVING) == before


def test_a_drain_waits_for_a_node_that_is_down(cluster: OpenedTablets) -> None:
    """That node would get all tablets. Given up or back, it no longer stalls the drain."""
    report = drain(cluster, LEAVING)
    assert (report.stuck, report.stalled_by) == ((), (DOWN,))
    assert report.targets == {DOWN: report.replicas}
    question = takes_over(cluster, LEAVING).question
    assert question.right == ("00000005",)
    assert question.because.endswith("the drain waits for 00000005, which is down.")
    for other in (given_up(cluster, DOWN), up_again(cluster, DOWN)):
        assert drain(other, LEAVING).stalled_by == ()
        assert "waits" not in drain_table(other, LEAVING).title


def test_the_right_answer_on_the_worst_loss_is_the_largest_row_of_losses(
    cluster: OpenedTablets,
) -> None:
    """The table has a row for each node that is up."""
    rows = {row[0]: int(row[1]) for row in losses_table(cluster).rows}
    assert set(rows) == {"no more", *(f"0000000{n}" for n in (1, 2, 3, 4, 6))}
    assert rows["no more"] == lose(cluster, ()).no_quorum
    [worst] = worst_loss(cluster).question.right
    assert rows[worst] == max(rows.values())
    assert rows["00000006"] < min(rows[f"0000000{n}"] for n in (1, 2, 3, 4))


def test_the_right_answers_on_resizes_are_the_decisions_of_each_table(
    cluster: OpenedTablets,
) -> None:
    """The table of resizes names the rule."""
    right = {kind: to_resize(cluster, kind).question.right for kind in ("split", "merge", "none")}  # type: ignore[arg-type]  # words of the type
    assert right == {
        "split": ("shop.orders",),
        "merge": ("shop.events",),
        "none": ("shop.baskets",),
    }
    rows = {row[0]: row for row in resize_table(cluster).rows}
    assert rows["shop.orders"][-2:] == ("64", "size")
    assert rows["shop.events"][-2:] == ("64", "size")


def test_a_question_about_an_unknown_node_word_or_dump_is_refused(cluster: OpenedTablets) -> None:
    """So is one about losses where no node is up."""
    with pytest.raises(BadInput, match=r"^host:"):
        drain_table(cluster, "0000000f")
    word: Any = "grow"
    with pytest.raises(BadInput, match=like("kind | 'grow'")):
        to_resize(cluster, word)
    with pytest.raises(BadType, match="open_tablets"):
        predict("balance/by-hand", worst_loss)
    everyone: Any = frozenset(node.host for node in cluster.nodes)
    nobody = replace(cluster, down=everyone)
    with pytest.raises(KitError, match="no node is up"):
        worst_loss(nobody)
