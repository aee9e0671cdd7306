"""Gossip: what a node says of itself, and how others come to know it.

Each endpoint has a generation (it grows when the node starts) and application states with versions
(they grow with every change). Of two views of an endpoint the newer is kept, by generation and
version; nobody but the endpoint itself writes it. Two nodes compare digests and send each other
what the other lacks: SYN, ACK, ACK2.
Source: published code of both databases, ``Gossiper`` and ``gossiper``; "Group 0 schema versioning"
for the state ``SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

STATUS = "STATUS"
TOKENS = "TOKENS"
SCHEMA = "SCHEMA"
HOST_ID = "HOST_ID"
SUPPORTED_FEATURES = "SUPPORTED_FEATURES"
UNKNOWN = 0
"""The generation of an endpoint of which a node has not heard."""


class ApplicationState(Struct, frozen=True, cache_hash=True, order=True):
    """Something that an endpoint says of itself: ``SCHEMA`` is ``1f03c2``, since version 4."""

    name: str
    value: str
    version: int


class EndpointState(Struct, frozen=True, cache_hash=True, order=True):
    """What a node knows of an endpoint: its generation and its states, sorted by name."""

    endpoint: str
    generation: int
    states: tuple[ApplicationState, ...] = ()

    @property
    def version(self) -> int:
        """The greatest version of its states."""
        return max((state.version for state in self.states), default=0)

    def says(self, name: str) -> str:
        """The value of a state; empty when it says nothing of it."""
        return next((state.value for state in self.states if state.name == name), "")


class EndpointDigest(Struct, frozen=True, cache_hash=True, order=True):
    """How much a node knows of an endpoint, and nothing of what."""

    endpoint: str
    generation: int
    version: int


View = tuple[EndpointState, ...]
"""What one node knows of all endpoints, sorted by their names; of itself, too."""
Digests = tuple[EndpointDigest, ...]


def endpoint_of(view: View, endpoint: str) -> EndpointState:
    """What a view says of an endpoint; of an unknown one, nothing in generation 0."""
    known = (state for state in view if state.endpoint == endpoint)
    return next(known, EndpointState(endpoint, UNKNOWN))


def saying(view: View, endpoint: str, **states: str) -> View:
    """The view of a node that says something new of itself: each state gets the next versions.

    A state that it says already stays as it is.
    """
    own = endpoint_of(view, endpoint)
    version = own.version
    by_name = {state.name: state for state in own.states}
    for name, value in states.items():
        if own.says(name) != value:
            version += 1
            by_name[name] = ApplicationState(name, value, version)
    return _with(view, replace(own, states=tuple(sorted(by_name.values()))))


def started(view: View, endpoint: str, generation: int, **states: str) -> View:
    """The view of a node that starts, with nothing said of itself before in this generation."""
    return saying(_with(view, EndpointState(endpoint, generation)), endpoint, **states)


def digests(view: View) -> Digests:
    """What a node sends with SYN."""
    return tuple(EndpointDigest(s.endpoint, s.generation, s.version) for s in view)


def compared(view: View, theirs: Digests) -> tuple[Digests, View]:
    """What a node answers to SYN, as ACK: what it asks for, and what it knows better."""
    known = {digest.endpoint: digest for digest in theirs}
    ours = {digest.endpoint: digest for digest in digests(view)}
    lacking = tuple(
        ours.get(name, EndpointDigest(name, UNKNOWN, 0))
        for name, digest in known.items()
        if _age(digest) > _age(ours.get(name))
    )
    behind = (
        known.get(name, EndpointDigest(name, UNKNOWN, 0))
        for name, digest in ours.items()
        if _age(digest) > _age(known.get(name))
    )
    return lacking, since(view, behind)


def since(view: View, known: Iterable[EndpointDigest]) -> View:
    """The states of endpoints that are newer than these digests: the answer to ACK, as ACK2."""
    newer = []
    for digest in known:
        own = endpoint_of(view, digest.endpoint)
        after = digest.version if own.generation == digest.generation else 0
        states = tuple(state for state in own.states if state.version > after)
        newer.append(replace(own, states=states))
    return tuple(newer)


@lru_cache(1 << 14)  # runs meet the same few views again and again
def heard(view: View, newer: View) -> View:
    """The view of a node that has received states of endpoints: what is older it leaves alone."""
    for state in newer:
        own = endpoint_of(view, state.endpoint)
        if state.generation > own.generation:
            view = _with(view, state)
        elif state.generation == own.generation:
            view = _with(view, replace(own, states=_newest(own.states, state.states)))
    return view


def forgetting(view: View, endpoint: str) -> View:
    """The view of a node that takes an endpoint out: it was silent for too long."""
    return tuple(state for state in view if state.endpoint != endpoint)


def _newest(
    mine: tuple[ApplicationState, ...], theirs: tuple[ApplicationState, ...]
) -> tuple[ApplicationState, ...]:
    by_name = {state.name: state for state in mine}
    for state in theirs:
        if state.name not in by_name or by_name[state.name].version < state.version:
            by_name[state.name] = state
    return tuple(sorted(by_name.values()))


def _age(digest: EndpointDigest | None) -> tuple[int, int]:
    return (UNKNOWN, 0) if digest is None else (digest.generation, digest.version)


def _with(view: View, state: EndpointState) -> View:
    others = forgetting(view, state.endpoint)
    return tuple(sorted((*others, state)))
