"""A content-addressed store of frames.

Inside its parent's text a keyed part is only a placeholder, the comment ``<!--id-->``. Equal texts
have equal ids, so a frame is one number and two frames share whatever did not change. The
same store serves the live widget (new texts only) and the exported page (all of them, compressed).
"""

import re
from collections import Counter, OrderedDict

from kit.views.fragment import Frag, closing, opening, written

MOST_SEEN = 1024
PLACEHOLDER = re.compile(r"<!--(\d+)-->")


class FragmentStore:
    """Texts of fragments, each held once, numbered in order of arrival."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.size = 0
        self._ids: dict[str, int] = {}
        self._seen: OrderedDict[int, tuple[Frag, int, frozenset[str]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.texts)

    def add(self, frag: Frag) -> int:
        """Store a frame and return its id. Raises ValueError when a key is used twice in it."""
        used: list[str] = []
        stored = self._put(frag, used)
        if len(set(used)) < len(used):
            twice = next(key for key, times in Counter(used).items() if times > 1)
            raise ValueError(f"key {twice!r} is used twice in one frame")
        return stored

    def take(self, texts: list[str]) -> None:
        """Hold the texts of another store, by their numbers there: for one that is empty."""
        self.texts = [*texts]
        self.size = sum(map(len, texts))
        self._ids = {text: number for number, text in enumerate(texts)}

    def flat(self, root: int) -> str:
        """Return the whole HTML of a stored part: every placeholder filled."""
        return PLACEHOLDER.sub(lambda place: self.flat(int(place[1])), self.texts[root])

    def since(self, base: int) -> list[str]:
        """Return the texts a reader that holds ``base`` of them is missing."""
        return self.texts[base:]

    def reach(self, root: int) -> set[int]:
        """Return the ids of all parts of a stored part, itself included."""
        reached: set[int] = set()
        waiting = [root]
        while waiting:
            part = waiting.pop()
            if part not in reached:
                reached.add(part)
                waiting.extend(int(inner) for inner in PLACEHOLDER.findall(self.texts[part]))
        return reached

    def _put(self, frag: Frag, used: list[str]) -> int:
        stored = self._seen.get(id(frag))
        if stored is not None:  # it was stored before, with its keys
            used += stored[2]
            return stored[1]
        before = len(used)
        if frag.key is not None:
            used.append(frag.key)
        parts: list[str] = []
        self._write(frag, parts, used)
        text = "".join(parts)
        known = self._ids.get(text)
        if known is None:
            known = self._ids[text] = len(self.texts)
            self.texts.append(text)
            self.size += len(text)
        # A large part that a view draws once and shows in many frames is written once, too. It is
        # held, so that no other part gets its identity.
        if frag.get("data-kept") is not None:
            if len(self._seen) >= MOST_SEEN:
                self._seen.popitem(last=False)
            self._seen[id(frag)] = (frag, known, frozenset(used[before:]))
        return known

    def _write(self, frag: Frag, parts: list[str], used: list[str]) -> None:
        parts.append(opening(frag))
        for kid in frag.kids:
            if isinstance(kid, str):
                parts.append(written(kid, frag.tag))
            elif kid.key is not None:
                parts.append(f"<!--{self._put(kid, used)}-->")
            else:
                self._write(kid, parts, used)
        parts.append(closing(frag))


_KEY = re.compile(r'^<\w+ data-k="([^"]*)"')


def order_by_key(texts: list[str]) -> tuple[list[str], list[int]]:
    """Put texts of one key beside each other, and return the new number of each as well.

    They differ little, so that the whole compresses to much less than in the order of arrival.
    """

    def key(number: int) -> tuple[str, int]:
        keyed = _KEY.match(texts[number])
        return (keyed[1] if keyed else "", number)

    order = sorted(range(len(texts)), key=key)
    renumbered = sorted(range(len(texts)), key=order.__getitem__)

    def put(place: re.Match[str]) -> str:
        return f"<!--{renumbered[int(place[1])]}-->"

    return [PLACEHOLDER.sub(put, texts[old]) for old in order], renumbered


def biggest(texts: list[str], count: int = 5) -> list[tuple[str, int]]:
    """Return the kinds of keys that take most characters, with their totals, biggest first."""
    totals = Counter[str]()
    for text in texts:
        keyed = _KEY.match(text)
        totals[keyed[1].split(":")[0] if keyed else "(no key)"] += len(text)
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:count]
