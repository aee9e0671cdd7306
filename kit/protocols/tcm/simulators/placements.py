"""The placement simulator: a cluster grows and shrinks at random, and every step is looked at.

It drives the real model by actions that are enabled; nodes apply an epoch when somebody waits for
them. After every event the columns of ``kit.protocols.tcm.simulators.columns`` are filled in. The
same seed gives the same run on every machine. Source: CEP-21, "Test Plan".
"""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from kit.errors import BadInput
from kit.model.registry import bounds_of, entry_of, one_of, safeguards_off
from kit.model.timeline import Timeline
from kit.model.trace import Trace
from kit.protocols.tcm.cluster import Driver, TcmCluster
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel, Event, node_of
from kit.protocols.tcm.rules.operations import EDITIONS, Edition, Operation
from kit.protocols.tcm.simulators.columns import COLUMNS, Columns, Looked
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.topology import Node
from kit.search.fuzz import CLEAN, Chance, PropertyJudges, least, shrink
from kit.views.static import BROKEN, Sheet, sign

SPREAD = 1000  # tokens of the line for each token that is ever owned
MOST_NODES, MOST_FACTOR, MOST_AT_ONCE, MOST_TOKENS = 200, 12, 32, 16
STRATEGIES = ("simple", "network")
ENOUGH = 1000  # cancels: more than there is occasion for


class Size(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of a simulated cluster.

    The cluster grows at random up to ``nodes`` nodes with ``tokens`` tokens each and shrinks again.
    ``rf`` replicas (for strategy ``network`` in each of ``dcs`` datacenters of ``racks`` racks);
    ``parallelism`` operations may be under way at once. ``cancelling`` is the chance, at each turn,
    that one of them is cancelled. ``edition`` is the protocol's.
    """

    nodes: int = 12
    rf: int = 3
    parallelism: int = 3
    strategy: str = "simple"
    dcs: int = 1
    racks: int = 1
    tokens: int = 1
    cancelling: float = 0.06
    edition: Edition = "documents"

    @property
    def fewest(self) -> int:
        """The nodes that there are at the start, and no fewer ever: one more than is needed."""
        return (self.rf + 1) * (self.dcs if self.strategy == "network" else 1)


def size_of(given: Mapping[str, Any]) -> Size:
    """A size from its fields by name; BadInput names one that is unknown or out of its limits."""
    return checked(bounds_of(Size, "size", given, "values that a size allows"))


def checked(size: Size) -> Size:
    """The size itself; BadInput names what is out of its limits."""
    most = {"rf": MOST_FACTOR, "parallelism": MOST_AT_ONCE, "tokens": MOST_TOKENS}
    for field, high in (most | {"dcs": 4, "racks": 12}).items():
        if not 1 <= (value := getattr(size, field)) <= high:
            raise BadInput(field, value, f"a number from 1 to {high}")
    for field, known in (("strategy", STRATEGIES), ("edition", tuple(EDITIONS))):
        if (word := getattr(size, field)) not in known:
            raise BadInput(field, word, one_of(word, list(known)))
    if not size.fewest <= size.nodes <= MOST_NODES:
        allowed = f"a number from {size.fewest} (one more than the replicas) to {MOST_NODES}"
        raise BadInput("nodes", size.nodes, allowed)
    if not 0 <= size.cancelling < 1:
        raise BadInput("cancelling", size.cancelling, "a chance from 0 to below 1")
    return size


class DrawnCluster(Struct, frozen=True):
    """A cluster at its start, and the operations that will be tried on it, in this order."""

    parameters: TcmParameters
    growing: tuple[Operation, ...]
    shrinking: tuple[Operation, ...]


def draw(seed: int, size: Size) -> DrawnCluster:
    """A cluster and its operations.

    While it grows nodes join, and now and then one moves or is replaced; while it shrinks nodes
    leave, are removed or (seldom) assassinated.
    """
    chance = Chance(seed)
    names = [f"n{i + 1}" for i in range(size.nodes)]
    fresh = _tokens(chance, size, 4 * size.nodes * size.tokens)
    members = tuple(
        Node(name, fresh.pop(), *_place(i, size)) for i, name in enumerate(names[: size.fewest])
    )
    growing, known = [], [node.name for node in members]
    for i, name in enumerate(names[size.fewest :], size.fewest):
        dc, rack = _place(i, size)
        growing.append(Operation("bootstrap", name, fresh.pop(), dc=dc, rack=rack))
        known.append(name)
        if chance.under(0.5):
            growing.append(_stir(chance, known, fresh, len(growing)))
    shrinking: list[Operation] = []
    going = list(known)
    while len(going) > size.fewest:
        going.remove(name := chance.pick(going))
        kind: Literal["decommission", "removenode", "assassinate"] = "decommission"
        if chance.under(0.4):
            kind = "assassinate" if chance.under(0.2) else "removenode"
        shrinking.append(Operation(kind, name))
        if chance.under(0.2):
            shrinking.append(_stir(chance, going, fresh, size.nodes + len(shrinking)))
    texts = tuple(operation.text for operation in (*growing, *shrinking))
    return DrawnCluster(_parameters(size, members, texts), tuple(growing), tuple(shrinking))


def _stir(chance: Chance, known: list[str], fresh: list[tuple[int, ...]], number: int) -> Operation:
    name = chance.pick(known)
    if chance.under(0.6):
        return Operation("move", name, fresh.pop())
    known[known.index(name)] = newcomer = f"r{number + 1}"
    return Operation("replace", newcomer, target=name)


def _parameters(
    size: Size, members: tuple[Node, ...], operations: tuple[str, ...]
) -> TcmParameters:
    replication: Replication = SimpleStrategy(size.rf)
    if size.strategy == "network":
        factors = tuple((f"dc{i + 1}", size.rf) for i in range(size.dcs))
        replication = NetworkTopologyStrategy(factors)
    return TcmParameters(
        members=members,
        keyspaces=(Keyspace("ks", replication),),
        low=0,
        high=_end(size),
        operations=operations,
        edition=size.edition,
        cancels=ENOUGH,
    )


def _place(i: int, size: Size) -> tuple[str, str]:
    return f"dc{i % size.dcs + 1}", f"r{i // size.dcs % size.racks + 1}"


def _end(size: Size) -> int:
    return SPREAD * 4 * size.nodes * size.tokens


def _tokens(chance: Chance, size: Size, count: int) -> list[tuple[int, ...]]:
    """Tokens for as many nodes as will ever want some, all different; now and then MIN."""
    tokens: dict[int, None] = {0: None} if chance.under(0.5) else {}
    while len(tokens) < count:
        tokens.setdefault(chance.below(_end(size)))
    order = list(tokens)
    for i in range(len(order) - 1, 0, -1):
        j = chance.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return [tuple(order[i : i + size.tokens]) for i in range(0, count, size.tokens)]


MANY = 250  # actions: a longer run stays as it is once no event can be left out


def smaller(model: TcmCluster, actions: Sequence[Any], column: str) -> tuple[Any, ...]:
    """A shorter run that does not keep the same column, without any event that it can lack."""
    columns = Columns(model)
    events = tuple(action.action for action in actions if isinstance(action.action, Event))

    @cache
    def run(kept: tuple[Event, ...]) -> tuple[Any, ...]:
        """The actions up to the failure; none when the column is kept after all."""
        driver = Driver(columns.model)
        for event in kept:
            if isinstance(event, Begin) or driver.metadata.sequence(event.node) is not None:
                driver.bring_about(event)
                if column in columns.looked(driver.state.tcm.events).faults:
                    return tuple(driver.actions)
        return ()

    def of_nodes(some: tuple[str, ...]) -> tuple[Event, ...]:
        return tuple(event for event in events if node_of(event) in some)

    if not run(events):
        return tuple(actions)
    nodes = least(
        tuple(dict.fromkeys(map(node_of, events))),
        lambda some: some if run(of_nodes(some)) else None,
    )
    kept = run(least(of_nodes(nodes), lambda some: some if run(some) else None))
    if len(kept) > MANY:
        return kept
    judged = tuple(p for p in columns.properties() if p.name == column)
    return shrink(model, kept, column, PropertyJudges(judged, (), (), ()))[0]


MOST_IDLE = 500  # turns at which nothing was committed
STUCK = "stuck"
SHOWN = 12  # rows of the table, unless more are asked for
COUNTS = ("under way", "rows", "readers", "writers", "over-replicated")
HEADINGS = ("epoch", "event", *COUNTS, *COLUMNS)


class Turn(Struct, frozen=True):
    """One committed event: its epoch, what it was, and what there was to see after it."""

    epoch: int
    event: str
    looked: Looked


class Simulation(Struct, frozen=True):
    """A simulated run, and what the columns say of it.

    ``turns`` are the committed events, ``refused`` counts the operations that had to wait (locks,
    as a rule), ``cancelled`` tells after which step of which kind of operation it was cancelled.
    ``verdict`` is ``clean``, or the first column that a turn, the last one, does not keep, with the
    ``witness``.
    """

    seed: int
    size: Size
    off: tuple[str, ...]
    turns: tuple[Turn, ...]
    actions: tuple[Any, ...]
    refused: int
    at_once: int
    most_nodes: int
    cancelled: tuple[tuple[str, str], ...]
    verdict: str = CLEAN
    witness: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every column was kept to the end."""
        return self.verdict == CLEAN

    def rows(self) -> tuple[dict[str, Any], ...]:
        """The table as plain rows: what happened, the counts, and whether each column was kept."""
        rows = []
        for turn in self.turns:
            seen = turn.looked
            counts = seen.under_way, seen.rows, seen.reads, seen.writes, seen.over
            kept = (column not in seen.faults for column in COLUMNS)
            rows.append(dict(zip(HEADINGS, (turn.epoch, turn.event, *counts, *kept), strict=True)))
        return tuple(rows)

    def table(self, first: int = 0, most: int = SHOWN) -> Sheet:
        """The turns from number ``first`` on (below 0: counted from the end), ``most`` of them."""
        rows = self.rows()
        begin = max(len(rows) + first, 0) if first < 0 else first
        shown = rows[begin : begin + most]
        cells = tuple(tuple(map(_text, row.values())) for row in shown)
        notes = [self.summary()]
        if len(shown) < len(rows):
            notes.append(f"Shown: {len(shown)} of {len(rows)} events, from number {begin} on.")
        if self.witness is not None:
            notes.append(f"{BROKEN} {COLUMNS.get(self.verdict, self.verdict)}: {self.witness}.")
        return Sheet(f"Placements, seed {self.seed}", HEADINGS, cells, tuple(notes))

    def summary(self) -> str:
        """The run in a sentence or two."""
        size = self.size
        where = f" in each of {size.dcs} datacenters" if size.strategy == "network" else ""
        kept = (
            "Every property holds at every event"
            if self.ok
            else "Stopped: a property does not hold"
        )
        kept = "No operation under way could continue" if self.verdict == STUCK else kept
        return (
            f"At most {self.most_nodes} of {size.nodes} nodes, RF {size.rf}{where}; at most "
            f"{self.at_once} of {size.parallelism} operations at once; {len(self.turns)} events. "
            f"Refused at first: {self.refused}; events after which one was cancelled: "
            f"{len(self.cancelled)}. {kept}."
        )

    def __repr__(self) -> str:
        return self.table(0 if self.ok else -SHOWN).text()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.table(0 if self.ok else -SHOWN)._repr_mimebundle_(**options)

    def model(self) -> TcmCluster:
        """The model that was driven."""
        return TcmCluster(draw(self.seed, self.size).parameters, self.off)

    def timeline(self, *, small: bool = False) -> Timeline:
        """The run as a history, at its last step; one that fails may be made ``small`` first."""
        model, actions = self.model(), self.actions
        if small and not self.ok:
            actions = smaller(model, actions, self.verdict)
        return Timeline.along(model, actions)

    def trace(self) -> Trace:
        """The run as data."""
        return self.timeline().save()


def simulate(
    seed: int, size: Size | None = None, *, off: tuple[str, ...] = (), **sizes: Any
) -> Simulation:
    """Grow and shrink a cluster at random, up to the first step at which a column is not kept.

    ``sizes`` are fields of ``Size``, in place of ``size``; BadInput for one out of its limits.
    """
    if type(seed) is not int or seed < 0:
        raise BadInput("seed", seed, "a whole number from 0 up")
    wanted = size_of(sizes) if size is None else checked(size)
    return _Run(seed, wanted, safeguards_off(entry_of("tcm"), tuple(off))).run()


class _Run:
    def __init__(self, seed: int, size: Size, off: tuple[str, ...]) -> None:
        self.seed, self.size = seed, size
        self.drawn: DrawnCluster = draw(seed, size)
        self.model = TcmCluster(self.drawn.parameters, off)
        self.columns = Columns(self.model)
        self.chance = Chance(seed + 1)
        self.driver = Driver(self.model)
        self.turns: list[Turn] = []
        self.cancelled: dict[tuple[str, str], None] = {}
        self.todo: deque[Operation] = deque()
        self.refused = self.at_once = 0
        self.most_nodes = size.fewest
        self.failed: tuple[str, str] | None = None

    def run(self) -> Simulation:
        for operations in (self.drawn.growing, self.drawn.shrinking):
            self.todo.extend(operations)
            self._carry_out()
        done = tuple(self.turns), tuple(self.driver.actions)
        counts, cancelled = (self.refused, self.at_once, self.most_nodes), tuple(self.cancelled)
        ends = self.failed or (CLEAN, None)
        return Simulation(self.seed, self.size, self.model.off, *done, *counts, cancelled, *ends)

    def _carry_out(self) -> None:
        idle, seen = 0, len(self.turns)
        while self.failed is None:
            idle = idle + 1 if len(self.turns) == seen else 0
            seen = len(self.turns)
            if idle > MOST_IDLE:
                self.failed = STUCK, "no operation under way can continue"
            under_way = self._under_way()
            free = len(under_way) < self.size.parallelism
            if self.todo and free and (not under_way or self.chance.under(0.6)):
                operation = self.todo.popleft()
                if not self._did(Begin(operation)):
                    self.refused += 1
                    self.todo.extend([operation] if under_way else ())
            if not under_way:
                if not self.todo and not self._under_way():
                    return
                continue
            node = self.chance.pick(under_way)
            if not (self.chance.under(self.size.cancelling) and self._cancel(node)):
                self._did(Advance(node))

    def _under_way(self) -> list[str]:
        return [sequence.node for sequence in self.driver.metadata.sequences]

    def _cancel(self, node: str) -> bool:
        sequence = self.model.tcm.under_way(self.driver.state.tcm, node)
        if sequence.undoing or not self._did(Cancel(node)):
            return False
        operation, done = sequence.plan.operation, sequence.plan.steps[sequence.done - 1]
        self.cancelled[operation.kind, done.name] = None
        self.todo.append(operation)
        return True

    def _did(self, event: Event) -> bool:
        if not self.driver.bring_about(event):
            return False
        events = self.driver.state.tcm.events
        looked, done = self.columns.looked(events), self.model.tcm.committed(events)
        self.turns.append(Turn(done.epoch, f"{done.operation.title}: {done.text}", looked))
        self.at_once = max(self.at_once, looked.under_way)
        members = sum(bool(node.tokens) for node in self.driver.metadata.ring.nodes)
        self.most_nodes = max(self.most_nodes, members)
        if looked.faults:
            self.failed = next((c, looked.faults[c]) for c in COLUMNS if c in looked.faults)
        return True


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return sign(value)
    if isinstance(value, tuple):
        return " to ".join(map(str, dict.fromkeys(value)))
    return str(value)
