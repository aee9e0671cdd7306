"""How a metadata service refines the log that takes each event in one step.

The coarser model is ``AtomicLog``, on which ``tcm`` runs. What nobody had before is appended there,
then each node whose log has grown applies that entry by entry, or holds it back above a gap. A step
in which no log grows changes nothing there. An operator's override is no such step: it forces what
nobody agreed to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kit.model.log import AtomicLog, LogState, OpenLog, log_of
from kit.model.model import Refinement
from kit.protocols.cms.rules.log import Entry, NodeLog
from kit.search.search import NO_LIMIT


def refined_by(
    kind: Any, events: Callable[[Any], Iterable[tuple[str, str]]], parameters: Any
) -> Refinement:
    """The refinement of a configuration of the model ``kind``, which may commit these events."""
    fine = kind(parameters)

    def project(s: Any) -> LogState:
        held = tuple(sum(1 << each.epoch - 1 for each in node.log.held) for node in s.nodes)
        return LogState(log_of(fine.history(s)), tuple(n.log.epoch for n in s.nodes), held)

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        new = fine.history(after)[len(fine.history(before)) :]
        steps = [AtomicLog.append(each) for each in new]
        for name, was, now in zip(fine.names, before.nodes, after.nodes, strict=True):
            steps += grown(name, was.log, now.log)
        return tuple(steps)

    # How far ahead an entry can arrive is the finer model's business.
    coarse = OpenLog(AtomicLog.Parameters(nodes=fine.names, window=NO_LIMIT))
    offered = tuple(events(fine))
    coarse.offered = lambda epoch: (Entry(epoch, *each) for each in offered)
    coarse.begun = project(fine.start())
    return Refinement(fine, coarse, project, image)


def grown(name: str, was: NodeLog, now: NodeLog) -> Iterator[Any]:
    """The steps of a node with entries that are new to it: those it held follow by themselves."""
    held = {each.epoch for each in was.held}
    for epoch in range(was.epoch + 1, now.epoch + 1):
        if epoch not in held:
            yield AtomicLog.apply_next(name)
    for each in now.held:
        if each.epoch not in held:
            yield AtomicLog.deliver(name, each.epoch - 1)
