"""What can happen in group 0: the guard's eight steps, the log's own steps, and faults.

Nodes are named, state ids are numbers.
"""

from __future__ import annotations

from msgspec import Struct


class BeginOperation(Struct, frozen=True, tag="begin"):
    """Step 1: a client asks for a change; its node takes the lock around its state machine."""

    operation: int


class ReadBarrier(Struct, frozen=True, tag="barrier"):
    """Step 2: the node has applied all that was committed when it asked the leader."""

    node: str


class ReadStateId(Struct, frozen=True, tag="read"):
    """Step 3: the node reads the newest state id from its history."""

    node: str


class MakeStateId(Struct, frozen=True, tag="make-id"):
    """Step 4: the node makes a greater one."""

    node: str


class Validate(Struct, frozen=True, tag="validate"):
    """Step 5: the node looks whether the change makes sense in its own state."""

    node: str


class Submit(Struct, frozen=True, tag="submit"):
    """Step 6: the command is on its way to the leader."""

    node: str


class LookUp(Struct, frozen=True, tag="look-up"):
    """Step 8: the command was gone through here; the history says what became of it."""

    node: str


class Retry(Struct, frozen=True, tag="retry"):
    """The node hears nothing of its command and submits it once more."""

    node: str


class CommitCommand(Struct, frozen=True, tag="commit"):
    """The leader and just enough other voters store a command that was submitted."""

    state_id: int
    by: tuple[str, ...]


class Replicate(Struct, frozen=True, tag="replicate"):
    """A node gets from the leader the entries that it lacks, and how many are committed."""

    node: str


class InstallSnapshot(Struct, frozen=True, tag="snapshot"):
    """A node that lacks entries which the leader has dropped gets the leader's state instead."""

    node: str


class ApplyCommand(Struct, frozen=True, tag="apply"):
    """A node goes through the next committed command: it takes effect there, or is a no-op."""

    node: str


class Elect(Struct, frozen=True, tag="elect"):
    """A majority makes a voter that stores the whole log the leader of the next term."""

    node: str


class StepDown(Struct, frozen=True, tag="step-down"):
    """A leader that was deposed hears of the newer term."""

    node: str


class Reconfigure(Struct, frozen=True, tag="reconfigure"):
    """The leader changes who votes."""

    voters: tuple[str, ...]


class CrashNode(Struct, frozen=True, tag="crash"):
    """A node stops; what it stored and applied stays, its guard does not."""

    node: str


class RestartNode(Struct, frozen=True, tag="restart"):
    """A node comes up again from what it stored."""

    node: str


class LoseCommand(Struct, frozen=True, tag="lose"):
    """A submitted command is lost on its way to the leader."""

    state_id: int


class PassHour(Struct, frozen=True, tag="pass-hour"):
    """An hour passes: what is in the histories now is older than they are kept."""


class SendRequest(Struct, frozen=True, tag="send"):
    """A coordinator sends a request with its version of the table to a replica."""

    request: int


class FetchSchema(Struct, frozen=True, tag="fetch"):
    """A replica goes through the log as far as the coordinator of a request has."""

    request: int


class ServeTableRequest(Struct, frozen=True, tag="serve"):
    """A replica serves a request with the schema that it has."""

    request: int


Group0Action = (
    BeginOperation
    | ReadBarrier
    | ReadStateId
    | MakeStateId
    | Validate
    | Submit
    | LookUp
    | Retry
    | CommitCommand
    | Replicate
    | InstallSnapshot
    | ApplyCommand
    | Elect
    | StepDown
    | Reconfigure
    | CrashNode
    | RestartNode
    | LoseCommand
    | PassHour
    | SendRequest
    | FetchSchema
    | ServeTableRequest
)
