"""What travels in a step: a log entry to a node, a request and its answer, data, an epoch.

Each action of a declared model says what moves in it; another model has a ``flow_table``. The
browser lets it travel, the text form of a step says it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from kit.model.model import Model
from kit.model.timeline import PassedStep

FlowKind = Literal["entry", "data", "request", "answer", "refusal", "message"]


class Flow(Struct, frozen=True):
    """Something that travels in a step from one keyed part of the frame to another.

    ``label`` is written beside it on its way, ``text`` is the sentence that says the same. ``leg``
    counts, from 0, what follows what within the step: an answer comes after its request.
    ``around`` is the key of the part round whose centre the way leads; empty: it is straight.
    """

    kind: FlowKind
    from_key: str
    to_key: str
    label: str
    text: str
    leg: int = 0
    around: str = ""


def spot(name: str) -> str:
    """The key of a node in every picture."""
    return f"n:{name}"


OF_NODES = ("n", "node", "host")
"""What the keys of nodes begin with."""


def whose(key: str, names: Sequence[str] = ()) -> str:
    """The owner of a place's key in a picture: ``n:A:100`` is A's.

    One of the ``names`` that a model has may hold colons, as addresses do, or be a number: then it
    is the first of them in the key, between colons, and of those that begin there the longest.
    """
    first, *rest = key.split(":")
    is_node = len(rest) == 1 and first in OF_NODES
    named = [part for part in rest if part and (is_node or not part.isdecimal())]
    usual = named[-1] if named else first
    if usual in names:
        return usual
    within = f"{key}:"
    inside = [name for name in names if f":{name}:" in within]
    return min(inside, key=lambda n: (within.index(f":{n}:"), -len(n)), default=usual)


MOST_FLOWS = 64
"""Things that travel in one step, as many as an eye can still follow."""


def has_parts(model: Any) -> bool:
    """Whether a model has several parts, as a product has."""
    return hasattr(model, "part_of")


Travels: TypeAlias = Callable[[Any, Any, Any, Any], tuple[Flow, ...]]
"""What moves in a step, from the model, the state before, the action and the state after."""


def flows(model: Model[Any, Any], before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
    """The flows of a step; of a product, those of the part that acts.

    Of more than ``MOST_FLOWS`` things the first are told, and how many more there are.
    """
    moved = _moved(model, before, action, after)
    rest = len(moved) - MOST_FLOWS
    if rest <= 0:
        return moved
    last = moved[MOST_FLOWS - 1]
    return (*moved[: MOST_FLOWS - 1], replace(last, text=f"{last.text}; and {rest} more like it"))


def _moved(model: Any, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
    if has_parts(model):
        part, own = model.part_of(action)
        states = getattr(before, part), getattr(after, part)

        def placed(key: str) -> str:
            return model.place(key, before, after) if key else ""

        moved = (
            replace(
                flow,
                from_key=placed(flow.from_key),
                to_key=placed(flow.to_key),
                around=placed(flow.around),
            )
            for flow in _moved(model.parts[part], states[0], own, states[1])
        )
        return tuple(flow for flow in moved if flow.from_key and flow.to_key)
    travels = flow_table(model).get(type(action))
    return () if travels is None else travels(model, before, action, after)


def flow_table(model: Any) -> Mapping[type, Travels]:
    """What moves in each type of action: as the model says, or its parts together."""
    if has_parts(model):
        tables = map(flow_table, model.parts.values())
        return {kind: travels for table in tables for kind, travels in table.items()}
    table: Mapping[type, Travels] = getattr(model, "flow_table", {})
    return table


OWN_WORDS = "in the kit's own words"


class ServerHost(Struct, frozen=True):
    """A node as tools name it."""

    address: str
    host_id: str
    dc: str = "dc1"
    rack: str = "r1"


def address_of(number: int, changes: int = 0) -> str:
    """The address of a node, made of the number that a model has, after so many changes."""
    return f"10.{changes}.{number + 11 >> 8}.{number + 11 & 255}"


def host_id(number: int) -> str:
    """The host id of a node, made of the number that a model has: the same run prints the same."""
    return f"{10 + number:08x}-0000-4000-8000-{10 + number:012x}"


TOKENS_APART = 100


def token_of(number: int) -> str:
    """The token of a node where a model has none, made of the number that it has."""
    return str(TOKENS_APART * (number + 1))


def as_uuid(number: int) -> str:
    """A number as a UUID is written, such as a schema version."""
    return str(UUID(int=number))


def as_timeuuid(number: int, node: int = 1) -> str:
    """``00000002-0000-1000-8000-000000000001``: id 2, made by a node with the number 1."""
    low, mid, high = number & 0xFFFFFFFF, number >> 32 & 0xFFFF, number >> 48 & 0x0FFF
    return f"{low:08x}-{mid:04x}-1{high:03x}-8000-{node:012x}"


class ServerLine(Struct, frozen=True):
    """A line of a node's log: which component of the server wrote it, and its text.

    ``own``: the words are the kit's, since no document gives the server's. ``phase`` is the part of
    a procedure that begins with this line, if one does.
    """

    node: str
    component: str
    text: str
    own: bool = False
    phase: str = ""

    def __str__(self) -> str:
        return f"{self.component} - {self.text}"

    @property
    def marked(self) -> str:
        """The line, and behind it that its words are the kit's, if they are."""
        return f"{self} ({OWN_WORDS})" if self.own else str(self)


class ServerLog(Struct, frozen=True):
    """Which lines are written: ``writes(model, before, action, after)`` in a step.

    ``begins(model, state)`` are those that are there at the start of a run.
    """

    writes: Callable[[Any, Any, Any, Any], Iterable[ServerLine]]
    begins: Callable[[Any, Any], Iterable[ServerLine]] = lambda model, state: ()

    def lines(
        self, model: Any, start: Any, way: Sequence[PassedStep]
    ) -> tuple[tuple[ServerLine, ...], ...]:
        """The lines of a run in their order: those of its ``start``, then those of each step."""
        steps = (tuple(self.writes(model, step.before, step.action, step.after)) for step in way)
        return (tuple(self.begins(model, start)), *steps)
