"""What cells try: actions that must wait, runs with rules switched off, and tables of both."""

from __future__ import annotations

import pytest

from kit import Player
from kit.errors import BadInput
from kit.lessons import attempt, breaks, harms, meetings, predict, to_epoch, without
from kit.search.search import STUCK


def test_what_must_wait_has_its_reasons_below_each_other() -> None:
    """An action that must wait is passed over with its reasons; the others are done."""
    player = Player("rf3")
    player = to_epoch(player, 100)
    tried = attempt(player, "commit X", "apply X", "apply A", "apply B", "commit X")
    assert [one.done for one in tried.attempts] == [False, True, True, True, True]
    assert tried.attempts[0].reasons[-1] == "missing: X, A, B, C"
    assert len(tried.attempts[0].reasons) == 6
    assert tried.draw().html().count("<li>") == 5 + 6
    assert repr(tried).count("\n  - ") == 6
    with pytest.raises(BadInput, match="apply Q"):
        attempt(player, "apply Q")


def test_a_rule_less_breaks_a_promise_on_the_scenarios_own_ring() -> None:
    """One looks at the step that breaks it, in the scenario's own epochs."""
    player = without("rf3", "S-06")
    assert [verdict.name for verdict in player.timeline.verdicts() if not verdict.ok] == ["quorums"]
    assert player.timeline.at == player.timeline.tip
    assert "Epoch 102" in player.timeline.now.say
    with pytest.raises(BadInput, match="safeguards"):
        without("rf3", "S-17")


def test_each_rule_off_has_a_row_and_all_on_the_last() -> None:
    """A harm has its steps and facts; the search with every rule on is complete."""
    sheet = harms("dataplane", "S-03", rf=1)
    assert [row[0] for row in sheet.rows] == ["S-03", "nothing"]
    assert int(sheet.rows[0][3]) > 0
    assert "write 1" in sheet.rows[0][4]
    assert sheet.rows[1][3:] == ("–", "every state seen: nothing breaks")


def test_a_known_cost_is_told_as_what_breaks() -> None:
    """All safeguards are on, and gossip does not keep the promise: the cell shows what breaks."""
    changes = ("create table ks.t at A", "create table ks.t at B")
    (row,) = harms("gossip", changes=changes).rows
    assert row[3:] == ("2", "table ks.t has id 2@A on A and id 3@B on B")


def test_majorities_of_neighbouring_epochs_meet() -> None:
    """With RF 3 each pair of neighbours meets; the first and the last epoch do not."""
    player = Player("rf3")
    player = to_epoch(player, 103)
    rows = [row[1:] for row in meetings(player, 120).rows]
    assert all(rows[i][j] == "✓" for i in range(4) for j in range(4) if abs(i - j) <= 1)
    assert rows[0][3].startswith("✗")
    assert rows[3][0].startswith("✗")
    with pytest.raises(BadInput, match="token"):
        meetings(player, 401)


def test_a_run_into_a_dead_end_is_an_answer() -> None:
    """What breaks first may be no property: nothing is possible any more."""
    posed = predict(Player("topology", controls=False), breaks, "S-53").with_answer()
    assert f"Answer: {STUCK}" in repr(posed)
    assert repr(posed).rstrip().endswith(f"{STUCK}.")
