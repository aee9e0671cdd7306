"""How submitting an event refines the log that takes it in one step.

The coarser model is ``AtomicLog``, on which ``tcm`` runs. An entry is appended there when a
node first applies it:

==============================  ===============================================
commit                          log
==============================  ===============================================
learn, append: a new entry      append; the member applies it
a member learns an old entry    apply
deliver                         apply; above a gap: deliver
a log from a peer or acceptor   catch up
all else                        nothing
==============================  ===============================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.declared import action
from kit.engine.log import AtomicLog, Log, LogState
from kit.engine.model import Refinement
from kit.protocols.cms.rules.log import Entry


class OpenLog(AtomicLog):
    """The log, to which each of ``events`` with its id may be appended."""

    events: tuple[tuple[str, str], ...] = ()

    def coming(self, s: LogState) -> tuple[Entry, ...]:
        """What may be the next entry."""
        return tuple(Entry(len(s.entries) + 1, *each) for each in self.events)

    @action(struct=AtomicLog.append.struct, each=coming)
    def append(self, s: LogState, event: Any) -> LogState:
        """The log takes one more event, which gets the next epoch."""
        return LogState(s.entries.append(event), s.applied, s.held)


def refined_by(kind: Any) -> Callable[[Any], Refinement]:
    """The refinement of a configuration of the model ``kind``."""
    return lambda parameters: _refinement(kind(parameters))


def _refinement(fine: Any) -> Refinement:
    coarse = OpenLog(AtomicLog.Parameters(nodes=fine.names, window=9, peers=True))
    coarse.events = tuple(
        (each.event, fine.id_of(request)) for request, each in enumerate(fine.submissions)
    )

    def project(s: Any) -> LogState:
        log = Log()
        for each in fine.history(s):
            log = log.append(each)
        held = tuple(sum(1 << each.epoch - 1 for each in node.log.held) for node in s.nodes)
        return LogState(log, tuple(node.log.epoch for node in s.nodes), held)

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        if not hasattr(action, "node"):
            return ()
        place = fine.number(action.node)
        was, now = before.nodes[place].log, after.nodes[place].log
        if now.held != was.held and now.epoch == was.epoch and hasattr(action, "epoch"):
            return (AtomicLog.deliver(action.node, action.epoch - 1),)
        if now.epoch == was.epoch:
            return ()
        if peer := getattr(action, "peer", getattr(action, "acceptor", "")):
            return (AtomicLog.catch_up(action.node, peer),)
        new = fine.history(after)[len(fine.history(before)) :]
        return (*map(AtomicLog.append, new), AtomicLog.apply_next(action.node))

    return Refinement(fine, coarse, project, image)
