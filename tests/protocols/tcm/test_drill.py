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
def test_the_procedure_passes(name: str) -> None:
    """Each step is ticked, and the commands that change something are the fewest."""
    assert passing(name, *PASSING[name]) == LEAST[name]


@pytest.mark.parametrize("name", PASSING)
def test_no_walk_is_shorter(name: str) -> None:
    """A search of all that can be typed finds none with fewer changing commands."""
    shortest = par(typed(name), seconds=3600)
    assert shortest.fewest
    assert shortest.least == LEAST[name]


@pytest.mark.parametrize(("name", "lines", "wrong", "said"), WRONG)
def test_a_wrong_way_is_named(name: str, lines: list[str], wrong: set[str], said: str) -> None:
    """What is refused says why; what is not is graded."""
    walked = typed(name, *lines)
    assert set(failed(walked)) == wrong
    assert said in " ".join(errors(walked))
    assert bool(errors(walked)) == bool(said)


def test_the_log_of_the_driver_names_who_is_waited_for() -> None:
    """The file can be read while the server is down; other nodes drive nothing."""
    lines = printed(typed(STUCK, "on X", LOG)).splitlines()
    assert lines
    assert all("in dc2: needs 2; applied by B; missing D" in line for line in lines)
    assert printed(typed(STUCK, "on A", LOG)) == ""
    assert printed(typed(STUCK, "on X", "grep nobody /var/log/cassandra/system.log")) == ""


@pytest.mark.parametrize(
    ("words", "lines"),
    [("missing.D", 3), ("MISSING", 0), ("-i MISSING", 3), ("'^Prog.*D$'", 3), ("'(1'", 2)],
)
def test_the_log_is_searched_as_grep_does(words: str, lines: int) -> None:
    """A basic regular expression, by case unless it is told otherwise; a bracket is itself."""
    walked = typed(STUCK, "on X", f"grep {words} {LOG[4:]}")
    assert not errors(walked)
    assert len(walked.transcript[-1].lines) == lines


def test_a_log_keeps_what_was_written() -> None:
    """Whoever acts first still finds there whom the join waited for; an aborted one, too."""
    for first in (["on D", START, "on X", START], [*ABORT, "on X"]):
        walked = typed(STUCK, *first, LOG)
        assert "missing D" in printed(walked)
        assert {step.name: step.done for step in walked.checklist()}["barrier"]
    assert all(step.done for step in typed(STUCK, "on D", START, "on X", START, LOG).checklist())


def test_after_the_join_is_undone_nothing_is_next() -> None:
    """The hint and the grade say that it cannot be brought back."""
    walked = typed(STUCK, *ABORT, "hint")
    assert printed(walked).startswith("next, start over: the join of X was undone")
    assert "the join of X was undone" in failed(walked)[WHOLE]
    assert "start over" not in {step.name for step in typed(STUCK).checklist()}


def test_a_server_that_is_stopped_does_not_crash() -> None:
    """The words are those of an operator's stop."""
    for line in (STOP, "systemctl restart cassandra"):
        [_, entry] = typed(STUCK, "on B", line).transcript
        assert entry.said[0] == "The server on B stops. Its disk stays."


def test_what_is_printed_can_be_rehearsed(tmp_path: Path) -> None:
    """The tokens of the joiner are among those of ring and status, as the server has them."""
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


def test_only_its_own_view_shows_that_a_node_lags() -> None:
    """Every node dumps the same log; the one that lags has an older epoch, and three wait there."""
    dumps = {printed(typed(LAGS, f"on {name}", "nodetool cms dumplog")) for name in "ABCDX"}
    assert len(dumps) == 1
    views = [typed(LAGS, f"on {name}", EPOCH).transcript[-1].lines for name in "AB"]
    told = [[line for line in view if line.startswith(("Epoch", "Local"))] for view in views]
    assert told == [
        ["Epoch: 100", "Local Pending Count: 3"],
        ["Epoch: 104", "Local Pending Count: 0"],
    ]


@pytest.mark.parametrize("name", "ABCD")
def test_whoever_coordinates_a_request_tells_the_replica(name: str) -> None:
    """A replica that gets a write with a newer epoch asks for what it lacks."""
    assert not failed(typed(LAGS, f"on {name}", INSERT))


@examples(40)
@given(
    name=st.sampled_from([*PASSING]),
    lines=st.lists(
        st.one_of(st.text(max_size=60), st.sampled_from(sorted({*PASSING[STUCK], *PASSING[LAGS]}))),
        max_size=10,
    ),
)
def test_nothing_that_is_typed_loses_anything(name: str, lines: list[str]) -> None:
    """Whatever a line is: text, or a command out of its place."""
    keeps_all(name, lines)
