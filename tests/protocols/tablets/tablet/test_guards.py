"""Planted bugs: each guard is cut out of a copy of the kit, a rule or a table, and missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocols.tablets.tablet.runs import GUARDS
from tests.quality.scratching import cut, search

HISTORY = "protocols/tablets/rules/tablet_history.py"
STAGES = "protocols/tablets/rules/stages.py"
EDGES = '_EDGES = """\n'
INTO_ALLOW = f"{EDGES}  * | allow_write_both_read_old | | happy | version\n"
FALLBACK = "N write_both_read_new | write_both_read_old_fallback_cleanup"

# safeguard -> what is cut out: file, text that is there, text that takes its place; what is found
PLANTED: dict[str, tuple[tuple[str, str, str], str]] = {
    "fencing": ((HISTORY, 'admission="fence" if', 'admission="all" if'), "fenced"),
    "barrier-drains": (
        (HISTORY, "        if not self.options.safeguards.barrier_drains:", "        if know:"),
        "stage-asks",
    ),
    "allow-stage": (
        (STAGES, INTO_ALLOW, f"{EDGES}  * | write_both_read_old | | happy | version\n"),
        "stage-asks",
    ),
    # The stage that asks for both sets is judged as it is committed, before a client reads.
    "level-in-both-sets": (
        (HISTORY, 'if joint else "either"', 'if False else "either"'),
        "stage-asks",
    ),
    "sessions": (
        ("protocols/storage/moving.py", "if self.lets_in(s, target, session):", "if True:"),
        "session",
    ),
    "one-transition": (
        (HISTORY, "if place.moving and self.options.safeguards.one_transition:", "if False:"),
        "found-there",
    ),
    "stable-ownership": ((HISTORY, "serves = both if", "serves = reads if"), "found-there"),
    "stream-from-leaving": (
        (HISTORY, "if not self.options.safeguards.stream_from_leaving:", "if sources:"),
        "streamed",
    ),
    "fallback-stage": (
        (STAGES, FALLBACK, "N write_both_read_new | cleanup_target"),
        "one-stage-apart",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    change, expected = PLANTED[bug]
    cut(scratch, [change])
    assert search(scratch, "tablet", dict(GUARDS[bug].smallest)) == (expected, False)


def test_every_safeguard_is_planted() -> None:
    """The table names all of them."""
    assert sorted(PLANTED) == sorted(GUARDS)
