"""Larger steps: what may wait is left for last; an order that leaves anything out is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, KitError, Refusal
from kit.model.model import Model, Monitor, PartialOrder, Property, always, goal, step
from kit.protocols.twophase.twophase import TwoPhase
from kit.search import partial_order
from kit.search.check import check
from kit.search.partial_order import LargerStep
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


def test_a_model_without_one_is_refused() -> None:
    """The message names the model."""
    with pytest.raises(BadInput, match="twophase"):
        check(TwoPhase(), partial_order=True)
