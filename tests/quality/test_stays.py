"""A step that leaves what a promise looks at does not break it.

Long runs are judged by that (``Property.of``): what a property says it looks at must be all that a
step needs to break it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kit.model.model import Model
from kit.model.registry import build, entries

WALKS, STEPS = 6, 60


def steps(model: Model[Any, Any], seed: int) -> Iterator[tuple[Any, Any]]:
    """The states before and after each step of a random walk."""
    chance, state = Random(seed), model.start()
    for _ in range(STEPS):
        enabled = list(model.successors(state))
        if not enabled:
            return
        _, after = chance.choice(enabled)
        yield state, after
        state = after


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", sorted(entries()))
def test_a_step_that_leaves_its_part_breaks_no_promise(name: str) -> None:
    """In the default configuration, and with each safeguard off."""
    sound = build(name)
    models = [sound, *(build(name, each.smallest, (each.name,)) for each in sound.safeguards)]
    for model in models:
        parts = [each for each in model.properties if each.kind == "always" and each.of]
        walked = (pair for seed in range(WALKS) for pair in steps(model, seed))
        for before, after in walked:
            for each in parts:
                if each.stays(before, after) and each.check(before) is None:
                    assert each.check(after) is None, (model.off, each.name)
