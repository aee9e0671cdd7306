"""Discovery: nodes that know some contact points each find one another, and one founds group 0.

A node asks everybody that it hears of, and tells in each request and answer whom it knows. Once all
of them have answered and nobody new is left, the one with the lowest Raft id founds the group. What
a node knows it stores before it answers; who has answered it forgets in a crash.
Source: "Establishing group 0 in a fresh cluster"; published code, ``service/raft/discovery``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Names = tuple[str, ...]
Boot = Literal["discovery", "saved state"]


class Peers(Struct, frozen=True, cache_hash=True):
    """What one node knows of the others. Names are in order; the lowest Raft id comes first.

    ``known`` is its table ``discovery``, with itself. ``answered`` have told it whom they know.
    ``group`` is the id of its group 0 in ``scylla_local`` (the name of its founder; empty: none),
    ``joining`` that of the group that it has asked to let it in, ``members`` whom a founder let in.
    ``crashes`` counts how often it started again.
    """

    name: str
    known: Names
    answered: Names
    group: str = ""
    joining: str = ""
    members: Names = ()
    crashes: int = 0

    @property
    def unanswered(self) -> Names:
        """Those that it has to wait for."""
        return tuple(name for name in self.known if name not in self.answered)


def fresh(name: str, seeds: Iterable[str]) -> Peers:
    """A node that starts for the first time, with its contact points."""
    return Peers(name, _with((name,), seeds), (name,))


def hearing(peers: Peers, names: Iterable[str]) -> Peers:
    """The node has heard of these nodes."""
    return replace(peers, known=_with(peers.known, names))


def answered_by(peers: Peers, source: str, names: Iterable[str]) -> Peers:
    """A node has answered, and told whom it knows."""
    heard = hearing(peers, (source, *names))
    return replace(heard, answered=_with(peers.answered, (source,)))


def founding(peers: Peers) -> Peers:
    """The node founds a group of which it is the only member."""
    return replace(peers, group=peers.name, members=(peers.name,))


def admitting(peers: Peers, name: str) -> Peers:
    """A founder lets a node in, by a change of the group's configuration."""
    return replace(peers, members=_with(peers.members, (name,)))


def restarted(peers: Peers) -> Peers:
    """What is left of a node after a crash: what it had stored."""
    return replace(peers, answered=(peers.name,), joining="", crashes=peers.crashes + 1)


def boot(peers: Peers) -> Boot:
    """What a node does when it starts: with a stored group 0 id it runs no discovery."""
    return "saved state" if peers.group else "discovery"


def obstacle(peers: Peers, *, closure: bool = True) -> str | None:
    """Why a node may not found the group now; None: it may.

    Without ``closure`` it does not wait for those that it knows, of whom it does not know the Raft
    id before they answer: it compares itself with those that have answered.
    """
    if peers.group or peers.joining:
        return f"{peers.name} has found a group"
    if closure and peers.unanswered:
        return f"{peers.name} waits for the answer of {', '.join(peers.unanswered)}"
    lowest = min(peers.known if closure else peers.answered)
    return None if lowest == peers.name else f"{lowest} has a lower Raft id than {peers.name}"


def makes_one_group(seeds: Mapping[str, Names]) -> bool:
    """Whether there is a node that every node reaches along contact points.

    Where there is none, two nodes may each find everybody that they can, and each found a group.
    """
    return any(all(target in _reached(seeds, name) for name in seeds) for target in seeds)


def _reached(seeds: Mapping[str, Names], start: str) -> set[str]:
    reached, ahead = {start}, [start]
    while ahead:
        new = set(seeds[ahead.pop()]) - reached
        reached |= new
        ahead += sorted(new)
    return reached


def _with(names: Names, more: Iterable[str]) -> Names:
    return tuple(sorted({*names, *more}))
