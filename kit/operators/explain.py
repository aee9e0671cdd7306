"""Does what was seen obey a model? A search over the steps that nobody saw.

A family says how an observation reads a state: a *sight*, which gives values by name. Between two
observations any steps may have happened, as far as the sight *hides* them. What is searched are
pairs of a state and how many observations are explained in it, those first that have explained the
most and are nearest to the next one, else breadth first. All pairs within reach were visited where
no run explains the observations: then it is proved that the model has none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from kit.edge import reading
from kit.edge.arguments import checked
from kit.edge.bundles import beginning
from kit.edge.progress import Progress, shown
from kit.errors import BadInput, Refusal, counted, one_line
from kit.model.family import families
from kit.model.model import Model
from kit.model.timeline import Timeline

Values = Mapping[str, Any]
BOUND = 20_000
"""States that may be visited for one question, where nobody says."""
MOST_BOUND = 10_000_000
WITHOUT = 200  # pairs from which it is looked what a missing safeguard would allow
WORDS = "{done:,} states searched, {now:,} questions answered"
TURN = 500  # pairs that a search visits before another one continues


class Seen(Struct, frozen=True):
    """One observation: ``where`` it stands (``journal.log line 812``), and the values seen.

    ``after_gap``: before it nobody looked, so that any steps may have happened. ``step``: it is not
    a look at a state, but a step of its own that leads to such a one.
    """

    where: str
    values: Values
    after_gap: bool = False
    step: bool = False


class Sight(Struct, frozen=True):
    """How an observation reads a state of a model.

    ``reads(model, state)`` gives values by name; an observation need not have all of them.
    ``hides(before, after)``, of the values around a step, says whether it may go unseen (None: any
    may). ``distance(values, wanted)`` says how far a state may be from an observation: what is
    nearer is looked at first (None: how many values differ). ``steps(model, state)`` gives actions
    with the states they lead to (None: all that may happen); what is left out is an assumption, to
    be told, or leads nowhere else. ``refuses(model, state, wanted)`` says why an observation does
    not come next: the action that it shows, if any, and a reason (None: a search finds a near one).
    """

    reads: Callable[[Any, Any], Values]
    hides: Callable[[Values, Values], bool] | None = None
    distance: Callable[[Values, Values], int] | None = None
    steps: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None = None
    refuses: Callable[[Any, Any, Values], tuple[Any | None, str]] | None = None


class Explanation(Struct, frozen=True):
    """The explanation of a row of observations.

    ``verdict``: *explained*, *refuted* (no run of the model has them all) or *unknown* (none was
    found within the bound). ``explained`` is how many of the ``observations`` the best run has, and
    ``run`` its actions. For a refuted one ``where`` is the first that no rule explains, ``refusal``
    the nearest refusal of the model, of the action ``refused``: what it would allow without the
    safeguard ``without``, where that is known. ``states`` counts pairs that were visited. It is
    *unknown*, too, why something failed that no run has: then ``where`` says what.
    """

    verdict: Literal["explained", "refuted", "unknown"]
    model: Model[Any, Any]
    observations: int
    explained: int
    run: tuple[Any, ...]
    states: int
    where: str = ""
    refused: str = ""
    refusal: str = ""
    without: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in a line."""
        match self.verdict:
            case "explained":
                steps = len(self.run)
                off = f" without {', '.join(self.model.off)}" if self.model.off else ""
                run = counted(steps, "step")
                return f"explained: {run} of {self.model.name}{off} can lead to what was seen"
            case "unknown" if self.explained == self.observations:
                run = counted(len(self.run), "step")
                leads = f"{run} of {self.model.name} can lead to the states, but nothing here"
                return one_line(f"unknown: {leads} explains {self.where}")
            case "unknown":
                within = f"no run to {self.where} was found within {self.states:,} states"
                return f"unknown: {within}, the bound of this search; a larger one may lead further"
        nearest = self.refusal or "no refusal of the model comes close"
        if self.refused:
            nearest = f'the nearest refusal is "{self.refused}: {self.refusal}"'
            nearest += f" ({self.without})" if self.without else ""
        return one_line(f"no rule explains {self.where}; {nearest}")

    def timeline(self) -> Timeline:
        """The run, to be stepped through or saved; of a refuted one as far as it is explained."""
        return Timeline.along(self.model, self.run)

    def as_plain(self) -> dict[str, Any]:
        """The same as data."""
        plain = {**asdict(self), "model": self.model.name, "run": [*map(self.model.verb, self.run)]}
        return {"steps" if name == "run" else name: each for name, each in plain.items()}

    def __repr__(self) -> str:
        return self.sentence


Pair = tuple[int, Any]
"""How many observations are explained, and the state."""


class _Search:
    """The pairs that were visited, each with the one before it and the action between them."""

    def __init__(
        self, model: Model[Any, Any], sight: Sight, seen: Sequence[Seen], begins: Iterable[Pair]
    ) -> None:
        self.model, self.sight, self.seen = model, sight, seen
        self.parents: dict[Pair, tuple[Pair, Any] | None] = {}
        self.todo: list[tuple[int, int, int, Pair]] = []
        self.number = count()
        self.read: dict[Any, Values] = {}
        self.best = 0
        for pair in begins:
            self.add(pair, None)

    def values(self, state: Any) -> Values:
        if state not in self.read:
            self.read[state] = self.sight.reads(self.model, state)
        return self.read[state]

    def distance(self, pair: Pair) -> int:
        """How many values of the next observation the state does not have."""
        explained, state = pair
        if explained == len(self.seen):
            return 0
        values, wanted = self.values(state), self.seen[explained].values
        differ = sum(n not in values or values[n] != value for n, value in wanted.items())
        far = self.sight.distance
        return differ if far is None or not differ else max(1, far(values, wanted))

    def add(self, pair: Pair, before: tuple[Pair, Any] | None) -> None:
        if pair not in self.parents:
            self.parents[pair] = before
            self.best = max(self.best, pair[0])
            order = (-pair[0], self.distance(pair), next(self.number))
            heappush(self.todo, (*order, pair))

    def goes_on(self, more: int) -> Pair | None:
        """The first pair that explains all; None where there is none, or none within so many more.

        It continues where it stopped.
        """
        most = len(self.parents) + more
        while self.todo and (self.best == len(self.seen) or len(self.parents) < most):
            pair = heappop(self.todo)[-1]
            explained, state = pair
            if explained == len(self.seen):
                return pair
            if not self.seen[explained].step and not self.distance(pair):
                self.add((explained + 1, state), (pair, None))
            steps = self.sight.steps
            may = self.model.successors(state) if steps is None else steps(self.model, state)
            for action, after in may:
                self.step(pair, action, after)
        return None

    def step(self, pair: Pair, action: Any, after: Any) -> None:
        explained, state = pair
        seen, hides = self.seen[explained], self.sight.hides
        unseen = hides is None or hides(self.values(state), self.values(after))
        if unseen or seen.after_gap:
            self.add((explained, after), (pair, action))
        at_once = not unseen if seen.step else hides is not None
        if at_once and not self.distance((explained, after)):
            self.add((explained + 1, after), (pair, action))

    def run_to(self, pair: Pair) -> tuple[Pair, tuple[Any, ...]]:
        actions = []
        while (before := self.parents[pair]) is not None:
            pair, action = before
            actions += [] if action is None else [action]
        return pair, tuple(reversed(actions))

    def changing(self, names: set[str]) -> set[type]:
        steps = ((pair, before) for pair, before in self.parents.items() if before is not None)
        return {type(before[1]) for pair, before in steps if self._changes(before[0], pair, names)}

    def on_the_way(self, names: set[str]) -> set[type]:
        """The types of actions by which any run comes from a change of these values to the next."""
        types: set[type] = set()
        done: set[Pair] = set()
        for pair, before in self.parents.items():
            if before is None or not self._changes(before[0], pair, names):
                continue
            while before is not None and pair not in done:
                done.add(pair)
                types |= {type(before[1])} - {type(None)}
                pair, before = before[0], self.parents[before[0]]  # noqa: PLW2901  # the way back
                if before is not None and self._changes(before[0], pair, names):
                    break
        return types

    def _changes(self, before: Pair, after: Pair, names: set[str]) -> bool:
        old, new = self.values(before[1]), self.values(after[1])
        return any(old.get(name) != new.get(name) for name in names)

    def nearest(self) -> list[Pair]:
        best = [pair for pair in self.parents if pair[0] == self.best]
        return sorted(best, key=self.distance)


Visited = Callable[[int], None]
"""Is told how many more states were visited."""


def _in_turns(
    searches: Sequence[_Search], bound: int, visited: Visited
) -> Iterator[tuple[_Search, Pair]]:
    """Each search that explains all, with the pair that does; together they visit so many pairs.

    They take turns, so that a large one does not keep the others from being done.
    """
    pending, left = [*searches], bound
    while pending and left > 0:
        turn, pending = pending, []
        for search in turn:
            before = len(search.parents)
            whole = search.goes_on(min(TURN, left)) if left > 0 else None
            left -= len(search.parents) - before
            visited(len(search.parents) - before)
            if whole is not None:
                yield search, whole
            elif search.todo:
                pending.append(search)


def _answered(
    search: _Search, whole: Pair | None, states: int, bound: int, visited: Visited
) -> Explanation:
    pair = search.nearest()[0]
    model = search.model
    counts = len(search.seen), pair[0], search.run_to(pair)[1], states
    if whole is not None:
        return Explanation("explained", model, *counts)
    where = search.seen[search.best].where
    if search.todo:
        return Explanation("unknown", model, *counts, where=where)
    if search.sight.refuses is None:
        refused = _nearest_refusal(search, bound, visited)
    else:
        refused = _own_refusal(search)
    return Explanation("refuted", model, *counts, where, *refused)


def _without(model: Model[Any, Any]) -> Iterator[tuple[str, Model[Any, Any]]]:
    for safeguard in model.safeguards:
        if safeguard.name not in model.off:
            weak: Any = type(model)
            off = (*model.off, safeguard.name)
            yield f"{safeguard.id} {safeguard.name}", weak(model.parameters, off)


def _own_refusal(search: _Search) -> tuple[str, str, str]:
    model, (explained, state) = search.model, search.nearest()[-1]
    assert search.sight.refuses is not None
    action, said = search.sight.refuses(model, state, search.seen[explained].values)
    if action is None:
        return "", said, ""
    allows = (name for name, weak in _without(model) if weak.refusal(state, action) is None)
    return model.verb(action), said, next(allows, "")


def _nearest_refusal(search: _Search, bound: int, visited: Visited) -> tuple[str, str, str]:
    """The action, the model's reason to refuse it, and the safeguard that does so.

    Without one of its safeguards the model may have a run to what was seen next: the first step of
    the shortest such run that the whole model refuses is the nearest. Else there may be a way
    through what should have been seen. Else it is what the model refuses in the nearest state, of
    an action such as have changed what is seen elsewhere.
    """
    model, nearest = search.model, search.nearest()
    begins = [*islice(nearest, WITHOUT)]
    seen = search.seen[: search.best + 1]
    refusals: list[tuple[int, str, str, str]] = []
    names = {_Search(weak, search.sight, seen, begins): name for name, weak in _without(model)}
    for further, end in _in_turns([*names], bound, visited):
        (_, state), run = further.run_to(end)
        for at, action in enumerate(run):
            refusal = model.refusal(state, action)
            if refusal is not None:
                refusals.append((at, model.verb(action), reason_of(refusal), names[further]))
                break
            state = model.apply(state, action)
    if refusals:
        return min(refusals)[1:]
    if search.sight.hides is not None:
        passing = (*seen[:-1], replace(seen[-1], after_gap=True))
        through = _Search(model, search.sight, passing, begins)
        for further, end in _in_turns([through], bound, visited):
            return "", _passed(further, end), ""
    return _near(search, nearest)


def _passed(search: _Search, end: Pair) -> str:
    (explained, state), run = search.run_to(end)
    names = search.seen[explained].values
    passed: dict[str, None] = {}
    for action in run:
        before, state = search.values(state), search.model.apply(state, action)
        values = search.values(state)
        if search.distance((explained, state)):
            news = {n: v for n in names if (v := values.get(n)) != before.get(n) and v}
            passed |= {str(v) if len(names) == 1 else f"{n} {v}": None for n, v in news.items()}
    return f"the model gets there through {', '.join(passed)}, which no line shows"


def _near(search: _Search, nearest: Sequence[Pair]) -> tuple[str, str, str]:
    """The nearest refusal to what was seen, of actions on the way to that.

    Such are the types of actions that lead from one change of a value that differs to another one:
    first those that change it themselves, and those that wait for somebody.
    """
    explained, state = nearest[0]
    wanted, has = search.seen[explained].values, search.values(state)
    differ = {name for name, value in wanted.items() if has.get(name) != value}
    on_the_way = search.on_the_way(differ)
    change = search.changing(differ)
    refusals = [
        (action, refusal)
        for near in nearest
        if search.distance(near) == search.distance(nearest[0])
        for action, refusal in search.model.waiting(near[1])
        if type(action) in on_the_way
    ]
    if not refusals:
        return "", "", ""
    action, refusal = min(refusals, key=lambda r: (type(r[0]) not in change, not r[1].missing))
    return search.model.verb(action), reason_of(refusal), ""


def reason_of(refusal: Refusal) -> str:
    """A reason, with the names of those who are waited for."""
    names = ", ".join(refusal.missing)
    return f"{refusal.reason}: {names}" if names else refusal.reason


class Question(Struct, frozen=True):
    """Observations that one of several ways is to explain, each a model with its sight.

    ``name`` is what was observed. ``beside`` is what was seen that no run can have; where all else
    is explained, that is not.
    """

    name: str
    seen: tuple[Seen, ...]
    ways: tuple[tuple[Model[Any, Any], Sight], ...]
    beside: str = ""

    def answer(self, bound: int = BOUND, visited: Visited = lambda more: None) -> Explanation:
        """The first explanation; else what is unknown, else the one that explains the most.

        All ways together visit ``bound`` states. Only of the one that is answered with it is
        looked for what refuses it: that takes longer than to see that it explains nothing.

        Raises BadInput for no observation, or a bound that is none.
        """
        if not 1 <= bound <= MOST_BOUND:
            raise BadInput("bound", bound, f"states to visit, a number from 1 to {MOST_BOUND}")
        if not self.seen:
            raise BadInput("observations", "none", "one or more")
        searches = [_Search(m, sight, self.seen, [(0, m.start())]) for m, sight in self.ways]
        search, whole = next(_in_turns(searches, bound, visited), (None, None))
        states = sum(len(each.parents) for each in searches)
        if search is None:
            search = min(searches, key=lambda each: (not each.todo, -each.best))
        answer = _answered(search, whole, states, bound, visited)
        if self.beside and answer.verdict == "explained":
            return replace(answer, verdict="unknown", where=self.beside)
        return answer


class Answers(Struct, frozen=True):
    """The answers to all questions about a cluster's files, by name.

    ``about`` are lines to read first: what was looked at, and what was not.
    """

    parts: Mapping[str, Explanation]
    about: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["explained", "refuted", "unknown"]:
        """*refuted* where one part is, else *unknown* where one is."""
        verdicts = {part.verdict for part in self.parts.values()}
        return next((v for v in ("refuted", "unknown") if v in verdicts), "explained")

    @property
    def first(self) -> Explanation | None:
        """The part to look at: the first of that verdict, with the longest run where all are."""
        fitting = [part for part in self.parts.values() if part.verdict == self.verdict]
        if self.verdict == "explained":
            return max(fitting, key=lambda part: len(part.run), default=None)
        return fitting[0]

    def timeline(self) -> Timeline:
        """The run of the first part. Raises BadInput where nothing had to be explained."""
        if self.first is None:
            raise BadInput("run", "no step", "observations that differ (these are all the same)")
        return self.first.timeline()

    def __repr__(self) -> str:
        lines = (f"{name}: {part.sentence}" for name, part in self.parts.items())
        return "\n".join([*self.about, *lines])


@checked
def explain(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    bound: int = BOUND,
    edition: Literal["server", "documents"] = "server",
    anonymize: bool = False,
    release: str = "",
    progress: Progress | bool | None = None,
) -> Answers:
    """Say whether a cluster's own journals, dumps or snapshots obey the model.

    ``files`` are of one kind; what is in the first of them says which family explains them.
    ``bound`` is how many states are visited at most for each question, such as that of a tablet.
    ``anonymize`` gives pseudonyms to the names in snapshots. ``release`` is that of ScyllaDB
    (empty: the newest). ``progress`` is called with the states visited and the questions answered
    so far; True shows a bar.

    Raises BadInput for files that nobody can explain, or that are not well formed.
    """
    given = [files] if isinstance(files, str | os.PathLike) else [*files]
    kinds = [(family, kind) for family in families() for kind in family.importers]
    explained = [kind.title for _, kind in kinds if kind.explainer]
    text = beginning(given[0]) if given else ""
    fitting = [(f, kind) for f, kind in kinds if kind.explainer and text and kind.is_one(text)]
    if not fitting:
        if given and not text:
            reading.read_bytes(given[0], "files", reading.MOST_KEPT)  # says why it cannot be read
        allowed = " or ".join(explained)
        raise BadInput("files", str(given[0]) if given else "nothing", allowed)
    family, kind = fitting[0]
    questions, about = family.load(kind.explainer)(given, edition, anonymize, release)
    answers = dict[str, Explanation]()
    with shown(progress, WORDS) as report:
        states = 0

        def visited(more: int) -> None:
            nonlocal states
            states += more
            if report is not None:
                report(states, len(answers))

        for each in questions:
            answers[each.name] = each.answer(bound, visited)
    return Answers(answers, about)
