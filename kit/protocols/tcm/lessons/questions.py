"""Questions on the epoch protocol; KitError where there is nothing to ask about."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.errors import KitError, counted
from kit.lessons.questions import PosedQuestion, copied, listed, posed
from kit.lessons.replays import broken_run
from kit.lessons.stills import still
from kit.model.registry import check_one_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.dry_run.history import opening_state
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons import cluster_of
from kit.protocols.tcm.rules.operations import EDITIONS, LEVELS, SENTENCES
from kit.views.parts import volume

if TYPE_CHECKING:
    from kit.protocols.tcm.spark.pipelines import Pipeline
    from kit.spark.traces import Reports


def barrier(timeline: Timeline) -> PosedQuestion:
    """How many replicas of the first waiting range must have applied the last epoch first?"""
    m, s = cluster_of(timeline), timeline.state
    waiting = [(row, barrier_row) for row in facts.operations(m, s) for barrier_row in row.barriers]
    if not waiting:
        raise KitError("predict: no event is waiting at a barrier here")
    operation, row = waiting[0]
    coming = next(step.text for step in operation.steps if step.status == "next")
    where = f"{row.label} in {row.dc}" if row.dc else row.label
    counts = range(1, len(row.replicas) + 1)
    comes = {n: "can be committed" if n >= row.needed else "waits" for n in counts}
    cases = "; ".join(f"with {n}, the event {what}" for n, what in comes.items())
    return posed(
        f"Next event: {coming} ({operation.title}). The old and new replicas of {where} are "
        f"{listed(row.replicas)}. How many of them must have applied epoch {row.epoch} first?",
        tuple(str(n) for n in counts),
        (str(row.needed),),
        f"{row.needed} of {len(row.replicas)}: {cases}.",
        still(timeline, "epochs"),
    )


def too_weak(timeline: Timeline) -> PosedQuestion:
    """At which levels of the progress barrier does a promise break? Each level is searched."""
    given = cluster_of(timeline).parameters
    models = {each: TcmCluster(replace(given, level=each, relax="never")) for each in LEVELS}
    harms = {level: broken_run(model) for level, model in models.items()}
    runs = [run for run in harms.values() if run is not None]
    broken = [verdict.witness for run in runs[:1] for verdict in run.verdicts() if not verdict.ok]
    return posed(
        "Every run is searched at each level. At which levels does a promise break?",
        tuple(LEVELS),
        [level for level, run in harms.items() if run],
        f"At the first such level: {listed(map(str, broken))}." if runs else "At none.",
        *(still(run, "epochs", "lamps") for run in runs[:1]),
    )


def readers(timeline: Timeline, token: int) -> PosedQuestion:
    """Which nodes answer reads of a token now?"""
    return _serving(timeline, token, "reads")


def writers(timeline: Timeline, token: int) -> PosedQuestion:
    """Which nodes get the writes of a token now?"""
    return _serving(timeline, token, "writes")


def _serving(timeline: Timeline, token: int, side: str) -> PosedQuestion:
    m, s = cluster_of(timeline), timeline.state
    row = facts.owners(m, s, token)
    group: tuple[str, ...] = getattr(row, side)
    return posed(
        f"Epoch {m.newest_epoch(s)}. A key has token {token}. Which nodes are in the group that "
        f"{'answers its reads' if side == 'reads' else 'gets its writes'}?",
        tuple(node.name for node in facts.nodes(m, s)),
        group,
        f"Token {token} lies in {row.label}: {side} go to {listed(group)}.",
        still(timeline, "placements"),
    )


def events(timeline: Timeline) -> PosedQuestion:
    """Which steps will the next operation commit, each in an epoch of its own?"""
    m = cluster_of(timeline)
    ahead = copied(timeline)
    known = len(facts.log(m, ahead.state))
    played_out(ahead)
    if not (log := facts.log(m, ahead.state)[known:]):
        raise KitError("predict: no operation follows here")
    ours = [line for line in log if line.operation == log[0].operation]
    offered = [SENTENCES[name] for name, _ in EDITIONS[m.parameters.edition]]
    texts = tuple(line.text for line in ours)
    return posed(
        f"Operation: {log[0].operation.title}. Which of these events will it commit?",
        [*offered, *texts],
        texts,
        "; ".join(f"epoch {line.epoch}: {line.text}" for line in ours) + ".",
        still(ahead, "log"),
    )


def sources(timeline: Timeline) -> PosedQuestion:
    """From which nodes will the operation that is under way, or comes next, stream data?"""
    m = cluster_of(timeline)
    ahead = copied(timeline)
    while not _streams(m, ahead.state):
        if ahead.forward() is None:
            raise KitError("predict: nothing is streamed here")
    streams = _streams(m, ahead.state)
    names = tuple(dict.fromkeys(name for row in streams for name in row.sources))
    title = facts.operations(m, ahead.state)[0].title
    return posed(
        f"Operation: {title}. Which nodes send data?",
        tuple(node.name for node in facts.nodes(m, ahead.state)),
        names,
        "; ".join(f"{r.label}: {listed(r.sources)} to {r.target}" for r in streams) + ".",
        still(ahead, "streams"),
    )


def _streams(m: TcmCluster, s: Any) -> tuple[facts.StreamRow, ...]:
    return tuple(row for operation in facts.operations(m, s) for row in operation.streams)


def busiest(timeline: Timeline) -> PosedQuestion:
    """Which node sends the most, of all that the operations begun so far copy?"""
    m, s = cluster_of(timeline), timeline.state
    if not (loads := [load for load in facts.traffic(m, s) if load.sends]):
        raise KitError("predict: nothing is copied here")
    measured = all(load.sends_bytes is not None for load in loads)
    sizes = {load.node: (load.sends_bytes or 0) if measured else load.sends for load in loads}
    right = tuple(node for node, size in sizes.items() if size == max(sizes.values()))
    sent = (
        f"{load.node} sends {f'{volume(load.sends_bytes)} in ' if measured else ''}"
        f"{counted(load.sends, 'stream')}"
        for load in loads[:6]
    )
    of_data = "Which node sends the most of the data that has to be copied?"
    return posed(
        of_data
        if measured
        else "Which node sends the most streams? (How large they are is unknown.)",
        tuple(node.name for node in facts.nodes(m, s)),
        right,
        f"{'; '.join(sent)}.",
        still(timeline, "traffic"),
    )


def victims(timeline: Timeline, level: str) -> PosedQuestion:
    """Whose death would take a quorum of ``QUORUM`` or ``LOCAL_QUORUM dc1`` from some range?"""
    m, s = cluster_of(timeline), timeline.state
    lost = facts.losses(m, s)
    known = tuple(dict.fromkeys(loss.level for loss in lost))
    check_one_of("level", level, known)
    counts = dict(sorted(pair for loss in lost if loss.level == level for pair in loss.nodes))
    order = [node.name for node in facts.nodes(m, s) if node.up]
    counted_nodes = ", ".join(f"{n} ({counted(counts[n], 'range')})" for n in order if n in counts)
    return posed(
        f"Epoch {m.newest_epoch(s)}. One more node dies. Which node's death would cost "
        f"some range its {level}?",
        order,
        tuple(name for name in order if name in counts),
        f"Nodes whose death would break {level}: {counted_nodes or 'none'}.",
        still(timeline, "deaths"),
    )


def at_once(timeline: Timeline) -> PosedQuestion:
    """Which two of the planned operations may be under way at once?"""
    if not (pairs := facts.pairs(cluster_of(timeline), opening_state(timeline))):
        raise KitError("predict: no two operations here can begin")
    whys = {}
    for pair in pairs:
        why = "yes, they lock no range in common"
        if pair.refusal is not None:
            why = f"no, {(pair.refusal.evidence or (pair.refusal.reason,))[0]}"
        whys[f"{pair.first.title} and {pair.second.title}"] = why
    return posed(
        "Which two can be under way at once?",
        whys,
        tuple(title for title, why in whys.items() if why.startswith("yes")),
        " ".join(f"{title}: {why}." for title, why in whys.items()),
    )


STEPS = (1.25, 1.5, 2.0)
"""Bounds of the answers to :func:`spread`, as multiples of the mean."""
LATE = 2  # epochs
ONE_OF = {"node": "one node", "rack": "one rack", "dc": "one datacenter"}


def spread(job: Pipeline) -> PosedQuestion:
    """How many times the mean does the node with the largest share of the line serve?"""
    shares = job.ownership(0)["reads_share"]
    shares = shares[shares > 0] / shares[shares > 0].mean()
    most, least = float(shares.max()), float(shares.min())
    bounds = [f"{low} to {high} times" for low, high in pairwise(STEPS)]
    choices = (f"less than {STEPS[0]} times", *bounds, f"{STEPS[-1]} times or more")
    right = choices[sum(most >= step for step in STEPS)]
    tokens = int(job.history.ring.packed.counts[0])
    return posed(
        f"Each of {len(shares)} nodes has {tokens} tokens, drawn at random. How many times "
        "the mean share of the line does the node with the largest share serve?",
        choices,
        (right,),
        f"The node with the largest share serves {most:.2f} times the mean, the one with the "
        f"smallest {least:.2f} times.",
    )


def senders(job: Pipeline) -> PosedQuestion:
    """In which racks are the nodes that send data to the others?"""
    streams = job.streams()
    if streams.empty:
        raise KitError("predict: nothing is streamed here")
    nodes = job.ownership(0)
    racks = dict(zip(nodes["node"], nodes["dc"] + "/" + nodes["rack"], strict=True))
    targets = ", ".join(sorted({f"{name} in {racks[name]}" for name in streams["target"]}))
    sources = sorted(set(streams["source"]))
    right = tuple(sorted({racks[name] for name in sources}))
    return posed(
        f"Data goes to {targets}. In which racks are the nodes that send it?",
        tuple(sorted(set(racks.values()))),
        right,
        f"Sending nodes: {len(sources)}, all in {', '.join(right)}.",
    )


def losses(job: Pipeline) -> PosedQuestion:
    """The loss of what would cost some range its quorum, in the worst step?"""
    frame = job.availability()
    frame = frame[frame["loss"].isin(list(ONE_OF)) & (frame["level"] != "ONE")]
    local = frame["level"].str.startswith("LOCAL") & (frame["loss"] == "dc")
    frame = frame[~local]  # whoever asks in a datacenter that is lost is lost as well
    names = frame["loss"].map(ONE_OF) + ", " + frame["level"]
    bad = frame.assign(choice=names)[frame["harmful"] > 0]
    right = tuple(dict.fromkeys(bad["choice"]))
    worst = []
    for choice in right:  # what it costs at most, and in which steps it costs anything
        rows = bad[bad["choice"] == choice]
        row = rows.loc[rows["share"].idxmax()]
        steps = ", ".join(str(step) for step in dict.fromkeys(rows["step"]))
        sides = " and ".join(f"{side}s" for side in dict.fromkeys(rows["side"]))
        where = f"{row['share']:.2%} of the line, with {row['worst']}"
        worst.append(f"{choice}: {where} ({sides}, steps {steps}).")
    return posed(
        "While the operation is under way, nodes are lost at the worst moment. Which "
        "of these losses leave some range without a quorum for reads or for writes?",
        names,
        right,
        " ".join(worst) or "None of them does in any step.",
    )


def misses(job: Pipeline) -> PosedQuestion:
    """Which readers and writers, an epoch apart at most, have majorities that miss each other?"""
    report = job.quorums()
    report = report[report["reader"] != report["writer"]]
    names = [f"reader at {r}, writer at {w}" for r, w in report[["reader", "writer"]].to_numpy()]
    report = report.assign(choice=names)
    bad = report[report["missed"] > 0]
    missed = [
        f"{row.choice}: {row.missed} of {row.ranges} ranges, the first {row.witness}."
        for row in bad.drop_duplicates("choice").itertuples()
    ]
    return posed(
        "The epochs of two majorities are at most one apart. For which pairs can a majority of "
        "the read group miss a majority of the write group somewhere? (Numbers are epochs.)",
        names,
        bad["choice"],
        " ".join(missed) or "None: every pair of majorities has a node in common.",
    )


def late(reports: Reports) -> PosedQuestion:
    """Which nodes were two epochs behind or more, in any run?"""
    lag = reports.lag()
    right = tuple(lag["node"][lag["most"] >= LATE])
    lags = ", ".join(f"{row.node} {row.most}" for row in lag.itertuples())
    return posed(
        f"There were {lag['runs'].max()} runs with random choices. Which nodes were "
        f"ever {LATE} or more epochs behind the newest one?",
        tuple(lag["node"]),
        right,
        f"How far behind each node was at most: {lags}.",
    )
