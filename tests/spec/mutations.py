"""A change of one line for each requirement, under which a test of it has to fail.

``mutations.toml`` has a table for each id that rests on one test: the file, a piece of it that is
there once, and what takes its place. ``python -m tests.spec.mutations B-001 B-002`` tries these,
without ids all; what no test notices is named.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.house.source import ROOT, project_files
from tests.quality.judging import Judge, copied
from tests.quality.mutants import Mutant
from tests.spec.report import Mark, marks

LISTED = Path(__file__).with_name("mutations.toml")
SECONDS, PATIENCE = 12.0, 600.0
"""What a marked test may have taken, and how long all of one mutation may take."""


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of one line: the file, a piece of it, and what stands there instead."""

    file: str
    old: str
    new: str

    def mutant(self, root: Path = ROOT) -> Mutant:
        """The change as a mutant of the file in a checkout.

        Raises ValueError when the piece is not there exactly once.
        """
        before, *after = (root / self.file).read_bytes().split(self.old.encode())
        if len(after) != 1:
            raise ValueError(f"{self.file} holds {self.old!r} {len(after)} times")
        line = before.count(b"\n") + 1
        end = len(before) + len(self.old.encode())
        return Mutant(self.file, "", (line, line), len(before), end, self.new, self.new)


def listed() -> dict[str, Mutation]:
    """The mutations by the ids of requirements."""
    return msgspec.convert(tomllib.loads(LISTED.read_text("utf-8")), dict[str, Mutation])


def resting(found: Sequence[Mark]) -> dict[str, list[str]]:
    """The tests that each id is marked on, each once."""
    tests: dict[str, dict[str, None]] = defaultdict(dict)
    for mark in found:
        tests[mark.id][f"tests/{mark.where}"] = None
    return {name: list(tests[name]) for name in sorted(tests)}


@contextmanager
def judge() -> Iterator[Judge]:
    """A judge of a copy of this checkout."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        Judge(copied(ROOT, project_files(), Path(scratch) / "copy")) as judging,
    ):
        yield judging


def noticed(judging: Judge, mutation: Mutation, tests: Sequence[str]) -> bool:
    """Whether one of these tests is called, and fails, where the line is changed."""
    with judging.spoiled(mutation.mutant(judging.root)):
        status = judging.status([(test, SECONDS) for test in tests], PATIENCE)
    return status == pytest.ExitCode.TESTS_FAILED


def main(names: Sequence[str]) -> int:
    """Try the mutations of these ids, or of all; 0 when each is noticed."""
    tests, every = resting(marks()), listed()
    with judge() as judging:
        missed = [n for n in names or every if not noticed(judging, every[n], tests[n])]
    for name in missed:
        print(f"{name}: {every[name].file} {every[name].new!r} is not noticed by {tests[name]}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
