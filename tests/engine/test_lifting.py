"""A model with another one inside it: whose actions, words and promises the whole takes over."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from kit.engine.check import check
from kit.engine.compose import Lifting, lifted
from kit.engine.declared import Declared, Each, State, Travel, action, always, purpose, refused
from kit.engine.declared import step as step_of
from kit.engine.flows import Flow, flows
from kit.engine.model import step
from kit.errors import Refusal
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseState

CLOSED = refused("the office is closed")


class OfficeState(State, frozen=True):
    """A commit, and whether the office of its manager is open."""

    commit: TwoPhaseState
    is_open: bool = False


class Office(Lifting[OfficeState]):
    """Two-phase commit in office hours."""

    name, title, State, of, part = "office", "An office", OfficeState, TwoPhase, "commit"

    def set_up(self) -> None:
        """Two resource managers."""
        self.commit = TwoPhase(rms=2)

    def start(self) -> OfficeState:
        """Nothing is done, and the office is closed."""
        return OfficeState(self.commit.start())

    @action()
    def open_office(self, s: OfficeState) -> OfficeState | None:
        """The office opens."""
        return None if s.is_open else s.but(is_open=True)

    @lifted(
        TwoPhase.decide, says=lambda m, before, a, after: "A stamp is used." if a.commit else ""
    )
    def decide(self, s: OfficeState, commit: bool) -> Any:
        """Decisions are for office hours."""
        return self.in_part(TwoPhase.decide, s, commit) if s.is_open else CLOSED

    @always()
    def consistent(self, s: OfficeState) -> str | None:
        """The whole has a word of its own for this."""
        return "torn" if s.commit.committed and s.commit.aborted else None


def test_what_the_inner_model_does_happens_in_its_part() -> None:
    """An action that nobody says more of changes the part alone, by the same verb and sentence."""
    m = Office()
    s = m.start()
    prepare = TwoPhase.prepare(0)
    after = m.act(s, prepare)
    assert after == s.but(commit=m.commit.act(s.commit, prepare))
    assert m.verb(prepare) == "prepare RM0"
    assert m.describe(s, prepare, after) == "RM0 is prepared and tells the transaction manager."


def test_the_whole_may_refuse_and_word_what_it_says_more_of() -> None:
    """A method of the whole comes first; what it does not word is worded by the inner model."""
    m = Office()
    s, abort = m.start(), TwoPhase.decide(commit=False)
    assert m.refusal(s, abort) is CLOSED
    s = m.act(s, Office.open_office())
    refusal = m.refusal(s, TwoPhase.decide(commit=True))
    assert isinstance(refusal, Refusal)
    assert refusal.missing == ("RM0", "RM1")
    after = m.act(s, abort)
    assert m.describe(s, abort, after) == "The transaction manager decides to abort."
    assert m.describe(s, TwoPhase.decide(commit=True), after) == "A stamp is used."


def test_promises_are_judged_of_the_part() -> None:
    """Each name once: the inner model's but for what the whole words itself."""
    m = Office()
    assert [prop.name for prop in m.properties] == ["all-commit", "all-abort", "consistent"]
    result = check(m)
    assert (result.verdict, result.unreached) == ("complete", ())


def test_an_action_keeps_its_name_in_the_whole() -> None:
    """What an action is called is part of traces, and the same in both."""
    with pytest.raises((TypeError, RuntimeError)) as caught:

        class Renamed(Office):
            resolve = lifted(TwoPhase.decide)(Office.in_part)

    error = caught.value.__cause__ or caught.value  # Python 3.11 raises an error of its own
    assert str(error) == "Renamed.resolve: the action is called decide"


def test_what_bounds_the_inner_model_bounds_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of the whole that meets a bound of the inner model names it."""

    def bounded(self: Office) -> None:
        self.commit = TwoPhase(rms=2)
        self.commit.bounds = (CLOSED,)

    monkeypatch.setattr(Office, "set_up", bounded)
    assert Office().bounds == (CLOSED,)
    assert check(Office()).bound == CLOSED.reason


class Annexe(Office):
    """The same office elsewhere: what it says of its actions is what the first one says."""

    name = "annexe"


def test_a_model_that_goes_on_from_it_takes_nothing_over_again() -> None:
    """Decisions are for office hours there, too."""
    m = Annexe()
    assert m.decide(m.start(), True) == CLOSED
    assert Annexe.acts.keys() == Office.acts.keys()
    assert check(m).states == check(Office()).states


class Strike(Office):
    """Nobody relies on decisions, which a clerk takes; all else is as in the inner model."""

    name = "strike"

    @lifted(TwoPhase.decide, relied=False, by="a clerk")
    def decide(self, s: OfficeState, commit: bool) -> Any:
        """As before."""
        return self.in_part(TwoPhase.decide, s, commit)


def test_the_whole_may_say_who_acts_and_what_is_relied_on() -> None:
    """In the inner model's place; of what it does not say the inner model is asked."""
    inner, decide, prepare = TwoPhase(rms=2), TwoPhase.decide(False), TwoPhase.prepare(0)
    for m, relied, actor in (
        (Office(), True, inner.actor_of(inner.start(), decide)),
        (Strike(), False, "a clerk"),
    ):
        s = m.start()
        assert (m.relied(s, decide), m.actor_of(s, decide)) == (relied, actor)
        assert m.relied(s, prepare)
        assert m.actor_of(s, prepare) == inner.actor_of(s.commit, prepare)


def test_a_promise_about_steps_is_judged_of_the_part() -> None:
    """Of the step there, before and after."""
    told = step("told", "", lambda before, a, after: f"{before} {a} {after}").within(len)
    assert told.of_step("a", "b", "cde") == "1 b 3"


def test_what_is_told_in_the_inner_model_is_told_in_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It changes the part; where the whole settles after a step, it does so after this one, too."""
    m = Office()
    s, prepare = m.start(), TwoPhase.prepare(0)
    end = m.commit.act(s.commit, prepare)
    monkeypatch.setattr(m.commit, "helped", lambda inner: iter([(prepare, end)]))
    assert [*m.helped(s)] == [(prepare, s.but(commit=end))]
    m.settled = lambda before, after: after.but(is_open=not before.is_open)
    assert [*m.helped(s)] == [(prepare, s.but(commit=end, is_open=True))]


def test_every_action_of_the_inner_model_is_taken_over() -> None:
    """Those that the whole has a method for are done by that; the others change the part."""

    class Stubborn(Lifting[OfficeState]):
        """Two-phase commit in which nobody decides."""

        name, title, State, of, part = "stubborn", "Nobody decides", OfficeState, TwoPhase, "commit"

        def set_up(self) -> None:
            """Two resource managers."""
            self.commit = TwoPhase(rms=2)

        def start(self) -> OfficeState:
            """Nothing is done."""
            return OfficeState(self.commit.start())

        @lifted(TwoPhase.decide)
        def decide(self, s: OfficeState, commit: bool) -> Any:
            """As long as the office is closed."""
            return CLOSED

    m, prepare = Stubborn(), TwoPhase.prepare(0)
    s = m.start()
    assert {*Stubborn.acts} == {*TwoPhase.acts}
    assert m.refusal(s, TwoPhase.decide(commit=False)) is CLOSED
    assert m.act(s, prepare) == s.but(commit=m.commit.act(s.commit, prepare))


def test_the_picture_of_the_inner_model_is_that_of_the_whole() -> None:
    """Where nobody says otherwise each thing is where it was."""
    assert Office().here("rm:0") == "rm:0"


class BellState(State, frozen=True):
    """How often a bell was rung."""

    rung: int = 0


class Bell(Declared[BellState]):
    """A bell that says what it is asked with: the model, and how often it was rung."""

    name, title, State = "bell", "A bell", BellState

    def start(self) -> BellState:
        """Silent."""
        return BellState()

    @action(
        says=lambda m, before, a, after: f"{m.name}: {before.rung} to {after.rung}.",
        by=lambda m, s, a: f"{m.name} {s.rung}",
        relied=lambda m, s, a: m.name == "bell" and s.rung == 1,
        label=lambda m, s, a: f"{m.name}: ring {s.rung}",
        travels=lambda m, before, a, after: (
            Travel("message", "in", "out", f"{before.rung} to {after.rung}", "a sound"),
        ),
    )
    @purpose("People should come.")
    def ring(self, s: BellState, times: Annotated[int, Each(lambda m: (1, 2))]) -> Any:
        """It rings."""
        return s.but(rung=s.rung + times) if s.rung < 2 else None

    @step_of(title="It rings once at a time")
    def once(self, before: BellState, action: Any, after: BellState) -> str | None:
        """Not twice."""
        by = after.rung - before.rung
        return None if by == 1 else f"by {by}"


class TowerState(State, frozen=True):
    """A bell, and whether there is a wind."""

    bell: BellState
    wind: bool = False


def tower(**more: Any) -> Any:
    """A tower with a bell, of which it says this; nothing: the bell's action is as it was."""

    class Tower(Lifting[TowerState]):
        """A bell up there."""

        name, title, State, of, part = "tower", "A tower", TowerState, Bell, "bell"
        if more:

            @lifted(Bell.ring, **more)
            def ring(self, s: TowerState, times: int) -> Any:
                """As before."""
                return self.in_part(Bell.ring, s, times)

        def set_up(self) -> None:
            """One bell."""
            self.bell = Bell()

        def start(self) -> TowerState:
            """Silent, and calm."""
            return TowerState(self.bell.start())

        @action(label="blow", says="A wind comes up.", unasked=True)
        def blow(self, s: TowerState) -> Any:
            """A wind comes up."""
            return None if s.wind else s.but(wind=True)

        def here(self, key: str) -> str:
            """Up there."""
            return f"up:{key}"

        def is_judged(self, s: TowerState, action: Any) -> bool:
            """In a wind nobody counts, where the tower says what it relies on."""
            return super().is_judged(s, action) and not (s.wind and "relied" in more)

    return Tower()


OWN = {
    "says": lambda m, before, a, after: f"{m.name}, {before.bell.rung} to {after.bell.rung}.",
    "by": lambda m, s, a: f"{m.name}, {s.bell.rung}",
    "relied": lambda m, s, a: m.name == "tower" and s.wind,
    "label": lambda m, s, a: f"{m.name}, ring {s.bell.rung}",
    "travels": lambda m, before, a, after: (
        Travel("entry", "wind", "bell", f"{before.bell.rung}, {after.bell.rung}", "a gust"),
    ),
}
EMPTY = {
    "says": lambda m, before, a, after: "",
    "label": lambda m, s, a: "",
    "travels": lambda *step: (),
}
SOUND = Flow("message", "up:in", "up:out", "1 to 2", "a sound")
GUST = Flow("entry", "wind", "bell", "1, 2", "a gust")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        pytest.param({}, ("bell: 1 to 2.", "bell 1", True, "bell: ring 1", SOUND), id="nothing"),
        pytest.param({"tag": ""}, ("bell: 1 to 2.", "bell 1", True, "bell: ring 1", SOUND),
                     id="nothing of it"),
        pytest.param(OWN, ("tower, 1 to 2.", "tower, 1", False, "tower, ring 1", GUST), id="all"),
        pytest.param(EMPTY, ("bell: 1 to 2.", "bell 1", True, "bell: ring 1", SOUND),
                     id="that it has nothing to say"),
        *(
            pytest.param(
                {name: OWN[name]},
                tuple(
                    own if each == name else inner
                    for each, own, inner in (
                        ("says", "tower, 1 to 2.", "bell: 1 to 2."),
                        ("by", "tower, 1", "bell 1"),
                        ("relied", False, True),
                        ("label", "tower, ring 1", "bell: ring 1"),
                        ("travels", GUST, SOUND),
                    )
                ),
                id=f"only {name}",
            )
            for name in OWN
        ),
    ],
)  # fmt: skip
def test_what_the_whole_does_not_say_is_said_of_the_part(
    more: dict[str, Any], said: tuple[Any, ...]
) -> None:
    """By the inner model, of its own states; where the whole says something, of the whole."""
    m = tower(**more)
    before, ring = TowerState(BellState(1)), Bell.ring(1)
    after = m.act(before, ring)
    assert after == TowerState(BellState(2))
    assert (
        m.describe(before, ring, after),
        m.actor_of(before, ring),
        m.relied(before, ring),
        m.label(before, ring),
        *flows(m, before, ring, after),
    ) == said
    assert m.verb(ring) == "ring 1"
    assert m.relied(before.but(wind=True), ring)
    assert m.relied(TowerState(BellState(0), wind=True), ring) is ("relied" in more)
    assert m.why(ring) == "People should come."
    blow, windy = type(m).blow(), before.but(wind=True)
    assert (m.verb(blow), m.label(before, blow)) == ("blow", "blow")
    assert m.describe(before, blow, windy) == "A wind comes up."
    assert [*m.successors(after)] == [(blow, after.but(wind=True))]
    assert [*m.successors(windy)] == [
        (Bell.ring(times), windy.but(bell=BellState(1 + times))) for times in (1, 2)
    ]


def test_a_step_of_the_part_is_judged_where_the_whole_lets_it() -> None:
    """By the inner model's words, of its own states; elsewhere nothing is said."""
    calm, windy, ring = TowerState(BellState()), TowerState(BellState(), wind=True), Bell.ring(2)
    for more, told in (({}, ["by 2", "by 2"]), (OWN, ["by 2", None])):
        m = tower(**more)
        [once] = m.properties
        assert (once.name, once.kind, once.title) == ("once", "step", "It rings once at a time")
        assert [once.of_step(s, ring, m.act(s, ring)) for s in (calm, windy)] == told
        assert once.of_step(calm, Bell.ring(1), m.act(calm, Bell.ring(1))) is None


def test_what_the_whole_does_is_for_what_the_whole_says() -> None:
    """A purpose below takes the place of the inner model's."""

    class Tower(Lifting[TowerState]):
        """A bell that is tried."""

        name, title, State, of, part = "tower", "A tower", TowerState, Bell, "bell"

        @lifted(Bell.ring, each=lambda m, s: (2,))
        @purpose("It should be heard.")
        def ring(self, s: TowerState, times: int) -> Any:
            """As before."""
            return self.in_part(Bell.ring, s, times)

        def set_up(self) -> None:
            """One bell."""
            self.bell = Bell()

        def start(self) -> TowerState:
            """Silent, and calm."""
            return TowerState(self.bell.start())

    m = Tower()
    assert m.why(Bell.ring(1)) == "It should be heard."
    assert [*m.successors(m.start())] == [(Bell.ring(2), TowerState(BellState(2)))]


def test_a_class_that_goes_on_keeps_what_the_whole_has_in_its_place() -> None:
    """Only the class that names the inner model takes its actions over."""

    class Next(Office):
        """The same."""

        name = "next"

    m = Next()
    assert "decide" not in vars(Next)
    assert m.refusal(m.start(), TwoPhase.decide(commit=False)) is CLOSED
