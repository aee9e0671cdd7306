"""Group 0: every change of metadata goes through one log, and names what it was built on.

The log is that of Raft at the grain of its promises: a command is committed in one step that names
the majority which stored it, an election is one step, and what Raft's messages do in between is
left to a model that refines this one. What is on its way may be committed late, or be lost.
Source: "Using Group 0 to perform schema changes".

What a node does for a change is in ``guards``, the log and its faults in ``raft``, reads and writes
in ``serving``.
"""

from functools import lru_cache
from typing import Any

from kit.errors import BadInput
from kit.masks import is_majority, where
from kit.model.declared import always, budget, entry, goal, parameter, safeguard, sometimes, step
from kit.model.log import Log
from kit.model.model import switched_off
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.group0 import guards, raft, serving, state
from kit.protocols.group0.rules import commands, schema
from kit.protocols.group0.rules.commands import Group0Safeguards, Indexes, takes_effect
from kit.protocols.group0.state import ANSWERED, Edition, Group0State, change, prefix, tables_after

MOST_NODES = 9
MOST_FAULTS = 5
MOST_KEPT = 60
NAMES = "ABCDEFGHI"[:MOST_NODES]

# A guard that is held comes first, then the log, then who is not needed, then the next client.
ORDER = (
    *(guards.LookUp, guards.Submit, guards.Validate, guards.MakeStateId, guards.ReadStateId),
    *(guards.ReadBarrier, raft.CommitCommand, raft.StepDown, guards.Retry, raft.Reconfigure),
    *(serving.ServeTableRequest, serving.FetchSchema),
)


class Group0(guards.Guards, raft.RaftLog, serving.Serving):
    """The members of group 0, and clients that ask them for changes of the schema."""

    name, title = "group0", "Group 0: one log for all metadata"
    premise = (
        "All metadata is in one log: a change counts once a majority has stored it. "
        "Clients (squares) request changes. Nodes store and apply them in log order."
    )
    about = "The members of group 0, what clients request, and what can go wrong."
    State = Group0State
    rests_at_goals = True

    nodes: int = parameter(3, "members of group 0, named A, B, C, …", ge=1, le=MOST_NODES)
    operations: tuple[str, ...] = parameter(
        ("create table ks.t at A", "create table ks.t at B"),
        "the changes clients request, each at one node: create table ks.t at B",
        title="operations",
        written=True,
    )
    earlier: tuple[str, ...] = parameter(
        ("create keyspace ks at A",),
        "earlier changes that every node has applied",
        title="done before",
        written=True,
    )
    requests: tuple[str, ...] = parameter(
        (),
        "reads and writes, each sent from a node to a replica: write ks.t at A to B",
        title="requests",
        written=True,
    )
    kept: int = parameter(
        0,
        "committed entries that a leader keeps (0: all); a node that needs older ones gets a "
        "snapshot",
        title="entries kept",
        ge=0,
        le=MOST_KEPT,
    )
    newcomers: int = parameter(
        0,
        "how many members, counted from the last, are new and have no data yet",
        ge=0,
        le=MOST_NODES,
    )
    elections: int = budget(
        0, "how many times another leader is elected", le=MOST_FAULTS, own=False
    )
    crashes: int = budget(0, "how many times a node crashes", le=MOST_FAULTS, own=False)
    losses: int = budget(0, "how many times a submitted command is lost", le=MOST_FAULTS, own=False)
    hours: int = budget(
        0, "how many times an hour passes (server edition)", le=MOST_FAULTS, own=False
    )
    shards: int = parameter(
        2, "shards per node; group 0's server runs on the first one", ge=1, le=8
    )
    dcs: int = parameter(1, "datacenters; nodes are assigned to them in turn", ge=1, le=3)
    edition: Edition = parameter(
        "documents", "documents: as specified; server: one hour of history and few voters"
    )

    # fmt: off
    read_barrier: bool = safeguard(
        "S-29", "A node applies all committed commands before it reads the state for a change",
        ("INV-LIN",),
        smallest={"operations": ("create keyspace ks at A", "create table ks.t at B"),
                  "earlier": ()})
    state_id_check: bool = safeguard(
        "S-30", "A command does nothing unless the state is still the one it was built on",
        ("INV-ONCE", "INV-LIN"), smallest={"nodes": 2})
    same_id_on_retry: bool = safeguard(
        "S-31", "A command is submitted again with the same state id", ("INV-ONCE",),
        smallest={"operations": ("create table ks.t at A",), "elections": 1})
    commit_with_guard: bool = safeguard(
        "S-59", "A command names the state that it was built on", ("INV-ONCE", "INV-LIN"),
        smallest={"nodes": 2})
    schema_version_check: bool = safeguard(
        "S-51", "A replica serves requests with a schema at least as new as its coordinator's",
        ("INV-SCHEMA",),
        smallest={"nodes": 2, "operations": ("alter table ks.t add c at A",),
                  "earlier": ("create keyspace ks at A", "create table ks.t at A"),
                  "requests": ("write ks.t at A to B",)})
    # fmt: on

    def set_up(self) -> None:
        """The nodes, the first of which leads, and what clients ask of them.

        Raises BadInput for an operation or a request that is none, or too many newcomers.
        """
        if self.newcomers > (self.nodes - 1) // 2:
            allowed = "fewer than half of the members; the others have the earlier changes"
            raise BadInput("newcomers", self.newcomers, allowed)
        self.names = tuple(NAMES[: self.nodes])
        self.dc_of = tuple(i % self.dcs for i in range(self.nodes))
        self.clients = schema.parse_operations(self.operations, self.names)
        self.table_requests = schema.parse_requests(self.requests, self.names)
        self.switches = switched_off(Group0Safeguards, self.off)
        self.limited = self.edition == "server"
        self.done_before = self.log_of(schema.parse_operations(self.earlier, self.names))
        hours = self.hours if self.limited else 0
        self.budget = state.FaultsLeft(self.elections, self.crashes, self.losses, hours)
        self.monitors = (guards.linearizability(self),)

    def log_of(self, operations: tuple[schema.ClientOperation, ...]) -> Log:
        """A log of these operations, done one after the other.

        Raises BadInput for one that makes no sense after those before it.
        """
        log = Log()
        for operation in operations:
            tables = tables_after(log, self.switches)
            why = schema.objection(tables.schema, operation.statement)
            if why is not None:
                raise BadInput(
                    "earlier", operation.text, f"a change that makes sense at that point: {why}"
                )
            newest, name = tables.history.newest, self.names[operation.node]
            new = commands.next_state_id(newest, newest, operation.node, len(self.names))
            made = operation.statement, newest, new, name
            log = log.append(commands.command_of(*made, Group0Safeguards()))
        return log

    def start(self) -> Group0State:
        """What was done before is applied by all but newcomers; the first node leads."""
        log, old = self.done_before, self.nodes - self.newcomers
        done = Indexes(len(log), len(log), len(log))
        start = Group0State(
            log=log,
            indexes=(done,) * old + (Indexes(),) * self.newcomers,
            up=self.everybody,
            voters=self.everybody,
            leader=0,
            term=1,
            deposed=0,
            guards=(None,) * self.nodes,
            answers=tuple("waiting" for _ in self.clients),
            in_flight=(),
            expired=0,
            left=self.budget,
            requests=(state.CarriedVersion(),) * len(self.table_requests),
        )
        return start.but(voters=self.wanted_voters(start))

    # -- what must hold ----------------------------------------------------------------------------

    @step("INV-ONCE", on=(raft.RaftLog.commit_command,))
    def built_on(self, before: Group0State, action: Any, after: Group0State) -> str | None:
        """A command changes only the state that it was built on."""
        # If it takes effect, it finds the state id that its creator read in step 3.
        command = after.log[len(after.log) - 1]
        newest = tables_after(before.log, self.switches).history.newest
        guard = before.guards[self.number(command.creator)]
        held = guard if guard is not None and guard.new == command.new else None
        observed = command.previous if held is None else held.observed
        if observed in (None, newest) or not takes_effect(newest, command, self.switches):
            return None
        return f"{change(command)}, built on state {observed}, changes state {newest}"

    @always("INV-ONCE")
    def once(self, s: Group0State) -> str | None:
        """A change takes effect once if its client hears success, and never if it hears an error.

        Else at most once. What was done before the run is no client's.
        """
        effective = tables_after(s.log, self.switches).effective
        entries = tuple(zip(s.log, effective, strict=True))[len(self.done_before) :]
        for client, answer in zip(self.clients, s.answers, strict=True):
            name = self.names[client.node]
            times = sum(
                counts and command.creator == name and command.change == client.statement
                for command, counts in entries
            )
            allowed = {"success": (1,), "error": (0,)}.get(answer, (0, 1))
            if times not in allowed:
                ending = f"; its client was told: {answer}" if answer in ANSWERED else ""
                often = ("never", "once", "twice")[times] if times < 3 else f"{times} times"
                return f"{client.text} took effect {often}{ending}"
        return None

    @always("INV-SCHEMA")
    def versions(self, s: Group0State) -> str | None:
        """Equal table versions mean equal tables."""
        furthest = max(at.applied for at in s.indexes)
        return _ambiguous(prefix(s.log, furthest), self.switches)

    @step("INV-SCHEMA", on=(serving.Serving.serve_table_request,))
    def new_enough(self, before: Group0State, action: Any, after: Group0State) -> str | None:
        """A request is served with a table at least as new as its coordinator's."""
        request = self.table_requests[action.request]
        version = before.requests[action.request].version
        own = self.own_version(before, action.request, request.replica)
        if own >= version:
            return None
        return (
            f"{self.names[request.replica]} serves {request.text} with version {own} "
            f"of the table, but the request has {version}"
        )

    @always()
    def majority(self, s: Group0State) -> str | None:
        """Every committed entry is stored by a majority."""
        length = len(s.log)
        nodes = where(at.stored >= length for at in s.indexes)
        if is_majority(nodes, s.voters):
            return None
        return f"only {', '.join(self.named(nodes)) or 'no node'} stores index {length}"

    @step("INV-RAFT", on=(raft.RaftLog.elect,))
    def elected(self, before: Group0State, action: Any, after: Group0State) -> str | None:
        """A majority elects the leader, which must store every committed entry."""
        if not is_majority(before.up, before.voters):
            return f"{action.node} was elected without a majority"
        stored, length = before.indexes[self.number(action.node)].stored, len(before.log)
        return f"{action.node} leads but lacks index {length}" if stored < length else None

    @sometimes()
    def no_op(self, s: Group0State) -> bool:
        """A command arrives too late and does nothing."""
        return False in tables_after(s.log, self.switches).effective

    @sometimes()
    def success(self, s: Group0State) -> bool:
        """A client is told of success."""
        return "success" in s.answers

    @goal()
    def answered(self, s: Group0State) -> bool:
        """Every client gets an answer."""
        served = all(request.stage != "sent" for request in s.requests)
        return served and all(answer in ANSWERED for answer in s.answers)

    # -- schedule ----------------------------------------------------------------------------------

    def suggest(self, s: Group0State) -> Any | None:
        """One client after the other is served; then everybody catches up."""
        enabled = list(self.actions(s))

        def of(*kinds: Any) -> list[Any]:
            return [action for action in enabled if isinstance(action, kinds)]

        first: list[Any] = []
        if not s.up >> s.leader & 1:
            first = of(
                raft.Elect if is_majority(s.up, s.voters) and s.left.elections else raft.RestartNode
            )
        ordered = [action for kind in ORDER for action in of(kind)]
        busy = {name for name, guard in zip(self.names, s.guards, strict=True) if guard}
        catching_up = of(raft.ApplyCommand, raft.Replicate, raft.InstallSnapshot)
        needed = [action for action in catching_up if action.node in busy]
        rest = (*of(raft.RestartNode), *of(guards.BeginOperation), *of(serving.SendRequest))
        return next(iter((*first, *ordered, *needed, *catching_up, *rest)), None)

    def milestone(self, before: Group0State, action: Any, after: Group0State) -> str | None:
        """A command is committed, somebody else leads, a client is answered."""
        if isinstance(action, raft.CommitCommand):
            return f"index {len(after.log)}"
        if isinstance(action, raft.Elect):
            return f"term {after.term}"
        answers = (
            isinstance(action, guards.LookUp | guards.Validate) and before.answers != after.answers
        )
        return "answered" if answers else None


@lru_cache(1 << 14)
def _ambiguous(log: Log, switches: Group0Safeguards) -> str | None:
    known: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}
    for index in range(len(log) + 1):
        for table in tables_after(prefix(log, index), switches).schema.tables:
            name, definition = f"{table.keyspace}.{table.name}", (table.id, table.columns)
            if known.setdefault((name, table.version), definition) != definition:
                columns = known[name, table.version][1]
                return (
                    f"version {table.version} of {name} has columns {', '.join(columns)} "
                    f"and columns {', '.join(table.columns)}"
                )
    return None


_ONE, _RIVAL = ("create table ks.t at A",), ("create table ks.t at B",)
_STEPS = ("barrier", "read", "make-id", "validate", "submit")
_COMMITS = ("commit 4 by A B", "commit 2 by A B")
_ALTER, _WRITE = ("alter table ks.t add c at A",), ("write ks.t at A to B",)
SCENARIOS = (
    Scenario(
        "schema",
        "A keyspace, then a table. Each is requested at a different node",
        {"operations": ("create keyspace ks at A", *_RIVAL), "earlier": ()},
    ),
    Scenario(
        "race",
        "Two nodes create the same table. The second command is a no-op",
        script=(*_ONE, *_RIVAL, *(f"{each} {n}" for each in _STEPS for n in "AB"), *_COMMITS),
    ),
    Scenario(
        "unknown-outcome",
        (
            "Did it take effect? The leader dies after the commit; the history shows "
            "what happened to the command"
        ),
        {"operations": _RIVAL, "elections": 1, "crashes": 1},
        script=(*_RIVAL, *(f"{each} B" for each in _STEPS), _COMMITS[1], "crash A", "elect B"),
    ),
    Scenario(
        "deposed",
        "A deposed leader cannot make a change. No majority answers it",
        {"operations": _ONE, "elections": 1},
        script=(*_ONE, "elect B"),
    ),
    Scenario(
        "request",
        (
            "A write is ahead of the schema. It carries a table version that its replica "
            "does not know yet"
        ),
        {"operations": _ALTER, "earlier": ("create keyspace ks at A", *_ONE), "requests": _WRITE},
        script=(*_ALTER, *(f"{each} A" for each in _STEPS), "commit 7 by A C", "apply A", *_WRITE),
    ),
    Scenario(
        "voters",
        (
            "A voter crashes, and another one votes. In the published server, five of "
            "seven nodes vote"
        ),
        {"nodes": 7, "operations": _ONE, "crashes": 1, "edition": "server", "dcs": 2},
        script=("crash B", "reconfigure A C D E F"),
    ),
)
# Something to race for, with every fault there is, faults rare.
FUZZING = Fuzzing(
    {
        "operations": (
            *(*_ONE, *_RIVAL, "drop keyspace ks at C", "create table ks.u at C"),
            *("alter table ks.u add c at D", "alter keyspace ks rf 3 at E"),
        ),
        "requests": (*_WRITE, "read ks.u at C to D"),
    }
    | {"nodes": 7, "kept": 1, "newcomers": 1, "edition": "server"}
    | {"elections": 2, "crashes": 2, "losses": 2, "hours": 1},
    {"elect": 0.05, "crash": 0.05, "lose": 0.1, "hour": 0.05},
)
ENTRY = entry(Group0, scenarios=SCENARIOS, fuzzing=FUZZING)
