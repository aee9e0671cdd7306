"""The guard's eight steps as rules of the model: from the client's request to the known outcome.

Steps 3 to 6 look at one state of the node: meanwhile it applies nothing (published code: the
*read_apply* lock). Source: "Using Group 0 to perform schema changes", the eight steps.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.group0.actions import (
    BeginOperation,
    LookUp,
    MakeStateId,
    ReadBarrier,
    ReadStateId,
    Retry,
    Submit,
    Validate,
)
from kit.protocols.group0.rules.commands import Command, next_state_id
from kit.protocols.group0.rules.guard import Guard, command_of, retried
from kit.protocols.group0.rules.history import outcome
from kit.protocols.group0.rules.schema import objection
from kit.protocols.group0.setup import Setup, each, put
from kit.protocols.group0.state import (
    Answer,
    Group0State,
    HeldGuard,
    NodeTables,
    prefix,
    tables_after,
)

LOCKED, CAUGHT_UP, READ, MADE, VALID, SUBMITTED, APPLIED = range(1, 8)
"""The last step that was done; the eighth ends the guard."""
LOOKING = range(READ, SUBMITTED)
"""After these the node looks at one state of its tables, and applies nothing."""


class GuardRules:
    """What a node does for a change that a client asks of it."""

    def __init__(self, setup: Setup) -> None:
        """The rules for these nodes and operations."""
        self.setup = setup
        self._begin = tuple(BeginOperation(i) for i in range(len(setup.operations)))
        self._barrier = setup.safeguards.read_barrier

    def rules(self) -> tuple[Rule[Group0State, Any], ...]:
        """The table, in the order of the steps."""
        read_after = (CAUGHT_UP,) if self._barrier else (LOCKED,)
        barrier = (
            paired(
                ReadBarrier, "barrier", self._at(ReadBarrier, LOCKED), self._caught_up, self._step
            ),
        )
        return (
            paired(BeginOperation, "begin", self._requested, self._may_begin, self._begins),
            *(barrier if self._barrier else ()),
            paired(ReadStateId, "read", self._at(ReadStateId, *read_after), _free, self._reads),
            paired(MakeStateId, "make id", self._at(MakeStateId, READ), _free, self._makes),
            paired(Validate, "validate", self._at(Validate, MADE), _free, self._validates),
            paired(Submit, "submit", self._at(Submit, VALID), self._may_submit, self._submits),
            paired(
                LookUp, "look up", self._at(LookUp, SUBMITTED, APPLIED), self._applied, self._ends
            ),
            paired(Retry, "retry", self._at(Retry, SUBMITTED), self._may_retry, self._retries),
        )

    # -- who ---------------------------------------------------------------------------------------

    def _requested(self, s: Group0State) -> tuple[BeginOperation, ...]:
        return tuple(a for a in self._begin if s.answers[a.operation] == "waiting")

    def _at(self, kind: Any, *steps: int) -> Any:
        """The nodes whose last step is one of these."""
        actions = each(kind, self.setup.names)

        def candidates(s: Group0State) -> list[Any]:
            return [
                actions[i]
                for i, guard in enumerate(s.guards)
                if guard is not None and guard.step in steps
            ]

        return candidates

    def _guard(self, s: Group0State, action: Any) -> tuple[int, HeldGuard]:
        node = self.setup.number(action.node)
        guard = s.guards[node]
        assert guard is not None
        return node, guard

    def tables(self, s: Group0State, node: int) -> NodeTables:
        """What a node's tables hold now."""
        return tables_after(prefix(s.log, s.indexes[node].applied), self.setup.safeguards)

    # -- step 1 ------------------------------------------------------------------------------------

    def _may_begin(self, s: Group0State, action: BeginOperation) -> Refusal | None:
        node = self.setup.operations[action.operation].node
        name, guard = self.setup.names[node], s.guards[node]
        if not s.up >> node & 1:
            return Refusal(f"{name} is down", missing=(name,))
        if guard is None:
            return None
        other = self.setup.operations[guard.operation].statement.text
        return Refusal(f"{name} holds the lock for another change: {other}", missing=(name,))

    def _begins(self, s: Group0State, action: BeginOperation) -> Group0State:
        node = self.setup.operations[action.operation].node
        guards = put(s.guards, node, HeldGuard(action.operation))
        return replace(s, guards=guards, answers=put(s.answers, action.operation, "running"))

    # -- step 2 ------------------------------------------------------------------------------------

    def _caught_up(self, s: Group0State, action: ReadBarrier) -> Refusal | None:
        node, _ = self._guard(s, action)
        if s.deposed >> node & 1:
            return Refusal(f"{action.node} takes itself for the leader, and no majority answers it")
        refusal = self.setup.no_leader(s)
        if refusal is not None:
            return refusal
        applied = s.indexes[node].applied
        if applied == len(s.log):
            return None
        return Refusal(
            f"{action.node} has applied {applied} of {len(s.log)} committed commands",
            missing=(action.node,),
        )

    def _step(self, s: Group0State, action: Any) -> Group0State:
        node, guard = self._guard(s, action)
        return replace(s, guards=put(s.guards, node, replace(guard, step=guard.step + 1)))

    # -- steps 3 and 4 -----------------------------------------------------------------------------

    def _reads(self, s: Group0State, action: ReadStateId) -> Group0State:
        node, guard = self._guard(s, action)
        newest = self.tables(s, node).history.newest
        return replace(s, guards=put(s.guards, node, replace(guard, step=READ, observed=newest)))

    def _makes(self, s: Group0State, action: MakeStateId) -> Group0State:
        node, guard = self._guard(s, action)
        new = self._fresh(s, node, guard.observed)
        return replace(s, guards=put(s.guards, node, replace(guard, step=MADE, new=new)))

    def _fresh(self, s: Group0State, node: int, newest: int) -> int:
        """An id that no command has that anybody may still meet."""
        name, guard = self.setup.names[node], s.guards[node]
        met = [command.new for command in (*s.log, *s.in_flight) if command.creator == name]
        held = guard.new if guard is not None else 0
        return next_state_id(newest, max((*met, held, s.expired)), node, len(self.setup.names))

    # -- steps 5 and 6 -----------------------------------------------------------------------------

    def objection(self, s: Group0State, node: int) -> str | None:
        """What is wrong with the statement that a node works on, by the node's own schema."""
        guard = s.guards[node]
        assert guard is not None
        statement = self.setup.operations[guard.operation].statement
        return objection(self.tables(s, node).schema, statement)

    def _validates(self, s: Group0State, action: Validate) -> Group0State:
        node, guard = self._guard(s, action)
        if self.objection(s, node) is None:
            return self._step(s, action)
        return self._answered(s, node, guard, "error")

    def _answered(self, s: Group0State, node: int, guard: HeldGuard, answer: Answer) -> Group0State:
        answers = put(s.answers, guard.operation, answer)
        return replace(s, guards=put(s.guards, node, None), answers=answers)

    def _may_submit(self, s: Group0State, action: Submit) -> Refusal | None:
        return self.setup.no_leader(s)

    def _submits(self, s: Group0State, action: Submit) -> Group0State:
        node, guard = self._guard(s, action)
        forgets = s.expired + 1 if s.expired else 0
        held = replace(guard, step=SUBMITTED, term=s.term, forgets=forgets)
        s = replace(s, guards=put(s.guards, node, held))
        return _sent(s, self.command(held))

    def command(self, guard: HeldGuard) -> Command:
        """The command of a guard."""
        operation = self.setup.operations[guard.operation]
        return command_of(
            Guard(guard.observed, guard.new),
            operation.statement,
            self.setup.names[operation.node],
            self.setup.safeguards,
            forgets=guard.forgets,
        )

    # -- steps 7 and 8 -----------------------------------------------------------------------------

    def _may_retry(self, s: Group0State, action: Retry) -> Refusal | None:
        _, guard = self._guard(s, action)
        refusal = self.setup.no_leader(s)
        if refusal is not None or guard.term < s.term:
            return refusal
        under_way = (*s.in_flight, *s.log)
        if any(command.new == guard.new for command in under_way):
            return Refusal("the command is on its way, and its leader leads on")
        return None

    def _retries(self, s: Group0State, action: Retry) -> Group0State:
        node, guard = self._guard(s, action)
        fresh = self._fresh(s, node, guard.observed)
        command = retried(self.command(guard), fresh, self.setup.safeguards)
        held = replace(guard, new=command.new, term=s.term)
        return _sent(replace(s, guards=put(s.guards, node, held)), command)

    def _applied(self, s: Group0State, action: LookUp) -> Refusal | None:
        _, guard = self._guard(s, action)
        if guard.step == APPLIED:
            return None
        return Refusal(f"{action.node} has not applied its command yet", missing=(action.node,))

    def _ends(self, s: Group0State, action: LookUp) -> Group0State:
        node, guard = self._guard(s, action)
        match outcome(self.tables(s, node).history, guard.new, s.expired):
            case "applied":
                return self._answered(s, node, guard, "success")
            case "unknown":
                return self._answered(s, node, guard, "unknown")
            case _:
                return replace(s, guards=put(s.guards, node, HeldGuard(guard.operation)))


def _free(s: Group0State, action: Any) -> Refusal | None:
    return None


def _sent(s: Group0State, command: Command) -> Group0State:
    """The command is on its way to the leader."""
    in_flight = sorted((*s.in_flight, command), key=lambda other: other.new)
    return replace(s, in_flight=tuple(in_flight))
