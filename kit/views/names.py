"""Names as short as tells them apart: addresses of one cluster begin alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress, takewhile

_JOINT = re.compile(r"[.:_/-]")
_LONG_NUMBER = re.compile(r"-?\d{9,}")


def apart(names: Sequence[str]) -> Mapping[str, str]:
    """Each name without what all of them begin with, up to a joint: ``10.20.0.7`` is ``.7``.

    No two are alike, since the same beginning is left out of all. A name is never cut within a
    word, and none becomes empty: where only that is in common, all stay whole.
    """
    return _apart(tuple(names))


@lru_cache(16)
def _apart(names: tuple[str, ...]) -> Mapping[str, str]:
    ends = (min(names), max(names)) if len(set(names)) > 1 else ("", "")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(*ends, strict=False))
    shared = "".join(letter for letter, _ in same)
    joints = [joint.start() for joint in _JOINT.finditer(shared)]
    cut = next((at for at in reversed(joints) if all(len(name) > at + 1 for name in names)), 0)
    return {name: name[cut:] for name in names}


def beginning(names: Sequence[str]) -> str:
    """What ``apart`` leaves out; empty where nothing is."""
    return next((name.removesuffix(short) for name, short in apart(names).items()), "")


def tags(names: Iterable[str]) -> Mapping[str, str]:
    """A short name for each node: its beginning; of addresses, the end, or where they differ."""
    return _tags(tuple(names))


@lru_cache(64)
def _tags(nodes: tuple[str, ...]) -> Mapping[str, str]:
    if len({name[:3] for name in nodes}) == len(nodes):
        return {name: name[:3] for name in nodes}
    parts = {name: re.split(r"[.:]", name) for name in nodes}
    ends = {name: parts[name][-1][-3:] or name[-3:] for name in nodes}
    if len({*ends.values()}) == len(nodes) or len({*map(len, parts.values())}) > 1:
        return ends
    differs = [len({*column}) > 1 for column in zip(*parts.values(), strict=True)]
    return {name: ".".join(compress(parts[name], differs)) for name in nodes}


def brief(text: str) -> str:
    """The text with long numbers (tokens of 64 bits) by first and last digits: ``-840…670``."""
    return _LONG_NUMBER.sub(_ends, text)


def _ends(number: re.Match[str]) -> str:
    return f"{number[0][: 3 + number[0].startswith('-')]}…{number[0][-3:]}"
