"""The word map: old texts as they would be said now."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("words.toml")
USUAL = ("output", "words", "paths", "parameters")
RENAME = {"old", "new", "exact", "where", "items"}
ACCEPT = {"items", "why"}
ADDED = {"pattern", "was", "why"}


class Rename(NamedTuple):
    """One pair of the map."""

    old: str
    new: str
    exact: bool
    where: tuple[str, ...]
    items: tuple[str, ...]

    def spellings(self) -> dict[str, str]:
        """The old text and the new one, with a small first letter also as a sentence begins."""
        found = {self.old: self.new}
        if not self.exact and self.old[:1].islower():
            found[self.old[0].upper() + self.old[1:]] = self.new[:1].upper() + self.new[1:]
        return found

    @property
    def pattern(self) -> str:
        """What to look for; a blank stands for any white space, so that a wrapped line is met."""
        end = r"[\w-]" if self.exact else r"\w"
        any_of = "|".join(re.escape(old).replace(r"\ ", r"\s+") for old in self.spellings())
        return f"(?<!{end})(?:{any_of})(?!{end})"


class Words:
    """All pairs of the map, what is accepted, and what outputs say more than they did."""

    def __init__(
        self,
        renames: Iterable[Rename],
        accepted: Iterable[tuple[str, str]],
        added: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.renames = sorted(renames, key=lambda one: -len(one.old))
        self.accepted = tuple(accepted)
        # A blank stands for any white space, so that a wrapped line is met.
        self.added = tuple((re.compile(text.replace(" ", r"\s+")), was) for text, was in added)

    @classmethod
    def read(cls, path: Path = FILE) -> Words:
        """The map in a file."""
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        assert given.keys() <= {"rename", "accept", "added"}, sorted(given)
        renames = []
        for one in given.get("rename", ()):
            assert one.keys() <= RENAME, one
            where = tuple(one.get("where", USUAL))
            assert set(where) <= {*USUAL, "files"}, one
            items = tuple(one.get("items", ("*",)))
            renames.append(Rename(one["old"], one["new"], one.get("exact", False), where, items))
        accepted = []
        for one in given.get("accept", ()):
            assert one.keys() <= ACCEPT, one
            accepted += [(item, one["why"]) for item in one["items"]]
        added = []
        for one in given.get("added", ()):
            assert one.keys() <= ADDED, one
            assert one["why"], one
            added.append((one["pattern"], one.get("was", "")))
        return cls(renames, accepted, added)

    def without_added(self, now: str) -> str:
        """What is said now, less what is said in addition."""
        for pattern, was in self.added:
            now = pattern.sub(was, now)
        return now

    def why_accepted(self, item: str) -> str | None:
        """Why a difference of this item is wanted, if it is."""
        return next((why for glob, why in self.accepted if fnmatchcase(item, glob)), None)

    def say(self, old: Any, item: str, where: str) -> Any:
        """An old text as it is said now; in lists and dicts all texts, keys as well."""
        chosen = [
            one
            for one in self.renames
            if where in one.where and any(fnmatchcase(item, glob) for glob in one.items)
        ]
        if not chosen:
            return old
        said: dict[str, str] = {}
        for one in reversed(chosen):
            said.update(one.spellings())
        pattern = re.compile("|".join(one.pattern for one in chosen))
        return _mapped(old, lambda text: pattern.sub(lambda hit: _new(hit[0], said), text))


def _new(hit: str, said: dict[str, str]) -> str:
    return said[hit] if hit in said else said[" ".join(hit.split())]


def _mapped(old: Any, say: Any) -> Any:
    if isinstance(old, str):
        return say(old)
    if isinstance(old, list):
        return [_mapped(one, say) for one in old]
    if isinstance(old, dict):
        return {say(key): _mapped(value, say) for key, value in old.items()}
    return old
