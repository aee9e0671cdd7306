"""Group 0: every change of metadata goes through one log, and names what it was built on.

The log is that of Raft at the grain of its promises: a command is committed in one step that names
the majority which stored it, an election is one step, and what Raft's messages do in between is
left to a model that refines this one. What is on its way may be committed late, or be lost.
Source: "Using Group 0 to perform schema changes".
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.group0 import wording
from kit.protocols.group0.actions import CommitCommand, Elect, Group0Action, LookUp, Validate
from kit.protocols.group0.guards import GuardRules
from kit.protocols.group0.parameters import Group0Parameters
from kit.protocols.group0.properties import monitors, properties
from kit.protocols.group0.raft import RaftRules
from kit.protocols.group0.rules.indexes import Indexes
from kit.protocols.group0.rules.safeguards import Group0Safeguards
from kit.protocols.group0.safeguards import SAFEGUARDS
from kit.protocols.group0.schedule import suggestion
from kit.protocols.group0.serving import ServingRules
from kit.protocols.group0.setup import earlier_log, setup_of
from kit.protocols.group0.state import CarriedVersion, FaultsLeft, Group0State, NodeTables
from kit.protocols.group0.words import parse_operations


class Group0(Model[Group0State, Any]):
    """The members of group 0, and clients that ask them for changes of the schema."""

    name = "group0"
    title = "Group 0: one log for all metadata"
    State = Group0State
    Action = Group0Action
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("lose", "crash", "hour", "elect")

    def __init__(
        self, parameters: Group0Parameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A group of ``parameters.nodes`` nodes, the first of which leads.

        Raises:
            BadInput: when a parameter is out of its limits, or an operation is none.
        """
        self.parameters: Group0Parameters = parameters or Group0Parameters()
        check_limits(self.parameters)
        self.off = off
        if self.parameters.newcomers > (self.parameters.nodes - 1) // 2:
            allowed = "fewer than half of the members: the others have what was done before"
            raise BadInput("newcomers", self.parameters.newcomers, allowed)
        self.setup = setup_of(self.parameters, switched_off(Group0Safeguards, off))
        given = self.parameters
        self._earlier = earlier_log(self.setup, parse_operations(given.earlier, self.setup.names))
        hours = given.hours if self.setup.limited else 0
        self.budget = FaultsLeft(given.elections, given.crashes, given.losses, hours)
        self.guards = GuardRules(self.setup)
        raft = RaftRules(self.setup, self.budget)
        self.serving = ServingRules(self.setup, raft)
        self.rules = (*self.guards.rules(), *raft.rules(), *self.serving.rules())
        self.properties = properties(self.setup, len(self._earlier))
        self.monitors = monitors(self.setup)

    def start(self) -> Group0State:
        """What was done before is applied by all but newcomers; the first node leads."""
        count, new = len(self.setup.names), self.parameters.newcomers
        log = self._earlier
        start = Group0State(
            log=log,
            indexes=(
                *(Indexes(len(log), len(log), len(log)),) * (count - new),
                *(Indexes(),) * new,
            ),
            up=self.setup.everybody,
            voters=self.setup.everybody,
            leader=0,
            term=1,
            deposed=0,
            guards=(None,) * count,
            answers=tuple("waiting" for _ in self.setup.operations),
            in_flight=(),
            expired=0,
            left=self.budget,
            requests=(CarriedVersion(),) * len(self.setup.requests),
        )
        return replace(start, voters=self.setup.wanted_voters(start))

    def tables(self, s: Group0State, node: int) -> NodeTables:
        """What a node's tables hold now."""
        return self.guards.tables(s, node)

    def suggest(self, s: Group0State) -> Any | None:
        """One client after the other is served; then everybody catches up."""
        return suggestion(self.setup, s, list(self.actions(s)))

    def verb(self, action: Any) -> str:
        """``create keyspace ks at A``, ``commit 1 by A B``, ``apply B``."""
        return wording.verb(self.setup, action)

    def label(self, s: Group0State, action: Any) -> str:
        """The text of a button: what the verb leaves out."""
        return wording.label(self.setup, s, action)

    def describe(self, before: Group0State, action: Any, after: Group0State) -> str:
        """What the step did, and why."""
        return wording.sentence(self, before, action, after)

    def milestone(self, before: Group0State, action: Any, after: Group0State) -> str | None:
        """A command is committed, somebody else leads, a client is answered."""
        match action:
            case CommitCommand():
                return f"index {len(after.log)}"
            case Elect():
                return f"term {after.term}"
            case LookUp() | Validate() if before.answers != after.answers:
                return "answered"
        return None
