"""The drills of a cluster of CEP-21: an operation is stuck, a node's epoch lags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.engine.par import par
from kit.protocols.tcm.drill import INSERT
from tests.drills import errors, failed, keeps_all, passing, printed, typed
from tests.examples import examples

STUCK, LAGS = "tcm/stuck-operation", "tcm/epoch-lags"
LOG, EPOCH = "cat /var/log/cassandra/system.log", "nodetool cms describe"
START, STOP = "systemctl start cassandra", "systemctl stop cassandra"
EACH = [line for name in "ABCDX" for line in (f"on {name}", EPOCH)]
PASSING = {
    STUCK: ["on X", LOG, START, "on D", START],
    LAGS: [*EACH, INSERT],
}
LEAST = {STUCK: 2, LAGS: 1}
DONE, EPOCHS, WHOLE, STOPPED = "operations done", "one epoch", "cluster whole", "nobody stopped"
# what is typed -> what does not hold of the grade, what is refused
WRONG: list[tuple[str, list[str], set[str], str]] = [
    (STUCK, [], {DONE, EPOCHS, WHOLE}, ""),
    (STUCK, ["on X", START], {DONE, EPOCHS, WHOLE}, ""),
    (STUCK, ["on D", START], {DONE, WHOLE}, ""),
    (STUCK, ["nodetool assassinate D"], {DONE, EPOCHS, WHOLE}, "locked by an operation in flight"),
    (STUCK, ["nodetool abortbootstrap --ip X"], {EPOCHS, WHOLE}, ""),
    (STUCK, ["nodetool abortbootstrap --ip B"], {DONE, EPOCHS, WHOLE}, "no operation under way"),
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
