"""Questions on what a large cluster or many runs will say. Every answer is read off their reports.

These are asked of a pipeline or of the reports on runs (``kit.spark``), whichever engine makes
them, so each has the same choices for a ring of sixty nodes and for one of thousands.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kit.errors import KitError
from kit.lessons.questions import PosedQuestion
from kit.views.question import Question

if TYPE_CHECKING:
    import pandas as pd

    from kit.protocols.tcm.spark.pipelines import Pipeline
    from kit.spark.trace_reports import Reports

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
    return PosedQuestion(
        Question(
            f"Each of {len(shares)} nodes has {tokens} tokens, drawn at random. How many times the "
            "mean share of the line does the node with the most serve?",
            choices,
            (right,),
            f"The node with the most serves {most:.2f} times the mean, the one with the least "
            f"{least:.2f} times.",
        )
    )


def senders(job: Pipeline) -> PosedQuestion:
    """In which racks are the nodes that send data to the others?

    Raises:
        KitError: when nothing is streamed.
    """
    streams = job.streams()
    if streams.empty:
        raise KitError("predict: nothing is streamed here")
    nodes = job.ownership(0)
    racks = dict(zip(nodes["node"], nodes["dc"] + "/" + nodes["rack"], strict=True))
    targets = ", ".join(sorted({f"{name} in {racks[name]}" for name in streams["target"]}))
    sources = sorted(set(streams["source"]))
    right = tuple(sorted({racks[name] for name in sources}))
    return PosedQuestion(
        Question(
            f"Receiving: {targets}. In which racks are the nodes that send?",
            tuple(sorted(set(racks.values()))),
            right,
            f"{len(sources)} nodes send, all in {', '.join(right)}.",
        )
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
    worst = [_worst(choice, bad[bad["choice"] == choice]) for choice in right]
    return PosedQuestion(
        Question(
            "While the operation is under way, something is lost at the worst moment. Which of "
            "these losses leave some range without a quorum, for reads or for writes?",
            tuple(dict.fromkeys(names)),
            right,
            " ".join(worst) or "None of them does, in any step.",
        )
    )


def _worst(choice: str, rows: pd.DataFrame) -> str:
    """What a loss costs at most, and in which steps it costs anything."""
    row = rows.loc[rows["share"].idxmax()]
    steps = ", ".join(str(step) for step in dict.fromkeys(rows["step"]))
    sides = " and ".join(f"{side}s" for side in dict.fromkeys(rows["side"]))
    where = f"{row['share']:.2%} of the line, with {row['worst']}"
    return f"{choice}: {where} ({sides}, steps {steps})."


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
    return PosedQuestion(
        Question(
            "The epochs of two majorities are at most one apart. For which pairs can a majority of "
            "the read group miss a majority of the write group somewhere? (Numbers are epochs.)",
            tuple(dict.fromkeys(names)),
            tuple(dict.fromkeys(bad["choice"])),
            " ".join(missed) or "For none: every pair of majorities has a node in common.",
        )
    )


def late(reports: Reports) -> PosedQuestion:
    """Which nodes were two epochs behind or more, in any run?"""
    lag = reports.lag()
    right = tuple(lag["node"][lag["most"] >= LATE])
    lags = ", ".join(f"{row.node} {row.most}" for row in lag.itertuples())
    return PosedQuestion(
        Question(
            f"{lag['runs'].max()} runs, every choice drawn. Which nodes were ever {LATE} epochs "
            "behind the newest one, or more?",
            tuple(lag["node"]),
            right,
            f"The most that each node was behind: {lags}.",
        )
    )
