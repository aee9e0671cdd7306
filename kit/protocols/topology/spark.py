"""Walks over whole clusters as one table: violations, edges that were taken, steps of operations.

A row is one cluster, drawn from its seed: its nodes, what is asked of it and which faults it may
meet. One walk goes through it, and a fair schedule leads on from its end. The same seeds give the
same rows on every engine; a row holds its run, which opens in the Player without Spark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from string import ascii_uppercase
from typing import Annotated, Any

import msgspec
import pandas as pd
import pyarrow as pa
from msgspec import Meta, Struct

from kit.errors import BadInput
from kit.model.registry import bounds_of, build, entry_of, safeguards_off
from kit.model.timeline import Timeline
from kit.protocols.topology.control import MOST_FAULTS, ControlState
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.requests import OF_TABLETS
from kit.protocols.topology.topology import Topology, TopologyParameters, row_name
from kit.search.fuzz import Chance, Walker
from kit.spark.rows import columns_of
from kit.spark.schemas import table
from kit.spark.sessions import Spark
from kit.spark.workers import seeded

LARGEST = 20
"""The most nodes of a walk."""
CLUSTER_KINDS = ("cleanup", "new_cdc_generation")
OF_THE_CLUSTER = 0.2
"""How many of the requests are of the whole cluster."""
LEAST_LEFT = 3
"""Members that nobody asks to leave, so that group 0 keeps a majority."""


class ClusterSize(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Between which bounds clusters are drawn.

    ``least`` bounds the members at first, ``most`` all nodes, those who join included; ``requests``
    and ``faults`` are the most that there are, faults of each kind. Edition ``server`` goes on
    where a drain failed, and breaks promises then: walks are of the documents, unless one says
    otherwise.
    """

    least: Annotated[int, Meta(ge=4, le=LARGEST)] = 5
    most: Annotated[int, Meta(ge=4, le=LARGEST)] = LARGEST
    requests: Annotated[int, Meta(ge=1, le=12)] = 5
    faults: Annotated[int, Meta(ge=0, le=MOST_FAULTS)] = 2
    edition: Edition = "documents"


def size_of(given: Mapping[str, Any]) -> ClusterSize:
    """The bounds from plain values. BadInput for an unknown one, or one out of its limits."""
    size = bounds_of(ClusterSize, "size", given, "numbers of nodes, requests and faults")
    if size.least > size.most:
        raise BadInput("least", size.least, f"at most {size.most}, the value of most")
    return size


def drawn_cluster(seed: int, size: ClusterSize) -> TopologyParameters:
    """The cluster of a seed: the same one on every machine."""
    chance = Chance(seed)
    count = 1 + chance.below(size.requests)
    joining = chance.below(min(count, size.most - size.least) + 1)
    nodes = size.least + chance.below(size.most - joining - size.least + 1)
    requests = tuple(_requests(chance, nodes, joining, count))
    dead = tuple(words.split()[-1] for words in requests if words.split()[0] in DEAD)
    ignored = dead if chance.under(0.5) else ()
    faults = {name: chance.below(size.faults + 1) for name in FAULTS}
    return TopologyParameters(
        edition=size.edition, nodes=nodes, operations=requests, ignored=ignored, **faults
    )


FAULTS = ("crashes", "changes", "failures", "cuts", "late", "clients", "tablets", "addresses")
"""What may go wrong, in the order in which it is drawn."""
DEAD = ("remove", "replace")
"""Requests whose last word is a node that is down."""


def _requests(chance: Chance, nodes: int, joining: int, count: int) -> Iterator[str]:
    members = list(ascii_uppercase[:nodes])
    newcomers = list(ascii_uppercase[nodes : nodes + joining])
    dead = (nodes - 1) // 3
    for _ in range(count):
        spare, mortal = len(members) > LEAST_LEFT, dead > 0
        may = {
            "join": bool(newcomers),
            "leave": spare,
            "rebuild": spare,
            "remove": spare and mortal,
            "replace": bool(newcomers) and spare and mortal,
        }
        kinds = tuple(kind for kind, possible in may.items() if possible)
        if not kinds or chance.under(OF_THE_CLUSTER):
            yield chance.pick(CLUSTER_KINDS)
            continue
        kind = chance.pick(kinds)
        dead -= kind in DEAD
        names = [newcomers.pop(0)] if kind in ("join", "replace") else []
        if kind != "join":
            names.append(members.pop(chance.below(len(members))))
        yield " ".join([kind, *names])


STEPS = 600
"""The most steps of a walk: enough for five requests in twenty nodes."""
CLUSTERS = table(
    "clusters",
    "a walk over a whole cluster",
    "seed bigint: the seed of the random cluster and walk",
    "edition string: the edition whose transition tables it uses",
    "nodes int: the number of nodes, including joining ones",
    "operations array<string>: the requests, in order",
    "outcomes array<string>: the outcome of each request: done, failed, queued or not asked",
    "took array<int>: the steps from each request to its end, null if it did not end",
    "faults array<string>: the faults that it met, in order, as verbs",
    "steps int: how many steps it took",
    "verdict string: clean, or the name of the promise that its last step breaks",
    "witness string: what is wrong in its last step",
    "coverage array<string>: the edges of the transition tables that it took",
    "trace string: the run as a trace, in JSON",
)


def clusters(
    spark: Spark | None,
    seeds: Sequence[int],
    *,
    off: Iterable[str] = (),
    tasks: int | None = None,
    **sizes: Any,
) -> Any:
    """A Spark frame with a row for each seed, made when it is used, in this many tasks.

    ``sizes`` are the fields of ``kit.protocols.topology.spark.ClusterSize``. Without Spark
    (None) it is an Arrow table, made here and now.

    Raises BadInput for a size out of its limits, an unknown safeguard, or seeds that are not a
    range from 0, before any task begins.
    """
    missing = safeguards_off(entry_of("topology"), tuple(off))
    return seeded(spark, seeds, partial(_batches, size_of(sizes), missing), CLUSTERS, tasks)


def _batches(
    size: ClusterSize, off: tuple[str, ...], seeds: Iterable[int]
) -> Iterator[pa.RecordBatch]:
    for seed in seeds:
        row = dict(zip(CLUSTERS.arrow.names, _row(seed, size, off), strict=True))
        yield pa.RecordBatch.from_pylist([row], CLUSTERS.arrow)


def _row(seed: int, size: ClusterSize, off: tuple[str, ...]) -> tuple[Any, ...]:
    model: Any = build("topology", msgspec.to_builtins(drawn_cluster(seed, size)), off)
    walker = Walker(model, steps=STEPS)
    walk = walker.walk(seed)
    run = Timeline.along(model, walk.actions)
    # With members down for good a barrier may wait for ever: nobody promises then that every
    # operation comes to its end.
    if not model.start_down & run.state.topology.members:
        walk = walker.led_on(walk)
        run = Timeline.along(model, walk.actions)
    states = [moment.state for moment in run.moments]
    outcomes, took = zip(*_operations(model, states), strict=True)
    edges: set[str] = set()
    for before, action, after in zip(states, walk.actions, states[1:], strict=False):
        edges.update(walker.rows.taken(before, action, after))
    return (
        seed,
        size.edition,
        len(model.names),
        list(model.parameters.operations),
        list(outcomes),
        list(took),
        [model.verb(action) for action in walk.actions if model.kind(action) in model.faults],
        walk.steps,
        walk.verdict,
        walk.witness or "",
        [name for name in walker.rows.names if name in edges],
        msgspec.json.encode(run.save()).decode(),
    )


def _operations(model: Topology, states: list[ControlState]) -> Iterator[tuple[str, int | None]]:
    for number in range(len(model.plan.requests)):
        begin = next((at for at, s in enumerate(states) if s.made > number), None)
        if begin is None:
            yield "not asked", None
            continue
        row = len(states[begin].topology.requests) - 1
        rows = enumerate(s.topology.requests[row] for s in states[begin:])
        took, ended = next(((at, each) for at, each in rows if each.done), (None, None))
        yield "queued" if ended is None else "failed" if ended.error else "done", took


def coverage_of(rows: Any) -> pd.DataFrame:
    """How many walks in a table of ``clusters`` took each edge, also 0: transition, walks.

    Raises BadInput for anything but a table of ``clusters`` or a list of its rows, and for an
    unknown edition or edge.
    """
    walks = _selected(rows, "edition", "coverage")
    for walk in walks:
        if walk["edition"] not in tuple(MACHINES):
            raise BadInput("rows", walk["edition"], f"an edition: {', '.join(MACHINES)}")
    # Every edge of every machine that a walk of these clusters may meet.
    machines = [
        (name, machine)
        for edition in sorted({walk["edition"] for walk in walks})
        for name, machine in MACHINES[edition].items()
        if name not in ("node", "lock", *OF_TABLETS) and not name.endswith("_zero_token")
    ]
    counts = {row_name(name, edge): 0 for name, machine in machines for edge in machine.edges}
    for walk in walks:
        for name in walk["coverage"]:
            if name not in counts:
                raise BadInput("rows", name, "edges from the tables of the rows' editions")
            counts[name] += 1
    return pd.DataFrame({"transition": list(counts), "walks": list(counts.values())})


def steps_of(rows: Any) -> pd.DataFrame:
    """Steps per operation: for each kind, how many were requested, ended and failed; mean and most.

    Raises BadInput for anything but a table of ``clusters`` or a list of its rows, and for a row
    whose lists differ in length.
    """
    walks = _selected(rows, "operations", "outcomes", "took")
    for walk in walks:
        lengths = [len(walk[name]) for name in ("operations", "outcomes", "took")]
        if len(set(lengths)) > 1:
            raise BadInput(
                "rows", lengths, "as many operations as outcomes and step counts in each row"
            )
    requests = [
        (words.split()[0], outcome, took)
        for walk in walks
        for words, outcome, took in zip(
            walk["operations"], walk["outcomes"], walk["took"], strict=True
        )
        if outcome != "not asked"
    ]
    frame = pd.DataFrame(requests, columns=["operation", "outcome", "took"])
    for outcome in ("done", "failed"):
        frame[outcome] = frame["outcome"] == outcome
    return frame.groupby("operation", as_index=False).agg(
        asked=("outcome", "size"),
        done=("done", "sum"),
        failed=("failed", "sum"),
        mean=("took", "mean"),
        most=("took", "max"),
    )


def _selected(rows: Any, *columns: str) -> list[dict[str, Any]]:
    walks: list[dict[str, Any]] = columns_of("rows", rows, CLUSTERS, "seed", *columns).to_pylist()
    if any(value is None for walk in walks for value in walk.values()):
        raise BadInput("rows", "nothing in a column", "a value in each column of each row")
    return sorted(walks, key=itemgetter("seed"))
