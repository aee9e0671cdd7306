"""A protocol on a network that is small enough to know everything about: a count with repeats.

A sends the additions 1 to n to B, which counts each and answers. B may get one twice, or in another
order; what it remembers decides whether its count is right.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from kit.model.actors import ActorState, NetworkModel, Post, Turn, receives
from kit.model.declared import always, entry, parameter, safeguard, sometimes
from kit.model.network import Envelope, NetworkOptions

Memory = Literal["all", "last", "nothing"]


class Add(Struct, frozen=True, cache_hash=True, tag="add"):
    """Count this one."""

    number: int


class Done(Struct, frozen=True, cache_hash=True, tag="done"):
    """That one is counted."""

    number: int


class Counter(Struct, frozen=True, cache_hash=True):
    """How many additions were counted, and a bit mask of those that are remembered."""

    total: int = 0
    seen: int = 0


class Counting(NetworkModel):
    """Additions that are sent once, on any network; B counts what it does not remember."""

    name, title = "counting", "Counting with repeats"

    adds: int = parameter(2, "how many additions there are")
    remembers: Memory = parameter("all", "what B remembers of those it counted")
    network: NetworkOptions = parameter(NetworkOptions(), "what the network does")
    de_duplication: bool = safeguard(
        "S-92",
        "Each addition is counted once",
        ("counted-once",),
        smallest={"adds": 1, "network": {"duplicates": 1}},
    )

    def set_up(self) -> None:
        """A adds, B counts."""
        self.connect(("A", "B"), self.network)
        self.all_done = (1 << self.adds + 1) - 2

    def begin(self, node: str) -> Turn:
        """A sends all its additions at once; its state is a mask of those it knows as counted."""
        if node == "B":
            return Counter(), ()
        return 0, tuple(Post("B", Add(number)) for number in range(1, self.adds + 1))

    @receives(Done)
    def answered(self, state: int, envelope: Envelope[Done]) -> Turn:
        """An answer arrives."""
        return state | 1 << envelope.message.number, ()

    @receives(Add)
    def counted(self, state: Counter, envelope: Envelope[Add]) -> Turn:
        """An addition arrives, and is answered in any case."""
        bit = 1 << envelope.message.number
        answer = (Post(envelope.source, Done(envelope.message.number)),)
        remembers = self.remembers if self.de_duplication else "nothing"
        if remembers == "nothing":
            return Counter(state.total + 1), answer
        if state.seen & bit if remembers == "all" else bit <= state.seen:
            return state, answer
        seen = state.seen | bit if remembers == "all" else bit
        return Counter(state.total + 1, seen), answer

    @always()
    def counted_once(self, s: ActorState) -> str | None:
        """No addition is counted twice."""
        total = s.nodes[1].total
        return f"{total} of {self.adds} are counted" if total > self.adds else None

    @always()
    def counted_all(self, s: ActorState) -> str | None:
        """What was answered was counted."""
        total = s.nodes[1].total
        if s.nodes[0] == self.all_done and total < self.adds:
            return f"all are answered, {total} counted"
        return None

    @sometimes()
    def done(self, s: ActorState) -> bool:
        """A knows that all is counted."""
        return bool(s.nodes[0] == self.all_done)

    @sometimes()
    def quiet(self, s: ActorState) -> bool:
        """Nothing is in flight."""
        return not s.network.in_flight


def counting(
    adds: int = 2, remembers: Memory = "all", off: tuple[str, ...] = (), **options: Any
) -> Counting:
    """The model with these options of the network."""
    return Counting(None, off, adds=adds, remembers=remembers, network=NetworkOptions(**options))


COUNTING = entry(Counting)
