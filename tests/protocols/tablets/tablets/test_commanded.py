"""What operators command, what is given up, and nodes that are no place for a tablet."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refused
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import FindImbalance
from kit.search.check import check
from kit.views.panel import scene_of
from kit.views.registry import for_model

TABLES = ("ks.orders", "ks.by_day", "ks.by_place")
ADDS = "add_tablet_replica"


def group(**given: Any) -> Any:
    """Three co-located tables of two tablets, which balancing leaves alone but for one command."""
    base = {"nodes": 3, "shards": 2, "tablets": ("A B", "B A"), "tables": TABLES, "moves": 1}
    return build("tablets", {**base, "kinds": ("migration", "intranode_migration", ADDS), **given})


def ended(timeline: Timeline) -> list[str]:
    """What is worked on until nothing is left to do, as labels say it."""
    said = []
    while (action := timeline.model.suggest(timeline.state)) is not None:
        if isinstance(action, Tablets.work_on):
            said.append(timeline.model.label(timeline.state, action))
        timeline.do(action)
    return said


@pytest.mark.spec("F-021")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("command", "kind", "after"),
    [
        ("move_tablet {} 0 A:0 C:1", "migration", ["C:1", "B:0"]),
        ("move_tablet {} 0 A:0 A:1", "intranode_migration", ["A:1", "B:0"]),
        ("add_tablet_replica {} 0 C:1", "rebuild_v2", ["A:0", "B:0", "C:1"]),
    ],
)
def test_a_command_moves_all_tables_of_a_co_located_group(
    edition: str, table: str, command: str, kind: str, after: list[str]
) -> None:
    """One transition streams the data of each table, whichever is named."""
    timeline = Timeline(group(edition=edition))
    timeline.do(FindImbalance())
    model = timeline.model
    option = model.find(timeline.state, command.format(table))
    assert option is not None
    action, refusal = option
    assert refusal is None
    assert model.label(timeline.state, action).endswith(": of " + ", ".join(TABLES))
    timeline.do(action)
    said = ended(timeline)
    kinds = {
        way.kind
        for moment in timeline.moments
        for row in moment.state.tablets
        for way in row.transitions
    }
    assert kinds == {kind}
    for each in TABLES:
        assert any(f"stream ({each})" in line for line in said), said
    assert [str(each) for each in timeline.state.tablets[0].replicas] == after
    assert [str(each) for each in timeline.state.tablets[1].replicas] == ["B:0", "A:0"]


@pytest.mark.spec("E-057")
@pytest.mark.parametrize("edition", EDITIONS)
def test_alter_table_cannot_change_a_tables_co_location(edition: str) -> None:
    """At every step of a move it is refused with the reason."""
    timeline = Timeline(group(edition=edition))
    model = timeline.model
    while True:
        for table in TABLES[1:]:
            line = f"ALTER TABLE {table} WITH base_table = 'ks.other';"
            option = model.find(timeline.state, line)
            assert option is not None
            assert option[1] is not None
            assert option[1].reason.startswith("co-location is set when a table is created")
            assert option in list(model.options(timeline.state))
            with pytest.raises(Refused, match="cannot be altered"):
                timeline.do(option[0])
        assert model.find(timeline.state, f"ALTER TABLE {TABLES[0]} WITH base_table = ks.u") is None
        if timeline.forward() is None:
            return


def test_adding_a_replica_breaks_no_promise_when_work_fails_or_a_node_dies() -> None:
    """The search is complete."""
    result = check(group(tablets=("A B",), shards=1, kinds=(ADDS,), failures=1, crashes=1))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def reached(timeline: Timeline, verb: str) -> None:
    """Go on until a step is possible, and take it."""
    while (option := timeline.model.find(timeline.state, verb)) is None or option[1] is not None:
        assert timeline.forward() is not None, verb
    timeline.do(option[0])


def all_ended(timeline: Timeline) -> tuple[list[bool], list[str]]:
    """Of each request whether it ended with an error, and who holds the tablets at last."""
    while timeline.forward() is not None:
        pass
    if timeline.state.given_up:
        reached(timeline, "fail")
    while timeline.forward() is not None:
        pass
    state = timeline.state
    errors = [entry.error for entry in state.control.topology.requests]
    return errors, [" ".join(each.host for each in row.replicas) for row in state.tablets]


LEAVE: dict[str, Any] = {"moves": 0, "operations": ("leave A",), "tablets": ("A", "B")}
MOVE: dict[str, Any] = {"moves": 1, "tablets": ("A", "B")}

# What is given, the steps, whether the stream is given up, the errors, the hosts at the end. In the
# server's edition a stream that failed is tried again, unless it is off a node that is to leave,
# its target's disk is full, or somebody in it is excluded.
CASES: tuple[tuple[Edition, dict[str, Any], tuple[str, ...], list[bool], list[str]], ...] = (
    ("server", LEAVE | {"failures": 1}, ("leave A", "fail work on 0"), [True], ["A", "B"]),
    ("server", LEAVE | {"full": 1}, ("leave A", "fill disk for 0"), [True], ["A", "B"]),
    ("server", MOVE | {"full": 1}, ("migrate 0 A:0 C:0", "fill disk for 0"), [], ["A", "B"]),
    ("documents", MOVE | {"full": 1}, ("migrate 0 A:0 C:0", "fill disk for 0"), [], ["A", "B"]),
    (
        "documents",
        MOVE | {"failures": 1},
        ("migrate 0 A:0 C:0", "commit", "barrier", "fail work on 0"),
        [],
        ["A", "B"],
    ),
    ("server", LEAVE, ("leave A",), [False], ["B", "B"]),
)


@pytest.mark.parametrize(("edition", "given", "verbs", "errors", "hosts"), CASES, ids=str)
def test_a_stream_that_is_given_up_ends_its_request_with_an_error(
    edition: Edition,
    given: dict[str, Any],
    verbs: tuple[str, ...],
    errors: list[bool],
    hosts: list[str],
) -> None:
    """The tablet stays where it was, and the node that should leave is normal again."""
    timeline = Timeline(build("tablets", {"nodes": 3, "edition": edition, **given}))
    for verb in verbs:
        reached(timeline, verb)
    found_errors, found_hosts = all_ended(timeline)
    assert found_errors == errors
    assert sorted(found_hosts) == sorted(hosts)
    if errors == [True]:
        told = " ".join(moment.say for moment in timeline.moments)
        assert "Draining A has failed." in told
        assert "Draining fails: a tablet could not be streamed off A." in told
        assert timeline.state.control.topology.nodes[0].state == "normal"


def test_the_server_retries_a_failed_stream_without_a_request() -> None:
    """So its work cannot fail for good there."""
    timeline = Timeline(build("tablets", {"nodes": 3, "edition": "server", **MOVE, "failures": 1}))
    reached(timeline, "migrate 0 A:0 C:0")
    while timeline.state.tablets[0].transitions[:1] == () or (
        timeline.state.tablets[0].transitions[0].stage != "streaming"
    ):
        assert timeline.forward() is not None
    option = timeline.model.find(timeline.state, "fail work on 0")
    assert option is None or option[1] is not None


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "given",
    [
        LEAVE | {"failures": 1, "full": 1},
        {**MOVE, "tablets": ("A",), "full": 1},
        {**LEAVE, "tablets": ("A B",), "failures": 1, "full": 1, "changes": 1},
    ],
    ids=str,
)
def test_given_up_streams_break_no_promise(edition: Edition, given: dict[str, Any]) -> None:
    """The searches are complete, and each run ends."""
    result = check(build("tablets", {"nodes": 3, "edition": edition, **given}))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


def forwarded(timeline: Timeline[Any, Any]) -> None:
    """Go on as long as the default schedule does."""
    while timeline.forward() is not None:
        pass


CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {"nodes": 3, "operations": ("join D --zero-token",), "moves": 1, "failures": 1},
    {"nodes": 3, "operations": ("replace D B --zero-token",), "moves": 0, "changes": 1},
    {"nodes": 3, "operations": ("join D --zero-token", "leave B"), "moves": 0},
)


@pytest.mark.spec("D-035")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("given", CONFIGURATIONS, ids=lambda given: " ".join(given["operations"]))
def test_no_tablet_comes_to_a_node_without_tokens(edition: Edition, given: dict[str, Any]) -> None:
    """The complete searches join, replace and drain beside such a node."""
    result = check(build("tablets", {"edition": edition, "tablets": ("A B",), **given}))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"


@pytest.mark.spec("D-035")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_drain_fails_where_the_only_other_node_has_no_tokens(edition: Edition) -> None:
    """C is normal and empty, and no tablet comes there."""
    given = {"nodes": 2, "tablets": ("A B",), "moves": 0, "undone": 1}
    words = ("join C --zero-token", "leave B")
    timeline = Timeline(build("tablets", {"edition": edition, **given, "operations": words}))
    forwarded(timeline)
    timeline.do(timeline.model.find(timeline.state, "fail")[0])
    forwarded(timeline)
    topology = timeline.state.control.topology
    assert [each.state for each in topology.nodes] == ["normal"] * 3
    assert [each.error for each in topology.requests] == [False, True]
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "tablets"]
    assert "  A:0, B:0  null" in panel.text(scene_of(timeline, timeline.at))
