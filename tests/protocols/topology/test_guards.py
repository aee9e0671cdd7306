"""Planted bugs: each guard of the control model is cut out of a copy of the kit, and is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.model.registry import entry_of
from tests.quality.scratching import cut, search

RULES = "protocols/topology/rules"
FENCE, REQUESTS, QUEUE, WORK = (
    f"{RULES}/{name}.py" for name in ("cluster", "requests", "decide", "work")
)
COORDINATOR = "protocols/topology/coordinator.py"
GUARD = "protocols/group0/rules/commands.py"
SMALLEST = {guard.name: guard.smallest for guard in entry_of("topology").safeguards}

# safeguard -> (file, text that is there, text that takes its place) …, and what is found then
PLANTED: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "fencing": (
        [(FENCE, "version >= replica.fence_version or not safeguards.fencing", "True")],
        "older-over",  # two versions at once are a known cost here, where a drain may fail
    ),
    "barrier-drains": (
        [(FENCE, "version >= view.version or not safeguards.barrier_drains", "True")],
        "older-over",
    ),
    "sessions": (
        [(FENCE, "session == view.session or not safeguards.sessions", "True")],
        "sessions",
    ),
    "tablet-track-excludes": (
        [
            (QUEUE, "excludes = setting.safeguards.tablet_track_excludes", "excludes = False"),
            (COORDINATOR, "if not track and self.tablet_track_excludes:", "if False:"),
        ],
        "tablets-hold",
    ),
    "drain-before-leaving": (
        [(WORK, "undrained = not setting.safeguards.drain_before_leaving", "undrained = True")],
        "shut-down-unused",
    ),
    "refuse-live-removal": (
        [(REQUESTS, "live = alive >> asks.node & 1 and", "live = 0 and")],
        "left-silent",
    ),
    "cleanup-first": (
        [(QUEUE, "if not setting.safeguards.cleanup_first or kind", "if True or kind")],
        "clean-first",
    ),
    "continue-from-tables": (
        [(COORDINATOR, "heir=not self.continue_from_tables", "heir=True")],
        "ends",
    ),
    "refuse-left": (
        [(REQUESTS, 'if state == "left" and setting.safeguards.refuse_left:', "if False:")],
        "left-final",
    ),
    "commit-with-guard": (
        [(GUARD, "observed if safeguards.commit_with_guard else None", "None")],
        "guarded",
    ),
    "no-rollback-after-switch": (
        [(WORK, "if setting.safeguards.no_rollback_after_switch or ", "if ")],
        "no-way-back",
    ),
}
# Given the guard nothing needs it: two coordinators on one state id break nothing.
REDUNDANT = {"start-marker"}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    cuts, expected = PLANTED[bug]
    cut(scratch, cuts)
    assert search(scratch, "topology", dict(SMALLEST[bug])) == (expected, False)


def test_the_copy_is_sound(scratch: Path) -> None:
    """An unspoiled copy finds nothing, so that what is found above is what was planted."""
    assert search(scratch, "topology", dict(SMALLEST["barrier-drains"])) == (None, True)


def test_every_safeguard_is_planted() -> None:
    """Each safeguard's guard is among those that are cut out, but for the one without a use."""
    assert set(SMALLEST) - REDUNDANT == set(PLANTED)
