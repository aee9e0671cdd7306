"""Bringing events about in a tcm model: whoever is waited for comes back, follows, and streams."""

from __future__ import annotations

from typing import Any

from kit.engine.log import Apply
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.model import Restart, Stream
from kit.protocols.tcm.rules.metadata import Advance, Event, Metadata, Sequence


class Driver:
    """A model's run so far: its state, and the actions that led there, each of them enabled."""

    def __init__(self, model: TcmCluster) -> None:
        self.model = model
        self.state: Any = model.start()
        self.actions: list[Any] = []
        self._streams = next(rule for rule in model.tcm.rules if rule.action is Stream)

    @property
    def metadata(self) -> Metadata:
        """The newest metadata."""
        return self.model.snapshot(self.state).metadata

    def sequence(self, node: str) -> Sequence:
        """The operation of a node that is under way."""
        found = self.metadata.sequence(node)
        assert found is not None, f"{node} has nothing under way"
        return found

    def bring_about(self, event: Event) -> bool:
        """Commit an event; a step of an operation after all that it waits for. False: refused."""
        if not isinstance(event, Advance):
            return self._do("tcm", event)
        for stream in tuple(self._streams.candidates(self.state.tcm)):
            if stream.node == event.node:
                self._once_ready(stream)
        return self._once_ready(event)

    def _once_ready(self, action: Stream | Advance) -> bool:
        """Do it, after those who are missing have come back and followed."""
        wrapped = self.model.wrap["tcm"](action)
        while (refusal := self.model.refusal(self.state, wrapped)) is not None:
            before = len(self.actions)
            for name in refusal.missing:
                self._catch_up(name)
            if len(self.actions) == before:
                return False
        self._apply(wrapped)
        return True

    def _catch_up(self, name: str) -> None:
        if name in self.state.tcm.down:
            self._do("tcm", Restart(name))
        if not self._do("log", Apply(name)):
            return
        learn = self.model.wrap["log"](Apply(name))
        rule = self.model.rule_of(learn)
        assert rule is not None
        # One epoch after the other: whether there is another one is all that changes meanwhile.
        while rule.condition(self.state, learn) is None:
            self._apply(learn)

    def _do(self, part: str, action: Any) -> bool:
        wrapped = self.model.wrap[part](action)
        if self.model.refusal(self.state, wrapped) is not None:
            return False
        self._apply(wrapped)
        return True

    def _apply(self, wrapped: Any) -> None:
        self.state = self.model.apply(self.state, wrapped)
        self.actions.append(wrapped)
