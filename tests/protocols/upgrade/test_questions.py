"""Questions on the two upgrades are answered by the models."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import first_advice, missing_from_table, predict, upgrade_log, upgrade_waits
from tests.protocols.upgrade.runs import ROLLING, STARTED, raft
from tests.views.frames import after, go_on


def test_for_whom_a_node_waits() -> None:
    """B and C are no members: A waits for both; once all are, for nobody."""
    timeline = raft({}, [*ROLLING, "join-group A"])
    assert predict(timeline, upgrade_waits, "A").right == ("B", "C")
    go_on(timeline, "join-group B", "join-group C")
    prediction = predict(timeline, upgrade_waits, "A")
    assert prediction.answer("nobody").passed
    assert not prediction.answer("B").passed


@pytest.mark.parametrize(
    ("given", "verbs", "right"),
    [
        ({"crashes": 1, "cuts": 1}, ["crash C", "cut A B"], "restart nodes that are down"),
        ({"cuts": 1}, ["cut A B"], "repair a connection"),
        ({"schema_problem": True}, [], "a rolling restart"),
        ({"deaths": 1}, ["die C"], "manual recovery"),
        (
            {"schema_problem": True, "restarts": 3},
            ["restart A", "restart B", "restart C"],
            "ask support",
        ),
    ],
)
def test_what_to_do_first(given: dict[str, object], verbs: list[str], right: str) -> None:
    """The first question of the tree with a bad answer decides."""
    timeline = raft(given, [*STARTED, *verbs])
    assert predict(timeline, first_advice).right == (right,)


def test_whom_the_table_lacks() -> None:
    """Members without a row; nobody once all have one."""
    timeline = after("topology_upgrade", {"joiners": 0}, "post A", "build B")
    assert predict(timeline, missing_from_table).right == ("A", "C")
    go_on(timeline, "build A", "build C")
    assert predict(timeline, missing_from_table).right == ("nobody",)


def test_the_log_of_one_node() -> None:
    """Only its lines, up to the moment shown, those in own words marked."""
    lines = repr(upgrade_log(raft({}, [*ROLLING, "join-group A", "join-group B"]), "A"))
    assert "joined group 0 with group id 1" in lines
    assert lines.count("Joining group 0") == 1
    assert lines.count("in the kit's own words") == 2


def test_a_question_about_the_wrong_thing_is_told() -> None:
    """One line each."""
    topology = after("topology_upgrade", {})
    with pytest.raises(BadInput, match="the Raft upgrade"):
        predict(topology, upgrade_waits, "A")
    with pytest.raises(BadInput, match="the topology upgrade"):
        predict(raft({}), missing_from_table)
    with pytest.raises(BadInput, match="one of A, B, C"):
        predict(raft({}), upgrade_waits, "Z")
    with pytest.raises(KitError, match="not a run of the Raft upgrade"):
        upgrade_log(topology, "A")
    with pytest.raises(BadInput, match="one of A, B, C"):
        upgrade_log(raft({}), "Z")
    with pytest.raises(KitError, match="no node is waiting"):
        predict(raft({}), first_advice)
