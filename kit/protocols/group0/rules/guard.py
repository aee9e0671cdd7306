"""The guard: what whoever changes group 0 holds from reading the state until the outcome is known.

Source: "Using Group 0 to perform schema changes", the eight steps.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.group0.rules.commands import FIRST_STATE, Command
from kit.protocols.group0.rules.safeguards import Group0Safeguards

STEPS = (
    "take the local lock",
    "read barrier",
    "read the newest state id",
    "make a greater one",
    "validate",
    "submit",
    "wait for the local apply",
    "look the outcome up",
)
"""What a node does for one change, in order."""


class Guard(Struct, frozen=True, cache_hash=True):
    """The state id that a node read, and the one that it made: what its command will carry."""

    observed: int
    new: int


def command_of(
    guard: Guard,
    change: Any,
    creator: str,
    safeguards: Group0Safeguards,
    *,
    description: str = "",
    forgets: int = FIRST_STATE,
) -> Command:
    """The command that a holder of the guard submits: it names the state that it was decided on."""
    previous = guard.observed if safeguards.commit_with_guard else None
    return Command(change, previous, guard.new, creator, description, forgets)


def retried(command: Command, fresh: int, safeguards: Group0Safeguards) -> Command:
    """What is submitted once more while the outcome is unknown: the very same command.

    ``fresh`` is the id that it would get otherwise.
    """
    return command if safeguards.same_id_on_retry else replace(command, new=fresh)
