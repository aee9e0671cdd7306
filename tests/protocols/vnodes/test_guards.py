"""Planted bugs: each guard is cut out of a copy of the kit, a rule or the table, and missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocols.vnodes.runs import FENCED, GUARDS, ONE
from tests.quality.scratching import cut, search

TABLES = "protocols/topology/rules/editions.py"
PROJECTION = RANGES = "protocols/vnodes/rules.py"
LATE_COPIES = "protocols/storage/moving.py"
BOOTSTRAP_OLD = "  write_both_read_old   | old | both | barrier:rollback stream:rollback\n"
BOOTSTRAP_NEW = "D write_both_read_new   | new | both | barrier\n"
LEAVING = "D left_token_ring     | new | new  | barrier shut_down:proceed leave_group0\n"
ENDS = "  write_both_read_new | * | | happy | version cleanup done becomes:normal\n"
BACK = "  write_both_read_new | left_token_ring | | rollback | version\n"

# safeguard -> (file, text that is there, text that takes its place), and what is found then
PLANTED: dict[str, tuple[tuple[str, str, str], str]] = {
    "write-before-read": (
        (TABLES, BOOTSTRAP_OLD, BOOTSTRAP_OLD.replace("| old | both |", "| new | old  |")),
        "quorums-in-use",
    ),
    "old-writer-stays": (
        (TABLES, BOOTSTRAP_NEW, BOOTSTRAP_NEW.replace("| new | both |", "| new | new  |")),
        "quorums-in-use",
    ),
    "streams-before-switch": (
        (PROJECTION, "streamed = awaited and any(", "streamed = False and any("),
        "streamed",
    ),
    "known-before-streams": (
        (TABLES, BOOTSTRAP_OLD, BOOTSTRAP_OLD.replace("barrier:rollback stream", "stream")),
        "quorums-in-use",
    ),
    "stream-from-displaced": (
        (RANGES, "            if not from_displaced and others:", "            if others:"),
        "streamed",
    ),
    "fencing": ((PROJECTION, '= "fence" if', '= "all" if'), "fenced"),
    "barrier-drains": (
        (PROJECTION, "drains = not place.fenced and", "drains = False and"),
        "streamed",
    ),
    "drain-before-leaving": ((TABLES, LEAVING, LEAVING.replace("barrier ", "")), "available"),
    "sessions": ((LATE_COPIES, "if self.lets_in(s, target, session):", "if True:"), "session"),
    "cleanup-first": (
        (PROJECTION, "if self.options.safeguards.cleanup_first else 0", "if False else 0"),
        "streamed",
    ),
    "no-rollback-after-switch": ((TABLES, ENDS, ENDS + BACK), "quorums-in-use"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    change, expected = PLANTED[bug]
    cut(scratch, [change])
    assert search(scratch, "vnodes", dict(GUARDS[bug].smallest)) == (expected, False)


AFTER = ("            ok = admits(", "            ok = self.begun(s, number, i) or admits(")
BEFORE = '        if answer.verdict != "ok":\n', "        if False:\n"


@pytest.mark.parametrize("check", [BEFORE, AFTER], ids=["before", "after"])
def test_the_fence_is_asked_before_and_after(check: tuple[str, str], scratch: Path) -> None:
    """Where it is asked only once, a slow write of an older version is begun, or is counted."""
    cut(scratch, [("protocols/storage/storage.py", *check)])
    given = {**ONE, **FENCED, "slow": True}
    assert search(scratch, "vnodes", given) == ("fenced", False)


def test_a_cleanup_begins_with_a_barrier(scratch: Path) -> None:
    """Without one a write of an older version comes after the cleanup, and with it what was
    deleted since.
    """
    cut(
        scratch,
        [
            (
                PROJECTION,
                "waits = tuple(self._copies(place)), self._drain(place)",
                "waits = tuple(self._copies(place)), ()",
            )
        ],
    )
    given = dict(GUARDS["sessions"].smallest)
    assert search(scratch, "vnodes", given) == ("streamed", False)


def test_the_copy_is_sound(scratch: Path) -> None:
    """An unspoiled copy finds nothing, so that what is found above is what was planted."""
    assert search(scratch, "vnodes", ONE) == (None, True)


def test_every_safeguard_is_planted() -> None:
    """Each safeguard's guard is among those that are cut out."""
    assert set(GUARDS) == set(PLANTED)
