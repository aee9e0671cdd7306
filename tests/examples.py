"""How many examples a test of hypothesis draws: few in each landing, many times as many in deep."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

DEEP = os.environ.get("KIT_HYPOTHESIS") == "deep"
TIMES = 20 if DEEP else 1
PROFILE = settings(derandomize=True, deadline=None, max_examples=2000 if DEEP else 50)
"""The same examples on every machine; no time limit, since CI machines are shared."""


def examples(count: int, **more: Any) -> settings:
    """The settings of a test that draws ``count`` examples in each landing."""
    return settings(PROFILE, max_examples=count * TIMES, **more)
