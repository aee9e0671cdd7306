"""How a metadata service refines the log that takes each event in one step.

The coarser model is ``AtomicLog``, on which ``tcm`` runs. What nobody had before is appended there,
then each node whose log has grown applies that entry by entry, or holds it back above a gap. A step
in which no log grows changes nothing there. An operator's override is no such step: it forces what
nobody agreed to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kit.engine.declared import action
from kit.engine.log import AtomicLog, LogState, log_of
from kit.engine.model import Refinement
from kit.protocols.cms.rules.log import Entry, NodeLog


class OpenLog(AtomicLog):
    """The log, to which each of ``events`` with its id may be appended, from ``begun`` on."""

    events: tuple[tuple[str, str], ...] = ()
    begun: LogState

    def start(self) -> LogState:
        """What the finer model begins with."""
        return self.begun

    def coming(self, s: LogState) -> tuple[Entry, ...]:
        """What may be the next entry."""
        return tuple(Entry(len(s.entries) + 1, *each) for each in self.events)

    @action(struct=AtomicLog.append.struct, each=coming)
    def append(self, s: LogState, event: Any) -> LogState:
        """The log takes one more event, which gets the next epoch."""
        return LogState(s.entries.append(event), s.applied, s.held)


def refined_by(
    kind: Any, events: Callable[[Any], Iterable[tuple[str, str]]]
) -> Callable[[Any], Refinement]:
    """The refinement of a configuration of the model ``kind``, which may commit these events."""
    return lambda parameters: _refinement(kind(parameters), events)


def _refinement(fine: Any, events: Callable[[Any], Iterable[tuple[str, str]]]) -> Refinement:
    def project(s: Any) -> LogState:
        held = tuple(sum(1 << each.epoch - 1 for each in node.log.held) for node in s.nodes)
        return LogState(log_of(fine.history(s)), tuple(n.log.epoch for n in s.nodes), held)

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        new = fine.history(after)[len(fine.history(before)) :]
        steps = [AtomicLog.append(each) for each in new]
        for name, was, now in zip(fine.names, before.nodes, after.nodes, strict=True):
            steps += grown(name, was.log, now.log)
        return tuple(steps)

    coarse = OpenLog(AtomicLog.Parameters(nodes=fine.names, window=12))
    coarse.events, coarse.begun = tuple(events(fine)), project(fine.start())
    return Refinement(fine, coarse, project, image)


def grown(name: str, was: NodeLog, now: NodeLog) -> Iterator[Any]:
    """What a node does with entries that are new to it: those it held follow by themselves."""
    held = {each.epoch for each in was.held}
    for epoch in range(was.epoch + 1, now.epoch + 1):
        if epoch not in held:
            yield AtomicLog.apply_next(name)
    for each in now.held:
        if each.epoch not in held:
            yield AtomicLog.deliver(name, each.epoch - 1)
