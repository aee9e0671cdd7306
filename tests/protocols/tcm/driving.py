"""Driving a cluster by verbs, as a person would: what the tests of the protocol have in common."""

from __future__ import annotations

from typing import Any

from kit.errors import Refusal
from kit.model.model import verdicts
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters
from kit.ring.placements import stable_placement

Rows = tuple[tuple[int, int, tuple[str, ...], tuple[str, ...]], ...]


class Drive:
    """A cluster and its present state. ``states`` holds all states since the start."""

    def __init__(self, *, off: tuple[str, ...] = (), **parameters: Any) -> None:
        self.model = TcmCluster(TcmParameters(**parameters), off)
        self.states = [self.model.start()]

    @property
    def state(self) -> Any:
        """The present state."""
        return self.states[-1]

    @property
    def metadata(self) -> Any:
        """The newest metadata."""
        return self.model.snapshot(self.state).metadata

    def find(self, verb: str) -> Any:
        """The action with this verb, enabled or not."""
        enabled = list(self.model.actions(self.state))
        tried = [action for action, _ in self.model.waiting(self.state)]
        verbs = {self.model.verb(action): action for action in (*enabled, *tried)}
        assert verb in verbs, f"{verb!r} is not among {sorted(verbs)}"
        return verbs[verb]

    def verbs(self) -> list[str]:
        """The verbs of what is enabled."""
        return [self.model.verb(action) for action in self.model.actions(self.state)]

    def refusal(self, verb: str) -> Refusal:
        """Why the action may not happen now."""
        refusal = self.model.refusal(self.state, self.find(verb))
        assert refusal is not None, f"{verb} is enabled"
        return refusal

    def act(self, *verbs: str) -> Drive:
        """Do these, one after the other; each must be enabled."""
        for verb in verbs:
            self.states.append(self.model.act(self.state, self.find(verb)))
        return self

    def repeat(self, word: str) -> Drive:
        """Do all that begins with this word until nothing more does."""
        while chosen := [
            action
            for action in self.model.actions(self.state)
            if self.model.verb(action).startswith(word)
        ]:
            for action in chosen:  # none of them hinders another
                self.states.append(self.model.act(self.state, action))
        return self

    def ready(self) -> Drive:
        """Bring everybody up to date and let everything be streamed."""
        return self.repeat("apply ").repeat("stream ").repeat("apply ")

    def commit(self, node: str, times: int = 1) -> Drive:
        """The next steps of the node's operation, once all they wait for is done."""
        for _ in range(times):
            self.ready().act(f"commit {node}")
        return self

    def finish(self, node: str) -> Drive:
        """The node's operation to its end."""
        while self.metadata.sequence(node) is not None:
            self.commit(node)
        return self

    def complete(self, operation: str) -> Drive:
        """A whole operation, from its beginning."""
        node = operation.split()[2 if operation.startswith("replace") else 1]
        return self.act(operation).finish(node)

    def operation(self, node: str | None = None) -> facts.OperationRow:
        """The operation under way (of ``node``)."""
        found = facts.operations(self.model, self.state)
        return next(row for row in found if node in (None, row.node))

    def table(self, keyspace: str | None = None) -> Rows:
        """The placements as plain rows: bounds, read group, write group."""
        return tuple(
            (row.left, row.right, row.reads, row.writes)
            for row in facts.rows(self.model, self.state, keyspace)
        )

    def groups(self, token: int, keyspace: str | None = None) -> tuple[set[str], set[str]]:
        """The read and the write group of a token, as sets."""
        return self.groups_at(self.state, token, keyspace)

    def groups_at(
        self, state: Any, token: int, keyspace: str | None = None
    ) -> tuple[set[str], set[str]]:
        """The read and the write group of a token in one of the states."""
        row = facts.owners(self.model, state, token, keyspace)
        return set(row.reads), set(row.writes)

    def dark(self) -> list[str]:
        """The witnesses of all lamps that are out."""
        return [
            f"{verdict.name}: {verdict.witness}"
            for verdict in verdicts(self.model, self.state)
            if not verdict.ok
        ]

    def stable(self) -> bool:
        """Whether the placements are those of the present ring, in the order of its walk."""
        snapshot = self.model.snapshot(self.state)
        metadata = snapshot.metadata
        return snapshot.placements == tuple(
            stable_placement(metadata.ring, g) for g in metadata.groups
        )
