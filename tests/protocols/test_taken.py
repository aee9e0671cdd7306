"""Which shipped configuration takes each kind of action of each model: a table, kept true.

A configuration ships as a scenario file, a scenario of the model's entry, its default, or the one
of its random walks. ``-`` stands where none of them does: its tests have configurations of their
own. KIT_REWRITE=1 writes the table.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kit.model.registry import build, entries
from kit.model.scenario import files, open_file
from kit.search.fuzz import Walker

TABLE = Path(__file__).parents[1] / "fixtures" / "actions_taken.txt"
WALKS, STEPS = 12, 60
OF_CLUSTER = "the cluster's own, which model topology takes; here its budget is 0, or nobody lags"
NO_CUTS = "nobody is cut off in what ships: tests/protocols/topology/test_addresses.py does it"
NOT_TAKEN: dict[str, dict[str, str]] = {
    "tcm": {
        "Append": "entries come in through the actions that commit them",
        "Rewrite": "it is refused in every state: an entry never changes",
        "BeginBarrier": "the next step of an operation does it, as a part of itself",
    },
    "cms": {"Unregister": "a node has left before: tests/protocols/test_tools.py"},
    "topology": {
        "CutOff": NO_CUTS,
        "Reconnect": NO_CUTS,
        "ExcludeNode": "an operator gives a node up: drills, and tests/quality/test_guards.py",
        "PauseWork": "a drain fails in edition server only, and what ships plays the documents",
        "PublishGeneration": "publishing is a parameter of its own (publishing=true)",
        "ReportClean": "a cleanup follows a join that has ended: longer than the walks",
        "RestartConfigured": "it needs a budget of its own (configurations=1)",
        "UnlockTopology": "the lock is asked for by hand (operations=lock)",
    },
    "tablets": {
        "AlterBase": "it is refused in every state: co-location is set once",
        "FillDisk": "it needs a budget of its own (full=1)",
        **dict.fromkeys(
            ("ApplyTopology", "BeginRequest", "CutOff", "EndLeftover", "ExcludeNode", "FindResize",
             "HearAddress", "LateArrival", "LeaveBehind", "PauseWork", "PublishGeneration",
             "Reconnect", "ReportClean", "RestartConfigured", "RestartElsewhere", "ServeRequest",
             "UnlockTopology"),
            OF_CLUSTER,
        ),
    },
    "failures": {"StopTogether": "it needs a parameter of its own (together=A B)"},
}  # fmt: skip
"""What no shipped configuration takes, and why not."""


def kinds(model: Any) -> set[str]:
    """The kinds of action that a model has; of a product those of its parts."""
    of_parts = getattr(model, "_own", None)
    return {kind.__name__ for _, kind in of_parts} if of_parts else {*map(name_of, model.rules)}


def name_of(rule: Any) -> str:
    """The kind of a rule's action."""
    return str(rule.action.__name__)


def kind_of(model: Any, action: Any) -> str:
    """The kind of an action; in a product that of the part's own."""
    return type(action.action if hasattr(model, "_own") else action).__name__


OWN = [name for name in entries() if name != "worlds"]
"""Models with actions of their own: those of two worlds are those of two models."""


def taken() -> str:
    """A line for each model and kind of action, with the first configuration that takes it."""
    found: dict[str, dict[str, str]] = {name: {} for name in OWN}
    for place, path in files().items():
        timeline = open_file(path)
        rows = found[timeline.model.name]
        rows.update({each: rows.get(each, "") for each in kinds(timeline.model)})
        for moment in timeline.moments:
            if moment.action is not None:
                kind = kind_of(timeline.model, moment.action)
                rows[kind] = rows.get(kind) or place
    for name in OWN:
        entry = entries()[name]
        shipped = [("default", {}), *((each.name, each.parameters) for each in entry.scenarios)]
        for label, given in [*shipped, ("walks", entry.fuzzing.parameters)]:
            model: Any = build(name, dict(given))
            rows = found[name]
            rows.update({each: rows.get(each, "") for each in kinds(model)})
            walker = Walker(model, steps=STEPS, within=0)
            for seed in range(WALKS if "" in rows.values() else 0):
                for action in walker.walk(seed).actions:
                    kind = kind_of(model, action)
                    rows[kind] = rows.get(kind) or f"{name}: {label}"
    return "".join(
        f"{name} {kind} | {found[name][kind] or '-'}\n"
        for name in found
        for kind in sorted(found[name])
    )


@pytest.mark.deep
def test_the_table_of_actions_says_what_takes_each_action() -> None:
    """A shipped configuration, or none."""
    now = taken()
    if os.environ.get("KIT_REWRITE") == "1":
        TABLE.write_text(now, encoding="utf-8")
    assert TABLE.read_text(encoding="utf-8") == now


def test_every_action_that_nothing_shipped_takes_has_a_reason() -> None:
    """Every action of every model is in the table."""
    rows = [line.split(" | ") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    assert {row[0].split()[0] for row in rows} == {*OWN}
    places = dict(rows)
    for name in OWN:
        assert all(f"{name} {kind}" in places for kind in kinds(build(name))), name
    listed = {f"{name} {kind}" for name, each in NOT_TAKEN.items() for kind in each}
    assert listed == {row for row, place in places.items() if place == "-"}
