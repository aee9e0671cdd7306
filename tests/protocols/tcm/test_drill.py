"""The drills of a cluster of CEP-21: an operation is stuck, a node's epoch lags."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.par import par
from kit.protocols.tcm.drill import INSERT
from tests.commands.calling import call
from tests.drills import errors, failed, keeps_all, passing, printed, typed
from tests.examples import examples

STUCK, LAGS = "tcm/stuck-operation", "tcm/epoch-lags"
LOG, EPOCH = "cat /var/log/cassandra/system.log", "nodetool cms describe"
START, STOP = "systemctl start cassandra", "systemctl stop cassandra"
ABORT = ["nodetool abortbootstrap --ip X"]
EACH = [line for name in "ABCDX" for line in (f"on {name}", EPOCH)]
PASSING = {STUCK: ["on X", LOG, START, "on D", START], LAGS: [*EACH, INSERT]}
LEAST = {STUCK: 2, LAGS: 1}
DONE, EPOCHS, WHOLE, STOPPED = "operations done", "one epoch", "cluster whole", "nobody stopped"
# what is typed -> what does not hold of the grade, what is refused
WRONG: list[tuple[str, list[str], set[str], str]] = [
    (STUCK, [], {DONE, EPOCHS, WHOLE}, ""),
    (STUCK, ["on X", START], {DONE, EPOCHS, WHOLE}, ""),
    (STUCK, ["on D", START], {DONE, WHOLE}, ""),
    (STUCK, ["nodetool assassinate D"], {DONE, EPOCHS, WHOLE}, "locked by an operation in flight"),
    (STUCK, ABORT, {EPOCHS, WHOLE}, ""),
    (STUCK, ["nodetool cancel bootstrap B"], {DONE, EPOCHS, WHOLE}, "B has no operation under way"),
    (STUCK, ["nodetool abortbootstrap --node 2"], {DONE, EPOCHS, WHOLE}, "it is alive (B)"),
    (STUCK, [*ABORT, "on X", START], {EPOCHS, WHOLE}, "the join of X was undone"),
    (STUCK, ["grep missing\\( " + LOG[4:]], {DONE, EPOCHS, WHOLE}, "pattern: got 'missing\\\\('"),
    (STUCK, [STOP, *PASSING[STUCK]], {DONE, EPOCHS, WHOLE, STOPPED}, ""),
    (STUCK, ["on X", STOP], {DONE, EPOCHS, WHOLE}, "X is already down"),
    (LAGS, [], {EPOCHS}, ""),
    (LAGS, ["on A", "systemctl restart cassandra"], {STOPPED}, ""),
    (LAGS, ["on B", "systemctl restart cassandra"], {EPOCHS, STOPPED}, ""),
    (LAGS, ["on A", "nodetool decommission"], {WHOLE}, ""),
    (LAGS, ["on A", START], {EPOCHS}, "A is already up"),
]


@pytest.mark.parametrize("name", PASSING)
def test_the_shortest_procedure_passes_its_drill(name: str) -> None:
    """Every step is ticked, and only the fewest changing commands are needed."""
    assert passing(name, *PASSING[name]) == LEAST[name]


@pytest.mark.parametrize("name", PASSING)
def test_no_procedure_of_a_drill_has_fewer_changing_commands(name: str) -> None:
    """The search of all that can be typed is complete."""
    shortest = par(typed(name), seconds=3600)
    assert shortest.fewest
    assert shortest.least == LEAST[name]


@pytest.mark.parametrize(("name", "lines", "wrong", "said"), WRONG)
def test_a_wrong_procedure_fails_its_drill_with_the_broken_criteria(
    name: str, lines: list[str], wrong: set[str], said: str
) -> None:
    """A refused command says why."""
    walked = typed(name, *lines)
    assert set(failed(walked)) == wrong
    assert said in " ".join(errors(walked))
    assert bool(errors(walked)) == bool(said)


def test_the_drivers_log_names_the_replica_that_its_barrier_misses() -> None:
    """It can be read while the server is down. Other nodes log nothing."""
    lines = printed(typed(STUCK, "on X", LOG)).splitlines()
    assert lines
    assert all("in dc2: needs 2; applied by B; missing D" in line for line in lines)
    assert printed(typed(STUCK, "on A", LOG)) == ""
    assert printed(typed(STUCK, "on X", "grep nobody /var/log/cassandra/system.log")) == ""


@pytest.mark.parametrize(
    ("words", "lines"),
    [("missing.D", 3), ("MISSING", 0), ("-i MISSING", 3), ("'^Prog.*D$'", 3), ("'(1'", 2)],
)
def test_grep_in_a_drill_searches_the_log_by_basic_regular_expressions(
    words: str, lines: int
) -> None:
    """Case counts unless -i is given, and a bracket is itself."""
    walked = typed(STUCK, "on X", f"grep {words} {LOG[4:]}")
    assert not errors(walked)
    assert len(walked.transcript[-1].lines) == lines


def test_a_log_keeps_its_lines_after_the_join_ends_or_is_aborted() -> None:
    """A student who acts first still finds which node was missing."""
    for first in (["on D", START, "on X", START], [*ABORT, "on X"]):
        walked = typed(STUCK, *first, LOG)
        assert "missing D" in printed(walked), first
        assert {step.name: step.done for step in walked.checklist()}["barrier"], first
    assert all(step.done for step in typed(STUCK, "on D", START, "on X", START, LOG).checklist())


def test_after_an_abort_the_drill_says_to_start_over() -> None:
    """The hint and the grade say that the join was undone."""
    walked = typed(STUCK, *ABORT, "hint")
    assert printed(walked).startswith("next, start over: the join of X was undone")
    assert "the join of X was undone" in failed(walked)[WHOLE]
    assert "start over" not in {step.name for step in typed(STUCK).checklist()}


def test_a_stopped_server_is_said_to_stop_and_not_to_crash() -> None:
    """Stop and restart use the words of an operator's stop."""
    for line in (STOP, "systemctl restart cassandra"):
        [_, entry] = typed(STUCK, "on B", line).transcript
        assert entry.said[0] == "The server on B stops. Its disk stays.", line


def test_the_ring_and_status_of_a_drill_can_be_read_by_survive(tmp_path: Path) -> None:
    """The joiner's operation in flight is recognized with its token."""
    for line in ("ring", "status"):
        text = printed(typed(STUCK, "on A", f"nodetool {line}"))
        (tmp_path / f"{line}.txt").write_text(f"{text}\n", encoding="utf-8")
    factors = '{"class": "NetworkTopologyStrategy", "dc1": 2, "dc2": 2}'
    files = [str(tmp_path / f"{line}.txt") for line in ("ring", "status")]
    said = call("survive", files[0], "--with", files[1], "--keyspace", f"shop={factors}", "--json")
    assert not said.err
    warnings = said.json["warnings"]
    assert not [line for line in warnings if "do not give" in line]
    assert any("bootstrap 10.0.0.15 at 150 is in flight" in line for line in warnings), warnings


def test_a_lagging_node_shows_an_older_epoch_in_its_own_view_alone() -> None:
    """The dumped log is the same on every node."""
    dumps = {printed(typed(LAGS, f"on {name}", "nodetool cms dumplog")) for name in "ABCDX"}
    assert len(dumps) == 1
    views = [typed(LAGS, f"on {name}", EPOCH).transcript[-1].lines for name in "AB"]
    told = [[line for line in view if line.startswith(("Epoch", "Local"))] for view in views]
    assert told == [
        ["Epoch: 100", "Local Pending Count: 3"],
        ["Epoch: 104", "Local Pending Count: 0"],
    ]


@pytest.mark.parametrize("name", "ABCD")
def test_a_write_by_any_coordinator_makes_the_lagging_replica_catch_up(name: str) -> None:
    """The drill then passes."""
    assert not failed(typed(LAGS, f"on {name}", INSERT))


@examples(40)
@given(
    name=st.sampled_from([*PASSING]),
    lines=st.lists(
        st.one_of(st.text(max_size=60), st.sampled_from(sorted({*PASSING[STUCK], *PASSING[LAGS]}))),
        max_size=10,
    ),
)
def test_no_line_typed_in_a_drill_loses_anything(name: str, lines: list[str]) -> None:
    """Random texts and commands out of their place are tried."""
    keeps_all(name, lines)
