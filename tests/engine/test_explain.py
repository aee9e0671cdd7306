"""Observations are explained by hidden steps, refuted at the right line, or left unknown."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import Timeline, build
from kit.engine import trace
from kit.engine.declared import Declared, State, action, safeguard
from kit.engine.explain import (
    MOST_BOUND,
    Answers,
    Explanation,
    Question,
    Seen,
    Sight,
    _Search,
    explain,
    search_explanation,
)
from kit.engine.model import Model
from kit.errors import BadInput, Refusal
from tests.engine.toys import Cell, Graph
from tests.examples import examples

TWOPHASE = build("twophase", {"rms": 2})
FIELDS = ("prepared", "committed", "aborted", "tm")


def values_of(s: Any) -> dict[str, Any]:
    """What is seen of two-phase commit: not what the manager has heard."""
    return {name: getattr(s, name) for name in FIELDS}


SIGHT = Sight(lambda m, s: values_of(s))


def walked(random: Random, steps: int) -> list[Any]:
    """The states of a random walk."""
    states = [TWOPHASE.start()]
    while len(states) <= steps and (after := [*TWOPHASE.successors(states[-1])]):
        states.append(random.choice(after)[1])
    return states


def seen_in(states: Sequence[Any], random: Random) -> list[dict[str, Any]]:
    """Some of the states, and of each some of the values."""
    kept = [s for s in states if random.random() < 0.5] or [states[-1]]
    return [
        {name: value for name, value in values_of(s).items() if random.random() < 0.8} for s in kept
    ]


def rows(values: Sequence[dict[str, Any]]) -> tuple[Seen, ...]:
    """The observations, each at its line."""
    return tuple(Seen(f"line {at}", each) for at, each in enumerate(values, 1))


def first_refuted(model: Model[Any, Any], values: Sequence[dict[str, Any]]) -> int | None:
    """The number of the first observation that no run has, by whole sets of states."""
    states = {model.start()}
    for number, wanted in enumerate(values):
        todo = [*states]
        while todo:
            for _, after in model.successors(todo.pop()):
                if after not in states:
                    states.add(after)
                    todo.append(after)
        states = {s for s in states if values_of(s).items() >= wanted.items()}
        if not states:
            return number
    return None


@examples(150)
@given(random=st.randoms(use_true_random=False), steps=st.integers(0, 12))
def test_what_a_walk_shows_is_explained(random: Random, steps: int) -> None:
    """With steps dropped and values left out; the run has all that was seen, in its order."""
    values = seen_in(walked(random, steps), random)
    found = search_explanation(TWOPHASE, SIGHT, rows(values))
    assert found.verdict == "explained"
    timeline = found.timeline()
    states = iter([values_of(timeline.moments[at].state) for at in timeline.path()])
    state = next(states)
    for wanted in values:
        while not state.items() >= wanted.items():
            state = next(states)


@examples(150)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 12))
def test_a_spoiled_walk_is_refuted_at_its_line(random: Random, steps: int) -> None:
    """The verdict and the line are those of a search over whole sets of states."""
    values = seen_in(walked(random, steps), random)
    spoiled = random.randrange(len(values))
    values[spoiled] |= {random.choice(FIELDS): random.randrange(4)}
    found = search_explanation(TWOPHASE, SIGHT, rows(values))
    refuted = first_refuted(TWOPHASE, values)
    assert found.verdict == ("explained" if refuted is None else "refuted")
    if refuted is not None:
        assert (found.where, found.explained) == (f"line {refuted + 1}", refuted)
        assert found.sentence.startswith(f"no rule explains line {refuted + 1}; ")


def test_the_nearest_refusal_is_the_models_own() -> None:
    """A commit while one manager has aborted: it is not heard to be prepared."""
    seen = rows([{"prepared": 1, "aborted": 2, "tm": 0}, {"tm": 1}])
    found = search_explanation(TWOPHASE, SIGHT, seen)
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.refused == "decide commit"
    assert found.refusal.startswith(
        "the transaction manager has not heard that every resource manager is prepared"
    )


def test_a_safeguard_that_would_allow_it_is_named() -> None:
    """Without it the model has a run to what was seen; its first refused step is the nearest."""
    model = build("tablets", {"moves": 2})
    ways = Sight(lambda m, s: {"ways": len(s.tablets[0].transitions)})
    found = search_explanation(model, ways, rows([{"ways": 1}, {"ways": 2}]))
    assert (found.verdict, found.where) == ("refuted", "line 2")
    assert found.without == "S-25 one-transition"
    assert "tablet 0 is in transition" in found.refusal
    assert found.refused.startswith("migrate 0")


def test_what_has_to_be_seen_is_not_passed_unseen() -> None:
    """A sight may say which changes are always seen: then a row of them has no gaps."""
    steady = Sight(lambda m, s: {"tm": s.tm, "all": s.committed == 3}, operator.eq)
    whole = rows([{"tm": 0, "all": False}, {"tm": 1, "all": False}, {"tm": 1, "all": True}])
    assert search_explanation(TWOPHASE, steady, whole).verdict == "explained"
    found = search_explanation(TWOPHASE, steady, (whole[0], whole[2]))
    assert (found.verdict, found.where) == ("refuted", "line 3")
    assert "the model gets there through tm 1, which no line shows" in found.sentence


def test_within_the_bound_nothing_is_known() -> None:
    """Neither explained nor refuted where the search stopped before its end."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}]), bound=3)
    assert (found.verdict, found.where) == ("unknown", "line 1")
    assert search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}])).verdict == "explained"


def test_a_run_opens_and_is_saved() -> None:
    """As any run: as a timeline, as a trace that is replayed."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"committed": 3}]))
    saved = trace.loads(trace.dumps(found.timeline().save()))
    assert Timeline.load(saved).state.committed == 3


def test_one_of_several_ways_is_enough() -> None:
    """The first that explains all; else what may still be, else what explains the most."""
    three = build("twophase", {"rms": 3})
    ways = ((TWOPHASE, SIGHT), (three, SIGHT))
    assert Question("q", rows([{"committed": 7}]), ways).answer(9999).model is three
    refuted = Question("q", rows([{"prepared": 7}, {"committed": 9}]), ways).answer(9999)
    assert (refuted.verdict, refuted.model, refuted.explained) == ("refuted", three, 1)


@pytest.mark.parametrize("bound", [0, -1, 10**9])
def test_a_bound_is_a_number_of_states(bound: int) -> None:
    """From one on, up to what a machine can hold."""
    with pytest.raises(BadInput, match="states to visit"):
        search_explanation(TWOPHASE, SIGHT, rows([{"tm": 1}]), bound=bound)


def test_nothing_seen_is_nothing_to_explain() -> None:
    """Neither observations nor files may be missing."""
    with pytest.raises(BadInput, match="one or more"):
        search_explanation(TWOPHASE, SIGHT, ())
    with pytest.raises(BadInput, match="a coordinator's journal"):
        explain([])


def test_the_first_of_files_that_nobody_can_explain_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it says who explains them all, so it is the one to look at."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        Path(name).write_text("hello", "utf-8")
    with pytest.raises(BadInput, match=r"^files: got 'first'; .*a coordinator's journal"):
        explain(["first", "second"])
    with pytest.raises(BadInput, match="none"):
        explain(["none", "second"])


@pytest.mark.parametrize(
    ("text", "kinds"), [("ab", "a"), ("b", "b"), ("abc", "a"), ("cb", "b"), ("c", "c")]
)
def test_the_first_kind_that_a_text_is_explains_it(
    text: str, kinds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text may be of several kinds, as one of two tables is; one without words is skipped."""

    def family(letter: str, explainer: str) -> Any:
        def is_one(known: str) -> bool:
            return letter in known

        kind = SimpleNamespace(title=letter, explainer=explainer, is_one=is_one)
        return SimpleNamespace(importers=[kind], load=lambda name: lambda *given: ((), (name,)))

    known = [family("a", ""), *(family(letter, letter) for letter in "abc")]
    monkeypatch.setattr("kit.engine.explain.families", lambda: known)
    (tmp_path / "text").write_text(text, "utf-8")
    assert explain(tmp_path / "text").about == (kinds,)
    with pytest.raises(BadInput, match=r"allowed: a or b or c$"):
        explain(())
    known.append(family("", "any text"))
    assert explain(tmp_path / "text").about == (kinds,)
    (tmp_path / "text").write_text("d", "utf-8")
    assert explain(tmp_path / "text").about == ("any text",)
    (tmp_path / "text").write_text("", "utf-8")  # of which nobody knows what it is
    with pytest.raises(BadInput, match=r"allowed: a or b or c or $"):
        explain(tmp_path / "text")


def test_several_ways_share_the_bound() -> None:
    """All of them get their turns; together they visit no more than one alone would."""
    big = build("twophase", {"rms": 4})
    never = rows([{"tm": 0}, {"tm": 9}])
    ways = tuple((big, SIGHT) for _ in range(5))
    found = Question("q", never, ways).answer(1_000)
    assert found.verdict == "unknown"
    assert 1_000 <= found.states < 1_000 + 50
    assert "a larger one may lead further" in found.sentence
    late = (*ways, (TWOPHASE, SIGHT))
    assert Question("q", rows([{"committed": 3}]), late).answer(5_000).model is TWOPHASE


def test_the_states_visited_are_counted() -> None:
    """As they are visited, also those in which a reason is looked for."""
    counts: list[int] = []
    model = build("tablets", {"moves": 2})
    ways = Sight(lambda m, s: {"ways": len(s.tablets[0].transitions)})
    found = Question("q", rows([{"ways": 2}]), ((model, ways),)).answer(50_000, counts.append)
    assert found.verdict == "refuted"
    assert sum(counts) > found.states


def test_progress_is_seen() -> None:
    """It hears how many states were visited, and how many questions are answered."""
    heard: list[tuple[int, int]] = []
    folder = Path(__file__).parents[1] / "fixtures" / "snapshots"
    explain([*map(str, sorted(folder.iterdir()))], progress=lambda *each: heard.append(each))
    assert heard == sorted(heard)
    assert {answered for _, answered in heard} == {0, 1, 2}


# what became of the parts, each with the steps of its run -> the verdict, the part to look at
PARTS: dict[str, tuple[Any, str, int]] = {
    "the longest": ([("explained", 1), ("explained", 3), ("explained", 2)], "explained", 1),
    "the first of them": ([("explained", 1), ("explained", 2), ("explained", 2)], "explained", 1),
    "a refuted one": ([("explained", 9), ("unknown", 8), ("refuted", 0)], "refuted", 2),
    "the first refuted": ([("explained", 9), ("refuted", 1), ("refuted", 5)], "refuted", 1),
    "the first unknown": ([("unknown", 0), ("explained", 9), ("unknown", 5)], "unknown", 0),
}


@pytest.mark.parametrize("name", PARTS)
def test_of_several_parts_one_is_to_be_looked_at(name: str) -> None:
    """The longest run where all is explained, else the first part of which it is not."""
    given, verdict, at = PARTS[name]
    parts = [Explanation(each, TWOPHASE, 1, 1, (None,) * steps, states=1) for each, steps in given]
    answers = Answers({f"part {number}": part for number, part in enumerate(parts)})
    assert answers.verdict == verdict
    assert answers.first is parts[at]


def test_where_nothing_had_to_be_explained_there_is_no_run() -> None:
    """Observations that are all alike ask nothing."""
    none = Answers({}, ("2 files, both the same",))
    assert (none.verdict, none.first) == ("explained", None)
    with pytest.raises(BadInput, match=r"^run: got 'no step'; allowed: observations that differ"):
        none.timeline()
    assert repr(none) == "2 files, both the same"


@pytest.mark.parametrize("bound", [1, MOST_BOUND])
def test_both_limits_of_a_bound_may_be_taken(bound: int) -> None:
    """The first state is enough here."""
    question = Question("start", rows([{"tm": 0}]), ((TWOPHASE, SIGHT),))
    assert question.answer(bound).verdict == "explained"


def test_what_no_state_has_at_all_is_refuted() -> None:
    """A sight need not give each value; where no refusal is near the line says so."""
    found = search_explanation(TWOPHASE, SIGHT, rows([{"weather": "fine"}]))
    assert (found.verdict, found.explained) == ("refuted", 0)
    plain = Explanation("refuted", TWOPHASE, 1, 0, (), 1, "line 1")
    said = "no rule explains line 1; no refusal of the model comes close"
    assert plain.sentence == said


class Shown(State, frozen=True):
    """What is to be seen."""

    is_open: bool = False


class Doors(Declared[Shown]):
    """A door with a latch and a chain."""

    name, title = "doors", "A door"
    State = Shown
    latch: bool = safeguard("S-91", "Who knocks waits for the latch", ())
    chain: bool = safeguard("S-92", "Who pushes waits for the chain", ())

    def start(self) -> Shown:
        """It is shut."""
        return Shown()

    @action(tag="push")
    def push(self, s: Shown) -> Any:
        """It opens."""
        return Refusal("the chain is on") if self.chain else s.but(is_open=True)

    @action(tag="knock")
    def knock(self, s: Shown) -> Any:
        """Somebody opens it."""
        return Refusal("the latch is down") if self.latch else s.but(is_open=True)


def test_of_equally_near_refusals_the_first_by_name_is_told() -> None:
    """Knocking comes before pushing, in whatever order the safeguards and actions are declared."""
    sight = Sight(lambda m, s: {"open": s.is_open})
    found = search_explanation(Doors(), sight, rows([{"open": False}, {"open": True}]))
    assert (found.verdict, found.where, found.explained) == ("refuted", "line 2", 1)
    assert (found.refused, found.refusal, found.without) == (
        *("knock", "the latch is down"),
        "S-91 latch",
    )
    assert found.sentence == (
        'no rule explains line 2; the nearest refusal is "knock: the latch is down" (S-91 latch)'
    )


DIAMOND = Graph({0: (1, 2), 1: (3,), 2: (4,), 3: (5,), 4: (5,), 5: ()})


def place(m: Any, s: Any) -> dict[str, int]:
    """Where one is, and whether that is odd."""
    return {"at": s.at, "odd": s.at % 2}


def glances(said: str) -> tuple[Seen, ...]:
    """``3`` at a place, ``o1`` at an odd one; ``g`` after a gap, ``s`` as a step of its own."""
    values = (
        {"odd": int(word[1])} if word[0] == "o" else {"at": int(word[0])} for word in said.split()
    )
    return tuple(
        Seen(f"line {at}", each, after_gap="g" in word, step="s" in word)
        for at, (each, word) in enumerate(zip(values, said.split(), strict=True), 1)
    )


def never(before: Any, after: Any) -> bool:
    """All steps are seen."""
    return False


def alike(before: Any, after: Any) -> bool:
    """Who stays odd, or even, is not seen to move."""
    return bool(before["odd"] == after["odd"])


THROUGH = "the model gets there through 1, which no line shows"


@pytest.mark.parametrize(
    ("hides", "said", "verdict", "explained", "run", "states", "refusal"),
    [
        (None, "0 5", "explained", 2, "1 3 5", 10, ""),
        (None, "0", "explained", 1, "", 4, ""),
        (None, "5 0", "refuted", 1, "1 3 5", 7, ""),
        (None, "3 4", "refuted", 1, "1 3", 8, ""),
        (None, "o0 o1 o0", "refuted", 2, "1", 15, ""),
        (None, "0 1s", "refuted", 1, "1", 12, ""),
        (None, "1s 3", "refuted", 0, "1", 6, ""),
        (never, "0 1 3 5", "explained", 4, "1 3 5", 5, ""),
        (never, "0 3", "refuted", 1, "", 2, THROUGH),
        (never, "0 3g", "explained", 2, "1 3", 6, ""),
        (never, "0 1s 3s", "explained", 3, "1 3", 4, ""),
        (never, "0 1 1s", "refuted", 2, "1", 3, ""),
        (alike, "0 2 5", "explained", 3, "2 4 5", 7, ""),
        (alike, "0 o1 o1", "explained", 3, "1", 8, ""),
        (alike, "0 5", "explained", 2, "2 4 5", 6, ""),
        (alike, "0 1 5s", "refuted", 2, "1 3 5", 9, ""),
    ],
)
def test_what_becomes_of_glances_at_a_walk(
    hides: Any, said: str, verdict: str, explained: int, run: str, states: int, refusal: str
) -> None:
    """The best run of those first that explain the most, and how many pairs that took."""
    seen = glances(said)
    found = search_explanation(DIAMOND, Sight(place, hides=hides), seen)
    where = "" if verdict == "explained" else f"line {explained + 1}"
    assert found.as_plain() == {
        "verdict": verdict,
        "model": "graph",
        "observations": len(seen),
        "explained": explained,
        "steps": [f"go {each}" for each in run.split()],
        "states": states,
        "where": where,
        "refused": "",
        "refusal": refusal,
        "without": "",
    }
    steps = {0: "0 steps", 1: "1 step"}.get(len(found.run), f"{len(found.run)} steps")
    told = f"no rule explains {where}; {refusal or 'no refusal of the model comes close'}"
    if verdict == "explained":
        told = f"explained: {steps} of graph can lead to what was seen"
    assert found.sentence == repr(found) == told


def test_what_is_off_is_said_of_what_is_explained() -> None:
    """By the safeguards' names."""
    model = build("twophase", {"rms": 2})
    model.off = ("one", "two")
    found = search_explanation(model, SIGHT, rows([{"committed": 0}]))
    assert found.sentence == (
        f"explained: 0 steps of {model.name} without one, two can lead to what was seen"
    )


@pytest.mark.parametrize(
    ("wanted", "far", "distance"),
    [
        ({"at": 3, "odd": 1}, None, 0),
        ({"at": 4, "odd": 1}, None, 1),
        ({"at": 4, "odd": 0}, None, 2),
        ({"at": 3, "else": 1}, None, 1),
        ({}, None, 0),
        ({"at": 3}, 9, 0),
        ({"at": 4}, 9, 9),
        ({"at": 4}, 1, 1),
        ({"at": 4}, 0, 1),
    ],
)
def test_how_far_a_state_is_from_the_next_observation(
    wanted: dict[str, int], far: int | None, distance: int
) -> None:
    """As many values as differ, or what the sight says; only what has all of them is at 0."""
    asked: list[Any] = []

    def reads(m: Any, s: Any) -> dict[str, int]:
        asked.append(s)
        return place(m, s)

    sight = Sight(reads, distance=None if far is None else lambda values, wanted: far)
    search = _Search(DIAMOND, sight, (Seen("line 1", wanted),), [(0, Cell(3))])
    assert (search.distance((0, Cell(3))), search.distance((1, Cell(0)))) == (distance, 0)
    assert (search.best, asked) == (0, [Cell(3)])
