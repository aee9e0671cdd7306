"""The state of group 0: the log, how far each node is in it, the guards, what is on its way; and
what all its rules ask of that and of who takes part.
"""

from functools import cached_property, lru_cache
from typing import Any, Literal, Self, TypeAlias, TypeVar

from msgspec import Struct

from kit.errors import Refusal
from kit.masks import is_majority, where
from kit.model.declared import NodeModel, State, Words, parameter, refused
from kit.model.log import Log
from kit.protocols.group0.rules import commands
from kit.protocols.group0.rules.releases import NEWEST, Supported
from kit.protocols.group0.rules.schema import ClientOperation, SchemaState, TableRequest, merged
from kit.protocols.group0.rules.voters import MOST_VOTERS, VoterRules, chosen_voters

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
Edition = Literal["documents", "server"]
Answer = Literal["waiting", "running", "success", "error", "unknown", "no answer"]
Stage = Literal["waiting", "sent", "served"]
ANSWERED = ("success", "error", "unknown", "no answer")
LOCKED, CAUGHT_UP, READ, MADE, VALID, SUBMITTED, APPLIED = range(1, 8)
"""The last step of a guard that was done; the eighth ends the guard."""
LOOKING = range(READ, SUBMITTED)
"""After these the node looks at one state of its tables, and applies nothing."""


class HeldGuard(State, frozen=True, cache_hash=True):
    """The guard that a node holds while it works on a change.

    ``operation`` is its number, ``step`` the last of the eight that was done. ``observed`` and
    ``new`` are the state ids of steps 3 and 4, 0 before. ``forgets`` is what its command carries.
    ``term`` is that of the leader that the command was submitted to last.
    """

    operation: int
    step: int = 1
    observed: int = 0
    new: int = 0
    forgets: int = 0
    term: int = 0


class CarriedVersion(State, frozen=True, cache_hash=True):
    """A request: whether it was sent, with which table version, and how far its coordinator had
    gone through the log.
    """

    stage: Stage = "waiting"
    version: int = 0
    index: int = 0


class FaultsLeft(State, frozen=True, cache_hash=True):
    """How often each fault may still happen."""

    elections: int
    crashes: int
    losses: int
    hours: int


class Group0State(State, frozen=True, cache_hash=True):
    """Nodes are numbers from 0, sets of them bit masks.

    ``log`` holds the committed commands. ``leader`` is the newest one, up or not; ``deposed`` are
    those that were leaders and have not heard of it. ``guards`` has an entry a node, ``answers``
    one per client's operation. ``in_flight`` are the commands that were submitted and are neither
    committed nor lost, sorted by id. State ids up to ``expired`` are more than an hour old.
    ``requests`` are reads and writes, an entry each.
    """

    log: Log
    indexes: tuple[commands.Indexes, ...]
    up: int
    voters: int
    leader: int
    term: int
    deposed: int
    guards: tuple[HeldGuard | None, ...]
    answers: tuple[Answer, ...]
    in_flight: tuple[commands.Command, ...]
    expired: int
    left: FaultsLeft
    requests: tuple[CarriedVersion, ...] = ()

    def knowing(self, node: int, index: int) -> Self:
        """The same, where a node stores the log up to an index, and knows it is committed."""
        return self.but(indexes=put(self.indexes, node, self.indexes[node].knowing(index)))

    def guarded(self, node: int, guard: HeldGuard | None) -> Self:
        """The same, where a node holds this guard."""
        return self.but(guards=put(self.guards, node, guard))

    def applied(self, node: int) -> Self:
        """The same, where a node went through one more command; its own ends its guard's step 7."""
        indexes, guard = self.indexes[node].applying(), self.guards[node]
        after = self.but(indexes=put(self.indexes, node, indexes))
        if guard is None:
            return after
        own = self.log[indexes.applied - 1].new == guard.new
        return after.guarded(node, guard.but(step=APPLIED)) if own else after

    def applied_up_to(self, node: int, index: int) -> Self:
        """The same, where a node got the log up to an index and went through all of it."""
        after = self.knowing(node, index)
        while after.indexes[node].applied < index:
            after = after.applied(node)
        return after


Next: TypeAlias = Group0State | Refusal


class NodeTables(Struct, frozen=True, cache_hash=True):
    """The tables of a node after it went through the log up to some index.

    ``effective`` says of each command whether it took effect.
    """

    history: commands.StateHistory = commands.StateHistory()
    schema: SchemaState = SchemaState()
    effective: tuple[bool, ...] = ()


@lru_cache(1 << 16)
def tables_after(log: Log, safeguards: commands.Group0Safeguards) -> NodeTables:
    """The tables of a node that went through the whole of ``log``: the same on every node."""
    if not len(log):
        return NodeTables()
    before, command = tables_after(log.shorter(), safeguards), log[len(log) - 1]
    counts = commands.takes_effect(before.history.newest, command, safeguards)
    effective = (*before.effective, counts)
    if not counts:
        return NodeTables(before.history, before.schema, effective)
    schema = merged(before.schema, command.change, command.new)
    return NodeTables(before.history.recorded(command), schema, effective)


@lru_cache(1 << 16)
def prefix(log: Log, index: int) -> Log:
    """The first ``index`` entries of a log."""
    while len(log) > index:
        log = log.shorter()
    return log


def put(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """The same with another value at one place."""
    return (*values[:at], value, *values[at + 1 :])


def key_of(in_flight: tuple[commands.Command, ...], at: int) -> str:
    """The key of a command on its way: its state id, and which of several with it this is."""
    earlier = sum(command.new == in_flight[at].new for command in in_flight[:at])
    return f"sent:{in_flight[at].new}:{earlier}"


def command_text(command: commands.Command) -> str:
    """``1 → 2 “create table ks.t” by A``: from which state to which, what, by whom."""
    previous = "any" if command.previous is None else command.previous
    return f"{previous} → {command.new} {change(command)}"


def change(command: commands.Command) -> str:
    """The change of a command, and its author: ``“create keyspace ks” by A``."""
    return f"“{command.change.text}” by {command.creator}"


@lru_cache(1 << 12)  # few differ
def _storing_less(indexes: tuple[commands.Indexes, ...], index: int) -> int:
    return where(at.stored < index for at in indexes)


_chosen_voters = lru_cache(1 << 12)(chosen_voters)


class VotingModel(NodeModel[S]):
    """A model whose members vote: all of them in edition ``documents``, a few in ``server``."""

    edition: Edition = parameter("documents", "the documents, or the published server")
    release: Supported = parameter(NEWEST, "the release of the server (server edition)")
    most_voters: int = parameter(
        MOST_VOTERS, "how many nodes can vote (server edition)", title="limit of voters", ge=1, le=9
    )

    @cached_property
    def voter_rules(self) -> VoterRules:
        """How the server of edition ``server`` chooses who votes."""
        return VoterRules(self.release, self.most_voters)


class Members(VotingModel[Group0State]):
    """The members of group 0, and what clients ask of them.

    ``dc_of`` is where each node is. ``limited``: only some nodes vote, and histories are kept
    for an hour (edition ``server``). ``kept`` is how many committed entries a leader keeps, 0 for
    all; ``budget`` is what may go wrong in a whole run.
    """

    clients: tuple[ClientOperation, ...]
    table_requests: tuple[TableRequest, ...]
    dc_of: tuple[int, ...]
    switches: commands.Group0Safeguards
    limited: bool
    kept: int
    budget: FaultsLeft

    def newest_epoch(self, s: Group0State) -> int:
        """The index of the newest entry."""
        return len(s.log)

    def called(self, place: str) -> str:
        """In the text of what travels ``op:0`` is a client, and ``at:B:3`` is B."""
        if place.startswith("op:"):
            return "client"
        return place.split(":")[1] if place.startswith("at:") else place

    def spot(self, place: str) -> str:
        """A node's name stands for its key in the picture."""
        return place if ":" in place else super().spot(place)

    @property
    def everybody(self) -> int:
        """All nodes."""
        return (1 << len(self.names)) - 1

    def tables(self, s: Group0State, node: int) -> NodeTables:
        """The tables of a node now."""
        return self.tables_at(s, s.indexes[node].applied)

    def tables_at(self, s: Group0State, index: int) -> NodeTables:
        """The tables after the log up to an index."""
        return tables_after(prefix(s.log, index), self.switches)

    def lacking_dropped(self, s: Group0State) -> int:
        """The nodes that lack entries which the leader has no more, as a bit mask."""
        last = self.snapshot(s)
        return _storing_less(s.indexes, last) if last else 0

    def snapshot(self, s: Group0State) -> int:
        """The index of the leader's snapshot; 0 where it has all entries."""
        return commands.snapshot_index(len(s.log), s.indexes[s.leader].applied, self.kept)

    def wanted_voters(self, s: Group0State) -> int:
        """The nodes that should vote now."""
        if not self.limited:
            return self.everybody
        return _chosen_voters(self.dc_of, s.up, s.leader, s.voters, (), self.voter_rules)

    def no_quorum(self, s: Group0State) -> Refusal | None:
        """That too few voters are up, if so."""
        if is_majority(s.up, s.voters):
            return None
        reason = "no quorum: more than half of the voters must be up"
        return self.too_few(reason, s.up, s.voters)

    def no_leader(self, s: Group0State) -> Refusal | None:
        """Why nobody can ask the leader for anything, if so: a majority must stand behind it."""
        if why := self.no_quorum(s):
            return why
        if not s.up >> s.leader & 1:
            name = self.names[s.leader]
            return refused(f"{name}, the leader, is down: another leader must be elected", (name,))
        return None

    def building(self, s: Group0State, node: int) -> Refusal | None:
        """That a node looks at one state of its tables, and applies nothing meanwhile, if so."""
        guard, name = s.guards[node], self.names[node]
        if guard is None or guard.step not in LOOKING:
            return None
        return refused(f"{name} is building a command on the state that it has", (name,))

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """The leader, the newest index; of a node its guard before and now, how far it is."""
        texts: dict[str, Any] = {"leader": self.names[after.leader], "index": len(after.log)}
        if name := getattr(action, "node", ""):
            node = self.number(name)
            texts |= {"held": before.guards[node], "now": after.guards[node]}
            texts["applied"] = after.indexes[node].applied
        return texts
