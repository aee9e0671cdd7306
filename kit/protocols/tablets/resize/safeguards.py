"""The safeguards of resizing: what rules ask for, what each is called, and what it costs."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.safeguards import Safeguard


class ResizeSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    split_readiness: bool = True
    """Off, a split is finalized before its replicas show its number."""
    barrier_before_map: bool = True
    """Off, the new map is committed without a barrier before it."""
    colocation_test: bool = True
    """Off, siblings are merged wherever their replicas are."""


SAFEGUARDS = (
    Safeguard(
        "split-readiness",
        "S-43",
        "A split waits until each replica shows its number",
        ("INV-VISIBLE",),
        {"tablets": ("A B",), "nodes": 2, "grows": 1},
    ),
    Safeguard(
        "barrier-before-map",
        "S-44",
        "A new map waits until nobody holds the former one",
        ("INV-MAP",),
        {"tablets": ("A",), "nodes": 1, "grows": 1, "repairs": 1},
    ),
    Safeguard(
        "colocation-test",
        "S-45",
        "Siblings are merged once they have the same replicas",
        ("INV-COLOC", "INV-VISIBLE"),
        {"tablets": ("A B", "A C"), "nodes": 3, "grows": 0, "shrinks": 1},
    ),
)
