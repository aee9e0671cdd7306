"""One node of the legacy world: what it stores, what it has heard, what it answers."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.actors import Post, Turn
from kit.engine.network import Envelope
from kit.protocols.gossip.rules.endpoints import (
    SCHEMA,
    Digests,
    View,
    compared,
    digests,
    endpoint_of,
    heard,
    saying,
    since,
    started,
)
from kit.protocols.gossip.rules.mutations import Mutations, merged, version_of
from kit.protocols.gossip.rules.schema import SchemaChange, cells_of


class LegacyNode(Struct, frozen=True, cache_hash=True):
    """A node: its cells, its view of all endpoints, and what it has done.

    ``past`` are versions whose cells it has: those that it had, and those that it has merged. It
    pulls none of them.
    ``done`` gives the number of each change that a client asked of it with its timestamp.
    """

    name: str
    cells: Mutations
    view: View
    past: tuple[str, ...] = ()
    done: tuple[tuple[int, int], ...] = ()

    @property
    def version(self) -> str:
        """The version of its schema, which it gossips."""
        return endpoint_of(self.view, self.name).says(SCHEMA)


class Syn(Struct, frozen=True, tag="syn", cache_hash=True):
    """This is how much I know of each endpoint."""

    digests: Digests


class Ack(Struct, frozen=True, tag="ack", cache_hash=True):
    """I know less of these endpoints; of those I know this, which is newer."""

    lacking: Digests
    newer: View


class Ack2(Struct, frozen=True, tag="ack2", cache_hash=True):
    """This is what you asked for."""

    newer: View


class PullRequest(Struct, frozen=True, tag="pull", cache_hash=True):
    """Send me all cells of your schema; I heard of this version of it."""

    version: str


class PullAnswer(Struct, frozen=True, tag="cells", cache_hash=True):
    """These are all cells of my schema, whose hash is ``version``; you heard of ``wanted``."""

    wanted: str
    version: str
    cells: Mutations


GossipMessage = Syn | Ack | Ack2 | PullRequest | PullAnswer
OF_A_ROUND = (Syn, Ack, Ack2)
OF_A_PULL = (PullRequest, PullAnswer)


class BeginRound(Struct, frozen=True, tag="gossip"):
    """A node gossips with another one."""

    node: str
    target: str


class PullCells(Struct, frozen=True, tag="pull"):
    """A node asks another one, which gossips another version, for its schema."""

    node: str
    source: str


class MakeChange(Struct, frozen=True, tag="change"):
    """A client asks for the change of this number, of the node that the change names."""

    number: int


class TimedChange(Struct, frozen=True):
    """A statement that a client asks for, by its number, with the timestamp of the node's clock."""

    number: int
    change: SchemaChange
    timestamp: int


class LegacyActor:
    """What a node does on each message, and when a client or its timer asks."""

    def __init__(self, name: str, cells: Mutations, view: View) -> None:
        """A node with what all nodes know at the start."""
        self.name, self.cells, self.view = name, cells, view

    def begin(self) -> Turn:
        """It is up, and knows all that was done before."""
        return LegacyNode(self.name, self.cells, self.view), ()

    def step(self, state: LegacyNode, event: object) -> Turn:
        """What a message, or an event of its own, makes of it."""
        match event:
            case BeginRound(_, target):
                return state, (Post(target, Syn(digests(state.view))),)
            case PullCells(_, source):
                theirs = endpoint_of(state.view, source).says(SCHEMA)
                return state, (Post(source, PullRequest(theirs)),)
            case TimedChange(number, change, timestamp):
                cells = cells_of(change, timestamp, self.name)
                done = tuple(sorted((*state.done, (number, timestamp))))
                return replace(_with_cells(state, cells), done=done), ()
            case Envelope():
                return _received(state, event)
        raise TypeError(event)


def begun(nodes: tuple[str, ...], cells: Mutations) -> View:
    """What every node knows at the start: all endpoints, with one version."""
    view: View = ()
    for name in nodes:
        view = started(view, name, 1, SCHEMA=version_of(cells))
    return view


def _received(state: LegacyNode, envelope: Envelope[GossipMessage]) -> Turn:
    source = envelope.source
    match envelope.message:
        case Syn(theirs):
            lacking, newer = compared(state.view, theirs)
            return state, (Post(source, Ack(lacking, newer)),)
        case Ack(lacking, newer):
            after = replace(state, view=heard(state.view, newer))
            answer = (Post(source, Ack2(since(after.view, lacking))),) if lacking else ()
            return after, answer
        case Ack2(newer):
            return replace(state, view=heard(state.view, newer)), ()
        case PullRequest(version):
            return state, (Post(source, PullAnswer(version, state.version, state.cells)),)
        case PullAnswer(wanted, version, cells):
            return _with_cells(state, cells, wanted, version), ()


def _with_cells(state: LegacyNode, cells: Mutations, *versions: str) -> LegacyNode:
    """The node with these cells (all those of ``versions``) merged; it says its new version."""
    mine = merged(state.cells, cells)
    version = version_of(mine)
    past = {*state.past, *versions, state.version} - {version}
    view = saying(state.view, state.name, SCHEMA=version)
    return replace(state, cells=mine, view=view, past=tuple(sorted(past)))
