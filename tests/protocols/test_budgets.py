"""What may still happen is counted: each fault takes one from its own budget, and none is owed."""

from __future__ import annotations

from operator import attrgetter
from random import Random
from typing import Any

import pytest

from kit.model.registry import build

Spends = dict[str, str]
BUDGETS: dict[str, tuple[dict[str, Any], str, Spends]] = {
    "recovery": (
        {"crashes": 2, "deaths": 1, "returns": 1, "changes": 2, "writes": 2, "dead": "C D E",
         "commit_indexes": (2, 2, 2, 2, 2)},
        "",
        {"Crash": "crashes", "Die": "deaths", "ComeBack": "returns", "Alter": "changes",
         "Write": "writes"},
    ),
    "recovery_mode": (
        {"crashes": 2, "deaths": 1, "returns": 1, "changes": 2, "mistypes": 2, "dead": "C D E",
         "commit_indexes": (2, 2, 2, 2, 2)},
        "",
        {"Crash": "crashes", "Die": "deaths", "ComeBack": "returns", "Alter": "changes",
         "Mistype": "mistypes"},
    ),
    "group0": (
        {"edition": "server", "elections": 2, "crashes": 2, "losses": 1, "hours": 1,
         "operations": ("create table ks.t at A", "create table ks.u at B")},
        "left",
        {"Elect": "elections", "CrashNode": "crashes", "LoseCommand": "losses",
         "PassHour": "hours"},
    ),
    "topology": (
        {"operations": ("join D", "cleanup"), "crashes": 2, "cuts": 1, "late": 1, "addresses": 1,
         "exclusions": 1, "clients": 2, "changes": 2, "tablets": 1, "on_tablets": ("A", "B")},
        "faults",
        {"CrashMember": "crashes", "CutOff": "cuts", "LeaveBehind": "late",
         "RestartElsewhere": "addresses", "ExcludeNode": "exclusions", "BeginRequest": "clients",
         "FindImbalance": "tablets"},
    ),
    "raft_upgrade": (
        {"changes": 2, "crashes": 2, "deaths": 1, "cuts": 1, "turns": 1, "restarts": 1, "edits": 1},
        "",
        {"Alter": "changes", "Crash": "crashes", "Die": "deaths", "Cut": "cuts",
         "TurnOff": "turns", "Update": "edits"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUDGETS)
def test_each_fault_spends_its_own_budget(name: str) -> None:
    """Each step of the walks takes one from that budget and from no other, never below zero."""
    given, place, spends = BUDGETS[name]
    model: Any = build(name, given)
    left: Any = attrgetter(place) if place else lambda state: state
    met = set()
    for seed in range(30):
        random, state = Random(seed), model.start()
        for _ in range(60):
            actions = list(model.actions(state))
            faults = [each for each in actions if type(each).__name__ in spends]
            if not actions:
                break
            action = random.choice(faults if faults and random.random() < 0.3 else actions)
            after, kind = model.apply(state, action), type(action).__name__
            for budget in spends.values():
                had, has = (getattr(left(each), budget) for each in (state, after))
                assert had - has == (spends.get(kind) == budget), (action, budget)
                assert has >= 0, (action, budget)
            met.add(kind)
            state = after
    assert met >= set(spends)
