"""What each model says a step was for, in all its scenarios: how often it says which sentence.

KIT_REWRITE=1 writes the table.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from kit.model.network import DeliverMessage
from kit.model.registry import Entry, entries
from kit.protocols.paxos import messages as paxos
from kit.protocols.raft import messages as raft
from tests.views.frames import walk

TABLE = Path(__file__).with_name("reasons.txt")
LONGEST = 60  # steps of a scenario that are walked


def block_of(entry: Entry) -> str:
    """The model, and a line for each sentence with how many of its steps are for that."""
    found: Counter[str] = Counter()
    for scenario in entry.scenarios:
        timeline = walk(f"{entry.name}/{scenario.name}")
        while len(timeline.moments) <= LONGEST and timeline.forward() is not None:
            pass
        for each in timeline.moments[1:]:
            before = timeline.moments[each.parent].state
            found[timeline.model.why_here(before, each.action, each.state)] += 1
    return "\n".join([entry.name, *(f"  {n}: {said}" for said, n in sorted(found.items()))])


@pytest.mark.parametrize("name", entries())
def test_the_reasons_of_a_models_steps_are_those_of_the_table(name: str) -> None:
    """How many steps of its scenarios are for which sentence."""
    blocks = TABLE.read_text(encoding="utf-8").split("\n\n") if TABLE.exists() else []
    known = {block.partition("\n")[0]: block.rstrip("\n") for block in blocks}
    block = block_of(entries()[name])
    if os.environ.get("KIT_REWRITE") == "1":
        known[name] = block
        kept = [known[each] for each in entries() if each in known]
        TABLE.write_text("\n\n".join(kept) + "\n", encoding="utf-8")
    assert block == known[name]


PAXOS = (
    paxos.Prepare, paxos.Promise, paxos.Accept, paxos.AcceptedReply, paxos.RefusedReply,
    paxos.Chosen,
)  # fmt: skip
OF_ANY_MESSAGE = "A node knows only what messages have told it."


@pytest.mark.parametrize("name", entries())
def test_each_kind_of_message_has_a_reason_of_its_own(name: str) -> None:
    """Wherever a message arrives in a scenario."""
    kinds: dict[str, type] = {}
    for scenario in entries()[name].scenarios:
        timeline = walk(f"{name}/{scenario.name}")
        for moment in timeline.moments[1:]:
            if isinstance(moment.action, DeliverMessage):
                message = moment.action.envelope.message
                kind = type(getattr(message, "message", message))  # that of a group has one within
                why = timeline.why(moment.id)
                assert why not in ("", OF_ANY_MESSAGE), message
                assert kinds.setdefault(why, kind) is kind, why


@pytest.mark.parametrize("kinds", [get_args(raft.Message), PAXOS])
def test_each_message_of_raft_and_paxos_has_a_reason_of_its_own(kinds: tuple[Any, ...]) -> None:
    """Whether a scenario sends it or not."""
    assert len(kinds) >= 6
    assert all(kind.why.endswith((".", "?")) for kind in kinds)
    assert len({kind.why for kind in kinds}) == len(kinds)
