"""Deliveries that commute: what a search leaves out that takes them at once, and may not."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import KitError
from kit.model import actors
from kit.model.actors import Post, receives
from kit.model.declared import State, parameter
from kit.model.machines import MachineModel, MachineOptions, Turn
from kit.model.model import CommutingDeliveries, sometimes
from kit.model.network import Envelope
from kit.model.registry import build, entry_of
from kit.protocols.raft.state import Follower
from kit.search.check import check
from kit.search.commuting import StepsAndDeliveries
from kit.search.partial_order import LargerStep, single_steps

ELECTION: dict[str, Any] = {"requests": (), "terms": 1, "most_in_flight": 3}
SMALL: tuple[dict[str, Any], ...] = (
    ELECTION,
    {**ELECTION, "most_in_flight": 2, "crashes": 1},
    {**ELECTION, "most_in_flight": 2, "drops": 1},
    {**ELECTION, "most_in_flight": 2, "terms": 2},
    {**ELECTION, "nodes": 2, "members": "A B", "partitions": 1},
    {"begins": ("1, commit 1, leads", "1", "1"), "requests": ("read at B", "x"), "terms": 1,
     "most_in_flight": 2},
)  # fmt: skip
SEARCHED = ("S-32", "S-33", "S-34", "S-35", "S-86", "S-88", "S-94")


KNOWN = sometimes(
    "known",
    "A server that does not lead knows of a commit",
    lambda s: any(n.server.commit and isinstance(n.server.role, Follower) for n in s.nodes),
)


def declared(model: Any) -> CommutingDeliveries:
    """What a model says of its deliveries."""
    order: CommutingDeliveries = model.partial_order
    return order


def states_of(model: Any) -> set[Any]:
    """Every state that steps of a model lead to."""
    seen, pending = {model.start()}, [model.start()]
    for at in pending:  # grows while it is walked along
        for _, after in model.successors(at):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return seen


@pytest.mark.sweep(3)
@pytest.mark.parametrize("given", SMALL)
def test_all_that_properties_read_is_reached(given: dict[str, Any]) -> None:
    """Fewer states, the same verdict, and each of them shows what a state of the model does."""
    model = build("raft", given)
    whole, few = states_of(model), states_of(StepsAndDeliveries(model))
    watched = declared(model).watched

    def seen(states: set[Any]) -> set[Any]:
        return {(*map(watched, s.nodes), s.answers) for s in states}

    assert few <= whole
    assert len(few) < len(whole) / 4 or given != ELECTION
    assert seen(few) == seen(whole)
    full, less = (check(model, partial_order=joins) for joins in (False, True))
    assert (full.violation, full.unreached, full.bound) == (None, less.unreached, less.bound)
    assert (less.violation, less.complete, less.states) == (None, True, len(few))
    assert less.ordered


@pytest.mark.deep
def test_an_election_is_a_hundred_times_smaller(record_property: Any) -> None:
    """Three voters, four messages under way: 34,198 states, 256 together with symmetry."""
    model = build("raft", {**ELECTION, "most_in_flight": 4})
    alone, both = (check(model, partial_order=True, symmetry=joins) for joins in (False, True))
    record_property("factor", 34_198 / both.states)
    print(
        f"order: {34_198 / alone.states:.1f} times fewer; symmetry, too: {34_198 / both.states:.1f}"
    )
    assert (alone.states, both.states) == (1_471, 256)
    assert (alone.violation, both.violation, both.unreached) == (None, None, ())


@pytest.mark.sweep(3)
@pytest.mark.parametrize("guard", [g for g in entry_of("raft").safeguards if g.id in SEARCHED])
def test_what_breaks_without_a_safeguard_breaks_in_larger_steps(guard: Any) -> None:
    """Both searches find the harm, and the run of the larger steps is one of the model."""
    model = build("raft", guard.smallest, (guard.name,))
    full, less = (check(model, partial_order=joins).violation for joins in (False, True))
    assert full
    assert less
    *way, last = less.actions
    state = reduce(model.act, way, model.start())
    after = model.act(state, last)
    broken = next(each for each in model.properties if each.name == less.property)
    assert broken.of_step(state, last, after) if broken.kind == "step" else broken.check(after)


def test_a_row_of_deliveries_is_a_run() -> None:
    """A larger step is the step, then each delivery behind it."""
    model = StepsAndDeliveries(build("raft", ELECTION))
    larger = [
        (s, a, e) for s in states_of(model) for a, e in model.successors(s) if type(a) is LargerStep
    ]
    assert max(len(action.behind) for _, action, _ in larger) > 2
    for state, action, end in larger:
        assert action.lead == ()
        assert reduce(model.model.act, single_steps((action,)), state) == end


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"watched": lambda node: None}, "property .*: it says"),
        ({"timers": lambda node: ()}, "does not commute with|has to wait after"),
    ],
)
def test_a_wrong_declaration_is_found(wrong: dict[str, Any], why: str) -> None:
    """What properties read, or a timer, is left out: the comparison names what it meets."""
    model = build("raft", ELECTION)
    model.partial_order = replace(declared(model), **wrong)
    with pytest.raises(KitError, match=why):
        check(model, (*model.properties, KNOWN), partial_order=True)


class Say(Struct, frozen=True, cache_hash=True, tag="say"):
    """A word."""

    word: str


class Heard(State, frozen=True, cache_hash=True):
    """The words that a node keeps."""

    words: tuple[str, ...] = ()


Keeps = Literal["all", "the last", "all, and says how many", "all, and says which"]


class Saying(MachineModel):
    """A says three words at once; B keeps and answers them as the parameter says."""

    name, title = "saying", "Three words"
    partial_order = CommutingDeliveries(watched=lambda node: None)

    keeps: Keeps = parameter("all", "what B does with a word")

    def set_up(self) -> None:
        """Nothing befalls them."""
        self.connect(("A", "B"), MachineOptions())

    def begin(self, node: str) -> actors.Turn:
        """All words are on their way."""
        return Heard(), tuple(Post("B", Say(word)) for word in "xyz" if node == "A")

    @receives(Say)
    def hear(self, state: Heard, envelope: Envelope[Say]) -> Turn:
        """A keeps every answer."""
        word, at_b = envelope.message.word, envelope.source == "A"
        last = at_b and self.keeps == "the last"
        words = (word,) if last else tuple(sorted({*state.words, word}))
        answers = {"all, and says how many": f"{word} is number {len(words)}",
                   "all, and says which": word}  # fmt: skip
        said = answers.get(self.keeps) if at_b else None
        return state.but(words=words), (Post("A", Say(said)),) if said else ()


@pytest.mark.parametrize(
    ("keeps", "ends"),
    [("all", 1), ("the last", 3), ("all, and says how many", 6), ("all, and says which", 1)],
)
def test_what_is_told_apart_by_its_order_is_not_taken_at_once(keeps: Keeps, ends: int) -> None:
    """Neither where nodes end differently, nor where they only say different things."""
    model = Saying(keeps=keeps)
    whole, few = states_of(model), states_of(StepsAndDeliveries(model))
    last, end = ({s for s in each if not s.network.in_flight} for each in (whole, few))
    assert len(last) == ends
    assert end == last
    assert few < whole
    assert (len(few) == 2) == (ends == 1)
