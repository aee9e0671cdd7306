"""Exhaustive search: the shortest counterexample, or the word that there is none.

What is searched is every state that a model can reach; where the model has monitors, every state
together with what they remember of the way to it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from kit.edge.arguments import checked
from kit.edge.limits import is_tight, limits, usage
from kit.edge.progress import Progress, shown
from kit.errors import BadInput, Refused, one_line, shorten
from kit.model.model import Model, Monitor, Property, Refinement
from kit.model.parameters import budgets_in, edition_in, plainly
from kit.model.record import Record
from kit.model.source import raised_at
from kit.model.vet import check_contract, exploring
from kit.search.commuting import larger_steps
from kit.search.partial_order import OrderCheck, single_steps
from kit.search.search import NO_LIMIT, Search, Violation, symmetry_name

LONGEST = 60  # characters of a parameter's value in a line
KINDS = ("always", "step", "monitor", "sometimes", "goal", "live")
BY_NAME = "a loop is fair to each name and step by itself: search without symmetry or partial order"


class Lines(Struct, frozen=True):
    """What is told in a few lines, in a terminal and in a notebook."""

    def lines(self) -> tuple[str, ...]:
        """What was looked at, what was judged and what was found."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escape(line)}</div>" for line in self.lines())


class Scope(Struct, frozen=True):
    """A configuration and what was judged of it.

    ``parameters`` are those that differ from the model's defaults, and those that the smallest
    configuration of a safeguard sets that is ``off`` (its id and name); the ``edition`` is told in
    any case; ``judged`` gives the names of all that was judged by kind (``monitor`` among them),
    ``left_out`` names the model's own properties and monitors that were not. ``budgets`` says how
    often what may go wrong.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    edition: str = ""
    budgets: str = ""

    @property
    def configuration(self) -> str:
        """``edition documents, rf=1; without S-01 progress-barrier``."""
        named = ("edition", "release")[: 1 + self.edition.startswith("server ")]
        said = {name: _value(v) for name, v in self.parameters.items() if name not in named}
        values = [f"edition {self.edition}"] if self.edition else []
        values += [f"{name}={value}" for name, value in said.items()]
        if not said:
            rest = "every other parameter at its default"
            values.append(rest if values else "every parameter at its default")
        what, names = ", ".join(values), ", ".join(self.off)
        return f"{what}; without {names}" if names else what

    def without(self, names: tuple[str, ...]) -> Scope:
        """The same, when these could not be judged in the end."""
        judged = {
            kind: tuple(name for name in given if name not in names)
            for kind, given in self.judged.items()
        }
        return replace(self, judged=judged)

    def lines(self) -> tuple[str, ...]:
        """The subject of it, in two or three lines."""
        judged = [f"{kind} {', '.join(names)}" for kind, names in self.judged.items() if names]
        lines = [
            f"configuration: {self.configuration}",
            f"judged: {'; '.join(judged) or 'nothing'}",
        ]
        if self.left_out:
            lines.append(f"not judged: {', '.join(self.left_out)}")
        return tuple(lines)

    def as_plain(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "configuration": {"parameters": dict(self.parameters), "off": list(self.off)},
            "judged": {kind: list(names) for kind, names in self.judged.items()},
            "not_judged": list(self.left_out),
        }


@checked
def scope_of(
    model: Model[Any, Any], properties: Iterable[Property], monitors: Iterable[Monitor]
) -> Scope:
    """The scope of a search of a model that judges these properties and monitors."""
    judged = [(str(prop.kind), prop.name) for prop in properties]
    judged += [("monitor", monitor.name) for monitor in monitors]
    names = {name for _, name in judged}
    own = [prop.name for prop in (*model.properties, *model.signs)]
    own += [monitor.name for monitor in model.monitors]
    off = [safeguard for safeguard in model.safeguards if safeguard.name in model.off]
    return Scope(
        _parameters(model, {name for safeguard in off for name in safeguard.smallest}),
        tuple(f"{safeguard.id} {safeguard.name}" for safeguard in off),
        {kind: tuple(name for each, name in judged if each == kind) for kind in KINDS},
        tuple(name for name in own if name not in names),
        edition_in(model.parameters),
        budgets_in(model.parameters),
    )


def _parameters(model: Model[Any, Any], set_by_safeguards: set[str]) -> dict[str, Any]:
    values = _plain(model.parameters)
    try:
        defaults = _plain(type(model.parameters)())
    except TypeError:  # some have no default
        defaults = {}
    return {
        name: value
        for name, value in values.items()
        if name in set_by_safeguards or name not in defaults or value != defaults[name]
    }


def _plain(parameters: Struct) -> dict[str, Any]:
    try:
        return plainly(parameters)
    except (TypeError, NameError):
        plain: dict[str, Any] = msgspec.to_builtins(parameters, enc_hook=shorten)
        return plain


def _value(value: Any) -> str:
    text = json.dumps(value, default=shorten)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


_HALF = 500  # nodes at most that are looked at, twice
_MOST_LOOKED_AT = 200_000  # values in them


def _kept(parents: dict[Any, Any], sources: Mapping[Any, list[Any]]) -> int:
    """The bytes of the visited nodes, the links between them and the lists of their sources.

    Estimated from a thousand nodes spread over all (of large ones fewer): what the second half of
    them adds to the first stands for every other one, so that what nodes share (a log, say) counts
    once.
    """
    known: set[int] = set()
    for node in islice(reversed(parents), 1):
        _size(node, known)
    half = max(1, min(_HALF, _MOST_LOOKED_AT // (2 * len(known) + 1)))
    nodes = list(islice(parents, 0, None, max(1, len(parents) // (2 * half))))[: 2 * half]
    halves = nodes[::2], nodes[1::2]
    known.clear()
    first, second = (sum(_size(node, known) for node in half) for half in halves)
    each = second / len(halves[1]) if halves[1] else 0
    total = sys.getsizeof(parents) + first + second + int((len(parents) - len(nodes)) * each)
    lists = list(islice(sources.values(), 2 * _HALF))
    if lists:
        total += sys.getsizeof(sources)
        total += sum(map(sys.getsizeof, lists)) * len(sources) // len(lists)
    return total


def _size(value: Any, known: set[int]) -> int:
    total, todo = 0, [value]
    while todo:
        item = todo.pop()
        if id(item) in known or isinstance(item, type):
            continue
        known.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, Struct):
            todo += [getattr(item, name) for name in item.__struct_fields__]
        elif isinstance(item, tuple | frozenset):  # what can be hashed holds no others
            todo += item
    return total


WORDS = "{done:,} states, {now:,} being examined"

__all__ = ["Progress", "Result", "Violation", "check", "check_refinement"]


class Result(Lines, frozen=True):
    """The result of a search.

    ``states`` counts unique states (with what monitors remember; with symmetry, one of those that
    are alike), ``transitions`` the steps taken between them, ``depth`` the steps of the longest
    shortest run. ``complete`` says that nothing reachable was left out, and ``unreached`` names the
    *sometimes* properties that no state showed. ``unjudged`` names the *goal* properties when the
    search was not complete. ``seconds`` is the time of the search alone, ``memory`` about how many
    bytes it kept at its end; ``short`` says that there was no more, ``interrupted`` that somebody
    stopped it, and ``at_work`` which function and line of a model of one's own were at work.
    ``compared`` counts the states of which a search with ``symmetry`` saw that they go on as what
    stands for them does, ``ordered`` those of which a search with a partial order saw that no other
    order matters (None: a search without one); its ``transitions`` and ``depth`` are larger steps.
    ``bound`` is why the model itself left out what goes beyond one of its parameters, where that
    happened: all states within it were visited, and the verdict is ``bounded``. ``costs`` are the
    known costs of the protocol that were met, each with the first run to it: no search ends at one.
    ``within`` is what bounds *live* properties alone, and ``endless`` names those that were not
    judged: the search was not complete, or had a symmetry or a partial order. ``scope`` tells the
    configuration, what was judged and what was not: ``complete`` is said of states only, and what a
    search says in all is its ``sentence``.
    """

    model: str
    states: int
    transitions: int
    depth: int
    complete: bool
    violation: Violation | None
    unreached: tuple[str, ...]
    seconds: float
    unjudged: tuple[str, ...] = ()
    memory: int = 0
    interrupted: bool = False
    compared: int = 0
    symmetry: bool = False
    scope: Scope = Scope()
    at_work: str = ""
    ordered: int | None = None
    short: bool = False
    bound: str = ""
    costs: tuple[Violation, ...] = ()
    within: str = ""
    endless: tuple[str, ...] = ()

    @property
    def broken(self) -> Violation | None:
        """The violation; without one the nearest known cost, if any was met."""
        nearest = min(self.costs, key=lambda met: len(met.actions), default=None)
        return self.violation or nearest

    @property
    def verdict(self) -> str:
        """One word or two for it, also in JSON.

        ``violated``, ``interrupted``, ``bounded``, ``judged in part``, ``known cost``, ``up to
        symmetry``, ``up to order``, ``up to symmetry and order``, or ``complete``: nothing
        reachable was left out, and nothing of the model was not judged.
        """
        if self.violation is not None:
            return "violated"
        if not self.complete:
            return "interrupted" if self.interrupted else "bounded"
        if self.bound:
            return "bounded"
        if self.scope.left_out:
            return "judged in part"
        if self.costs:
            return "known cost"
        joined = ["symmetry"] * self.symmetry + ["order"] * (self.ordered is not None)
        return f"up to {' and '.join(joined)}" if joined else "complete"

    @property
    def sentence(self) -> str:
        """The sentence of the search, and no more."""
        counts = {"symmetry": self.compared if self.symmetry else None}
        counts["order of steps"] = self.ordered
        compared = "; ".join(
            f"of the {name} {count:,} states were compared, which is no proof"
            for name, count in counts.items()
            if count is not None
        )
        match self.verdict:
            case "violated":
                assert self.violation is not None
                return one_line(f"violated: {self.violation.property}: {self.violation.witness}")
            case "interrupted":
                at_work = f" (it stopped in {self.at_work})" if self.at_work else ""
                return f"interrupted: no violation found so far, but nothing is proved{at_work}"
            case "bounded" if self.complete:
                return (
                    f"bounded by {self.bound}: no violation within that bound, but nothing "
                    f"beyond it was searched"
                )
            case "bounded":
                by = ", limited by the memory available" if self.short else ""
                return f"bounded{by}: no violation found so far, but nothing is proved"
            case "judged in part":
                also = f"; {compared}" if compared else ""
                return f"every state visited, judged in part: no violation of what was judged{also}"
            case "known cost":
                names = ", ".join(dict.fromkeys(each.property for each in self.costs))
                also = f"; {compared}" if compared else ""
                return f"no violation but known costs of the protocol: {names}{also}"
            case verdict if compared:
                return f"no violation {verdict}; {compared}"
            case _ if not any(self.scope.judged.values()):
                return "complete, but nothing was judged"
            case _:
                return "complete: no violation"

    def lines(self) -> tuple[str, ...]:
        """The report: what was searched, what was judged and what was found, in a few lines."""
        counts = f"{self.states:,} states, {self.transitions:,} steps, depth {self.depth}"
        never = "never reached" if self.complete else "not reached so far"
        silent = [f"{never}: {name}" for name in self.unreached if self.violation is None]
        silent += [f"not judged: goal {name}" for name in self.unjudged]
        why = f" ({BY_NAME})" if self.symmetry or self.ordered is not None else ""
        silent += [f"not judged: live {name}{why}" for name in self.endless]
        if self.within and self.violation is None:
            lives = ", ".join(self.scope.judged.get("live", ()))
            silent.append(f"bounded by {self.within}: {lives} (a run that ends there is no loop)")
        return (
            f"{self.model}: {counts}{self.scope.budgets}",
            *self.scope.lines(),
            self.sentence,
            *(f"{each.property}: {each.remark}" for each in self.costs),
            *silent,
        )


RECORDED = "There is nothing to search: this is a record of one run, without promises."


@checked
def check_searchable(model: Model[Any, Any]) -> None:
    """Raises Refused for a record: nothing is chosen in it, and nothing promised."""
    if isinstance(model, Record):
        raise Refused(RECORDED)


@checked
def check(
    model: Model[Any, Any],
    properties: tuple[Property, ...] | None = None,
    *,
    monitors: tuple[Monitor, ...] | None = None,
    max_states: int | None = None,
    symmetry: bool = False,
    partial_order: bool = False,
    past_costs: bool = True,
    progress: Progress | bool | None = None,
) -> Result:
    """Visit every reachable state of ``model`` and judge its properties and monitors.

    ``properties`` replaces the model's own, and leaves out its monitors unless ``monitors`` are
    given, too. A counterexample is the shortest. ``max_states`` bounds the states.
    ``symmetry`` visits one of all states that the model's symmetry makes alike. ``partial_order``
    takes the steps that may wait right before those that look at them: a counterexample is then
    the shortest in such larger steps. ``progress`` is called now and then with the number of states
    seen, and how many are being looked at; True shows a bar, in a notebook or a terminal.

    A search that nears the end of the memory that it may have (the machine's, the process's, the
    container's) stops by itself, bounded.

    A known cost of the protocol (``Model.costs``) ends no search: it is told beside all else. With
    ``past_costs`` off, it is a violation like any other.

    A state without successors is no error, unless the model ``rests_at_goals`` only: then it is
    the violation *deadlock*. Interrupted from the keyboard, a search tells what it has found.

    Raises BadInput for a bound below 1, a symmetry or a partial order that is not there, or that
    what is judged does not fit; or when the model changes its states, or makes states that cannot
    be told apart (with the line).
    Raises KitError when a symmetry or a partial order is found to be wrong.
    Raises Refused for a record.
    """
    check_searchable(model)
    if max_states is not None and max_states < 1:
        raise BadInput("max_states", max_states, "a number from 1 up, or None for no bound")
    check_contract(model, properties, monitors)
    watching = monitors
    if watching is None:
        watching = model.monitors if properties is None else ()
    if symmetry:
        _has_symmetry(model, watching)
    judged = model.properties if properties is None else properties
    lives = tuple(p for p in judged if p.kind == "live" and (symmetry or partial_order))
    judged = tuple(prop for prop in judged if prop not in lives)
    order = None
    if partial_order:
        model, order = larger, _ = larger_steps(model, judged, watching)
        judged, watching = tuple(map(larger.judged, judged)), tuple(map(larger.watching, watching))
    search = Search(
        model,
        judged,
        watching,
        symmetry=symmetry,
        most=max_states or NO_LIMIT,
        past_costs=past_costs,
    )
    with shown(progress, WORDS, max_states) as report:
        result = _timed(search, order, _within_memory(search, report))
    return replace(result, endless=(*result.endless, *(prop.name for prop in lives)))


def _within_memory(search: Search, progress: Progress | None) -> Progress:
    most = limits()

    def report(seen: int, looked_at: int) -> None:
        if is_tight(most):
            search.most, search.short = min(search.most, seen), True
        if progress is not None:
            progress(seen, looked_at)

    return report


def _timed(search: Search, order: OrderCheck | None, progress: Progress) -> Result:
    model = search.model
    violation, interrupted, at_work = None, False, ""
    visited, held = 0, 0
    began = perf_counter()
    with exploring(model, search.monitors, search.under_way):
        try:
            violation = search.run(progress)
            if search.alike is not None:
                search.alike.compare(search.parents)
            if order is not None:
                if violation is None:
                    order.compare(search.parents)
                else:
                    order.replay(violation.actions)
        except KeyboardInterrupt as error:
            interrupted, at_work = True, "" if search.is_own else raised_at(error)
        except MemoryError:  # a table that doubled went past the limit at once
            search.complete, search.short = False, True
            visited, held = len(search.parents), usage().resident
            search.forget()
    seconds = perf_counter() - began
    if violation is not None:
        violation = replace(violation, actions=single_steps(violation.actions))
    costs = tuple(
        replace(met, actions=single_steps(met.actions), remark=cost.remark())
        for cost, met in search.costs.items()
    )
    complete = violation is None and search.complete and not interrupted
    unjudged = tuple(
        prop.name
        for prop in search.goals
        if not complete and (violation is None or violation.property != prop.name)
    )
    is_open = not complete and violation is None
    endless = tuple(prop.name for prop in search.lives if is_open)
    scope = scope_of(model, search.judged, search.monitors).without((*unjudged, *endless))
    return Result(
        model.name,
        visited or len(search.parents),
        search.transitions,
        search.depth,
        complete,
        violation,
        tuple(sorted(prop.name for prop in search.awaited)),
        seconds,
        unjudged,
        held or _kept(search.parents, search.sources),
        interrupted,
        0 if search.alike is None else search.alike.compared,
        search.alike is not None,
        scope,
        at_work,
        None if order is None else order.compared,
        search.short,
        _bounds_met(model, map(search.state_of, search.parents)) if complete else "",
        costs,
        "; ".join(search.within),
        endless,
    )


def _bounds_met(model: Model[Any, Any], states: Iterable[Any]) -> str:
    waiting = list(model.bounds)
    ends = (r.seen(s, each) for s in states for r in model.rules for _, each in r.choices(s))
    while waiting and (met := next((b for end in ends for b in waiting if end is b), None)):
        waiting.remove(met)
    return "; ".join(b.reason for b in model.bounds if b not in waiting)


def _has_symmetry(model: Model[Any, Any], monitors: tuple[Monitor, ...]) -> None:
    if model.symmetry is None:
        raise BadInput("symmetry", model.name, "a model that has one")
    given: Any = model.symmetry(model.start())
    if not isinstance(given, tuple) or len(given) != 2:
        allowed = "a state, and how its names were changed"
        raise BadInput(symmetry_name(model), given, allowed)
    for monitor in monitors:
        if monitor.rename is None:
            raise BadInput("symmetry", monitor.name, "monitors that can rename what they remember")


@checked
def check_refinement(
    refinement: Refinement,
    *,
    max_states: int | None = None,
    progress: Progress | bool | None = None,
) -> Result:
    """Check that the finer model starts and steps as the coarser one, on every reachable step."""
    steps = Property("refines", "step", "Every step matches its image", refinement.mismatch)
    if refinement.project(refinement.fine.start()) != refinement.coarse.start():
        violation = Violation("refines", "the start is not the start of the coarser model", ())
        scope = scope_of(refinement.fine, (steps,), ())
        return Result(refinement.fine.name, 1, 0, 0, False, violation, (), 0.0, scope=scope)
    return check(refinement.fine, (steps,), max_states=max_states, progress=progress)
