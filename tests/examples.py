"""How many examples a test of hypothesis draws: few in each landing, many times as many in deep."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

TIMES = {"deep": 10.0, "settled": 1.0}.get(os.environ.get("KIT_HYPOTHESIS", ""), 0.5)
"""Of what a test asks for: all of it judges mutants, a landing draws half, deep 20 times that."""


def share_of(count: int) -> int:
    """How many are drawn here where a test asks for so many; one at least."""
    return max(1, int(count * TIMES))


PROFILE = settings(derandomize=True, deadline=None, max_examples=share_of(100))
"""The same examples on every machine; no time limit, since CI machines are shared."""


def examples(count: int, **more: Any) -> settings:
    """The settings of a test that asks for ``count`` examples."""
    return settings(PROFILE, max_examples=share_of(count), **more)
