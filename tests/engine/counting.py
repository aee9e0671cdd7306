"""A protocol on a network that is small enough to know everything about: a count with repeats.

A sends the additions 1 to n to B, which counts each and answers. B may get one twice, or in another
order; what it remembers decides whether its count is right.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from kit.engine.actors import ActorModel, ActorState, Post, Turn
from kit.engine.model import always, sometimes
from kit.engine.network import NetworkOptions
from kit.engine.registry import Entry
from kit.engine.safeguards import Safeguard, switched_off

Memory = Literal["all", "last", "nothing"]


class Add(Struct, frozen=True, cache_hash=True, tag="add"):
    """Count this one."""

    number: int


class Done(Struct, frozen=True, cache_hash=True, tag="done"):
    """That one is counted."""

    number: int


class Adder:
    """Sends all its additions at once; its state is a bit mask of those it knows to be counted."""

    name = "A"

    def __init__(self, adds: int) -> None:
        self.adds = adds

    def begin(self) -> Turn:
        """Everything is sent."""
        return 0, tuple(Post("B", Add(number)) for number in range(1, self.adds + 1))

    def step(self, state: int, event: Any) -> Turn:
        """An answer arrives."""
        return state | 1 << event.message.number, ()


class Counter(Struct, frozen=True, cache_hash=True):
    """How many additions were counted, and a bit mask of those that are remembered."""

    total: int = 0
    seen: int = 0


class Counting:
    """Counts what it does not remember, and answers in any case."""

    name = "B"

    def __init__(self, remembers: Memory) -> None:
        self.remembers = remembers

    def begin(self) -> Turn:
        """Nothing is counted."""
        return Counter(), ()

    def step(self, state: Counter, event: Any) -> Turn:
        """An addition arrives."""
        bit = 1 << event.message.number
        answer = (Post(event.source, Done(event.message.number)),)
        if self.remembers == "nothing":
            return Counter(state.total + 1), answer
        if state.seen & bit if self.remembers == "all" else bit <= state.seen:
            return state, answer
        seen = state.seen | bit if self.remembers == "all" else bit
        return Counter(state.total + 1, seen), answer


class CountingParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """How many additions there are, what B remembers, and what the network does."""

    adds: int = 2
    remembers: Memory = "all"
    network: NetworkOptions = NetworkOptions()


DE_DUPLICATION = Safeguard(
    "de-duplication",
    "S-92",
    "Each addition is counted once",
    ("counted-once",),
    {"adds": 1, "network": {"duplicates": 1}},
)


class CountingSafeguards(Struct, frozen=True, kw_only=True):
    """The one switch that there is."""

    de_duplication: bool = True


class CountingModel(ActorModel):
    """Additions that are sent once, on any network."""

    def __init__(self, parameters: CountingParameters, off: tuple[str, ...] = ()) -> None:
        self.off = off
        on = switched_off(CountingSafeguards, off)
        remembers: Memory = parameters.remembers if on.de_duplication else "nothing"
        actors = (Adder(parameters.adds), Counting(remembers))
        super().__init__(
            "counting", "Counting with repeats", actors, parameters.network, message=Add | Done
        )
        self.parameters = parameters
        self.all_done = (1 << parameters.adds + 1) - 2
        self.safeguards = (DE_DUPLICATION,)
        self.properties = (
            always("counted-once", "No addition is counted twice", self._counted_once),
            always("counted-all", "What was answered was counted", self._counted_all),
            sometimes("done", "A knows that all is counted", lambda s: s.nodes[0] == self.all_done),
            sometimes("quiet", "Nothing is in flight", lambda s: not s.network.in_flight),
        )

    def _counted_once(self, s: ActorState) -> str | None:
        total, adds = s.nodes[1].total, self.parameters.adds
        return f"{total} of {adds} are counted" if total > adds else None

    def _counted_all(self, s: ActorState) -> str | None:
        total = s.nodes[1].total
        if s.nodes[0] == self.all_done and total < self.parameters.adds:
            return f"all are answered, {total} counted"
        return None


def counting(
    adds: int = 2, remembers: Memory = "all", off: tuple[str, ...] = (), **options: Any
) -> CountingModel:
    """The model with these options of the network."""
    return CountingModel(CountingParameters(adds, remembers, NetworkOptions(**options)), off)


COUNTING = Entry(
    name="counting",
    title="Counting with repeats",
    parameters=CountingParameters,
    build=CountingModel,
    safeguards=(DE_DUPLICATION,),
)
