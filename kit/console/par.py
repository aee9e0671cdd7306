"""Par of a drill: the fewest commands that change something and still pass it.

Whoever only looks pays nothing; looks that the procedure asks for belong to passing. The commands
are those that the drill offers, on every machine, and what they do is asked of the drill's own
model: nothing of a procedure is written down here.
"""

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import Any

from msgspec import Struct

from kit.console.drill import Drill, TypedLine
from kit.console.forms import HAPPEN, WAIT
from kit.errors import counted

MOST_STATES = 200_000
SECONDS = 4.0
"""How long a search may take while somebody waits for it."""
TRAVELS = (WAIT, "on {")
"""How looks begin that are none for a search, which goes from machine to machine anyway."""


class Par(Struct, frozen=True):
    """How many changing commands a drill takes: ``least``, or None where no walk is known.

    ``fewest`` tells that a search has shown that there is no shorter walk, ``states`` how many
    states it saw, ``used`` how many the learner took, and ``needless`` which of these it passes
    without.
    """

    used: int
    least: int | None
    fewest: bool
    states: int
    needless: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """It in words."""
        taken = counted(self.used, "changing command")
        if self.least is None:
            return (f"{taken}.",)
        reached = f"{taken}; par is {self.least}."
        if not self.fewest:
            searched = f"after {counted(self.states, 'state')} of a search"
            reached = f"{taken}; best known, {searched}, is {self.least}."
        lost = f"It also passes without: {'; '.join(self.needless)}."
        return (reached, lost) if self.needless else (reached,)


def par(drill: Drill, *, max_states: int = MOST_STATES, seconds: float = SECONDS) -> Par:
    """The par of a drill, beside what was typed until now.

    Walks are searched by their length: the first that passes is the shortest. Where the search ends
    before that, at so many states or seconds, the best known is what was typed, if it passes,
    without what is needless.
    """
    typed = _on_the_way(drill)
    used = [each for each in typed if each.changed]
    passed, lost = _is_done(drill), _needless(drill, typed)
    best = len(used) - len(lost) if passed else None
    needless = tuple(f"{each.typed} (on {each.place})" for each in lost)
    shortest, states = _search(drill.again(), best, max_states, monotonic() + seconds)
    least = best if shortest is None else shortest
    return Par(len(used), least, shortest is not None, states, needless)


def _on_the_way(drill: Drill) -> list[TypedLine]:
    here = {moment.id for moment in drill.now.run}
    return [each for each in drill.transcript if each.moment in here and not each.error]


def _needless(drill: Drill, typed: Sequence[TypedLine]) -> list[TypedLine]:
    kept, lost = list(typed), list[TypedLine]()
    if not _passes(drill, kept):
        return lost  # the way was not typed alone, or does not pass
    for each in [each for each in reversed(typed) if each.changed]:
        without = [line for line in kept if line is not each]
        if _passes(drill, without):
            kept, lost = without, [each, *lost]
    return lost


def _passes(drill: Drill, typed: Sequence[TypedLine]) -> bool:
    again = drill.again()
    for each in typed:
        again.place = each.place
        again.enter(each.typed)
    return _is_done(again)


def _is_done(drill: Drill) -> bool:
    return drill.grade().passed and all(step.done for step in drill.checklist())


class _Visited(Struct, frozen=True):
    """A state that a search met: its moment, what was noted, commands on the way to it."""

    moment: int
    marks: frozenset[str]
    length: int


def _search(drill: Drill, best: int | None, most: int, ends: float) -> tuple[int | None, int]:
    """How many commands the shortest walk has, and how many states were seen; None: unknown."""
    waiting = deque([_Visited(drill.timeline.at, frozenset(), 0)])
    met, seen = set[object](), set[object]()
    while waiting and len(seen) < most and monotonic() < ends:
        here = waiting.popleft()
        if best is not None and here.length >= best:
            return best, len(seen)
        _put(drill, here)
        _look(drill)
        here = _Visited(here.moment, drill.now.marks, here.length)
        grade = drill.grade()
        if _is_done(drill):
            return here.length, len(seen)
        key = drill.timeline.state, here.marks, tuple(row.holds for row in grade.rows)
        if key in seen:
            continue
        seen.add(key)
        for place, line, price in _commands(drill):
            _put(drill, here)
            drill.place = place
            if drill.enter(line).error:
                continue
            there = _Visited(drill.timeline.at, drill.now.marks, here.length + price)
            if (raw := (drill.timeline.state, there.marks)) not in met:
                met.add(raw)
                (waiting.append if price else waiting.appendleft)(there)
    return (best if not waiting else None), len(seen)


def _put(drill: Drill, met: _Visited) -> None:
    drill.timeline.goto(met.moment)
    drill.note(met.marks)
    drill.transcript.clear()


def _machines(drill: Drill) -> list[str]:
    names: Any = getattr(drill.timeline.model, "names", ())
    return list(names) or [drill.place]


def _look(drill: Drill) -> None:
    for place in _machines(drill):
        drill.place = place
        for form, lines in [*drill.offers()]:
            for line in lines if form.looks and not form.text.startswith(TRAVELS) else ():
                drill.enter(line)
                drill.place = place


def _commands(drill: Drill) -> list[tuple[str, str, int]]:
    commands = list[tuple[str, str, int]]()
    for place in _machines(drill):
        drill.place = place
        for form, lines in drill.offers():
            waits = form.text.startswith(WAIT)
            if waits or not (form.looks or drill.is_own(form) or form.text.startswith(HAPPEN)):
                commands += ((place, line, int(not waits)) for line in lines)
    return commands
