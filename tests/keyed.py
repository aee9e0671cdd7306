"""No two parts of a frame have one key."""

from __future__ import annotations

from kit.views.fragment import Frag, keys


def check_keys(frag: Frag) -> None:
    """Raise ValueError when two parts of a frame share a key."""
    seen: set[str] = set()
    for key in keys(frag):
        if key in seen:
            raise ValueError(f"key {key!r} is used twice in one frame")
        seen.add(key)
