"""Quorums that meet, counted without samples, and reads that write back."""

from __future__ import annotations

from itertools import combinations
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.dataplane.quorums import (
    Crossing,
    PassedBarrier,
    apart,
    histories,
    in_use,
    miss_text,
    quorums,
    smallest,
)
from kit.protocols.storage.rules.history import RangeEpoch, RangeHistory
from kit.protocols.storage.rules.levels import AnswerQuota, ReadRepair, majority
from kit.protocols.storage.rules.requests import FAILED, REPAIRING
from kit.protocols.storage.rules.view import View
from kit.protocols.tcm.rules.quorums import majorities_meet
from kit.ring.placements import Table
from kit.search.check import check
from tests.protocols.dataplane.runs import BLOCKING, CLEAN, LARGE
from tests.protocols.storage.toys import toy
from tests.saying import like
from tests.views.frames import last_flows

WORKED = {"rf": 3, "epoch": 99, "operations": ("bootstrap X --tokens 150",)}

PLANS: tuple[dict[str, Any], ...] = (
    WORKED,
    {"rf": 2},
    {"nodes": 7, "rf": 3, "operations": ("move B --tokens 650",)},
    {"nodes": 6, "rf": 3, "operations": ("decommission B",), "edition": "server"},
    {"nodes": 5, "rf": 3, "operations": ("replace B Z",), "cancels": 1},
    {"nodes": 6, "rf": 4, "operations": ("removenode B",)},
    {"nodes": 8, "rf": 2, "strategy": "network", "dcs": 2, "racks": 2},
)

DATACENTERS = {
    "nodes": 8, "rf": 3, "strategy": "network", "dcs": 2,
    "operations": ("bootstrap X --tokens 150 --dc dc1",),
}  # fmt: skip


@pytest.mark.spec("B-077")
@pytest.mark.parametrize("acknowledgement", ["union", "joint"])
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_with_the_barrier_every_read_quorum_in_use_meets_every_write_quorum(
    plan: dict[str, Any], acknowledgement: Any
) -> None:
    """All pairs of epochs that can be in use at once are tried, on every range of the plan."""
    found = quorums(
        build("tcm", plan), acknowledgement=acknowledgement, levels=[("QUORUM", "QUORUM")]
    )
    assert found.ok
    assert found.pairs > 30
    assert {row.range for row in found.rows} == {c.label for c in histories(build("tcm", plan).tcm)}


@pytest.mark.spec("B-077", "B-022", "B-023")
def test_without_the_barrier_quorums_of_epochs_two_apart_miss() -> None:
    """In the RF 3 example 101 misses 103 and 102 misses 100. The barrier keeps both pairs apart."""
    found = quorums(build("tcm", WORKED, ("S-01",)))
    missed = {(row.read_epoch, row.write_epoch): row for row in found.missed}
    assert {(101, 103), (102, 100)} <= missed.keys()
    assert min(row.apart for row in found.missed) == 2
    assert found.first is not None
    assert found.first.apart == 2
    for row in found.missed:
        assert row.first is not None, row
        assert not set(row.first[0]) & set(row.first[1]), row
    gained = [row for row in found.missed if row.range == "(100, 150]"]
    first = next(row for row in gained if (row.read_epoch, row.write_epoch) == (101, 103))
    assert first.first is not None
    assert set(first.first[0]) | set(first.first[1]) == {"A", "B", "C", "X"}
    held = quorums(build("tcm", WORKED))
    pairs = {(row.read_epoch, row.write_epoch): row.pairs for row in held.rows}
    assert pairs[101, 103] == pairs[102, 100] == 0
    assert pairs[101, 102] > 0
    assert held.epochs_apart() == (0, 1)
    assert found.epochs_apart() == (0, 1, 2, 3, 4)


@pytest.mark.spec("B-077")
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_enumerated_misses_agree_with_counting_majorities_for_every_plan(
    plan: dict[str, Any],
) -> None:
    """Each pair of epochs is counted from the plan's own placements, on every range."""
    model = build("tcm", plan, ("S-01",))
    tcm: Any = model.tcm
    found = quorums(model, levels=[("QUORUM", "QUORUM")])
    compared = 0
    for history in histories(tcm):
        token = int(history.label.strip("(]").split(", ")[1])
        tables = tables_by_epoch(tcm, token)
        for row in found.rows:
            whole = row.reads == row.of_reads and row.writes == row.of_writes
            if row.range == history.label and whole:
                met = {
                    counted(reads[0], writes[1], gone | dead)
                    for reads, gone in tables[row.read_epoch]
                    for writes, dead in tables[row.write_epoch]
                }
                assert (row.missed == 0) in met, row
                compared += len(met) == 1
    assert compared > 20


def tables_by_epoch(tcm: Any, token: int) -> dict[int, list[Any]]:
    """The read and the write group of a token at each epoch, in every future, with who is dead."""
    found: dict[int, list[Any]] = {}
    for events, down in futures(tcm):
        snapshot = tcm.snapshot(events)
        placement = snapshot.placements[0]
        groups = tuple(t.groups_of(token)[0] for t in (placement.reads, placement.writes))
        gone = frozenset(tcm.cluster.ring.code(name) for name in down)
        found.setdefault(snapshot.metadata.epoch, []).append((groups, gone))
    return found


def futures(tcm: Any) -> list[Any]:
    """Every log that the model can make, with the nodes that are dead by then."""
    seen: dict[bytes, Any] = {}
    waiting = [tcm.start()]
    while waiting:
        s = waiting.pop()
        if s.events.digest not in seen or s.down != seen[s.events.digest][1]:
            seen[s.events.digest] = s.events, s.down
        for _, after in tcm.successors(s):
            waiting.append(after)
    return list(seen.values())


def counted(reads: Any, writes: Any, gone: frozenset[int]) -> bool:
    """What the columnar rule says of two groups."""
    one, other = (Table.of([(0, 1, tuple(group))]).groups for group in (reads, writes))
    return bool(majorities_meet(one, other, gone)[0])


@pytest.mark.spec("B-077")
@given(
    some.sets(some.integers(0, 9), max_size=7),
    some.sets(some.integers(0, 9), max_size=7),
    some.sets(some.integers(0, 9), max_size=3),
)
def test_enumerated_misses_agree_with_counting_for_any_groups_and_dead_nodes(
    reads: set[int], writes: set[int], gone: set[int]
) -> None:
    """A first counterexample is given exactly when quorums miss."""
    live = ~sum(1 << i for i in gone)
    found = [
        smallest((AnswerQuota(mask, majority(mask)),), live) if mask else ()
        for mask in (sum(1 << i for i in group) for group in (reads, writes))
    ]
    missed, first = apart(*found)
    assert (missed == 0) == counted(sorted(reads), sorted(writes), frozenset(gone))
    assert (first is None) == (missed == 0)


@given(some.lists(some.tuples(some.integers(1, 255), some.integers(1, 4)), max_size=3))
def test_a_set_meets_its_quotas_exactly_when_it_holds_a_smallest_quorum(
    asked: list[tuple[int, int]],
) -> None:
    """No smallest quorum contains another."""
    quotas = tuple(AnswerQuota(mask, min(needed, mask.bit_count())) for mask, needed in asked)
    least = smallest(quotas, -1)
    for some_set in range(256):
        enough = all((quota.replicas & some_set).bit_count() >= quota.needed for quota in quotas)
        assert enough == any(one & ~some_set == 0 for one in least), some_set
    assert all(one & ~other for one, other in combinations(least, 2))


def test_a_quorum_that_knows_a_newer_epoch_is_not_in_use_for_an_older_one() -> None:
    """Where three of four know the epoch no pair is left, and where two know, one or all are."""
    pairs = tuple(sum(1 << i for i in pick) for pick in combinations(range(4), 2))
    assert in_use(pairs, (PassedBarrier(0b1111, 3, 2),), 1) == ()
    assert in_use(pairs, (PassedBarrier(0b1111, 2, 2),), 1) == pairs
    assert in_use(pairs, (PassedBarrier(0b1111, 3, 2),), 2) == pairs
    assert in_use(pairs, (PassedBarrier(0b0011, 2, 2),), 1) == (0b1100,)


@pytest.mark.spec("B-077")
def test_local_quorums_need_a_barrier_in_each_datacenter() -> None:
    """With one majority of all, local levels miss in dc1. QUORUM, and the server's, never do."""
    asked = [("QUORUM", "QUORUM")]
    assert quorums(build("tcm", DATACENTERS), levels=asked).ok  # type: ignore[arg-type]  # plain texts
    whole = quorums(build("tcm", DATACENTERS))
    assert {row.where for row in whole.rows} == {"", "dc1", "dc2"}
    assert {(row.write, row.where) for row in whole.missed} == {
        ("LOCAL_QUORUM", "dc1"),
        ("EACH_QUORUM", "dc1"),
    }
    each = quorums(build("tcm", {**DATACENTERS, "edition": "server"}))
    assert each.ok
    assert each.pairs > 10_000


@pytest.mark.spec("B-077")
def test_the_table_of_quorums_shows_misses_first_with_a_counterexample() -> None:
    """It tells the count of rows left out, and escapes names in HTML."""
    found = quorums(build("tcm", WORKED, ("S-01",)))
    lines = repr(found).splitlines()
    assert lines[1].split()[:3] == ["range", "write", "at"]
    assert "✗ 2 miss" in lines[2]
    assert any("miss one another. First: (0, 100]: a read at epoch 102 from" in x for x in lines)
    assert lines[-1] == f"Shown: 24 of {len(found.rows)} pairs of epochs."
    html = found._repr_mimebundle_()["text/html"]
    assert html.count("<tr") == 25
    assert found.first is not None
    assert miss_text(found.first) in repr(found)
    held = quorums(build("dataplane", {"rf": 3}))
    assert held.ok
    assert repr(held).splitlines()[-2].endswith("every read quorum meets every write quorum.")
    odd = Crossing("<b>", "QUORUM", "QUORUM", "", 1, 3, 1, 1, 1, 1, 1, (("&",), ("<i>",)))
    text = type(found)("union", (odd,))._repr_mimebundle_()["text/html"]
    assert "<b>" not in text
    assert "<i>" not in text


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"acknowledgement": "both"}, "acknowledgement | 'both' | joint"),
        ({"levels": [("QORUM", "QUORUM")]}, "levels | 'QORUM' | QUORUM"),
    ],
    ids=str,
)
def test_quorums_refuse_an_unknown_reading_or_level(given_: dict[str, Any], said: str) -> None:
    """The error names the argument and the nearest allowed value."""
    with pytest.raises(BadInput, match=like(said)):
        quorums(build("tcm"), **given_)


def test_quorums_refuse_a_model_without_ranges_or_with_too_many_replicas() -> None:
    """The error names what is allowed."""
    with pytest.raises(BadInput, match=like("model | 'twophase' | tcm | dataplane")):
        quorums(build("twophase"))
    many = {"nodes": 26, "rf": 25, "operations": ("bootstrap X --tokens 150",)}
    with pytest.raises(BadInput, match=like("replicas | 26")):
        quorums(build("tcm", many))


@pytest.mark.parametrize(("plan", "pairs"), [(WORKED, 1), (DATACENTERS, 3)])
def test_local_levels_are_enumerated_only_in_clusters_of_two_datacenters(
    plan: dict[str, Any], pairs: int
) -> None:
    """In one datacenter QUORUM and LOCAL_QUORUM are the same."""
    rows = quorums(build("tcm", plan)).rows
    assert len({(row.write, row.read) for row in rows}) == pairs


ASKS = ("K1 write QUORUM", "K2 read QUORUM", "K2 read QUORUM")
JOINED = {"rf": 1, "requests": ASKS, "together": True}
WEAKER = {"answered": "read-repair-of-answers", "mismatch": "read-repair-of-mismatches"}


def along(model: Any, *verbs: str) -> Any:
    """A run of those verbs."""
    timeline: Any = Timeline(model)
    for verb in verbs:
        do(timeline, verb)
    return timeline


def do(timeline: Any, verb: str) -> None:
    """The step of that verb."""
    model = timeline.model
    timeline.do(next(a for a in model.actions(timeline.state) if model.verb(a) == verb))


def verbs_of(model: Any, actions: Any) -> list[str]:
    """Actions as lines of a scenario file."""
    return [model.verb(action) for action in actions]


def test_the_lists_of_searches_have_blocking_repair_for_each_operation() -> None:
    """Bootstrap, decommission, replace and move, each with three requests together."""
    searched = {**CLEAN, **LARGE}
    told = [parameters for name, (parameters, *_) in searched.items() if name in BLOCKING]
    assert [given.get("operations", ("bootstrap",))[0].split()[0] for given in told] == [
        "bootstrap", "decommission", "replace", "move",
    ]  # fmt: skip
    for each in told:
        assert (each["repair"], each["together"], each["requests"]) == ("blocking", True, ASKS)


@pytest.mark.parametrize("kind", get_args(ReadRepair))
def test_at_rest_every_read_repair_keeps_reads_linearizable(kind: str) -> None:
    """Three replicas stay. Without any repair a read goes back in time."""
    view = View(0b111, 0b111, 0b111, 0b111)
    still = RangeHistory("", 0, 0, tuple("ABC"), ("dc1",) * 3, (RangeEpoch(1, "stable", view),))
    found = check(toy(still, ASKS, together=True, repair=kind))
    assert found.complete is (kind != "none")
    assert (found.violation and found.violation.property) == (
        "linearizable" if kind == "none" else None
    )


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", WEAKER)
def test_a_repair_weaker_than_blocking_lets_a_read_go_back_in_time(kind: str) -> None:
    """The search finds the very run that the scenario file tells."""
    model: Any = build("dataplane", {**JOINED, "repair": kind})
    found = check(model)
    assert found.violation is not None
    assert found.violation.property == "linearizable"
    told: Any = open_file(file_named(f"dataplane/{WEAKER[kind]}"))
    told.goto(told.tip)
    assert told.model.parameters == model.parameters
    steps = [moment.action for moment in told.moments if moment.id]
    assert verbs_of(model, steps) == verbs_of(model, found.violation.actions)


SEEN = (
    "write 1 at epoch 99",
    "write 1 reaches A",
    "read 2 at epoch 99",
    "read 2 reaches A",
    "read 2 reaches B",
    "answer read 2",
)

UNSEEN = ("read 3 at epoch 99", "read 3 reaches B", "read 3 reaches C", "answer read 3")


@pytest.mark.parametrize(
    ("kind", "between", "kept"),
    [
        ("none", (), False),
        ("answered", (), True),
        ("mismatch", ("read 2 writes back to B", "answer read 2"), True),
        ("blocking", ("read 2 writes back to B", "answer read 2"), True),
        ("blocking", ("read 2 writes back to C", "answer read 2"), True),
    ],
)
def test_a_repaired_read_lets_no_later_read_miss_its_write(
    kind: str, between: tuple[str, ...], kept: bool
) -> None:
    """Beside a slow write, without repair, the second quorum read misses what the first one saw."""
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": kind})
    timeline = along(model, *SEEN, *between, *UNSEEN)
    verdict = next(verdict for verdict in timeline.verdicts() if verdict.name == "linearizable")
    assert verdict.ok is kept


def test_a_read_that_repairs_as_it_answers_sends_what_it_found() -> None:
    """To B, which has answered without the write."""
    timeline = along(build("dataplane", {**JOINED, "rf": 3, "repair": "answered"}), *SEEN)
    assert last_flows(timeline)[0].text == "K2 → B: writes write 1 back"


def test_a_blocking_repair_waits_for_a_write_quorum_with_the_pending_replica() -> None:
    """At RF 3 a read waits for three of four. After the switch a later read finds the write."""
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": "blocking"})
    timeline = along(
        model,
        "write 1 at epoch 99", "bootstrap X --tokens 150",
        *(f"apply {name}" for name in "ABX"), "commit X", *(f"apply {name}" for name in "ABX"),
        "copy A to X", "land A to X", "write 1 reaches A",
        "read 2 at epoch 99", "read 2 reaches A", "read 2 reaches B", "answer read 2",
    )  # fmt: skip
    read, names = timeline.state.requests[1], model.history.names
    assert read.phase == REPAIRING
    assert (names(read.acked), names(read.in_flight)) == (("A",), ("B", "C", "X"))
    for name in "BX":
        assert "answer read 2" not in verbs_of(model, model.actions(timeline.state)), name
        do(timeline, f"read 2 writes back to {name}")
    do(timeline, "answer read 2")
    for verb in ("commit X", "read 3 at epoch 102", "read 3 reaches C", "read 3 reaches X"):
        do(timeline, verb)
    assert timeline.state.requests[2].newest_seen == read.newest_seen


@pytest.mark.parametrize("retry", [False, True])
def test_a_repair_that_hears_of_a_pending_replica_fails_or_repairs_that_replica_too(
    retry: bool,
) -> None:
    """With "retry" it writes back again, to X as well. Without, it fails."""
    model: Any = build("dataplane", {**JOINED, "rf": 3, "repair": "blocking", "retry": retry})
    timeline = along(
        model,
        *SEEN, "bootstrap X --tokens 150", *(f"apply {name}" for name in "ABX"), "commit X",
        "apply B", "read 2 writes back to B", "answer read 2",
    )  # fmt: skip
    read, names = timeline.state.requests[1], model.history.names
    if retry:
        assert (read.phase, names(read.in_flight)) == (REPAIRING, ("C", "X"))
    else:
        assert (read.phase, names(read.in_flight)) == (FAILED, ("C",))
