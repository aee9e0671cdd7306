"""A protocol with disks, timers and clients, small enough to know everything about: a kept word.

A client gives A a word to keep. A writes it down and tells B, which writes it down too and answers;
then A answers the client. A timer of A tells B once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from kit.errors import Refusal
from kit.model.actors import Post, receives
from kit.model.declared import State, always, entry, parameter, safeguard, sometimes
from kit.model.machines import Answer, MachineModel, MachineOptions, MachineState, Turn
from kit.model.network import Envelope


class Keep(Struct, frozen=True, cache_hash=True, tag="keep"):
    """Keep this word."""

    word: str


class Kept(Struct, frozen=True, cache_hash=True, tag="kept"):
    """That word is kept."""

    word: str


class Keeper(State, frozen=True, cache_hash=True):
    """What a node has written down, and whether it waits for the other (in memory only)."""

    word: str = ""
    waits: bool = False


class Keeping(MachineModel):
    """One word on two disks."""

    name, title = "keeping", "A kept word"

    network: MachineOptions = parameter(MachineOptions(requests=1), "what may happen")
    persist_first: bool = safeguard(
        "S-93",
        "A node writes down what it promises before it promises it",
        ("answered-is-kept",),
        smallest={"network": {"requests": 1, "crashes": 1, "writes_apart": True}},
    )

    def set_up(self) -> None:
        """A is asked, B is told."""
        self.connect(("A", "B"), self.network)

    def begin(self, node: str) -> Turn:
        """Nobody has a word."""
        return Keeper(), ()

    def disk(self, state: Keeper) -> str:
        """The word."""
        return state.word

    def restarted(self, node: str, disk: str) -> Keeper:
        """It knows the word, and not whom it waits for."""
        return Keeper(disk)

    def wakes(self, node: str, state: Keeper) -> Turn:
        """A tells B again."""
        return self.fires(node, state, "again") if node == "A" and state.word else (state, ())

    def timers(self, state: Keeper) -> tuple[str, ...]:
        """Who waits asks again."""
        return ("again",) if state.waits else ()

    def fires(self, node: str, state: Keeper, timer: str) -> Turn:
        """B is told once more."""
        return state.but(waits=True), (Post("B", Keep(state.word)),)

    def asks(self, s: MachineState) -> Iterable[str]:
        """A client has one word."""
        return ("hello",)

    def requested(self, node: str, state: Keeper, what: str) -> Turn | Refusal:
        """A keeps it and tells B."""
        if node != "A":
            return Refusal(f"{node} takes no words")
        return Keeper(what, True), (Post("B", Keep(what)),)

    @receives(Keep)
    def keep(self, state: Keeper, envelope: Envelope[Keep]) -> Turn:
        """B keeps it and says so."""
        return Keeper(envelope.message.word), (Post(envelope.source, Kept(envelope.message.word)),)

    @receives(Kept)
    def kept(self, state: Keeper, envelope: Envelope[Kept]) -> Turn:
        """A answers the client, once."""
        answer = (Answer(envelope.message.word, "kept"),) if state.waits else ()
        return state.but(waits=False), answer

    @always()
    def answered_is_kept(self, s: MachineState) -> str | None:
        """What a client was told is kept is not lost."""
        lost = (name for n, name in zip(s.nodes, self.names, strict=True) if not n.word)
        return next((f"{name} has lost it" for name in lost), None) if s.answers else None

    @sometimes()
    def answered(self, s: MachineState) -> bool:
        """The client has an answer."""
        return bool(s.answers)


def keeping(off: tuple[str, ...] = (), **options: Any) -> Keeping:
    """The model with these options."""
    return Keeping(None, off, network=MachineOptions(**{"requests": 1, "ticks": 0, **options}))


KEEPING = entry(Keeping)
