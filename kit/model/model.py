"""The contract every protocol keeps: states, enabled actions, refusals, effects, properties.

A model is pure. Whatever a person does with it (press a button, replay a trace, search every
interleaving, export a page) goes through the few methods of ``Model``, so that the model
that is shown is the model that is checked.

A model is a row of *rules*, one for each kind of action. A rule gives the actions that a person
could think of, and says what each of them comes to: a new state, or the reason why it may not
happen now. Enabled actions, refusals and button states all follow from that one answer.
``kit.model.declared`` makes rules of the methods of a class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from kit.errors import KitError, Refusal, Refused, shorten

S = TypeVar("S")
A = TypeVar("A")
Switches = TypeVar("Switches", bound=Struct)
Gesture: TypeAlias = tuple[str, str] | tuple[tuple[str, ...], tuple[str, ...]]
"""A part of the picture is taken to another one (both by key; an empty one is out of the picture),
or a line is drawn between two groups of nodes (by name).
"""


class LaterCase(Struct, frozen=True):
    """A configuration that begins at the end of a run, where the invariant ``breaks`` may break.

    ``scenario`` names a scenario file of the kit (``dataplane/deleted-data-returns``): its header
    gives the parameters, its lines above the first one that is ``before`` give the run.
    """

    breaks: str
    scenario: str
    before: str


class KeptAnyhow(Struct, frozen=True):
    """An invariant that is named for a safeguard and holds without it: what a search saw of that.

    ``parameters`` are the configuration; the search is complete, judges the invariant alone and has
    so many ``states``. ``since`` says what keeps it.
    """

    invariant: str
    parameters: Mapping[str, Any]
    states: int
    since: str

    @property
    def sentence(self) -> str:
        """``the search shows no harm to INV-CANCEL without it in cancels=1 (90 states): …``."""
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        where = f"{given or 'the default configuration'} ({self.states:,} states)"
        return f"without it, the search shows no harm to {self.invariant} in {where}: {self.since}"


class Safeguard(Struct, frozen=True):
    """A rule of the protocol that can be switched off, to see what it is for.

    ``protects`` names the invariants that break without it (``INV-QI``), ``smallest`` the
    parameters of the configuration in which one of them does: a small one, though some have a node
    or a fault more than the break needs, for the story that a lesson tells. For others of them
    ``wider`` says what they need besides, and ``later`` are configurations in which something has
    happened before. What a search shows to hold without it is ``kept`` anyhow; a safeguard that
    protects nothing is redundant.
    """

    name: str
    id: str
    title: str
    protects: tuple[str, ...]
    smallest: Mapping[str, Any] = field(default_factory=dict)
    later: tuple[LaterCase, ...] = ()
    wider: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kept: tuple[KeptAnyhow, ...] = ()

    @property
    def in_full(self) -> str:
        """Its title, with what search shows to be harmless without it."""
        redundant = " (redundant)" if self.kept and not self.protects else ""
        return "; ".join([f"{self.title}{redundant}", *(each.sentence for each in self.kept)])

    def shown_by(self, smallest: Mapping[str, Any], *later: LaterCase) -> Safeguard:
        """The same safeguard in a model where these are the smallest configurations."""
        return replace(self, smallest=smallest, later=later)

    def seen_by(self, *invariants: str) -> Safeguard:
        """The same safeguard in a model that judges these of its invariants alone."""
        return replace(self, protects=invariants)

    def breaking(self, invariant: str) -> dict[str, Any]:
        """The parameters with which an invariant that it protects breaks without it."""
        return {**self.smallest, **self.wider.get(invariant, {})}


def switched_off(switches: type[Switches], off: Iterable[str]) -> Switches:
    """The switches of a model with these safeguards off, by their names, and all others on.

    ``switches`` is a struct of bool fields, or of such structs.
    """
    return _without(switches(), {name.replace("-", "_") for name in off})


def _without(switches: Switches, names: Collection[str]) -> Switches:
    return type(switches)(
        **{
            name: _without(each, names) if isinstance(each, Struct) else name not in names
            for name, each in asdict(switches).items()
        }
    )


class Cost(Struct, frozen=True):
    """A known cost: a promise that the protocol itself does not keep in some configurations.

    ``property`` names one of the model's properties or monitors, or ``deadlock``. ``sentence`` says
    what it costs, and ``source`` which document or published server shows it. ``when(model)`` says
    in which configurations, ``where(model, state)`` in which of the states that break it.
    """

    property: str
    sentence: str
    source: str
    when: Callable[[Any], bool] = lambda m: True
    where: Callable[[Any, Any], bool] = lambda m, s: True

    def remark(self) -> str:
        """That it is a known cost of the protocol, what it costs, and the source."""
        return f"a known cost of the protocol. {self.sentence} See: {self.source}"


Kind = Literal["always", "step", "sometimes", "goal", "live"]
Pace = Literal["", "prompt", "slow"]


class Property(Struct, frozen=True):
    """A sentence about runs, and the function that judges it.

    ``check`` takes a state (*always*, *sometimes*, *goal*, *live*) or a step (before, action,
    after). For *always* and *step* it returns the witness of a violation, or None when all is well;
    for *sometimes*, *goal* and *live* it returns a truthy value where the state is reached.
    ``invariant`` is the invariant of the requirements that it watches over (``INV-QI``), if any.
    ``on`` names the types of action that a *step* property looks at (none: all of them); of others
    it says nothing.
    ``of`` gives the part of a state that an *always* property looks at (None: all of it).
    """

    name: str
    kind: Kind
    title: str
    check: Callable[..., Any]
    invariant: str = ""
    on: tuple[type, ...] = ()
    of: Callable[[Any], Any] | None = None

    def stays(self, before: Any, after: Any) -> bool:
        """Whether a step left all that an *always* property looks at as it was."""
        return self.of is not None and self.of(before) is self.of(after)

    def within(self, part: Callable[[Any], Any]) -> Property:
        """The same of larger states, each of which has a state that it judges as a ``part``."""
        check, of = self.check, self.of

        @wraps(check)
        def check_step(before: Any, action: Any, after: Any) -> Any:
            return check(part(before), action, part(after))

        if self.kind == "step":
            return replace(self, check=check_step)
        looks_at = (lambda s: of(part(s))) if of else part
        return replace(self, check=wraps(check)(lambda s: check(part(s))), of=looks_at)

    def of_step(self, before: Any, action: Any, after: Any) -> str | None:
        """The witness of a *step* property in a step: none for one that it does not look at."""
        if self.on and type(action) not in self.on:
            return None
        witness: str | None = self.check(before, action, after)
        return witness


class Monitor(Struct, frozen=True):
    """A pure automaton over steps, for what a single state cannot tell.

    ``begin()`` gives its first memory, ``step(memory, before, action, after)`` the next one, and
    ``verdict(memory)`` the witness of a violation, or None. A memory is immutable and hashable, as
    states are, and holds no more than the verdict needs: a search visits every pair of a state and
    its memories. ``rename(memory, permutation)`` gives the memory with the names that the model's
    symmetry gives; without it, no search that uses the symmetry can have this monitor.
    ``invariant`` is the invariant of the requirements that it watches over, if any. ``on`` names
    the types of action that can change a memory (none: all of them).
    """

    name: str
    title: str
    begin: Callable[[], Any]
    step: Callable[[Any, Any, Any, Any], Any]
    verdict: Callable[[Any], str | None]
    rename: Callable[[Any, Any], Any] | None = None
    invariant: str = ""
    on: tuple[type, ...] = ()

    def after(self, memory: Any, before: Any, action: Any, after: Any) -> Any:
        """The memory after a step: the same after one that cannot change it."""
        if self.on and type(action) not in self.on:
            return memory
        return self.step(memory, before, action, after)


class Verdict(Struct, frozen=True):
    """The verdict of one property on one moment: lit green, or red with its witness.

    ``cost`` is the known cost of the protocol that breaks it here, if one does.
    """

    name: str
    title: str
    ok: bool
    witness: str | None = None
    cost: Cost | None = None


class PartialOrder(Struct, frozen=True):
    """Which actions may wait until another one looks at what they do.

    ``waiting`` are their types. ``leads(state, action)`` gives, for an action of another type, the
    steps that may come right before it, each a tuple of actions that wait (empty: none has to).
    """

    waiting: tuple[type, ...]
    leads: Callable[[Any, Any], Iterable[tuple[Any, ...]]]


def _nothing_first(s: Any, action: Any) -> Iterable[tuple[Any, ...]]:
    return ((),)


class CommutingDeliveries(PartialOrder, frozen=True):
    """Of nodes with messages and timers: what commutes with all to come is received at once.

    Nothing waits here. ``watched(node)`` is what properties read of a node's state, and ``timers``
    are those that may run out at it while nothing has befallen the network.
    """

    waiting: tuple[type, ...] = ()
    leads: Callable[[Any, Any], Iterable[tuple[Any, ...]]] = _nothing_first
    watched: Callable[[Any], Any] = lambda node: node
    timers: Callable[[Any], tuple[str, ...]] = lambda node: ()


class TransitionRows(Struct, frozen=True):
    """The transitions of a model's tables by name, and which of them a step takes.

    ``taken(before, action, after)`` gives names; those that are not among ``names`` do not count.
    """

    names: tuple[str, ...]
    taken: Callable[[Any, Any, Any], tuple[str, ...]]


class NoParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a model that comes in one configuration only."""


class Rule(Struct, Generic[S, A], frozen=True):
    """One kind of action: which of them a person could think of, and what each comes to.

    ``choices(state)`` gives those actions, each with what ``outcome`` is told of it (its arguments,
    or the action itself); ``given(action)`` finds that for an action that comes from elsewhere.
    ``outcome(state, given)`` is the next state, a ``Refusal``, or None: nobody would think of it.
    """

    action: type[A]
    kind: str
    choices: Callable[[S], Iterable[tuple[A, Any]]]
    outcome: Callable[[S, Any], S | Refusal | None]
    given: Callable[[A], Any]

    def ready(self, s: S) -> list[tuple[A, S]]:
        """The actions of this kind that may happen in ``s``, each with the state after it."""
        outcome, ready = self.outcome, []
        for action, given in self.choices(s):
            end = outcome(s, given)
            if end is not None and type(end) is not Refusal:
                ready.append((action, end))
        return ready  # type: ignore[return-value]  # what is left are states

    def seen(self, s: S, given: Any) -> S | Refusal | None:
        """The outcome as it is looked at: ``s`` where it raises, which is left to who takes it."""
        try:
            return self.outcome(s, given)
        except KitError:
            raise
        except (Exception, SystemExit, GeneratorExit):  # of the model's own code
            return s

    def end(self, s: S, action: A) -> S | Refusal | None:
        """The outcome of an action in ``s``; None when it is none of the choices there."""
        try:
            given = self.given(action)
        except Refused:
            return None
        return self.outcome(s, given) if (action, given) in self.choices(s) else None


class Model(Generic[S, A]):
    """A protocol. Subclasses set the attributes, ``rules`` and ``start``; the rest follows.

    ``premise`` says in a sentence what it is about, in the next ones who is in the picture.
    ``symmetry`` maps a state to the one that stands for all that differ from it only in the names
    of interchangeable things, and says how it renamed them. ``partial_order`` says which actions
    may wait (``kit.search.partial_order``). ``rests_at_goals`` declares that a run
    may come to rest only where a *goal* property holds; resting elsewhere is a deadlock.
    ``faults`` are the kinds of action that nobody wants: among all actions they come last, and the
    first one of each type has a button of its own beside the next action.
    ``signs`` are properties that break on the way to a harm that the others judge: they are judged
    only where they are asked for, so that a search goes on to the harm.
    ``bounds`` are refusals of what a parameter leaves out that is none of the protocol's own: a
    search that meets one is called bounded by it.
    ``costs`` are the promises that the protocol itself does not keep, and where. They count while
    no safeguard is off: a search goes on past them, and judges everything else.
    ``revision`` is raised with every change after which an action leads to another state than
    before: traces hold it. It is here and not in a registry, for a model has it without being
    registered, and who changes what an action does has this class open.
    """

    name: str
    title: str
    premise: str = ""
    revision: int = 1
    parameters: Struct = NoParameters()
    off: tuple[str, ...] = ()
    State: type[S]
    Action: Any
    safeguards: tuple[Safeguard, ...] = ()
    properties: tuple[Property, ...] = ()
    signs: tuple[Property, ...] = ()
    monitors: tuple[Monitor, ...] = ()
    symmetry: Callable[[S], tuple[S, Any]] | None = None
    partial_order: PartialOrder | None = None
    rests_at_goals: bool = False
    bounds: tuple[Refusal, ...] = ()
    costs: tuple[Cost, ...] = ()
    faults: tuple[str, ...] = ()
    rules: tuple[Rule[S, Any], ...] = ()

    def start(self) -> S:
        """The first state."""
        raise NotImplementedError

    def options(self, s: S) -> Iterator[tuple[A, Refusal | None]]:
        """The actions that a person could think of in ``s``, each once, and why it may not happen,
        if so.

        They come in the order a person would expect; None: the action is enabled, be it one that
        raises an error once it is taken.
        """
        for rule in self.rules:
            for action, given in rule.choices(s):
                end = rule.seen(s, given)
                if end is not None:
                    yield action, end if isinstance(end, Refusal) else None

    def actions(self, s: S) -> Iterator[A]:
        """The actions enabled in ``s``."""
        return (action for action, refusal in self.options(s) if refusal is None)

    def waiting(self, s: S) -> Iterator[tuple[A, Refusal]]:
        """The actions that a person would try in ``s`` but may not yet, each with the reason."""
        return ((action, refusal) for action, refusal in self.options(s) if refusal is not None)

    def known_cost(self, name: str, s: S) -> Cost | None:
        """The known cost by which a property, a monitor or ``deadlock`` breaks in ``s``, if any."""
        costs = () if self.off else self.costs
        known = (each for each in costs if each.property == name and each.when(self))
        return next((each for each in known if each.where(self, s)), None)

    def find(self, s: S, verb: str) -> tuple[A, Refusal | None] | None:
        """The option of ``s`` that goes by a verb; None when there is no such thing."""
        return next((option for option in self.options(s) if self.verb(option[0]) == verb), None)

    def goes_by(self, s: S, action: A, verb: str) -> bool:
        """Whether a verb means this action of ``s``: its own, or another word that is read."""
        return self.verb(action) == verb or (self.find(s, verb) or (None,))[0] == action

    def comes_to(self, s: S, action: A) -> S | Refusal | None:
        """The outcome of an action in ``s``; None where nobody would think of it."""
        rule = self.rule_of(action)
        return None if rule is None else rule.end(s, action)

    def refusal(self, s: S, action: A) -> Refusal | None:
        """Why ``action`` may not happen in ``s``; None when it may."""
        if self.rule_of(action) is None:
            return Refusal(f"{shorten(action)} is not an action of {self.name}")
        end = self.comes_to(s, action)
        if end is None:  # a model has words for what its rules offer; this may be anything
            return Refusal(f"{shorten(action)}: there is no such action here")
        return end if isinstance(end, Refusal) else None

    def apply(self, s: S, action: A) -> S:
        """The state after ``action``. Trusts its caller: the action is enabled.

        Raises Refused when it is not, with the reason where there is one.
        """
        rule = self.rule_of(action)
        assert rule is not None, f"{self.name} has no rule for {action!r}"
        end = rule.outcome(s, rule.given(action))
        if end is None or isinstance(end, Refusal):
            raise Refused(end.reason if end else f"{shorten(action)}: there is no such action here")
        return end

    def successors(self, s: S) -> Iterator[tuple[A, S]]:
        """Every enabled action with the state it leads to: what a search walks along."""
        for rule in self.rules:
            outcome = rule.outcome
            for action, given in rule.choices(s):
                end = outcome(s, given)
                if end is not None and type(end) is not Refusal:
                    yield action, end  # type: ignore[misc]  # what is left is a state

    def relied(self, s: S, action: A) -> bool:
        """Whether progress may rely on a step: it happens in time, without luck or a budget."""
        return True

    def helped(self, s: S) -> Iterator[tuple[A, S]]:
        """The instructions to operators, beyond any budget, that count where goals are judged."""
        return iter(())

    def told_why(self, s: S) -> str:
        """Why operators are told to do something, in a clause; empty where they are not."""
        return ""

    def pace(self, s: S, action: A) -> Pace:
        """Whether a step that stays possible has to happen, and how soon; empty: it need not."""
        return ""

    def beyond(self, s: S) -> Iterator[tuple[A, str]]:
        """What a bound of the model alone leaves out in a state, each with the bound."""
        yield from self.horizon(s)
        for rule in self.rules if self.bounds else ():
            for action, given in rule.choices(s):
                end = rule.seen(s, given)
                if any(end is bound for bound in self.bounds):
                    yield action, end.reason  # type: ignore[union-attr]  # it is a refusal

    def horizon(self, s: S) -> Iterator[tuple[A, str]]:
        """The same of what is not even refused: a bound that only *live* properties ask about."""
        return iter(())

    def recurring(self, s: S) -> Any:
        """What of a state counts where a run comes back to it: all that can matter again."""
        return s

    def act(self, s: S, action: A) -> S:
        """The state after ``action``. Raises Refused with the reason where that is not enabled."""
        end = self.comes_to(s, action)
        if end is not None and not isinstance(end, Refusal):
            return end
        refusal = self.refusal(s, action)
        assert refusal is not None, f"{self.name} takes {action!r}, and does not"
        raise Refused(refusal.reason)

    def rule_of(self, action: A) -> Rule[S, Any] | None:
        """The rule that governs actions of this type."""
        return next((rule for rule in self.rules if rule.action is type(action)), None)

    def suggest(self, s: S) -> A | None:
        """The default schedule's next action; None when nothing is left to do."""
        return next(iter(self.actions(s)), None)

    def milestone(self, before: S, action: A, after: S) -> str | None:
        """The name of the milestone this step reaches (the unit of coarse stepping), or None."""
        return None

    def things(self, action: A) -> tuple[str, ...]:
        """The things of the picture that an action concerns and that its fields do not name."""
        return ()

    def actor_of(self, s: S, action: A) -> str:
        """The name of who takes a step: its node, or the only thing it concerns; empty: nobody."""
        name = getattr(action, "node", "") or getattr(action, "member", "")
        if not name and len(things := self.things(action)) == 1:
            [name] = things
        return str(name)

    def hand(self, s: S, action: A) -> Gesture | None:
        """The gesture for an action in the picture, where the hand can do it by itself."""
        return None

    def newest_epoch(self, s: S) -> int | None:
        """The number of what was committed last, by the protocol's own count: an epoch, a topology
        version, an entry of the log, a term. None where the protocol counts nothing.
        """
        return None

    def is_busy(self, s: S) -> bool:
        """Whether something is in flight."""
        return False

    def why(self, action: A) -> str:
        """The purpose of such a step, in a sentence; empty where nobody says."""
        return ""

    def why_here(self, before: S, action: A, after: S) -> str:
        """The purpose of this step, where the states say more than its kind does."""
        return self.why(action)

    def describe(self, before: S, action: A, after: S) -> str:
        """One or two sentences: what happened, and why."""
        return self.verb(action)

    def verb(self, action: A) -> str:
        """The action as one line of a scenario file; also its button's text."""
        fields = msgspec.structs.asdict(action)  # type: ignore[arg-type]  # actions are Structs
        words = [type(action).__name__.lower(), *(str(value) for value in fields.values())]
        return " ".join(words)

    def readable(self, s: S) -> Any:
        """The state as a person reads it, for the default view: itself, or names with texts."""
        return s

    def label(self, s: S, action: A) -> str:
        """The text of the action's button in ``s``; the verb, unless more can be said."""
        return self.verb(action)

    def kind(self, action: A) -> str:
        """The group of buttons the action belongs to."""
        rule = self.rule_of(action)
        return rule.kind if rule else type(action).__name__.lower()


def _of_kind(kind: Kind) -> Callable[..., Property]:
    def made(name: str, title: str, *check: Any, **more: Any) -> Property:
        return Property(name, kind, title, *check, **more)

    return made


always, step, sometimes, goal, live = map(_of_kind, get_args(Kind))
"""Properties by their kinds: ``always("name", "title", check)``, and the other fields.

What is *always* so is an invariant, and *step* is a rule on steps. Some reachable state must show
what is *sometimes* so, so that no model is vacuous. A *goal* must stay reachable from everywhere;
every fair run comes to what is *live* again and again (``kit.model.liveness``).
"""


def by_kind(properties: Iterable[Property]) -> Iterator[tuple[Property, ...]]:
    """Properties apart by kind: *always*, *step*, *sometimes*, *goal*, *live*."""
    every = tuple(properties)
    return (tuple(p for p in every if p.kind == kind) for kind in get_args(Kind))


def verdicts(
    model: Model[Any, Any],
    s: Any,
    before: Any = None,
    action: Any = None,
    memories: tuple[Any, ...] = (),
    properties: Iterable[Property] | None = None,
) -> tuple[Verdict, ...]:
    """Every *always* property of ``s``, and every *step* property of the step that led to it.

    With the ``memories`` that the model's monitors have here, every monitor's verdict, too.
    ``properties`` are those that can have changed (None: all of the model's).
    """
    judged = list[tuple[Property | Monitor, str | None]]()
    for prop in model.properties if properties is None else properties:
        if prop.kind == "always":
            witness = prop.check(s)
        elif prop.kind == "step":
            witness = prop.of_step(before, action, s) if action is not None else None
        elif prop.kind == "live":  # no single state breaks it
            witness = None
        else:
            continue
        judged.append((prop, witness))
    for monitor, memory in zip(model.monitors, memories, strict=False):
        judged.append((monitor, monitor.verdict(memory)))
    return tuple(
        Verdict(each.name, each.title, True)
        if witness is None
        else Verdict(each.name, each.title, False, witness, model.known_cost(each.name, s))
        for each, witness in judged
    )


def rule_rows(model: Model[Any, Any]) -> TransitionRows:
    """A row for each rule of a model's table: its kind, with the action where kinds are shared."""
    kinds = [rule.kind for rule in model.rules]
    names = {
        rule.action: kind if kinds.count(kind) == 1 else f"{kind}: {rule.action.__name__.lower()}"
        for kind, rule in zip(kinds, model.rules, strict=True)
    }
    return TransitionRows(
        tuple(names.values()), lambda before, action, after: (names[type(action)],)
    )


def _digestible(value: Any) -> Any:
    """The digest of a value that carries its own (a log prefix, a ring)."""
    digest = getattr(value, "digest", None)
    if isinstance(digest, bytes):
        return digest
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


LONGEST_NUMBER = 10_000  # bits


def _storable(value: Any) -> Any:
    """Plain data in which integers beyond 64 bits, which MessagePack lacks, are bytes."""
    if isinstance(value, tuple | list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        if value.bit_length() > LONGEST_NUMBER:
            raise ValueError(f"an integer of more than {LONGEST_NUMBER:,} bits")
        data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
        return msgspec.msgpack.Ext(1, data)
    return value


# Sets and dicts are no part of a good state, but must not make a digest depend on the hash seed.
_ENCODER = msgspec.msgpack.Encoder(enc_hook=_digestible, order="deterministic")


def content(value: Any) -> bytes:
    """The bytes that stand for a value: equal for equal content, on every machine and run.

    Raises TypeError or ValueError for what cannot be written down.
    """
    try:
        return _ENCODER.encode(value)
    except OverflowError:
        plain = msgspec.to_builtins(
            value, builtin_types=(bytes,), order="deterministic", enc_hook=_digestible
        )
        return _ENCODER.encode(_storable(plain))


def fingerprint(s: Any) -> str:
    """The content digest of a state: 16 hex digits, the same on every machine and run."""
    return hashlib.blake2b(content(s), digest_size=8).hexdigest()


class Refinement(Struct, frozen=True):
    """A finer model that does what a coarser one does, some of its steps changing nothing there.

    ``project`` maps a fine state to a coarse one; ``image(before, action, after)`` gives the
    coarse actions of a fine step, none for a stutter. Replaying them from ``project(before)``
    must give ``project(after)``; ``kit.search.check.check_refinement`` verifies it on every
    reachable fine step.
    """

    fine: Model[Any, Any]
    coarse: Model[Any, Any]
    project: Callable[[Any], Any]
    image: Callable[[Any, Any, Any], tuple[Any, ...]]

    def mismatch(self, before: Any, action: Any, after: Any) -> str | None:
        """Why this fine step is not its coarse image; None when it is."""
        state = self.project(before)
        for coarse in self.image(before, action, after):
            refusal = self.coarse.refusal(state, coarse)
            if refusal is not None:
                return f"{self.coarse.verb(coarse)} is refused there: {refusal.reason}"
            state = self.coarse.apply(state, coarse)
        if state != self.project(after):
            return f"{self.fine.verb(action)} leads to a different state than its image"
        return None
