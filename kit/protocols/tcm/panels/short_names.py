"""Short names of nodes, for where a drawing has little room."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import compress


def tags(names: Iterable[str]) -> dict[str, str]:
    """A short name for each node: its beginning; of addresses, the end, or where they differ."""
    nodes = list(names)
    if len({name[:3] for name in nodes}) == len(nodes):
        return {name: name[:3] for name in nodes}
    parts = {name: re.split(r"[.:]", name) for name in nodes}
    ends = {name: parts[name][-1][-3:] or name[-3:] for name in nodes}
    if len({*ends.values()}) == len(nodes) or len({*map(len, parts.values())}) > 1:
        return ends
    differs = [len({*column}) > 1 for column in zip(*parts.values(), strict=True)]
    return {name: ".".join(compress(parts[name], differs)) for name in nodes}
