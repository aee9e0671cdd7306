"""Two-phase commit as a state machine of hypothesis, the usual way to walk at random in Python."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

RMS = 5
managers = st.integers(0, RMS - 1)


class TwoPhaseMachine(RuleBasedStateMachine):
    """Managers that prepare or give up, and one that decides; a rule is a step, if it does one."""

    steps = 0

    def __init__(self) -> None:
        """Everybody works."""
        super().__init__()
        self.at = ["working"] * RMS
        self.sent: set[int] = set()
        self.heard: set[int] = set()
        self.decided: str | None = None

    @rule(i=managers)
    def prepare(self, i: int) -> None:
        """A manager is prepared, and says so."""
        TwoPhaseMachine.steps += 1
        if self.at[i] == "working":
            self.at[i] = "prepared"
            self.sent.add(i)

    @rule(i=managers)
    def give_up(self, i: int) -> None:
        """A manager aborts while it may."""
        TwoPhaseMachine.steps += 1
        if self.at[i] == "working":
            self.at[i] = "aborted"

    @precondition(lambda self: self.decided is None)
    @rule(i=managers)
    def hear(self, i: int) -> None:
        """The one that decides hears of a manager that is prepared."""
        TwoPhaseMachine.steps += 1
        if i in self.sent:
            self.heard.add(i)

    @precondition(lambda self: self.decided is None and len(self.heard) == RMS)
    @rule()
    def commit(self) -> None:
        """It decides to commit."""
        TwoPhaseMachine.steps += 1
        self.decided = "committed"

    @precondition(lambda self: self.decided is None)
    @rule()
    def abort(self) -> None:
        """It decides to abort."""
        TwoPhaseMachine.steps += 1
        self.decided = "aborted"

    @precondition(lambda self: self.decided is not None)
    @rule(i=managers)
    def obey(self, i: int) -> None:
        """A manager carries the decision out."""
        TwoPhaseMachine.steps += 1
        if self.at[i] in ("working", "prepared"):
            assert self.decided is not None
            self.at[i] = self.decided

    @invariant()
    def consistent(self) -> None:
        """Nobody commits while another aborts."""
        assert not ("committed" in self.at and "aborted" in self.at)


def walked(walks: int, longest: int) -> int:
    """Walk so often, and so far; returns the steps taken."""
    TwoPhaseMachine.steps = 0
    told: Any = settings(
        max_examples=walks,
        stateful_step_count=longest,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(TwoPhaseMachine, settings=told)
    return TwoPhaseMachine.steps
