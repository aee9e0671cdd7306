"""What a notebook opens of coordinators' journals."""

from collections.abc import Sequence
from pathlib import Path

from kit.edge.arguments import checked
from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.journal import journal_timeline
from kit.protocols.topology.rules.machines import Edition
from kit.widgets.player import Player


@checked
def replay_journal(
    logs: str | Path | Sequence[str | Path], *, edition: Edition = "server"
) -> Player:
    """A Player for the history in the journals of a cluster's coordinators.

    Raises BadInput for a file that cannot be read or is not such a journal.
    """
    history = topology_history(logs, edition=edition)
    return Player(journal_timeline(history, edition), controls=False)
