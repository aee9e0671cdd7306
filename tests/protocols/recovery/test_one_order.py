"""One order of the new procedure in each edition, wherever somebody reads or follows it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery.rules.procedure import NEW_STEPS, OLD_STEPS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.commands.calling import call, written
from tests.fixtures import rows
from tests.protocols.recovery.drill.walks import walked
from tests.protocols.recovery.dry_run.test_command import FIVE as CLUSTER

FIVE: dict[str, Any] = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
# The published manual: who is given up is cut off, so that they stay dead (S-50); each live node is
# restarted, ids and indexes are read, and the largest is chosen, before anything is deleted;
# recovery_leader is taken away in the end.
MANUAL = (
    *("rolling restart", "note id", "read", "choose", "delete", "set", "restart leader"),
    *("restart others", "check", "replace", "unset", "clean"),
)
VERBS = {"removenode": "replace"}


def documented(procedure: str) -> tuple[str, ...]:
    """The documents' steps by the names that they have here."""
    told = sorted((int(number), names) for number, _, names in rows("STEP", procedure))
    return tuple(names for _, names in told)


def suggested(edition: str) -> list[str]:
    """The steps that the Player suggests, those of several nodes as one."""
    model: Any = build("recovery", {**FIVE, "edition": edition, "operation": True})
    state, verbs = model.start(), []
    while (action := model.suggest(state)) is not None:
        verbs.append(model.verb(action).split()[0])
        state = model.act(state, action)
    return [VERBS.get(verb, verb) for verb, _ in groupby(verbs) if verb != "coordinate"]


def of_model(names: tuple[str, ...]) -> list[str]:
    """Of these steps those that change something in the model, both restarts as one."""
    still = ("rolling restart", "note id", "check")
    said = [name.partition(" ")[0] for name in names if name not in still]
    return [name for name, _ in groupby(said)]


@pytest.mark.spec("G-026")
@pytest.mark.parametrize("edition", EDITIONS)
def test_there_is_one_order(edition: Edition, tmp_path: Path) -> None:
    """The table, what the command prints, the drill's checklist and the Player's suggestion."""
    order = documented("new") if edition == "documents" else ("isolate", *MANUAL)
    assert tuple(step.name for step in NEW_STEPS[edition]) == order
    drill = walked(edition)
    assert tuple(step.name for step in drill.checklist()) == order
    assert suggested(edition) == of_model(order)
    printed = call("recover", written(tmp_path, CLUSTER), "--edition", edition, "--json").json
    assert tuple(step["name"] for step in printed["steps"]) == order


def test_the_documents_order_is_the_documents() -> None:
    """Edition ``documents`` follows their seven steps, in their order."""
    assert tuple(step.name for step in NEW_STEPS["documents"]) == documented("new")


@pytest.mark.spec("G-023")
def test_the_old_procedure_is_the_documents() -> None:
    """Its nine steps, in their order, behind what keeps the dead nodes dead."""
    assert tuple(step.name for step in OLD_STEPS) == ("isolate", *documented("old"))
