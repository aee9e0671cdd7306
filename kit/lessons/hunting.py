"""Find the bug: variants of the protocol without a name, each with one safeguard missing.

A seed says which one is missing where. The learner plays a variant, searches it, reads the shortest
run that fails and says what is missing. A wrong word is refuted by a run; the right one is never
given away. What is in force and what is not is found out on the models, nothing is typed in.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from msgspec import Struct

from kit.errors import BadInput, KitError, Refused, counted
from kit.lessons.replays import broken_run, shortest_breach, verbs_to
from kit.lessons.stills import Judgement, Still, still
from kit.model.family import HuntGround, families
from kit.model.model import Model, Safeguard
from kit.model.registry import build, entry_of, one_of
from kit.model.timeline import Timeline
from kit.search.fuzz import Chance
from kit.views.registry import for_model
from kit.views.static import Sheet, bundle_of

VARIANTS = 8
OF = "CEP-21"
"""The protocol that is hunted in unless one says otherwise."""
MOST_SEED = 10_000
LIMIT = 200_000  # states of a search


class Variant(Struct, frozen=True):
    """One variant: its model's name, its parameters and the safeguard that it lacks."""

    model: str
    parameters: dict[str, Any]
    missing: Safeguard

    def build(self) -> Model[Any, Any]:
        """The model, without the names of what can be switched off."""
        model = build(self.model, self.parameters, (self.missing.name,))
        model.safeguards = ()
        return model


class ShortestRun:
    """The shortest run of a variant that breaks something, step by step in words."""

    def __init__(self, number: int, witness: str, timeline: Timeline) -> None:
        self.number, self.witness, self.timeline = number, witness, timeline

    def sheet(self) -> Sheet:
        """Each step with what it did; below, what is broken at the end."""
        line = self.timeline
        says = (line.moments[at].say for at in line.path()[1:])
        steps = zip(verbs_to(line), says, strict=True)
        rows = tuple((str(i), verb, say) for i, (verb, say) in enumerate(steps, start=1))
        broken = [verdict.title for verdict in line.verdicts() if not verdict.ok]
        notes = (f"✗ {'; '.join(broken)}: {self.witness}.",)
        steps_ = counted(len(rows), "step")
        title = f"Variant {self.number}: the shortest run that breaks something, {steps_}"
        return Sheet(title, ("step", "action", "what happened"), rows, notes)

    def __repr__(self) -> str:
        return self.sheet().text()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return bundle_of(self.sheet(), **options)


class Hunt:
    """Eight variants of one protocol from one seed, and the words said of them so far.

    ``watchers`` are called after each accusation, whoever made it: boards show it.
    A method that takes the number of a variant raises BadInput when there is none.
    """

    def __init__(self, seed: int, of: str = OF) -> None:
        self.seed, self.of = seed, of
        self.said: dict[int, str] = {}
        self.accusations = 0
        self.watchers: list[Callable[[], None]] = []
        self._variants = drawn(seed, of)
        self._runs: dict[int, ShortestRun] = {}

    @property
    def variants(self) -> int:
        """How many variants there are."""
        return len(self._variants)

    def _variant(self, number: int) -> Variant:
        if type(number) is not int or not 1 <= number <= VARIANTS:
            raise BadInput("variant", number, f"a number from 1 to {VARIANTS}")
        return self._variants[number - 1]

    def model(self, number: int) -> Model[Any, Any]:
        """A variant as a model: for a Player (``controls=False``), a search, random walks."""
        model = self._variant(number).build()
        model.title = f"Variant {number}"
        return model

    def timeline(self, number: int) -> Timeline:
        """The beginning of a variant's history: what a Player or a prediction is opened on."""
        return Timeline(self.model(number))

    def search(self, number: int) -> ShortestRun:
        """Search a variant for the shortest run that breaks something."""
        if number not in self._runs:
            model = self.model(number)
            violation = shortest_breach(model, LIMIT).violation
            assert violation is not None, "every variant is broken"
            run = Timeline.along(model, violation.actions)
            self._runs[number] = ShortestRun(number, violation.witness, run)
        return self._runs[number]

    def suspected(self, number: int) -> tuple[Safeguard, ...]:
        """The safeguards of which one is missing in a variant."""
        return suspected(self._variant(number))

    def suspects(self, number: int) -> Sheet:
        """The safeguards that a variant may lack: each with its id and its sentence."""
        rows = tuple((g.id, g.title) for g in self.suspected(number))
        return Sheet(f"Variant {number}: one of these is missing", ("id", "safeguard"), rows)

    def accuse(self, number: int, word: str) -> Judgement:
        """Say which safeguard is missing, by id or name; it is kept for the exercise, and once it
        is right, no other name takes its place.

        Raises BadInput for an unknown variant, or a safeguard that its model does not have.
        """
        verdict = judged(self._variant(number), number, word)
        if not self._is_named(number):
            self.said[number] = word
        self.accusations += 1
        for watch in self.watchers:
            watch()
        return verdict

    def _is_named(self, number: int) -> bool:
        missing = self._variant(number).missing
        return self.said.get(number) in (missing.id, missing.name)

    def _answered(self, number: int) -> str:
        if number not in self.said:
            return "?"
        return f"{'✓' if self._is_named(number) else '✗'} {self.said[number]}"

    def score(self) -> str:
        """How many of the variants have their right name by now, and after how many accusations."""
        right = sum(map(self._is_named, range(1, VARIANTS + 1)))
        tries = counted(self.accusations, "accusation")
        return f"Score: {right} of {VARIANTS} named, {tries}."

    def sheet(self) -> Sheet:
        """The variants, nameless, and what was said of each."""
        rows = tuple(
            (str(n), hunts()[each.model].about, _planned(each), self._answered(n))
            for n, each in enumerate(self._variants, start=1)
        )
        headings = ("variant", "about", "what can be under way", "your answer")
        what = "protocols" if self.of == OF else f"variants of {self.of}"
        title = f"Eight broken {what}, seed {self.seed}"
        return Sheet(title, headings, rows, (self.score(),))

    def __repr__(self) -> str:
        return self.sheet().text()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        # The board is made of widgets, which the judge's process of its own must not load.
        board = import_module("kit.lessons.forms").HuntBoard(self)
        return {**bundle_of(board, **options), **bundle_of(self.sheet())}


def hunt(seed: int, of: str = OF) -> Hunt:
    """Eight broken variants of a protocol; another seed gives others.

    ``of`` is ``CEP-21``, ``group 0``, ``Raft``, ``tablets``, ``migration``, ``upgrade`` or
    ``recovery``.

    Raises BadInput for a seed out of its limits, or a protocol without a hunt.
    """
    return Hunt(seed, of)


@cache
def hunts() -> dict[str, HuntGround]:
    """The faults that the families hide in variants, by the model's name."""
    return {model: pool for family in families() for model, pool in family.hunts.items()}


@cache
def drawn(seed: int, of: str = OF) -> tuple[Variant, ...]:
    """The variants of a seed: as many of each of the protocol's models, in any order.

    Raises BadInput for a seed out of its limits, or a protocol without a hunt.
    """
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise BadInput("seed", seed, f"a whole number from 0 to {MOST_SEED}")
    if not (pools := {model: pool for model, pool in hunts().items() if pool.of == of}):
        raise BadInput("of", of, one_of(of, sorted({pool.of for pool in hunts().values()})))
    chance = Chance(seed)
    variants: list[Variant] = []
    for place, (model, pool) in enumerate(pools.items()):
        left: list[str] = []
        known = {safeguard.id: safeguard for safeguard in entry_of(model).safeguards}
        # Each pool gives as many; of what is left over the first ones give one more.
        for _ in range(VARIANTS // len(pools) + (place < VARIANTS % len(pools))):
            left = left or list(pool.safeguards)  # a small pool gives each more than once
            safeguard = known[left.pop(chance.below(len(left)))]
            variants.append(Variant(model, {**safeguard.smallest, **pool.budgets}, safeguard))
    mixed = []
    while variants:
        mixed.append(variants.pop(chance.below(len(variants))))
    return tuple(mixed)


def suspected(variant: Variant) -> tuple[Safeguard, ...]:
    """The safeguards of a variant's model whose absence some run shows.

    Where that is one alone, and would be known at once, those of the hunt's other models as well.
    """
    own = _visible_safeguards(variant.model)
    if len(own) > 1:
        return own
    grounds = hunts()
    models = (each for each, pool in grounds.items() if pool.of == grounds[variant.model].of)
    return tuple(safeguard for model in models for safeguard in _visible_safeguards(model))


def _visible_safeguards(model: str) -> tuple[Safeguard, ...]:
    silent = hunts()[model].silent
    return tuple(each for each in entry_of(model).safeguards if each.id not in silent)


def judged(variant: Variant, number: int, word: Any) -> Judgement:
    """Whether the word names what a variant lacks; if not, the run that refutes it.

    Raises BadInput for a safeguard that the variant's model does not have, with the nearest names.
    """
    known = {w: g for g in suspected(variant) for w in (g.id, g.name)}
    if not isinstance(word, str) or word not in known:
        raise BadInput("safeguard", word, one_of(word, list(known)))
    if (safeguard := known[word]) == variant.missing:
        heading = f"Right: that is what variant {number} lacks."
        return Judgement(True, heading, (f"{safeguard.title}.",))
    heading = f"No: {safeguard.id} is not what variant {number} lacks."
    return Judgement(False, heading, *refuted(variant, number, safeguard))


def refuted(variant: Variant, number: int, safeguard: Safeguard) -> tuple[tuple[str, ...], Still]:
    """Why it is not this safeguard that is missing: a run, and where it parts from the variant.

    The run is the shortest that breaks something where this one alone is missing; played in the
    variant it is stopped, or leads elsewhere. Where it is not, the variant's own run is played
    where this one alone is missing. A safeguard of another model has no part in the run.
    """
    shown = None
    if safeguard in entry_of(variant.model).safeguards:
        run, title = _shortest(variant.model, safeguard.id)
        shown = Timeline(build(variant.model, safeguard.smallest, (variant.missing.name,)))
        if (parted := _parting(run, shown)) is not None:
            head = f"With only {safeguard.id} missing, this run breaks “{title}”:"  # fmt: skip
            end = f"With the safeguards of variant {number}, {parted}"
            return _between(head, run, end, shown)
        shown = Timeline(build(variant.model, variant.parameters, (safeguard.name,)))
    own = broken_run(variant.build(), LIMIT)
    assert own is not None
    if shown is None:
        [model] = (each for each in hunts() if safeguard in entry_of(each).safeguards)
        about = hunts()[model].about
        end = f"No step of this run needs {safeguard.id}: that safeguard belongs to {about}."
    else:
        parted = _parting(own, shown) or "the run does not fail in the same way."
        end = f"With only {safeguard.id} missing, {parted}"
    head = f"This run breaks variant {number}:"
    return _between(head, own, end, shown or own)


def _between(head: str, run: Timeline, end: str, shown: Timeline) -> tuple[tuple[str, ...], Still]:
    steps = (f"{at}. {verb}" for at, verb in enumerate(verbs_to(run), start=1))
    panel = next(panel.name for panel in for_model(shown.model).panels if panel.still)
    return (head, *steps, end), still(shown, panel)


@cache
def _shortest(name: str, code: str) -> tuple[Timeline, str]:
    safeguard = next(each for each in entry_of(name).safeguards if each.id == code)
    if (run := broken_run(build(name, safeguard.smallest, (safeguard.name,)), LIMIT)) is None:
        raise KitError(f"without {safeguard.id}, no run of {name} breaks anything")
    return run, next(verdict.title for verdict in run.verdicts() if not verdict.ok)


def _parting(run: Timeline, other: Timeline) -> str | None:
    """The step where a run and another model part; None when it does all of it and fails as it did.

    The other timeline is left at that place.
    """
    for number, at in enumerate(run.path()[1:], start=1):
        moment = run.moments[at]
        verb = run.model.verb(moment.action)
        try:
            other.do(moment.action)
        except Refused as refused:
            reason = refused.reason.removeprefix(f"{verb}: ")
            return f"step {number}, {verb!r}, is refused: {reason}."
        if other.now.say != moment.say:
            return f"step {number}, {verb!r}, does this: {other.now.say}"
    if any(not verdict.ok for verdict in other.verdicts()):
        return None
    number = len(run.path()) - 1
    steps = "its only step" if number == 1 else f"all {number} steps"
    return f"{steps} can be done, and nothing breaks."


def _planned(variant: Variant) -> str:
    planned: Any = attrgetter(hunts()[variant.model].planned)(variant.build())
    operations = (planned,) if isinstance(planned, str) else planned
    return "; ".join(each if isinstance(each, str) else each.title for each in operations)
