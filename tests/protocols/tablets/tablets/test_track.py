"""How the coordinator enters the tablet track and leaves it, and what may begin in it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition


def acted(model: Any, state: TabletsState, *verbs: str) -> TabletsState:
    """The state after these verbs."""
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    return state


def refused(model: Any, state: TabletsState, verb: str) -> str:
    """Why a verb may not be done."""
    option = model.find(state, verb)
    assert option is not None, verb
    assert option[1] is not None, f"{verb} is possible"
    return str(option[1].reason)


@pytest.mark.spec("E-024")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_plan_and_the_entry_into_the_track_are_one_command(edition: Edition) -> None:
    """An idle coordinator may not enter the track alone: one command has the state and the plan. It
    asks for a plan when nothing else is to do, and not while a request waits.
    """
    given = {"nodes": 3, "tablets": ("A B",), "operations": ("bootstrap D",)}
    model = build("tablets", {"edition": edition, **given})
    state = acted(model, model.start(), "imbalance")
    assert any(model.verb(each).startswith("migrate") for each in model.actions(state))
    asked = acted(model, state, "bootstrap D")
    assert not any(model.verb(each).startswith("migrate") for each in model.actions(asked))
    asked = acted(model, asked, "decide", "commit")
    assert asked.control.topology.transition == "join_group0"
    assert not asked.in_transition
    assert "plan goes into the same command" in refused(model, state, "decide")
    state = acted(model, state, "migrate 0 A:0 C:0")
    assert not state.in_transition
    assert state.control.topology.transition == ""
    state = acted(model, state, "commit")
    assert state.in_transition
    assert state.control.topology.transition == "tablet_migration"


@pytest.mark.spec("E-026")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_request_stops_new_migrations_and_waits_for_the_running_one(edition: Edition) -> None:
    """Before it another migration could begin; with it none does, the running one goes to its end,
    the track ends, and the request begins.
    """
    given = {"nodes": 4, "tablets": ("A B", "A B"), "moves": 2, "operations": ("leave D",)}
    model = build("tablets", {"edition": edition, **given})
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 C:0", "commit")
    begins = [a for a in model.actions(state) if model.verb(a).startswith("migrate 1")]
    assert begins
    state = acted(model, state, "leave D")
    while state.in_transition:
        assert not [a for a in model.actions(state) if model.verb(a).startswith("migrate")]
        assert state.control.topology.nodes[3].state == "normal"
        state = model.act(state, model.suggest(state))
    state = acted(model, state, "move tablets to A B C", "decide", "commit", "decide", "commit")
    assert state.control.topology.nodes[3].state == "decommissioning"


def test_a_bootstrap_of_edition_server_goes_before_tablets_that_move() -> None:
    """The published server lets a join in at once: transitions stay recorded and go on later."""
    given = {"nodes": 2, "tablets": ("A",), "operations": ("join C",), "edition": "server"}
    model = build("tablets", given)
    state = acted(model, model.start(), "imbalance", "migrate 0 A:0 B:0", "commit", "join C")
    state = acted(model, state, "decide", "commit")
    assert state.control.topology.transition == "join_group0"
    assert state.in_transition
    assert "holds the state machine" in refused(model, state, "barrier")
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert state.control.topology.nodes[2].state == "normal"
    assert [str(each) for each in state.tablets[0].replicas] == ["B:0"]


@pytest.mark.spec("E-058")
def test_a_transition_works_on_every_co_located_table() -> None:
    """One transition stands for the group: its stages stream and clean up each table, and end once
    all are done; a stream of some of them leaves no data that is taken for whole.
    """
    given = {"nodes": 3, "tablets": ("A B",), "tables": ("ks.base", "ks.view")}
    model = build("tablets", given)
    state, said = model.start(), list[str]()
    while (action := model.suggest(state)) is not None:
        if model.verb(action) == "work on 0":
            said.append(model.label(state, action).partition(": ")[2])
            [transition] = state.tablets[0].transitions
            if said[-1] == "stream (ks.view)":
                assert transition.done == 1
                assert "C:0" not in map(str, state.tablets[0].whole)
        state = model.act(state, action)
    assert said == [
        f"{work} ({table})"
        for work in ("stream", "cleanup_leaving")
        for table in ("ks.base", "ks.view")
    ]
    assert list(map(str, state.tablets[0].replicas)) == ["C:0", "B:0"]


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"tablets": ("A",)}, ["migrate 0 A:0 B:0", "migrate 0 A:0 C:0"]),
        (
            {"tablets": ("A",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")},
            ["migrate 0 A:0 C:0"],
        ),
        ({"tablets": ("A C",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")}, []),
        (
            {"tablets": ("A",), "nodes": 5, "kinds": ("add_tablet_replica",)},
            [f"rebuild-tablet-v2 0 {name}:0" for name in "BCDE"],
        ),
        ({"tablets": ("A",), "kinds": ("migration", "repair"), "balancing": False},
         ["repair-tablet 0"]),
        ({"tablets": ("A",), "kinds": ("intranode_migration",), "balancing": False}, []),
        ({"tablets": ("A",), "moves": 0, "kinds": ("repair",)}, []),
    ],
)  # fmt: skip
def test_what_may_begin(given: dict[str, Any], begins: list[str]) -> None:
    """Within a rack, by name; with balancing off what operators ask for, and nothing else."""
    model: Any = build("tablets", {"nodes": 3, **given})
    moves = [Tablets.begin_transition.struct(*each) for each in model.balance_moves(model.start())]
    assert [model.verb(each) for each in moves] == begins
