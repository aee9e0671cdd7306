"""Promises about what goes on for ever: the fair loops in which they are never kept.

A *live* property says in which states it is kept. A *lasso* is a run to a loop, and the loop: it
breaks the promise if no state of the loop keeps it, and the loop is *fair*. Weakly fair: what has
to happen all along the loop does happen in it. ``Model.pace`` says what that is: what is ``prompt``
(a message arrives) has to happen if every state of the loop lets it, what is ``slow`` (a timer runs
out) if every state does in which nothing prompt is left; only there may it happen at all (Raft
paper, section 5.6). What merely a bound leaves out has to happen, too, so that no run breaks a
promise because it ends at a bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from msgspec import Struct

from kit.model.model import Model, Property

Steps = Iterable[tuple[Any, Any]]
Lacks = tuple[frozenset[Any], frozenset[Any]]
NOTHING: Lacks = (frozenset(), frozenset())
REST = "nothing has to happen any more"
TRIED = 64
"""States of one loop, from each of which the way round is looked for."""


class Turn(Struct, frozen=True):
    """The steps of a fair run in a state, with where they lead, and those that have to happen."""

    steps: tuple[tuple[Any, Any], ...]
    prompt: frozenset[Any]
    slow: frozenset[Any]  # nothing where something is prompt

    @property
    def is_rest(self) -> bool:
        """Whether nothing has to happen."""
        return not self.prompt and not self.slow

    def left_of(self, lacks: Lacks) -> Lacks:
        """The ``prompt`` and ``slow`` steps that a loop through this state still lacks."""
        prompt, slow = lacks
        return prompt & self.prompt, slow if self.prompt else slow & self.slow


def turn_of(model: Model[Any, Any], state: Any, steps: Steps) -> Turn:
    """Of all ``steps`` from a state those that may happen on a fair run."""
    paced = [(action, after, model.pace(state, action)) for action, after in steps]
    every = [(action, pace) for action, _, pace in paced]
    every += [(action, model.pace(state, action)) for action, _ in model.beyond(state)]
    prompt = frozenset(action for action, pace in every if pace == "prompt")
    slow = frozenset(action for action, pace in every if pace == "slow")
    may = ((action, after) for action, after, pace in paced if not prompt or pace != "slow")
    return Turn(tuple(may), prompt, frozenset() if prompt else slow)


def lacked(turns: Sequence[Turn], taken: Collection[Any]) -> Lacks:
    """The steps that have to happen all along a loop, and are not ``taken`` in it."""
    every = [frozenset[Any]().union(*(turn.prompt for turn in turns))]
    every += [frozenset[Any]().union(*(turn.slow for turn in turns))]
    prompt, slow = reduce(lambda lacks, turn: turn.left_of(lacks), turns, (every[0], every[1]))
    return prompt.difference(taken), slow.difference(taken)


def is_fair(model: Model[Any, Any], loop: Sequence[tuple[Any, Any]]) -> bool:
    """Whether a loop, each state with the action taken in it, leaves out nothing that has to be."""
    turns = [turn_of(model, state, model.successors(state)) for state, _ in loop]
    done = [action for _, action in loop]
    may = all(a in dict(turn.steps) for a, turn in zip(done, turns, strict=True))
    return may and lacked(turns, done) == NOTHING


def loop_of(
    model: Model[Any, Any], prop: Property, way: Sequence[tuple[Any, Any]], last: Any
) -> int | None:
    """The step after which the loop begins that a run closes; None: it breaks no such promise.

    ``way`` has each state with the action taken in it, and ``last`` is the state it leads to.
    """
    if prop.check(last):
        return None
    if turn_of(model, last, model.successors(last)).is_rest:
        return len(way)
    again = model.recurring(last)
    for at in range(len(way) - 1, -1, -1):
        if prop.check(way[at][0]):
            return None
        if model.recurring(way[at][0]) == again and is_fair(model, way[at:]):
            return at
    return None


def loop_words(steps: int, begins: int) -> str:
    """``from here it goes on for ever: step 9 leads back to step 5``."""
    if steps == begins:
        return f"from here on {REST}"
    where = f"step {begins}" if begins else "the start"
    return f"from here it goes on for ever: step {steps} leads back to {where}"


class Lassos:
    """The part of a complete search in which a *live* property is not kept.

    Nodes that differ only in what can never matter again (``Model.recurring``) are one *place*.
    """

    def __init__(
        self,
        model: Model[Any, Any],
        nodes: Iterable[Any],
        successors: Callable[[Any], Iterator[tuple[Any, Any]]],
        state_of: Callable[[Any], Any],
        prop: Property,
    ) -> None:
        """``nodes`` are all that a search visited, in that order."""
        self.model, self.successors, self.state_of = model, successors, state_of
        self.is_plain = type(model).recurring is Model.recurring
        self.bounds: dict[str, None] = {}
        self.turns: dict[Any, Turn] = {}
        self.at: dict[Any, list[Any]] = {}
        for node in nodes:
            if not prop.check(state_of(node)):
                self.at.setdefault(self.place(node), []).append(node)

    def place(self, node: Any) -> Any:
        """The part of a node that counts where a run comes back to it."""
        if self.is_plain:
            return node
        state = self.state_of(node)
        again = self.model.recurring(state)
        return again if state is node else (again, *node[1:])

    def turn(self, node: Any) -> Turn:
        """The steps that may and have to happen at a node."""
        if node not in self.turns:
            state = self.state_of(node)
            self.turns[node] = turn_of(self.model, state, self.successors(node))
            self.bounds.update((why, None) for _, why in self.model.horizon(state))
        return self.turns[node]

    def ways(self, place: Any) -> list[tuple[Any, Any]]:
        """The steps from a place that do not keep the promise, each with the place after it."""
        steps = (step for node in self.at[place] for step in self.turn(node).steps)
        ends = ((action, self.place(after)) for action, after in steps)
        return [(action, end) for action, end in ends if end in self.at]

    def loops(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """The nodes of the first loop, each with its way round from there (nothing: a rest)."""
        order = {place: number for number, place in enumerate(self.at)}
        loops = sorted(self._fair(), key=lambda loop: min(map(order.__getitem__, loop)))
        rests = [node for node, turn in self.turns.items() if turn.is_rest]
        yield from ((node, ()) for node in rests[:1])
        for loop in loops:
            starts = sorted(loop, key=order.__getitem__)[:TRIED]
            rounds = [(start, self._round(start, loop)) for start in starts]
            ways = [(self._replays(start, actions), actions) for start, actions in rounds]
            yield from (way for way in ways if way[0] is not None)
            if any(node is not None for node, _ in ways):
                return

    def _fair(self) -> Iterator[dict[Any, list[tuple[Any, Any]]]]:
        for places in strongly_connected(self.at, self.ways):
            inside = self._among(places)
            if self._is_fair(inside):
                yield inside
                continue
            stormy = self._among([p for p in inside if self._first(p).prompt])
            for part in strongly_connected(stormy, stormy.__getitem__):  # no timer has its turn
                if self._is_fair(inner := self._among(part)):
                    yield inner

    def _among(self, places: Collection[Any]) -> dict[Any, list[tuple[Any, Any]]]:
        known = {*places}
        return {p: [way for way in self.ways(p) if way[1] in known] for p in places}

    def _is_fair(self, loop: Mapping[Any, list[tuple[Any, Any]]]) -> bool:
        taken = {action for ways in loop.values() for action, _ in ways}
        return bool(taken) and lacked([*map(self._first, loop)], taken) == NOTHING

    def _first(self, place: Any) -> Turn:
        return self.turn(self.at[place][0])

    def _round(self, start: Any, loop: Mapping[Any, list[tuple[Any, Any]]]) -> tuple[Any, ...]:
        turns = {place: self._first(place) for place in loop}
        at, actions, seen = start, list[Any](), [turns[start]]
        while True:
            lacks = lacked(seen, actions)
            if lacks == NOTHING and actions and at == start:
                break
            wanted = partial(_helps, lacks, turns)
            if lacks == NOTHING:
                wanted = partial(_leads_to, start)
            for action, end in _nearest(at, loop, wanted):
                actions.append(action)
                seen.append(turns[end])
                at = end
        return tuple(actions)

    def _replays(self, start: Any, actions: Iterable[Any]) -> Any | None:
        for first in self.at[start]:
            node: Any = first
            for action in actions:
                node = next((end for a, end in self.successors(node) if a == action), None)
                if node is None:
                    break
            else:
                return first
        return None


def _helps(lacks: Lacks, turns: Mapping[Any, Turn], action: Any, end: Any) -> bool:
    return action in lacks[0] | lacks[1] or turns[end].left_of(lacks) != lacks


def _leads_to(place: Any, action: Any, end: Any) -> bool:
    return bool(end == place)


def _nearest(
    at: Any, loop: Mapping[Any, list[tuple[Any, Any]]], wanted: Callable[[Any, Any], bool]
) -> list[tuple[Any, Any]]:
    todo: deque[tuple[Any, list[tuple[Any, Any]]]] = deque([(at, [])])
    known = {at}
    while todo:
        place, way = todo.popleft()
        for action, end in loop[place]:
            if wanted(action, end):
                return [*way, (action, end)]
            if end not in known:
                known.add(end)
                todo.append((end, [*way, (action, end)]))
    raise AssertionError("all places of a loop lead to one another")


def strongly_connected(
    places: Iterable[Any], ways: Callable[[Any], Iterable[tuple[Any, Any]]]
) -> Iterator[list[Any]]:
    """The largest sets of places that lead to one another (Tarjan 1972), each place in one."""
    number: dict[Any, int] = {}
    lowest: dict[Any, int] = {}
    path: dict[Any, None] = {}  # in order; those that are in no set yet
    for root in places:
        work = [] if root in number else [(root, iter((root,)))]
        while work:
            place, ends = work[-1]
            for end in ends:
                if end not in number:
                    number[end] = lowest[end] = len(number)
                    path[end] = None
                    work.append((end, iter([after for _, after in ways(end)])))
                    break
                if end in path:
                    lowest[place] = min(lowest[place], number[end])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[place])
                if lowest[place] == number[place] and place in path:
                    together: list[Any] = []
                    while not together or together[-1] != place:
                        together.append(path.popitem()[0])
                    yield together
