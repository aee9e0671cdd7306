"""Bringing events about in a tcm model: whoever is waited for comes back, follows, and streams."""

from __future__ import annotations

from typing import Any

from kit.protocols.tcm import schedule
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.rules.metadata import Event, Metadata, Sequence


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
        for action in schedule.bring_about(self.model, self.state, event):
            self.state = self.model.apply(self.state, action)
            self.actions.append(action)
        return action is not None and action.action == event
