"""``group0_history``: which commands took effect, as every node finds out for itself.

A command that was built on another state than the newest one does nothing. So two commands built on
one state never both take effect, and the same command never takes effect twice.
Source: "Using Group 0 to perform schema changes", steps 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.group0.rules.commands import FIRST_STATE, Command
from kit.protocols.group0.rules.safeguards import Group0Safeguards

Outcome = Literal["applied", "no-op", "unknown"]


class StateHistory(Struct, frozen=True, cache_hash=True):
    """The table on one node: the state ids that it applied, the newest last."""

    rows: tuple[int, ...] = ()

    @property
    def newest(self) -> int:
        """The id of the node's state."""
        return self.rows[-1] if self.rows else FIRST_STATE

    def recorded(self, command: Command) -> StateHistory:
        """The table after a command took effect: one row more, and without those that it forgets.

        The newest row always stays.
        """
        kept = tuple(row for row in self.rows if row >= command.forgets)
        return replace(self, rows=(*kept, command.new))


def takes_effect(newest: int, command: Command, safeguards: Group0Safeguards) -> bool:
    """Whether a node whose newest state id is ``newest`` applies a command; else it is a no-op."""
    if command.previous is None or not safeguards.state_id_check:
        return True
    return command.previous == newest


def history_of(commands: Iterable[Command], safeguards: Group0Safeguards) -> StateHistory:
    """The table of a node that has gone through these commands, in order."""
    history = StateHistory()
    for command in commands:
        if takes_effect(history.newest, command, safeguards):
            history = history.recorded(command)
    return history


def outcome(history: StateHistory, new: int, expired: int = FIRST_STATE) -> Outcome:
    """What became of a command with state id ``new`` that this node has gone through.

    ``expired`` is the greatest state id that is older than the history is kept (published code: one
    hour). Of a command that old a missing row tells nothing. The text keeps rows for ever:
    ``FIRST_STATE``.
    """
    if new in history.rows:
        return "applied"
    return "unknown" if new <= expired else "no-op"
