"""Predictions on large clusters, and how large a ring is."""

from __future__ import annotations

import pytest

from kit.errors import KitError
from kit.lessons import estimates, late, losses, misses, predict, ring_picture, senders, spread
from kit.protocols.tcm.spark.histories import history, sample
from kit.protocols.tcm.spark.pipelines import Pipeline, pipeline
from kit.spark.traces import PlainTraces, as_tables, drawn


@pytest.fixture(scope="module")
def job() -> Pipeline:
    """A join among sixty nodes in two datacenters."""
    town = sample(60, 8)
    return pipeline(None, history(town.ring, town.keyspaces, [town.bootstrap()]), parts=3)


def places(job: Pipeline) -> dict[str, str]:
    """The rack of each node."""
    return {row.node: f"{row.dc}/{row.rack}" for row in job.ownership(0).itertuples()}


def test_the_right_answer_on_spread_has_the_largest_share_of_the_rows(job: Pipeline) -> None:
    """The reply gives the ratio to the mean."""
    names, held = job.history.ring.names, dict.fromkeys(job.history.ring.names, 0)
    for row in job.table("replicas").to_pylist():
        if row["step"] == 0:
            for code in row["reads"]:
                held[names[code]] += row["right"] - row["left"]
    shares = [width for width in held.values() if width]
    most = max(shares) * len(shares) / sum(shares)
    asked = predict(job, spread)
    wanted = sum(most >= bound for bound in (1.25, 1.5, 2.0))
    verdict = asked.answer(asked.choices[wanted])
    assert verdict.passed
    assert f"serves {most:.2f} times the mean" in repr(verdict)
    assert not asked.answer("none of these").passed


def test_the_right_answer_on_senders_has_the_racks_of_the_stream_sources(job: Pipeline) -> None:
    """Without a stream the question is refused."""
    racks, names = places(job), job.history.ring.names
    rows = job.table("streams").to_pylist()
    sending = {racks[names[row["source"]]] for row in rows}
    assert predict(job, senders).answer(*sorted(sending)).passed
    still = sample(4, 2, dcs=1)
    with pytest.raises(KitError, match="nothing is streamed"):
        predict(pipeline(None, history(still.ring, still.keyspaces)), senders)


def test_the_right_answer_on_losses_agrees_with_trying_each_loss(job: Pipeline) -> None:
    """Nodes, racks and datacenters, at each level."""
    racks, names = places(job), job.history.ring.names
    right = set()
    for row in job.table("replicas").to_pylist():
        for side in ("reads", "writes"):
            group = [racks[names[code]] for code in row[side]]
            for level, asked in (("QUORUM", group), *local(group)):
                for loss, worst in fewest(asked).items():
                    if worst < len(asked) // 2 + 1 and (loss, level[:5]) != ("datacenter", "LOCAL"):
                        right.add(f"one {loss}, {level}")
    assert right
    assert predict(job, losses).answer(*right).passed


def local(group: list[str]) -> list[tuple[str, list[str]]]:
    """What is asked by coordinators of either datacenter."""
    return [(f"LOCAL_QUORUM {dc}", [r for r in group if r.startswith(dc)]) for dc in ("dc1", "dc2")]


def fewest(racks: list[str]) -> dict[str, int]:
    """How many of these replicas are left, at worst, when one of each kind is lost."""
    dcs = [rack.partition("/")[0] for rack in racks]
    return {
        "node": len(racks) - 1,
        "rack": len(racks) - max(map(racks.count, racks)),
        "datacenter": len(racks) - max(map(dcs.count, dcs)),
    }


def test_the_right_answer_on_misses_names_the_pair_of_epochs_and_a_range() -> None:
    """With all safeguards no pair misses."""
    town = sample(30, 4, dcs=1)
    whole, broken = (
        pipeline(None, history(town.ring, town.keyspaces, [town.bootstrap()], off=off), parts=2)
        for off in ((), ("old-writer-stays",))
    )
    assert predict(whole, misses).answer("none of these").passed
    verdict = predict(broken, misses).answer("reader at 2, writer at 3")
    assert verdict.passed
    assert "reads {" in repr(verdict)


def test_the_right_answer_on_late_nodes_has_the_rows_two_epochs_behind() -> None:
    """Four random runs are read."""
    runs = [as_tables(drawn(seed, nodes=7), f"seed-{seed}") for seed in range(4)]
    rows = [row for run in runs for row in run["epochs"].to_pylist()]
    behind = {row["node"] for row in rows if row["newest"] - row["applied"] >= 2}
    assert behind
    assert predict(PlainTraces(*runs), late).answer(*behind).passed


def test_a_drawn_ring_has_a_text_that_names_its_sizes() -> None:
    """Its tokens are not listed."""
    drawn = ring_picture(sample(nodes=40, tokens=5))
    told = drawn._repr_mimebundle_()
    words = "A ring of 40 nodes with 200 tokens, and bootstrap x with 5 tokens"
    assert told["text/plain"] == repr(drawn) == words
    assert "<img" in told["text/html"]


def test_ten_times_the_ranges_are_estimated_as_ten_times_the_seconds() -> None:
    """The sheet gives memory in MiB."""
    small, large = estimates(sample(), (1000, 16), (1000, 160)).rows
    assert small[2:4] == ("16,000", "0.5")
    assert large[2:4] == ("160,000", "5.4")
    assert small[4].endswith("MiB")
