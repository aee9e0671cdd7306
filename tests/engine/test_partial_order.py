"""Larger steps: what may wait is left for last; an order that leaves anything out is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.engine import partial_order
from kit.engine.check import check
from kit.engine.model import (
    Model,
    Monitor,
    PartialOrder,
    Property,
    Safeguard,
    always,
    goal,
    step,
)
from kit.engine.partial_order import LargerStep, single_steps
from kit.errors import BadInput, KitError, Refusal
from kit.protocols.twophase.twophase import TwoPhase
from tests.pairs import paired
from tests.protocols.storage.proofs import replayed

CLERKS, LETTERS, QUESTIONS = 3, 2, 2


class Post(Struct, frozen=True):
    """The letters that came, how many each clerk has read, and who was asked what came last."""

    letters: int = 0
    read: tuple[int, ...] = (0,) * CLERKS
    said: tuple[int, ...] = ()


class Arrive(Struct, frozen=True):
    """A letter for all comes."""


class Read(Struct, frozen=True):
    """A clerk reads the next letter."""

    clerk: int


class Ask(Struct, frozen=True):
    """A clerk says how many letters there are."""

    clerk: int


Leads = Callable[[Post, Any], Iterator[tuple[Any, ...]]]


def as_it_is(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
    """Who is asked may have read any number by then."""
    if isinstance(action, Ask):
        for number in range(s.letters - s.read[action.clerk] + 1):
            yield (Read(action.clerk),) * number
    else:
        yield ()


def never_late(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
    """Wrong: nobody reads before being asked."""
    yield ()


def at_the_latest(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
    """Wrong: whoever is asked has read all."""
    yield (Read(action.clerk),) * (s.letters - s.read[action.clerk]) if type(action) is Ask else ()


def too_early(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
    """Wrong: a clerk reads a letter that has not come."""
    yield from as_it_is(s, action)
    if type(action) is Ask:
        yield (Read(action.clerk),) * (s.letters - s.read[action.clerk] + 1)


def nobody_behind(before: Post, action: Any, after: Post) -> str | None:
    """No clerk who is asked has letters unread."""
    behind = before.letters - before.read[action.clerk]
    return f"clerk {action.clerk} is {behind} behind" if behind else None


BEHIND = step("behind", "All who are asked have read everything", nobody_behind, on=(Ask,))
TOLD = step("told", "None knows", lambda b, a, n: "knows" if b.read[a.clerk] else None, on=(Ask,))
COUNT = Monitor(
    "asked",
    "Nobody is asked twice",
    lambda: 0,
    lambda memory, before, action, after: memory + 1,
    lambda memory: "asked twice" if memory == 2 else None,
    on=(Ask,),
)


class Office(Model[Post, Any]):
    """Clerks who read what comes when they like."""

    name, title = "office", "An office"
    State, Action = Post, Arrive | Read | Ask

    def __init__(self, leads: Leads = as_it_is) -> None:
        self.partial_order = PartialOrder((Read,), leads)
        self.rules = (
            paired(Arrive, "letter", lambda s: (Arrive(),), self._may_come, self._come),
            paired(Read, "read", lambda s: map(Read, range(CLERKS)), self._may_read, self._read),
            paired(Ask, "ask", lambda s: map(Ask, range(CLERKS)), self._may_ask, self._ask),
        )

    def start(self) -> Post:
        """No letter has come."""
        return Post()

    def _may_come(self, s: Post, action: Arrive) -> Refusal | None:
        return None if s.letters < LETTERS else Refusal("no more letters")

    def _come(self, s: Post, action: Arrive) -> Post:
        return replace(s, letters=s.letters + 1)

    def _may_read(self, s: Post, action: Read) -> Refusal | None:
        return None if s.read[action.clerk] < s.letters else Refusal("all is read")

    def _read(self, s: Post, action: Read) -> Post:
        read = list(s.read)
        read[action.clerk] += 1
        return replace(s, read=tuple(read))

    def _may_ask(self, s: Post, action: Ask) -> Refusal | None:
        return Refusal("enough was said") if len(s.said) == QUESTIONS else None

    def _ask(self, s: Post, action: Ask) -> Post:
        return replace(s, said=(*s.said, s.read[action.clerk]))


def test_every_state_is_reached_by_larger_steps_and_steps_that_wait() -> None:
    """A walk that takes each step alone meets no other state; the search has far fewer."""
    model = Office()
    every = closure([model.start()], model, (Arrive, Read, Ask))
    larger = partial_order.LargerSteps(model)
    met = closure([model.start()], larger, (Arrive, Ask, LargerStep))
    assert closure(met, model, (Read,)) == every
    result = check(model, partial_order=True)
    assert (result.states, result.ordered) == (len(met), len(met))
    assert len(met) < len(every) / 2
    assert result.verdict == "up to order"


def test_larger_steps_keep_what_a_model_says_of_itself() -> None:
    """All that a search tells of a model, or asks it."""
    model: Any = Office()
    fields = (
        *("off", "safeguards", "signs", "properties", "monitors", "symmetry", "bounds"),
        *("name", "title", "parameters", "State", "Action", "rules"),
    )
    for field in fields:
        setattr(model, field, getattr(model, field) or (field,))
    larger = partial_order.LargerSteps(model)
    for field in fields:
        assert getattr(larger, field) == getattr(model, field)


def test_a_larger_step_is_judged_where_it_looks() -> None:
    """Behind what waited, and before what is taken along behind it."""
    larger = partial_order.LargerSteps(Office())
    whole = LargerStep((Read(0),), Ask(0), (Read(1),))
    seen: list[Any] = []
    seeing = step("p", "", lambda b, a, n: seen.append((b, a, n)), on=(Ask,))
    watching = replace(COUNT, step=lambda memory, b, a, n: (b, a, n))
    ends = Post(1, (1, 1, 0), (1,))
    behind = (Post(1, (1, 0, 0)), Ask(0), Post(1, (1, 0, 0), (1,)))
    larger.judged(seeing).check(Post(1), whole, ends)
    larger.judged(seeing).check(Post(1), replace(whole, behind=()), behind[2])
    assert seen == [behind, behind]
    assert larger.watching(watching).after(0, Post(1), whole, ends) == (*behind[:2], ends)
    assert larger.watching(watching).after(0, *behind) == behind
    assert larger.watching(watching).after(0, Post(), Arrive(), Post(1)) == 0


def closure(states: Any, model: Any, kinds: tuple[type, ...]) -> set[Any]:
    """Those states, and all that such steps lead to."""
    seen, pending = set(states), list(states)
    for at in pending:  # grows while it is walked along
        for action, after in model.successors(at):
            if type(action) in kinds and after not in seen:
                seen.add(after)
                pending.append(after)
    return seen


@pytest.mark.parametrize("leads", [never_late, at_the_latest])
def test_an_order_that_leaves_something_out_is_refused(leads: Leads) -> None:
    """One line names the step and the state after which no larger step does the same."""
    with pytest.raises(KitError, match=r"partial order of office: Ask\(clerk=.*is left out"):
        check(Office(leads), (), partial_order=True)


class Skim(Struct, frozen=True):
    """A clerk reads the next letter, once anybody was asked."""

    clerk: int


class Skimmers(Office):
    """Questions that no letter matters to; before the first one clerks read, then they skim."""

    Action = Arrive | Read | Ask | Skim

    def __init__(self, until: int) -> None:
        super().__init__(never_late)
        self.until = until
        self.partial_order = PartialOrder((Read, Skim), never_late)
        skim = paired(Skim, "skim", lambda s: map(Skim, range(CLERKS)), self._may_skim, self._read)
        self.rules = (*self.rules, skim)

    def _may_read(self, s: Post, action: Any) -> Refusal | None:
        late = len(s.said) >= self.until
        return Refusal("clerks skim now") if late else super()._may_read(s, action)

    def _may_skim(self, s: Post, action: Any) -> Refusal | None:
        return super()._may_read(s, action) if s.said else Refusal("clerks read")

    def _ask(self, s: Post, action: Ask) -> Post:
        return replace(s, said=(*s.said, 0))


def test_what_was_done_before_has_to_wait_itself() -> None:
    """It is no matter that another step that waits comes to the same afterwards."""
    assert check(Skimmers(QUESTIONS + 1), (), partial_order=True).verdict == "up to order"
    with pytest.raises(KitError, match=r"partial order of office: Ask\(clerk=.*is left out"):
        check(Skimmers(1), (), partial_order=True)


@pytest.mark.parametrize("judged", [(), (TOLD,)])
def test_a_step_that_the_model_refuses_is_no_part_of_a_larger_one(judged: Any) -> None:
    """Neither where nothing breaks, nor in a counterexample."""
    with pytest.raises(KitError, match=r"takes Read\(clerk=.*the model refuses: all is read"):
        check(Office(too_early), judged, partial_order=True)


def test_a_counterexample_is_of_steps_that_the_model_offers() -> None:
    """The order names a step that its rule would allow, but of which there is no choice."""
    model = Office()
    reads = paired(Read, "read", lambda s: (Read(0),), model._may_read, model._read)
    model.rules = tuple(reads if rule.action is Read else rule for rule in model.rules)
    knows = step("one", "", lambda b, a, n: "knows" if b.read[1] else None, on=(Ask,))
    with pytest.raises(KitError, match=r"takes Read\(clerk=1\).*refuses: "):
        check(model, (knows,), partial_order=True, max_states=4)


def test_what_is_refused_anyway_needs_no_steps_before_it() -> None:
    """An order may name impossible ones there; another of its ways may allow the step."""

    class Shy(Office):
        """Nobody says anything who has read nothing."""

        def _may_ask(self, s: Post, action: Ask) -> Refusal | None:
            return None if s.read[action.clerk] else Refusal("nothing was read")

    def longest_first(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
        yield from reversed([*too_early(s, action)])

    larger = partial_order.LargerSteps(Shy(longest_first))
    assert [*larger.successors(Post(1))] == [
        (Arrive(), Post(2)),
        (LargerStep((Read(0),), Ask(0)), Post(1, (1, 0, 0), (1,))),
        (LargerStep((Read(1),), Ask(1)), Post(1, (0, 1, 0), (1,))),
        (LargerStep((Read(2),), Ask(2)), Post(1, (0, 0, 1), (1,))),
    ]
    with pytest.raises(KitError, match=r"takes Read.*refuses: all is read"):
        list(larger.successors(Post(1, (1, 1, 1))))


def never_at_once(s: Post, action: Any) -> Iterator[tuple[Any, ...]]:
    """Wrong: whoever is asked has read one letter at least, if there is any."""
    leads = [*as_it_is(s, action)]
    yield from leads[1:] or leads


@pytest.mark.parametrize("leads", [never_late, never_at_once])
def test_on_a_way_of_a_large_search_each_node_is_looked_at(
    leads: Leads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that it begins with, and those behind steps that wait."""
    monkeypatch.setattr(partial_order, "SMALL", 0)
    order = partial_order.OrderCheck(partial_order.LargerSteps(Office(leads)), (), ())
    with pytest.raises(KitError, match="is left out"):
        order.compare([Post(1)])


def test_each_way_of_a_small_search_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last clerk is told by the second one, before the first one reads, too."""

    class Whispering(Office):
        """What is said depends on others who have read."""

        def _ask(self, s: Post, action: Ask) -> Post:
            told = action.clerk == 2 and s.read[1] > s.read[0]
            return replace(s, said=(*s.said, 9)) if told else super()._ask(s, action)

    larger = partial_order.LargerSteps(Whispering())
    with pytest.raises(KitError, match=r"Ask\(clerk=2\).*is left out"):
        partial_order.OrderCheck(larger, (), ()).compare([Post(1)])
    monkeypatch.setattr(partial_order, "SMALL", 0)
    partial_order.OrderCheck(larger, (), ()).compare([Post(1)])  # one way: in their order


class Call(Struct, frozen=True):
    """A clerk is called, and says the same as when asked."""

    clerk: int


def test_another_action_that_comes_to_the_same_is_another_one() -> None:
    """Properties may tell them apart, so that each needs larger steps of its own."""

    class Phone(Office):
        """The order is right of who is asked, and wrong of who is called."""

        Action = Arrive | Read | Ask | Call

        def __init__(self) -> None:
            super().__init__()
            call = paired(Call, "call", self._calls, self._may_ask, self._ask)
            self.rules = (*self.rules, call)

        def _calls(self, s: Post) -> Iterator[Call]:
            return map(Call, range(CLERKS))

    order = partial_order.OrderCheck(partial_order.LargerSteps(Phone()), (), ())
    with pytest.raises(KitError, match=r"Call\(clerk=0\) after .* is left out"):
        order.compare([Post(1)])


def test_one_of_several_larger_steps_to_the_same_breaks_it() -> None:
    """Whoever says nothing of letters comes to the same with or without reading before."""

    class Silent(Office):
        """No clerk tells how many have come."""

        def _ask(self, s: Post, action: Ask) -> Post:
            return replace(s, said=(*s.said, 0))

    order = partial_order.OrderCheck(partial_order.LargerSteps(Silent()), (TOLD,), ())
    order.compare([Post(1)])
    assert order.compared == 1


def test_what_is_wrong_is_found_in_a_large_search_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a larger search one node in so many is compared, on one way of steps that wait; and never
    but a few.
    """
    monkeypatch.setattr(partial_order, "SMALL", 10)
    few = check(Office(), (), partial_order=True)
    assert few.ordered == few.states > 10
    monkeypatch.setattr(partial_order, "FEWEST", 5)
    monkeypatch.setattr(partial_order, "SHARE", 7)
    result = check(Office(), (), partial_order=True)
    assert result.ordered == -(-result.states // 7)
    with pytest.raises(KitError, match="is left out"):
        check(Office(at_the_latest), (), partial_order=True)


def test_a_counterexample_is_a_run_of_the_model() -> None:
    """Its steps are single ones, and it replays to what the property says."""
    model = Office()
    model.properties = (BEHIND,)
    found = check(model, partial_order=True).violation
    assert found is not None
    assert found.actions == (Arrive(), Ask(0))
    assert replayed(model, found) == found.witness == "clerk 0 is 1 behind"


def test_a_lead_is_part_of_the_run() -> None:
    """What waited stands right before the step that looks at it."""
    model = Office()
    model.properties = (TOLD,)
    found = check(model, partial_order=True).violation
    assert found is not None
    assert found.actions == (Arrive(), Read(0), Ask(0))


def test_monitors_watch_the_steps_that_do_not_wait() -> None:
    """Their verdict is that of the search in single steps."""
    for leads in (False, True):
        found = check(Office(), (), monitors=(COUNT,), partial_order=leads).violation
        assert found is not None
        assert (found.property, found.actions) == ("asked", (Ask(0), Ask(0)))


@pytest.mark.parametrize(
    "judge",
    [
        replace(BEHIND, on=()),
        replace(BEHIND, on=(Read,)),
        goal("home", "All is read", lambda s: min(s.read) == s.letters),
    ],
)
def test_what_looks_at_steps_that_wait_does_not_fit(judge: Property) -> None:
    """Nor do goals: they may be lost by steps that wait."""
    with pytest.raises(BadInput, match=judge.name):
        check(Office(), (judge,), partial_order=True)


@pytest.mark.parametrize("on", [(), (Read,), (Ask, Read)])
def test_a_monitor_that_looks_at_steps_that_wait_does_not_fit(on: tuple[type, ...]) -> None:
    """It would miss some of them."""
    with pytest.raises(
        BadInput, match=r"^partial order: got 'asked'; .* not look at steps of Read$"
    ):
        check(Office(), (), monitors=(replace(COUNT, on=on),), partial_order=True)


def test_a_property_of_states_that_sees_them_is_refused() -> None:
    """It would be judged of some states only."""
    seen = always("lazy", "Some read nothing", lambda s: "all read" if all(s.read) else None)
    with pytest.raises(KitError, match="property lazy: it says 'all read' only after steps that"):
        check(Office(), (seen,), partial_order=True)


def test_a_property_of_steps_that_only_single_steps_break_is_refused() -> None:
    """Who is asked first has others' reading before it, or not: larger steps leave that out."""

    def another_read(before: Post, action: Any, after: Post) -> str | None:
        others = before.read[: action.clerk] + before.read[action.clerk + 1 :]
        return "another has read" if any(others) and not before.said else None

    first = step("first", "Before the first question nobody else reads", another_read, on=(Ask,))
    assert check(Office(), (first,)).violation is not None
    with pytest.raises(KitError, match=r"property first: Ask\(clerk=.*breaks it after.* but no"):
        check(Office(), (first,), partial_order=True)


@pytest.mark.parametrize(
    ("alone", "at_once", "fits"),
    [
        ("b", "a", False),
        ("a", "b", False),  # another property is another one, whatever its name
        ("a", "ab", True),  # more may break
        ("b", "ab", True),
        ("ab", "ab", True),
        ("ab", "a", False),
        ("ab", "", False),
        ("", "a", True),
    ],
)
def test_what_larger_steps_break_is_compared_by_name(alone: str, at_once: str, fits: bool) -> None:
    """Once another clerk has read, a question breaks the one; before that, as larger steps take
    it, the other.
    """

    def broken(name: str) -> Callable[[Post, Any, Post], str | None]:
        return lambda before, action, after: (
            "broken" if name in (alone if any(before.read[1:]) else at_once) else None
        )

    judged = [step(name, "", broken(name), on=(Ask,)) for name in "ab"]

    class One(Office):
        """Only the first clerk is asked."""

        def _may_ask(self, s: Post, action: Ask) -> Refusal | None:
            return Refusal("not you") if action.clerk else super()._may_ask(s, action)

    order = partial_order.OrderCheck(partial_order.LargerSteps(One()), judged, ())
    if fits:
        order.compare([Post(1)])
        assert order.compared == 1
    else:
        with pytest.raises(KitError, match=rf"^property {min(alone)}: Ask\(clerk=0\) breaks it"):
            order.compare([Post(1)])


def test_what_is_not_judged_is_told_with_larger_steps_too() -> None:
    """The model's own promises and monitors that a search was not asked for."""
    model = Office()
    model.properties, model.monitors = (BEHIND,), (COUNT,)
    model.signs = (always("warm", "It is warm", lambda s: None),)
    guards = [Safeguard(name, f"S-{at}", name, ()) for at, name in ((91, "quiet"), (92, "late"))]
    model.safeguards, model.off = tuple(guards), ("late",)
    for joins in (False, True):
        told = check(model, (), partial_order=joins).scope
        assert told.left_out == ("behind", "warm", "asked")
        assert told.off == ("S-92 late",)


def test_a_model_without_one_is_refused() -> None:
    """The message names the model."""
    with pytest.raises(BadInput, match="twophase"):
        check(TwoPhase(), partial_order=True)


def test_runs_are_taken_apart() -> None:
    """Larger steps become their parts, in order."""
    run = (Arrive(), LargerStep((Read(1), Read(2)), Ask(1)), Arrive())
    assert single_steps(run) == (Arrive(), Read(1), Read(2), Ask(1), Arrive())


def test_each_state_of_a_small_search_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a number of states; of one more only a part is, spread evenly."""
    states = check(Office(), partial_order=True).states
    for small, compared in ((states, states), (states - 1, 1)):
        monkeypatch.setattr(partial_order, "SMALL", small)
        monkeypatch.setattr(partial_order, "FEWEST", 1)
        monkeypatch.setattr(partial_order, "SHARE", states)
        assert check(Office(), partial_order=True).ordered == compared


def test_a_model_that_rests_at_its_goals_has_no_larger_steps() -> None:
    """Where it may rest is asked of its own states."""
    model = Office()
    model.rests_at_goals = True
    with pytest.raises(BadInput, match=r"^partial order: got 'office'; allowed: a model that has"):
        check(model, partial_order=True)


def test_a_lead_is_of_actions_that_the_model_offers() -> None:
    """What a rule would allow, but does not offer, is no step of a run."""

    class Quiet(Office):
        """Only the first clerk reads by himself."""

        def __init__(self) -> None:
            super().__init__()
            reads = paired(Read, "read", lambda s: (Read(0),), self._may_read, self._read)
            self.rules = tuple(reads if rule.action is Read else rule for rule in self.rules)

    with pytest.raises(KitError, match=r"takes Read\(clerk=1\).*refuses: "):
        check(Quiet(), (), partial_order=True)


@pytest.mark.parametrize("judge", [BEHIND, TOLD])
def test_what_larger_steps_break_too_is_no_fault_of_the_order(judge: Property) -> None:
    """The search ends before it takes the step: the run that breaks it is one of larger steps."""
    found = check(Office(), (judge,), partial_order=True, max_states=2)
    assert (found.violation, found.complete, found.ordered) == (None, False, 2)


def test_what_a_rule_has_no_end_for_is_no_step() -> None:
    """Neither where it is offered, nor where a larger step would begin with it."""

    class Mute(Office):
        """The last clerk says nothing, and nobody reads what has not come."""

        def __init__(self, leads: Leads = as_it_is) -> None:
            super().__init__(leads)
            self.rules = tuple(
                replace(rule, outcome=lambda s, given, rule=rule: ended(rule, s, given))
                for rule in self.rules
            )

    def ended(rule: Any, s: Post, given: Any) -> Any:
        end = rule.outcome(s, given)
        silent = given == Ask(CLERKS - 1) or (rule.action is Read and isinstance(end, Refusal))
        return None if silent else end

    model = Mute()
    found = check(model, partial_order=True)
    assert found.complete
    assert found.states == check(Mute(), partial_order=True).states < check(Mute()).states
    with pytest.raises(
        KitError, match=r"takes Read\(clerk=.*refuses: there is no such action here"
    ):
        check(Mute(too_early), (), partial_order=True)
