"""How Raft refines the log that takes each command in one step, on which ``group0`` runs.

A command is in that log once a server knows it to be committed, and a server has applied as many as
it knows. Entries of leaders and configurations are no commands. Of the documents a crash takes the
commit index, so that this holds there without crashes only; the server stores it.
"""

from __future__ import annotations

from typing import Any

from kit.engine.declared import action
from kit.engine.log import AtomicLog, LogState, log_of
from kit.engine.model import Refinement
from kit.protocols.raft.state import Server
from kit.protocols.raft.words import entry_text


class OpenLog(AtomicLog):
    """The log, to which each of ``commands`` may be appended."""

    commands: tuple[str, ...] = ()

    @action(struct=AtomicLog.append.struct, each=lambda m, s: m.commands)
    def append(self, s: LogState, event: Any) -> LogState:
        """The log takes one more command."""
        return LogState(s.entries.append(event), s.applied, s.held)


def commands(server: Server) -> tuple[str, ...]:
    """The commands that a server knows to be committed, in order."""
    log = server.log
    behind = log.part(max(log.first_index, log.snapshot.index + 1))
    known = [entry_text(each) for each in behind if each.index <= server.commit]
    texts = (text.partition(":")[2] for text in (*log.snapshot.state.split(), *known))
    return tuple(text for text in texts if text != "-" and "{" not in text)


def refinement_of(fine: Any) -> Refinement:
    """The refinement of a configuration of ``raft``."""

    def project(s: Any) -> LogState:
        known = [commands(node.server) for node in s.nodes]
        counts = tuple(map(len, known))
        longest = known[counts.index(max(counts))]
        return LogState(log_of(longest), counts, (0,) * len(known))

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        was, now = project(before), project(after)
        new = tuple(now.entries)[len(was.entries) :]
        grown = zip(fine.names, was.applied, now.applied, strict=True)
        applied = (name for name, old, index in grown for _ in range(old, index))
        return (*map(AtomicLog.append, new), *map(AtomicLog.apply_next, applied))

    coarse = OpenLog(AtomicLog.Parameters(nodes=fine.names))
    coarse.commands = tuple(each.partition(" at ")[0] for each in fine.requests)
    return Refinement(fine, coarse, project, image)
