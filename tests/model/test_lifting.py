"""A model with another one inside it: whose actions, words and promises the whole takes over."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refusal
from kit.model.compose import Lifting, lifted
from kit.model.declared import State, action, always, refused
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseState
from kit.search.check import check

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


def test_a_lifted_action_keeps_its_name() -> None:
    """Else the whole would have it twice."""
    with pytest.raises((RuntimeError, TypeError)) as caught:  # whichever Python raises
        type("Renamed", (Office,), {"judge": lifted(TwoPhase.decide)(Office.decide.run)})
    said = caught.value.__cause__ or caught.value
    assert "Renamed.judge: the action is called decide" in str(said)


def test_promises_are_judged_of_the_part() -> None:
    """Each name once: the inner model's but for what the whole words itself."""
    m = Office()
    assert [prop.name for prop in m.properties] == ["all-commit", "all-abort", "consistent"]
    result = check(m)
    assert (result.verdict, result.unreached) == ("complete", ())
