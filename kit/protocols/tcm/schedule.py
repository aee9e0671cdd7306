"""The schedule that drives a cluster forward: follow, stream, commit.

Every function is pure: it takes the model and a state, and gives ordinary actions of the model.
Whoever plays them decides how far to go: the Player takes one suggestion after the other, a dry
run the whole cluster at once, a simulation only the nodes that a commit waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kit.engine.log import Apply
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.rules.metadata import Advance, Event, Metadata, Sequence
from kit.protocols.tcm.rules.streams import awaits_streams, pending, tasks
from kit.protocols.tcm.tcm import Restart, Stream

# -- all of a kind at once ------------------------------------------------------------------------


def follow(m: TcmCluster, s: Any, names: Iterable[str] | None = None) -> Iterator[Any]:
    """Each of these nodes applies all that it lacks. None: all that are up and have a part."""
    if names is None:
        names = (name for name in m.tcm.present(s.tcm) if name not in s.tcm.down)
    chosen = set(names)
    for name, applied, held in zip(m.names, s.log.applied, s.log.held, strict=True):
        if name in chosen:
            lacking = len(s.log.entries) - applied - (held >> applied).bit_count()
            yield from (m.wrap["log"](Apply(name)) for _ in range(lacking))


def stream(m: TcmCluster, s: Any, node: str | None = None) -> Iterator[Any]:
    """Every streaming task that is still to be done (of one operation), permitted now or not."""
    for sequence in m.tcm.sequences(s.tcm):
        if node in (None, sequence.node) and awaits_streams(sequence):
            todo = tasks(sequence)
            for i in pending(sequence, m.tcm.streamed(s.tcm, sequence.node)):
                yield m.wrap["tcm"](Stream(*m.tcm.names_of(sequence, todo[i])))


def commit(m: TcmCluster, s: Any, node: str | None = None) -> Iterator[Any]:
    """The next step of every operation under way (or of one), permitted now or not."""
    for sequence in m.tcm.sequences(s.tcm):
        if node in (None, sequence.node):
            yield m.wrap["tcm"](Advance(sequence.node))


# -- what a commit waits for ----------------------------------------------------------------------


def bring_about(m: TcmCluster, s: Any, event: Any) -> Iterator[Any]:
    """Yield what leads to the commit of an event, and the commit itself, last, if it may happen.

    A step of an operation comes after its streaming; whoever is waited for comes back and follows.
    """
    action = m.wrap["tcm"](event)
    if not isinstance(event, Advance):
        if m.refusal(s, action) is None:
            yield action
        return
    for wanted in (*stream(m, s, event.node), action):
        for done in _once_ready(m, s, wanted):
            yield done
            s = m.apply(s, done)


def _once_ready(m: TcmCluster, s: Any, action: Any) -> Iterator[Any]:
    """The action, after those who are missing have come back and followed; nothing when in vain."""
    while (refusal := m.refusal(s, action)) is not None:
        moved = False
        for name in refusal.missing:
            for done in _return(m, s, name):
                yield done
                s, moved = m.apply(s, done), True
        if not moved:
            return
    yield action


def _return(m: TcmCluster, s: Any, name: str) -> Iterator[Any]:
    """A node comes back, if it may, and applies all that it lacks."""
    restart = m.wrap["tcm"](Restart(name))
    if name in s.tcm.down:
        if m.refusal(s, restart) is not None:
            return
        yield restart
    yield from follow(m, s, (name,))


class Driver:
    """A model's run so far: its state, and the actions that led there, each of them enabled."""

    def __init__(self, model: TcmCluster) -> None:
        self.model = model
        self.state: Any = model.start()
        self.actions: list[Any] = []

    @property
    def metadata(self) -> Metadata:
        """The newest metadata."""
        return self.model.snapshot(self.state).metadata

    def sequence(self, node: str) -> Sequence:
        """The operation of a node that is under way."""
        sequence = self.metadata.sequence(node)
        assert sequence is not None, f"{node} has nothing under way"
        return sequence

    def bring_about(self, event: Event) -> bool:
        """Commit an event; a step of an operation after all that it waits for. False: refused."""
        action = None
        for action in bring_about(self.model, self.state, event):
            self.state = self.model.apply(self.state, action)
            self.actions.append(action)
        return action is not None and action.action == event
