"""Transactional Cluster Metadata in the registry: scenarios worth seeing, diagrams, coverage."""

from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.model.log import Apply, Log, LogState
from kit.model.model import Refinement, TransitionRows
from kit.model.registry import Diagram, Entry, Fuzzing, Scenario
from kit.protocols.tcm.cluster import SAFEGUARDS, TcmCluster
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules import metadata
from kit.protocols.tcm.rules import operations as ops
from kit.ring.topology import Node

_MOST_LOGS = 4096
_PART = {name: parts[0] for name, parts in ops.EDITIONS["documents"] if parts}
_FOUR = tuple(parts for _, parts in ops.EDITIONS["server"])
Image: TypeAlias = tuple[tuple[metadata.Event, ...], int | None]
"""The coarser events of one finer event, and the node that carries them out, by code: None where
anybody may, in a compensation or an operation on a dead node.
"""


class Reading(Struct, frozen=True):
    """A finer log in the coarser model.

    ``ends`` gives, for each number of finer entries, how many coarser ones they are; ``driven``
    holds (node code, number of coarser entries that it must have applied as a driver).
    """

    log: Log
    ends: tuple[int, ...]
    driven: tuple[tuple[int, int], ...]


def refinement(parameters: TcmParameters, *, barrier: bool = False) -> Refinement:
    """How the two editions of an operation belong together: the documents' refines the server's.

    Edition ``documents`` gives each part of a plan an epoch of its own and leaves out what changes
    no row; in edition ``server`` every operation has the same four epochs. So an event of the first
    is no, one or several events of the second, and the last one ends the operation there too:

    =============  =================================================================
    documents      server
    =============  =================================================================
    split          prepare
    add-writes     start; with prepare before it where nothing is split
    switch-reads   mid
    drop-writes    finish; nothing yet where a merge follows
    merge          finish
    =============  =================================================================

    What differs is left aside openly. The coarser model keeps no barriers (with ``barrier`` it
    does, to see where they differ): where they stand (a leave's start waits for prepare), and that
    they count datacenters, is where they part. Entries arrive in order (``window`` 1), for
    what is ahead of a gap in one log need not be so in the other. Where one event is several, the
    node that drives the operation must know each but the last: in the coarser state it has applied
    them, whether or not it has applied anything in the finer one. Two operations at both ends of
    the line, which only the server refuses, are not on the map.
    """
    editions = _Editions(parameters, barrier)
    return Refinement(editions.fine, editions.coarse, editions.project, editions.image)


class _Editions:
    """Both models of a configuration, and the map from the finer to the coarser one."""

    def __init__(self, parameters: TcmParameters, barrier: bool) -> None:
        self.fine = TcmCluster(replace(parameters, edition="documents", window=1))
        self.coarse = TcmCluster(replace(parameters, edition="server", window=1, barrier=barrier))
        self.image_of = lru_cache(_MOST_LOGS)(self._image_of)
        self.reading = lru_cache(_MOST_LOGS)(self._reading)

    def project(self, s: Any) -> Any:
        log, applied = self.reading(s.tcm.events).log, self._applied(s)
        return self.coarse.State(
            tcm=replace(s.tcm, events=log), log=LogState(log, applied, (0,) * len(applied))
        )

    def image(self, before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        """The coarser actions of a step; a driver learns each of its events before the next."""
        tcm, log = self.coarse.wrap["tcm"], self.coarse.wrap["log"]
        known = list(self._applied(before))
        if isinstance(action.action, Apply):
            code = self.fine.codes[action.action.node]
            return (log(action.action),) * (self._applied(after)[code] - known[code])
        if len(after.tcm.events) == len(before.tcm.events):
            return (tcm(action.action),)
        events, driver = self.image_of(after.tcm.events)
        end = len(self.reading(before.tcm.events).log)
        actions = [tcm(event) for event in events[:1]]
        for event in events[1:]:
            end += 1
            if driver is not None:
                lag = end - known[driver]
                actions += [log(Apply(self.fine.names[driver]))] * lag
                known[driver] += lag
            actions.append(tcm(event))
        return tuple(actions)

    def _applied(self, s: Any) -> tuple[int, ...]:
        reading = self.reading(s.tcm.events)
        known = [reading.ends[count] for count in s.log.applied]
        for code, count in reading.driven:
            known[code] = max(known[code], count)
        return tuple(known)

    def _reading(self, events: Log) -> Reading:
        if not events:
            return Reading(Log(), (0,), ())
        former, (coarse, driver) = self.reading(events.shorter()), self.image_of(events)
        log, driven = former.log, former.driven
        for event in coarse:
            log = log.append(event)
        if driver is not None and len(coarse) > 1:
            driven = (*driven, (driver, len(log) - 1))
        return Reading(log, (*former.ends, len(log)), driven)

    def _image_of(self, events: Log) -> Image:
        last = events[len(events) - 1]
        node = metadata.node_of(last)
        before = self.fine.tcm.snapshot(events.shorter()).metadata.sequence(node)
        after = self.fine.tcm.snapshot(events).metadata.sequence(node)
        if isinstance(last, metadata.Begin):
            steps = (
                1 if not ops.OPERATION_SPECS[last.operation.kind].streams else _steps_done(after)
            )
            return (last, *(metadata.Advance(node),) * (steps - 1)), self._driver(last.operation)
        assert before is not None, f"{node} has nothing under way"
        if isinstance(last, metadata.Cancel):
            # Where reads switch without any gain, the coarser one has switched them already.
            twice = _steps_done(before) == 3 and not metadata.has_switched(before)
            return ((last, metadata.Advance(node)) if twice else (last,)), None
        if before.undoing:
            return (last,), None
        steps = _steps_done(after) - _steps_done(before)
        return (last,) * steps, self._driver(before.plan.operation)

    def _driver(self, operation: ops.Operation) -> int | None:
        driven = ops.OPERATION_SPECS[operation.kind].driver == "node"
        return self.fine.codes[operation.node] if driven else None


def _steps_done(sequence: metadata.Sequence | None) -> int:
    if sequence is None:
        return len(_FOUR)
    left = {_PART[step.name] for step in sequence.plan.steps[sequence.done :]}
    return next(i for i, parts in enumerate(_FOUR) if left & set(parts))


# The ring of CEP-21's worked tables: A, B, C at 100, 200, 300, and X at 150 once it has joined.
_WITH_X = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)), Node("X", (150,)))
_WORKED = {"focus": (0, 200)}
_X = "bootstrap X --tokens 150"
_JOIN = {"operations": (_X,)}
_TWO = ("bootstrap X --tokens 550", "bootstrap Y --tokens 850")
SCENARIOS = (
    Scenario(
        "bootstrap",
        "A node joins, with two copies of each row. CEP-21, Bootstrap",
        {**_JOIN, **_WORKED},
    ),
    Scenario(
        "decommission",
        "A node leaves. CEP-21, Decommission",
        {"members": _WITH_X, "low": 0, "high": 400, "operations": ("decommission X",), **_WORKED},
    ),
    Scenario(
        "rf3",
        "A node joins, with three copies of each row. CEP-21, Consistency Guarantees",
        {"rf": 3, "epoch": 99, **_JOIN, "focus": (100, 150)},
    ),
    Scenario(
        "move",
        "A node moves on the ring. It gives up one token and takes another, in five epochs",
        {"nodes": 5, "operations": ("move B --tokens 450",)},
    ),
    Scenario(
        "replace",
        "A new node takes the place of a dead one",
        {"nodes": 4, "rf": 3, "operations": ("replace B Z",)},
    ),
    Scenario(
        "removenode",
        "A dead node is removed. A quorum of the others streams",
        {"nodes": 5, "rf": 3, "operations": ("removenode B",)},
    ),
    Scenario(
        "assassinate",
        "A dead node is removed at once. Nobody streams",
        {"nodes": 5, "rf": 3, "operations": ("assassinate B",)},
    ),
    Scenario(
        "two-bootstraps",
        (
            "Two nodes join at once. On disjoint ranges they advance side by side; a "
            "third one has to wait"
        ),
        {"nodes": 10, "rf": 3, "operations": (*_TWO, "bootstrap Z --tokens 750")},
        script=_TWO,
    ),
    Scenario(
        "cancel",
        (
            "An operation is cancelled. After the read switch that takes two events with "
            "a barrier between them"
        ),
        {"rf": 3, "cancels": 1, **_JOIN},
        script=(_X, "commit X", "commit X", "cancel X", "commit X"),
    ),
    Scenario(
        "crash-and-resume",
        "The joining node crashes. Between two epochs, and it continues where it left off",
        {"crashes": 1, **_JOIN},
        script=(_X, "commit X", "crash X", "restart X"),
    ),
    Scenario(
        "gap",
        "An entry is missing. What arrives above the gap is held back until the gap is filled",
        {"window": 2, "barrier": False, **_JOIN},
        script=(_X, "apply X", "commit X", "deliver 2 to A", "apply A"),
    ),
    Scenario(
        "stuck-operation",
        (
            "A join is stuck. On the server, a bootstrap waits for a replica that is "
            "down, and its driver is also down"
        ),
        {"nodes": 4, "dcs": 2, "rf": 3, "edition": "server", "crashes": 4, "cancels": 1}
        | {"epoch": 100, "operations": (_X, "assassinate D")},
        script=("crash D", _X),
    ),
    Scenario(
        "epoch-lags",
        "One node misses an epoch. On the server, nothing tells it so",
        {"nodes": 4, "rf": 3, "edition": "server", "crashes": 4, "window": 4, "peers": True}
        | {"epoch": 100, "operations": (_X, "decommission A", "assassinate A")},
        script=(_X,),
    ),
    Scenario(
        "two-datacenters",
        "A node joins one of two datacenters. With racks and two keyspaces",
        {"nodes": 8, "strategy": "network", "dcs": 2, "racks": 2},
    ),
)


KINDS = ("begin", "stream", "commit", "cancel", "crash", "restart", "apply", "deliver")


def rows(model: TcmCluster) -> TransitionRows:
    """The kinds of action, and the diagrams of the kinds of operation that the model can begin."""
    kinds = dict.fromkeys(operation.kind for operation in model.tcm.cluster.operations)
    drawn = {
        (kind, state, event): f"{kind}: {state} - {event}"
        for kind in kinds
        for state, event, _ in ops.transitions(kind, model.parameters.edition)
    }

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        if not isinstance(action.action, metadata.Begin | metadata.Advance | metadata.Cancel):
            return (model.kind(action),)
        event = model.tcm.committed(after.tcm.events)
        kind = event.operation.kind
        state = ops.BEFORE[kind] if event.before is None else metadata.state_of(event.before)
        row = drawn.get((kind, state, event.step))
        return (model.kind(action),) if row is None else (model.kind(action), row)

    return TransitionRows((*KINDS, *drawn.values()), taken)


DIAGRAMS = tuple(
    Diagram(f"tcm-{kind}-{edition}", f"{kind}, edition {edition}", ops.transitions(kind, edition))
    for kind in ops.OPERATION_SPECS
    for edition in ops.EDITIONS
)
# One operation of each kind, so that walks meet every row of every diagram; faults are rare.
FUZZING = Fuzzing(
    {
        "nodes": 4,
        "operations": (
            *(_X, "decommission A", "move B --tokens 250"),
            *("replace C Z", "removenode D", "assassinate D"),
        ),
        "window": 2,
        "crashes": 1,
        "cancels": 4,
    },
    {"begin": 0.1, "cancel": 0.05, "crash": 0.05, "deliver": 0.1},
)
ENTRY = Entry(
    name="tcm",
    title=TcmCluster.title,
    parameters=TcmParameters,
    build=TcmCluster,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    diagrams=DIAGRAMS,
    rows=rows,
    fuzzing=FUZZING,
    refinement=refinement,
)
