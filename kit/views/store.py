"""A content-addressed store of frames.

Inside its parent's text a keyed part is only a hole, the comment ``<!--id-->``. Equal texts have
equal ids, so a frame is one number and two frames share whatever did not change. The same store
serves the live widget (new texts only) and the exported page (all of them, compressed).
"""

from __future__ import annotations

import gzip
import re

import msgspec

from kit.views.fragment import Frag, check_keys, closing, escape, opening

HOLE = re.compile(r"<!--(\d+)-->")


class Store:
    """Texts of fragments, each held once, numbered in order of arrival."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.size = 0
        self._ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, frag: Frag) -> int:
        """Store a frame and return its id. Raises ValueError when a key is used twice in it."""
        check_keys(frag)
        return self._put(frag)

    def flat(self, root: int) -> str:
        """Return the whole HTML of a stored part: every hole filled."""
        return HOLE.sub(lambda hole: self.flat(int(hole[1])), self.texts[root])

    def since(self, base: int) -> list[str]:
        """Return the texts a reader that holds ``base`` of them is missing."""
        return self.texts[base:]

    def reach(self, root: int) -> set[int]:
        """Return the ids of all parts of a stored part, itself included."""
        found: set[int] = set()
        todo = [root]
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo.extend(int(hole) for hole in HOLE.findall(self.texts[one]))
        return found

    def _put(self, frag: Frag) -> int:
        text = self._text(frag)
        known = self._ids.get(text)
        if known is not None:
            return known
        self._ids[text] = len(self.texts)
        self.texts.append(text)
        self.size += len(text)
        return len(self.texts) - 1

    def _text(self, frag: Frag) -> str:
        parts = [opening(frag)]
        for kid in frag.kids:
            if isinstance(kid, str):
                parts.append(escape(kid))
            elif kid.key is not None:
                parts.append(f"<!--{self._put(kid)}-->")
            else:
                parts.append(self._text(kid))
        parts.append(closing(frag))
        return "".join(parts)


def squeeze(data: object) -> bytes:
    """Encode ``data`` as JSON and compress it; equal data give equal bytes (no time stamp)."""
    return gzip.compress(msgspec.json.encode(data), compresslevel=9, mtime=0)


_KEY = re.compile(r'^<\w+ data-k="([^"]*)"')


def biggest(texts: list[str], count: int = 5) -> list[tuple[str, int]]:
    """Return the kinds of keys that take most characters, with their totals, biggest first."""
    totals: dict[str, int] = {}
    for text in texts:
        found = _KEY.match(text)
        kind = found[1].split(":")[0] if found else "(no key)"
        totals[kind] = totals.get(kind, 0) + len(text)
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:count]
