"""Planted bugs: each guard of group 0 is cut out of a copy of the kit, and is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.model.registry import entry_of
from tests.quality.scratching import cut, search

MODELS = {
    guard.name: name for name in ("group0", "discovery") for guard in entry_of(name).safeguards
}
SMALLEST = {
    guard.name: guard.smallest for name in MODELS.values() for guard in entry_of(name).safeguards
}
RULES, DISCOVERY = "protocols/group0/rules/commands.py", "protocols/group0/discovery.py"
GUARDS, SERVING = "protocols/group0/guards.py", "protocols/group0/serving.py"

# safeguard -> (file, text that is there, text that takes its place) …, and what is found then
PLANTED: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "read-barrier": (
        [(GUARDS, "        if applied < len(s.log):\n", "        if False:\n")],
        "linearizable",
    ),
    "state-id-check": ([(RULES, "return command.previous == newest", "return True")], "built-on"),
    "same-id-on-retry": (
        [(RULES, "return command if safeguards.same_id_on_retry else ", "return ")],
        "once",
    ),
    "commit-with-guard": (
        [(RULES, "observed if safeguards.commit_with_guard else None", "None")],
        "built-on",
    ),
    "schema-version-check": (
        [(SERVING, "if self.schema_version_check and ", "if False and ")],
        "new-enough",
    ),
    "transitive-closure": (
        [
            (DISCOVERY, "if closure and peers.awaited:", "if False:"),
            (DISCOVERY, "min(peers.known if closure else peers.answered)", "min(peers.answered)"),
        ],
        "one-group",
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_missing_guard_is_found(bug: str, scratch: Path) -> None:
    """With the guard's text cut out, the search finds the harm though no switch is off."""
    cuts, expected = PLANTED[bug]
    cut(scratch, cuts)
    assert search(scratch, MODELS[bug], dict(SMALLEST[bug])) == (expected, False)


@pytest.mark.parametrize("name", sorted(set(MODELS.values())))
def test_the_copy_is_sound(name: str, scratch: Path) -> None:
    """An unspoiled copy finds nothing, so that what is found above is what was planted."""
    given = next(dict(SMALLEST[bug]) for bug in MODELS if MODELS[bug] == name)
    assert search(scratch, name, given) == (None, True)


def test_every_safeguard_is_planted() -> None:
    """Each safeguard's guard is among those that are cut out."""
    assert set(SMALLEST) == set(PLANTED)
