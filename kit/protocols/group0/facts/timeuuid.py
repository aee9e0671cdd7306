"""State ids as people meet them: a small number of a model is shown as the TIMEUUID that it is for.

The time of an id counts its ticks of a tenth of a microsecond, so that greater ids are later, and
the node's bytes say who made it. Source: RFC 9562, section 5.1 (version 1).
"""

from __future__ import annotations


def timeuuid(state_id: int, places: int) -> str:
    """``00000002-0000-1000-8000-000000000001``: id 2, made by the first of ``places`` nodes."""
    node = (state_id - 1) % places + 1 if state_id else 0
    low, mid, high = state_id & 0xFFFFFFFF, state_id >> 32 & 0xFFFF, state_id >> 48 & 0x0FFF
    return f"{low:08x}-{mid:04x}-1{high:03x}-8000-{node:012x}"
