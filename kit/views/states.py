"""The reachable states of a model as a picture: a graph while one can read it, then a table.

Up to a hundred states are laid out by Graphviz, each with what tells it from the start; of more
than that a drawing would be a tangle, and a table by kind of action says how many states and steps
there are instead. Both have the same content in words.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.model.model import Model, verdicts
from kit.model.parameters import budgets_in
from kit.model.vet import check_seen, check_start, steps_of
from kit.views.default import rows_of
from kit.views.diagrams import PartLook, drawn, picture, quote
from kit.views.fragment import Frag, h
from kit.views.palette import GRAPH_LETTERS, GRAPHVIZ, NOTE_LETTERS
from kit.views.parts import heads

MOST_DRAWN = 100
MOST_COUNTED = 20_000
LONGEST = 28  # characters of one value in a label
SHARED = 8  # characters that labels must share at least, for the shared part to be left out


class PicturedState(Struct, frozen=True):
    """One state in the picture: what tells it from the others, and what it is.

    ``broken`` names the invariants that it breaks; ``rests`` says that nothing can happen there.
    """

    lines: tuple[str, ...]
    broken: tuple[str, ...] = ()
    rests: bool = False


class Count(Struct, frozen=True):
    """Of a kind of action: in how many states it may happen, its steps, states first reached."""

    kind: str
    sources: int
    steps: int
    first: int


class States(Struct, frozen=True):
    """The states that a model reaches: their number by distance, and what each kind does.

    ``places`` and ``edges`` (from, to, verbs) are there while there are few; ``complete`` says that
    no state was left out.
    """

    title: str
    levels: tuple[int, ...]
    counts: tuple[Count, ...]
    complete: bool
    places: tuple[PicturedState, ...] = ()
    edges: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    budgets: str = ""

    @property
    def number(self) -> int:
        """How many states there are."""
        return sum(self.levels)

    @property
    def summary(self) -> str:
        """``Two-phase commit: 12 states, 14 steps``, and how often what may go wrong."""
        steps = sum(count.steps for count in self.counts)
        more = "" if self.complete else "at least "
        return f"{self.title}: {more}{self.number:,} states, {steps:,} steps{self.budgets}"


def reached(model: Model[Any, Any], most: int = MOST_COUNTED) -> States:
    """The states of a model, breadth first. Raises BadInput for ``most`` states below 1."""
    if most < 1:
        raise BadInput("most", most, "a number from 1 up")
    start, steps_from = model.start(), steps_of(model)
    check_seen(model, start)
    check_start(model, start)
    numbers = {start: 0}
    levels, frontier, complete = [1], [start], True
    tallies: dict[str, list[int]] = {rule.kind: [0, 0, 0] for rule in model.rules}
    edges: dict[tuple[int, int], list[str]] = {}
    while frontier:
        reached_next = []
        for state in frontier:
            kinds = set()
            for action, after in steps_from(state):
                kind = model.kind(action)
                fresh = after not in numbers
                if fresh and len(numbers) >= most:
                    complete = False
                    continue
                if fresh:
                    numbers[after] = len(numbers)
                    reached_next.append(after)
                tally = tallies.setdefault(kind, [0, 0, 0])
                tally[0] += kind not in kinds
                tally[1] += 1
                tally[2] += fresh
                kinds.add(kind)
                if len(numbers) <= MOST_DRAWN:
                    pair = numbers[state], numbers[after]
                    edges.setdefault(pair, []).append(model.verb(action))
        levels += [len(reached_next)] * bool(reached_next)
        frontier = reached_next
    few = len(numbers) <= MOST_DRAWN
    return States(
        model.title,
        tuple(levels),
        tuple(Count(kind, *tally) for kind, tally in tallies.items() if tally[1]),
        complete,
        _places(model, list(numbers)) if few else (),
        tuple((*pair, tuple(verbs)) for pair, verbs in edges.items()) if few else (),
        budgets_in(model.parameters),
    )


def _places(model: Model[Any, Any], states: list[Any]) -> tuple[PicturedState, ...]:
    tables = [dict(rows_of(model.readable(state))) for state in states]
    names = dict.fromkeys(name for table in tables for name in table)
    varying = [name for name in names if len({table.get(name) for table in tables}) > 1]
    cut = {name: _shared([table.get(name, "") for table in tables]) for name in varying}
    lines = []
    for number, table in enumerate(tables):
        differing = [n for n in varying if number == 0 or table.get(n) != tables[0].get(n)]
        parts = tuple(_line(n, table.get(n), cut[n]) for n in differing)
        lines.append(parts or (f"state {number}",))
    twice = {line for line in lines if lines.count(line) > 1}
    return tuple(
        PicturedState(
            (*line, f"(state {number})") if line in twice else line,
            tuple(verdict.title for verdict in verdicts(model, state) if not verdict.ok),
            next(iter(model.actions(state)), None) is None,
        )
        for number, (line, state) in enumerate(zip(lines, states, strict=True))
    )


def _shared(values: list[str]) -> int:
    first, last = min(values), max(values)
    common = first[: next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))]
    end = max(common.rfind(sign) for sign in " ,;:/")
    return end + 1 if end + 1 >= SHARED else 0


def _line(name: str, value: str | None, cut: int) -> str:
    if value is None:
        return f"{name}: none"
    text = ("…" if cut else "") + value[cut:]
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]}…{text[-half:]}"
    return f"{name}: {text}"


# -- the graph -------------------------------------------------------------------------------------


def dot_of(states: States) -> str:
    """The graph as DOT; labels are quoted, so that any text is only text."""
    lines = [
        "digraph {",
        f"  {GRAPHVIZ}; rankdir=TB; nodesep=0.2; ranksep=0.35;",
        f'  node [shape=box, style=rounded, fontname="Helvetica-Bold", fontsize={GRAPH_LETTERS}];',
        f"  edge [fontsize={NOTE_LETTERS}];",
    ]
    for number, place in enumerate(states.places):
        text = "\\n".join(quote(line)[1:-1] for line in _label(place))
        ends = ", peripheries=2" if place.rests else ""
        lines.append(f'  s{number} [label="{text}"{ends}];')
    for source, target, verbs in states.edges:
        text = "\\n".join(quote(verb)[1:-1] for verb in verbs)
        lines.append(f'  s{source} -> s{target} [label="{text}"];')
    return "\n".join([*lines, "}", ""])


def _label(place: PicturedState) -> tuple[str, ...]:
    return (*place.lines, *(f"BROKEN: {title}" for title in place.broken))


def draw_states(states: States, name: str = "states") -> Frag:
    """The graph, in which the states that break an invariant are lit (or the start), else a table.

    ``name`` is that of a committed picture, should there be one of the same graph. Where the graph
    cannot be laid out (no ``dot``), its steps are listed, and it is said why.
    """
    if not states.places:
        return _as_table(states)
    svg = drawn(name, dot_of(states))
    if svg is None:
        note = f"{states.summary} (as text, because Graphviz is not installed)"
        lines = [h("li", line, k=f"line:{i}") for i, line in enumerate(_lines(states))]
        return h("div", h("p", note), h("ul", lines))
    lit = {f"s{n}" for n, place in enumerate(states.places) if place.broken} or {"s0"}

    def look(kind: str, name: str, id_: str) -> PartLook:
        if kind == "node":
            return PartLook(f"states:state:{name}", "place lit" if name in lit else "place")
        return PartLook(f"states:edge:{id_}", "edge")

    return picture(svg, look, states.summary)


def can_be_drawn(states: States, name: str = "states") -> bool:
    """Whether ``draw_states`` draws a graph: there are few states, and a layout."""
    return bool(states.places) and drawn(name, dot_of(states)) is not None


def _as_table(states: States) -> Frag:
    rows = []
    for count in states.counts:
        cells = [h("td", f"{n:,}") for n in (count.sources, count.steps, count.first)]
        rows.append(h("tr", h("th", count.kind, scope="row"), cells, k=f"kind:{count.kind}"))
    caption = h("caption", f"{states.summary}; too many to draw, so shown by kind of action")
    head = heads("kind of action", "states in which it can happen", "steps", "states first reached")
    table = h("table", caption, head, h("tbody", rows))
    return h("div", table, h("p", _by_distance(states), class_="soft"))


# -- in words --------------------------------------------------------------------------------------


def states_text(states: States) -> str:
    """The graph as a line per state and a line per step, or the table."""
    if states.places:
        return "\n".join([states.summary, *(f"  {line}" for line in _lines(states))])
    rows = [
        f"  {count.kind}: can happen in {count.sources:,} states, {count.steps:,} steps, "
        f"{count.first:,} states reached first in this way"
        for count in states.counts
    ]
    return "\n".join([states.summary, *rows, f"  {_by_distance(states)}"])


def _lines(states: States) -> Iterator[str]:
    for number, place in enumerate(states.places):
        ends = " (nothing can happen here)" if place.rests else ""
        yield f"{number}: {'; '.join(_label(place))}{ends}"
        for source, target, verbs in states.edges:
            if source == number:
                yield f"   {', '.join(verbs)} → {target}"


def _by_distance(states: States) -> str:
    return "states by number of steps from the start: " + ", ".join(f"{n:,}" for n in states.levels)
