"""How Raft refines the log that takes each command in one step, on which ``group0`` runs.

A command is in that log once a server knows it to be committed, and a server has applied as many as
it knows. Entries of leaders and configurations are no commands. Of the documents a crash takes the
commit index, so that this holds there without crashes only; the server stores it.
"""

from __future__ import annotations

from typing import Any

from kit.engine.log import refined_by_logs
from kit.engine.model import Refinement
from kit.protocols.raft.state import Server
from kit.protocols.raft.words import entry_text


def commands(server: Server) -> tuple[str, ...]:
    """The commands that a server knows to be committed, in order."""
    log = server.log
    behind = log.part(max(log.first_index, log.snapshot.index + 1))
    known = [entry_text(each) for each in behind if each.index <= server.commit]
    texts = (text.partition(":")[2] for text in (*log.snapshot.state.split(), *known))
    return tuple(text for text in texts if text != "-" and "{" not in text)


def refinement_of(fine: Any) -> Refinement:
    """The refinement of a configuration of ``raft``."""
    requests = (each.partition(" at ")[0] for each in fine.requests)
    return refined_by_logs(fine, lambda s: [commands(n.server) for n in s.nodes], requests)
