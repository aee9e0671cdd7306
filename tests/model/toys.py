"""Models small enough to know everything about, and walks over any model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.model.log import Append, Apply, AtomicLog, LogParameters
from kit.model.model import Model, Property, Rule, Safeguard, always, sometimes, switched_off
from kit.model.registry import Entry, Scenario


class Lift(Struct, frozen=True):
    """The floor a lift is on, and whether its door is open."""

    floor: int
    door: bool = False


class Up(Struct, frozen=True, tag="up"):
    """One floor up."""


class Down(Struct, frozen=True, tag="down"):
    """One floor down."""


class Door(Struct, frozen=True, tag="door"):
    """The door opens or closes."""

    open: bool


class LiftSafeguards(Struct, frozen=True, kw_only=True):
    """The one switch that there is."""

    door: bool = True


class LiftParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """``floors``: how many there are (1 to 50)."""

    floors: int = 3


class LiftModel(Model[Lift, Any]):
    """A lift, as a student would write it: nothing here but the model."""

    name = "lift"
    title = "A lift"
    State = Lift
    Action = Up | Down | Door

    def __init__(self, parameters: LiftParameters, off: tuple[str, ...] = ()) -> None:
        if not 1 <= parameters.floors <= 50:
            raise BadInput("floors", parameters.floors, "a number from 1 to 50")
        self.parameters: LiftParameters = parameters
        self.floors = parameters.floors
        self.off = off
        self.on = switched_off(LiftSafeguards, off)
        self.rules = (
            Rule(Up, "move", lambda s: ((Up(), 1),), self._move, lambda a: 1),
            Rule(Down, "move", lambda s: ((Down(), -1),), self._move, lambda a: -1),
            Rule(
                *(Door, "door", lambda s: ((Door(not s.door), not s.door),)),
                *(lambda s, door: Lift(s.floor, door), lambda a: a.open),
            ),
        )
        self.properties: tuple[Property, ...] = (
            always("inside", "It stays inside the house", self._inside),
            sometimes("top", "It comes to the top", lambda s: s.floor == parameters.floors - 1),
        )

    def start(self) -> Lift:
        """On the ground, the door closed."""
        return Lift(0)

    def _move(self, s: Lift, by: int) -> Lift | Refusal:
        if s.door and self.on.door:
            return Refusal("the door is open")
        there = s.floor + by
        return (
            Lift(there, s.door) if 0 <= there < self.floors else Refusal("there is no such floor")
        )

    def _inside(self, s: Lift) -> str | None:
        return None if 0 <= s.floor < self.floors else f"it is on floor {s.floor}"


LIFT = Entry(
    name="lift",
    title=LiftModel.title,
    parameters=LiftParameters,
    build=LiftModel,
    safeguards=(Safeguard("door", "S-90", "Only a closed lift moves", ("moves-closed",)),),
    scenarios=(Scenario("ride", "To the top", {"floors": 4}, script=("up", "up", "up")),),
)


class Cell(Struct, frozen=True):
    """Where one is in a graph."""

    at: int


class Go(Struct, frozen=True, tag="go"):
    """Along an edge."""

    to: int


class Graph(Model[Cell, Any]):
    """Any directed graph as a model: states are its nodes, actions its edges. 0 is the start."""

    name = "graph"
    title = "A graph"
    State = Cell
    Action = Go

    def __init__(self, edges: dict[int, tuple[int, ...]], *properties: Property) -> None:
        self.edges = edges
        self.properties = properties
        self.rules = (Rule(Go, "go", self._ways, lambda s, to: Cell(to), lambda a: a.to),)

    def start(self) -> Cell:
        """Node 0."""
        return Cell(0)

    def _ways(self, s: Cell) -> Iterator[tuple[Go, int]]:
        return ((Go(to), to) for to in self.edges.get(s.at, ()))


def endless() -> Graph:
    """Three nodes round and round: never at an end."""
    return Graph({0: (1,), 1: (2,), 2: (0,)})


def a_log(events: int, nodes: Sequence[str] = ("A", "B"), window: int = 1) -> tuple[Any, Any]:
    """A log model and a state in which so many events are decided and none is applied."""
    model = AtomicLog(LogParameters(tuple(nodes), window))
    state = model.start()
    for number in range(events):
        state = model.apply(state, Append(f"event {number}"))
    return model, state


def applied(model: AtomicLog, state: Any, *nodes: str) -> Any:
    """The state after each of these nodes applied one more entry."""
    for node in nodes:
        state = model.act(state, Apply(node))
    return state


Steps = list[tuple[Any, Any, Any]]


def walk(model: Model[Any, Any], choices: Sequence[int]) -> Steps:
    """The steps (before, action, after) of a walk; each number picks among the enabled actions."""
    state, steps = model.start(), []
    for choice in choices:
        enabled = list(model.actions(state))
        if not enabled:
            break
        action = enabled[choice % len(enabled)]
        after = model.apply(state, action)
        steps.append((state, action, after))
        state = after
    return steps
