"""What each model says a step was for, in all its scenarios: how often it says which sentence.

KIT_REWRITE=1 writes the table.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from kit.engine.registry import Entry, entries
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
def test_each_step_is_for_what_the_table_says(name: str) -> None:
    """Where the states say more than the kind of action does, that is said."""
    blocks = TABLE.read_text(encoding="utf-8").split("\n\n") if TABLE.exists() else []
    known = {block.partition("\n")[0]: block.rstrip("\n") for block in blocks}
    block = block_of(entries()[name])
    if os.environ.get("KIT_REWRITE") == "1":
        known[name] = block
        kept = [known[each] for each in entries() if each in known]
        TABLE.write_text("\n\n".join(kept) + "\n", encoding="utf-8")
    assert block == known[name]
