"""The invariants of the requirements, and what could go wrong where one of them breaks.

One table, ``data/invariants.toml``, since properties of several families watch over the same one.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

FILE = Path(__file__).parent / "data" / "invariants.toml"


@cache
def dangers() -> Mapping[str, str]:
    """A clause for each invariant by its name, the worst first."""
    return msgspec.toml.decode(FILE.read_text(encoding="utf-8"), type=dict[str, str])
