"""The quorum-intersection simulator: nothing is sampled, and the columns say the same."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.dataplane.dataplane import QUORUMS
from kit.protocols.dataplane.projection import project, projected
from kit.protocols.dataplane.quorums import (
    Crossing,
    Crossings,
    PassedBarrier,
    apart,
    crossings,
    histories,
    in_use,
    miss_text,
    quorums,
    smallest,
)
from kit.protocols.storage.rules.levels import AnswerQuota, Level, majority
from kit.protocols.tcm.rules.quorums import majorities_meet
from kit.ring.placements import Table
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.topology import Node
from tests.saying import like

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
def test_with_the_barrier_all_quorums_in_use_meet(
    plan: dict[str, Any], acknowledgement: Any
) -> None:
    """Whatever the operation, and however pending replicas count: of all pairs of epochs that can
    be in use at once, every read quorum shares a replica with every write quorum.
    """
    found = quorums(
        build("tcm", plan), acknowledgement=acknowledgement, levels=[("QUORUM", "QUORUM")]
    )
    assert found.ok
    assert found.pairs > 30
    assert {row.range for row in found.rows} == {c.label for c in histories(build("tcm", plan).tcm)}


@pytest.mark.spec("B-077", "B-022", "B-023")
def test_without_the_barrier_epochs_two_apart_miss_one_another() -> None:
    """In the RF 3 example a read at 101 misses a write at 103, and a read at 102 one at 100; with
    the barrier neither pair is ever in use together.
    """
    found = quorums(build("tcm", WORKED, ("S-01",)))
    missed = {(row.read_epoch, row.write_epoch): row for row in found.missed}
    assert {(101, 103), (102, 100)} <= missed.keys()
    assert min(row.apart for row in found.missed) == 2
    assert found.first is not None
    assert found.first.apart == 2
    for row in found.missed:
        assert row.first is not None
        assert not set(row.first[0]) & set(row.first[1])
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
def test_every_row_is_as_the_columns_count_it(plan: dict[str, Any]) -> None:
    """Where both are in use whole, the enumeration finds a miss exactly where counting does: for
    every pair of epochs, barriers aside, on every range, from the plan's own placements.
    """
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
                assert (row.missed == 0) in met
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
def test_enumeration_equals_counting(reads: set[int], writes: set[int], gone: set[int]) -> None:
    """For any two groups and any dead nodes, going through all quorums says what counting says."""
    live = ~sum(1 << i for i in gone)
    found = [
        smallest((AnswerQuota(mask, majority(mask)),), live) if mask else ()
        for mask in (sum(1 << i for i in group) for group in (reads, writes))
    ]
    missed, first = apart(*found)
    assert (missed == 0) == counted(sorted(reads), sorted(writes), frozenset(gone))
    assert (first is None) == (missed == 0)


@given(some.lists(some.tuples(some.integers(1, 255), some.integers(1, 4)), max_size=3))
def test_smallest_quorums_are_all_of_them(asked: list[tuple[int, int]]) -> None:
    """A set of replicas is enough exactly when it holds one of the smallest ones."""
    quotas = tuple(AnswerQuota(mask, min(needed, mask.bit_count())) for mask, needed in asked)
    least = smallest(quotas, -1)
    for some_set in range(256):
        enough = all((quota.replicas & some_set).bit_count() >= quota.needed for quota in quotas)
        assert enough == any(one & ~some_set == 0 for one in least)
    assert all(one & ~other for one, other in combinations(least, 2))


def test_who_knows_is_in_no_quorum_of_an_older_epoch() -> None:
    """Where three of four know an epoch, no two can be found that do not; where two do, two can."""
    pairs = tuple(sum(1 << i for i in pick) for pick in combinations(range(4), 2))
    assert in_use(pairs, (PassedBarrier(0b1111, 3, 2),), 1) == ()
    assert in_use(pairs, (PassedBarrier(0b1111, 2, 2),), 1) == pairs
    assert in_use(pairs, (PassedBarrier(0b1111, 3, 2),), 2) == pairs
    assert in_use(pairs, (PassedBarrier(0b0011, 2, 2),), 1) == (0b1100,)


@pytest.mark.spec("B-077")
def test_local_quorums_need_a_barrier_in_each_datacenter() -> None:
    """Local levels are enumerated in each datacenter: with one majority of all they can miss one
    another, with the published code's majority of each they cannot; nor does QUORUM ever.
    """
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
def test_the_table_gives_counts_and_the_first_counterexample() -> None:
    """Rows that miss come first; the count, the first counterexample and what is left out are
    told; a model of one range asks about its plan, too.
    """
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
def test_bad_input_is_told(given_: dict[str, Any], said: str) -> None:
    """Unknown readings and levels are refused, with the nearest names."""
    with pytest.raises(BadInput, match=like(said)):
        quorums(build("tcm"), **given_)


def test_not_every_model_has_a_plan() -> None:
    """A model without ranges, or one with very many replicas of a range, is refused."""
    with pytest.raises(BadInput, match=like("model | 'twophase' | tcm | dataplane")):
        quorums(build("twophase"))
    many = {"nodes": 26, "rf": 25, "operations": ("bootstrap X --tokens 150",)}
    with pytest.raises(BadInput, match=like("replicas | 26")):
        quorums(build("tcm", many))
    assert np.array_equal(apart((), (1,))[0], 0)


@pytest.mark.parametrize(("plan", "pairs"), [(WORKED, 1), (DATACENTERS, 3)])
def test_the_levels_of_a_datacenter_are_asked_where_there_are_two(
    plan: dict[str, Any], pairs: int
) -> None:
    """In one datacenter QUORUM and LOCAL_QUORUM are the same."""
    rows = quorums(build("tcm", plan)).rows
    assert len({(row.write, row.read) for row in rows}) == pairs


def _row(read_epoch: int, write_epoch: int, missed: int = 0, reads: int = 1) -> Crossing:
    return Crossing(
        "(0, 1]", "QUORUM", "QUORUM", "", read_epoch, write_epoch, reads, 1, 1, 1, missed
    )


def test_epochs_in_use_at_once_are_so_far_apart() -> None:
    """Each distance once, ascending; of pairs that are in use, in either direction."""
    rows = (_row(9, 1), _row(1, 2), _row(2, 1), _row(20, 4), _row(3, 3), _row(30, 1, reads=0))
    assert Crossings("union", rows).epochs_apart() == (0, 1, 8, 16)


@pytest.mark.parametrize(("most", "notes"), [(2, 2), (3, 1), (4, 1)])
def test_a_table_says_how_much_it_shows(most: int, notes: int) -> None:
    """Where it does not show all; what misses comes first, then what is in use."""
    missing = replace(_row(3, 3, missed=1), first=(("A",), ("B",)))
    rows = (_row(1, 1, reads=0), _row(2, 2), missing)
    table = Crossings("union", rows).table(most)
    assert [row[2] for row in table.rows] == ["3", "2", "1"][:most]
    assert len(table.notes) == notes
    assert ("Shown: 2 of 3 pairs of epochs." in table.notes) is (notes == 2)


GAINS, DRIVES = [(0b1111, 3, 0)], [(0b1000, 1, 0), (0b1111, 3, 0)]


@pytest.mark.parametrize(
    ("plan", "replicas", "edges"),
    [
        (
            {"nodes": 5, "rf": 3, "operations": ("bootstrap X --tokens 150",), "cancels": 1},
            "BCDX",
            [
                (0, "bootstrap X --tokens 150", False, 0, [], False, False),
                (1, "commit X", False, 0b1000, DRIVES, False, False),
                (1, "cancel X", False, 0, [], False, True),
                (2, "commit X", True, 0, DRIVES, True, False),
                (2, "cancel X", False, 0, [], False, True),
                (2, "bootstrap X --tokens 150", False, 0, [], False, False),
                (3, "commit X", False, 0, DRIVES, False, False),
                (3, "cancel X", True, 0, [], False, True),
                (3, "bootstrap X --tokens 150", False, 0, [], False, False),
                (3, "commit X", False, 0b1000, DRIVES, False, False),
                (4, "commit X", False, 0, GAINS, False, False),
            ],
        ),
        (
            {"nodes": 6, "rf": 3, "operations": ("removenode B",)},
            "ABCD",
            [
                (0, "removenode B", False, 0b1000, [], False, False),
                (1, "commit B", True, 0, [(0b1101, 2, 0)], True, False),
                (2, "commit B", False, 0, [(0b1101, 2, 0)], False, False),
                (3, "commit B", False, 0, [(0b1101, 2, 0)], False, False),
            ],
        ),
    ],
    ids=["bootstrap", "removenode"],
)
def test_what_an_event_waits_for_and_does(
    plan: dict[str, Any], replicas: str, edges: list[Any]
) -> None:
    """A node that drives its own operation knows its last step, unless it is being undone: then,
    as with a node that is dead, others do it. Reads move once, in the middle.
    """
    history = project(build("tcm", plan).tcm, 150 if "X" in replicas else 100)
    assert "".join(history.replicas) == replicas
    told = [
        (
            *(epoch.epoch, edge.verb, edge.switches, edge.regains),
            [(one.replicas, one.needed, one.age) for one in edge.conditions],  # type: ignore[union-attr]  # majorities
            *(edge.streamed, edge.aside),
        )
        for epoch in history.epochs
        for edge in epoch.edges
    ]
    assert told[: len(edges)] == edges


def test_both_levels_are_told_where_they_differ() -> None:
    """And in which datacenter they are local."""
    local, each = "LOCAL_QUORUM", "EACH_QUORUM"
    rows = (_row(1, 1), replace(_row(1, 1), write=each, read=local, where="dc2"))
    table = Crossings("union", (*rows, replace(_row(1, 1), write=local, read=local, where="dc1")))
    assert [row[3] for row in table.table().rows] == [
        *("QUORUM", "EACH_QUORUM, LOCAL_QUORUM in dc2", "LOCAL_QUORUM in dc1")
    ]


def test_a_range_has_so_many_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the limit are fine, one more is not."""
    [history, *_] = histories(build("tcm", WORKED).tcm)
    count = len(history.replicas)
    for limit in (count, count - 1):
        monkeypatch.setattr("kit.protocols.dataplane.quorums.MOST_REPLICAS", limit)
        if limit == count:
            assert list(crossings(history, "QUORUM", "QUORUM", "union"))
            continue
        with pytest.raises(BadInput, match=f"a range with at most {limit} old and new replicas"):
            list(crossings(history, "QUORUM", "QUORUM", "union"))


@pytest.mark.parametrize(("lag", "more"), [(None, True), (2, False)])
def test_there_are_so_many_futures(
    lag: int | None, more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as the limit are fine; a bounded lag is advised where there is none."""
    tcm = build("tcm", WORKED).tcm
    count = len(project(tcm, 150, lag).epochs)
    place = "kit.protocols.dataplane.projection.MOST_EPOCHS"
    monkeypatch.setattr(place, count)
    assert len(project(tcm, 150, lag).epochs) == count
    monkeypatch.setattr(place, count - 1)
    with pytest.raises(BadInput, match=f"at most {count - 1} futures in total") as caught:
        project(tcm, 150, lag)
    assert ("a bounded lag" in str(caught.value)) is more


def test_a_token_is_on_the_line() -> None:
    """Above its low end, and up to its high one."""
    tcm = build("tcm", WORKED).tcm
    space = tcm.cluster.ring.space
    for token in (space.low + 1, space.high):
        [history, _] = projected(tcm, token)
        assert history.left < token <= history.right
    for token in (space.low, space.high + 1):
        with pytest.raises(BadInput, match=f"a token above {space.low} and up to {space.high}"):
            projected(tcm, token)


@pytest.mark.parametrize(
    ("off", "sign"),
    [
        ((), False),
        (("write-before-read",), False),
        (tuple(sorted(QUORUMS)), False),
        (("progress-barrier",), True),
        (("write-before-read", "progress-barrier"), True),
    ],
)
def test_quorums_that_miss_are_a_sign_on_the_way(off: tuple[str, ...], sign: bool) -> None:
    """Of three safeguards it is the harm itself."""
    model = build("dataplane", {}, off)
    assert model.is_sign("quorums-in-use") is sign
    assert not model.is_sign("linearizable")


def reached(history: Any, *verbs: str) -> int:
    """The node of a history that some events lead to."""
    at = 0
    for verb in verbs:
        [at] = [edge.to for edge in history.epochs[at].edges if edge.verb == verb]
    return at


def test_runs_that_end_alike_lead_to_one_node_where_the_lag_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As long as what is under way was last changed as many epochs ago; else each has its own."""
    monkeypatch.setattr("kit.protocols.dataplane.projection.MOST_EPOCHS", 402)
    x, y = "bootstrap X --tokens 150", "bootstrap Y --tokens 450"
    given = {"nodes": 5, "rf": 1, "operations": (x, y), "cancels": 1}
    tcm = build("tcm", given).tcm
    soon, later = (x, y, "cancel Y"), (x, y, "commit Y", "cancel Y")
    history = project(tcm, 150, 1)
    assert reached(history, *soon, "commit X") == reached(history, *later, "commit X")
    assert reached(history, *soon) != reached(history, *later)
    assert reached(history, x, y) != reached(history, y, x)
    one = build("tcm", {**given, "operations": (x,)}).tcm
    soon, later = (x, "cancel X"), (x, "commit X", "cancel X")
    bounded, unbounded = (project(one, 150, lag) for lag in (1, None))
    assert reached(bounded, *soon) == reached(bounded, *later)
    assert reached(unbounded, *soon) != reached(unbounded, *later)
    leads = sorted(edge.to for epoch in unbounded.epochs for edge in epoch.edges)
    assert leads == list(range(1, len(unbounded.epochs)))


def test_what_moves_elsewhere_changes_nothing_of_a_range() -> None:
    """Its replicas are the same ones at some time, old and new; one is copied before reads move."""
    x, y = "bootstrap X --tokens 150", "bootstrap Y --tokens 550"
    seen = []
    for operations in ((y,), (x, y)):
        given = {"nodes": 8, "rf": 1, "operations": operations}
        history = project(build("tcm", given).tcm, 550, 1)
        seen.append(
            {
                (
                    *map(history.names, (each.view.reads, each.view.writes)),
                    *map(history.names, (each.view.old_replicas, each.view.new_replicas)),
                    *(history.names(1 << copy.source | 1 << copy.target) for copy in each.copies),
                )
                for each in history.epochs
            }
        )
    f, y = ("F",), ("Y",)
    both = (*f, *y)
    stages = {(f, f, f, f), (f, f, f, y), (f, both, f, y, both), (y, both, f, y), (y, y, y, y)}
    assert seen == [stages, stages]


@pytest.mark.parametrize(
    ("plan", "token", "left", "right", "replicas"),
    [
        ({"nodes": 4, "operations": ("bootstrap X --tokens 150",)}, 150, 100, 150, "B X"),
        ({"nodes": 4, "operations": ("bootstrap X --tokens 150",)}, 200, 150, 200, "B"),
        ({"nodes": 10, "operations": ("move D --tokens 850",)}, 850, 800, 850, "D I"),
    ],
)
def test_a_range_is_as_narrow_as_it_ever_is(
    plan: dict[str, Any], token: int, left: int, right: int, replicas: str
) -> None:
    """Also where it is cut later; its replicas are in the order of the nodes."""
    history = project(build("tcm", {**plan, "rf": 1}).tcm, token)
    assert (history.left, history.right) == (left, right)
    assert " ".join(history.replicas) == replicas


@pytest.mark.parametrize("operation", ["bootstrap X --tokens 150", "decommission C"])
def test_what_other_keyspaces_wait_for_is_not_asked_of_a_range(operation: str) -> None:
    """The history of the first one is the same without them."""
    first, other = Keyspace("ks", SimpleStrategy(2)), Keyspace("other", SimpleStrategy(3))
    alone, beside = (
        build("tcm", {"nodes": 5, "operations": (operation,), "keyspaces": each}).tcm
        for each in ((first,), (first, other))
    )
    assert project(alone, 150) == project(beside, 150)
    assert histories(alone) == histories(beside)


def test_local_quorums_are_asked_of_a_datacenter_once_it_has_replicas_to_read_from() -> None:
    """The first replica of dc2 comes in three steps, the last of which moves reads."""
    given = {
        "members": tuple(Node(name, (at * 100,), "dc1") for at, name in enumerate("ABC", 1)),
        "low": 0,
        "high": 400,
        "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 2), ("dc2", 1)))),),
        "operations": ("bootstrap X --tokens 150 --dc dc2",),
    }
    local: tuple[Level, Level] = ("LOCAL_QUORUM", "LOCAL_QUORUM")
    rows = quorums(build("tcm", given), levels=[local]).rows
    first = {
        dc: min(max(row.read_epoch, row.write_epoch) for row in rows if row.where == dc)
        for dc in ("dc1", "dc2")
    }
    assert first == {"dc1": 0, "dc2": 3}


def test_smallest_quorums_are_in_the_order_of_their_masks() -> None:
    """So that the first pair that misses is the same one in every process."""
    assert smallest((AnswerQuota(0b11001, 1),), -1) == (1, 8, 16)
    assert smallest((AnswerQuota(0b11001, 2),), -1) == (9, 17, 24)


def test_each_row_is_there_once() -> None:
    """Several runs of a plan have pairs of epochs that are alike."""
    rows = quorums(build("tcm", {"rf": 2, "cancels": 1})).rows
    assert len({*rows}) == len(rows)


@pytest.mark.parametrize(
    ("reads", "writes", "missed", "first"),
    [
        ((1, 2), (4, 8), 4, (1, 4)),
        ((1, 2), (1, 2), 2, (1, 2)),
        ((3, 6), (2,), 0, None),
        ((), (4, 8), 0, None),
        ((1, 2), (), 0, None),
        ((), (), 0, None),
    ],
)
def test_pairs_of_quorums_that_miss_are_counted(
    reads: tuple[int, ...], writes: tuple[int, ...], missed: int, first: tuple[int, int] | None
) -> None:
    """And the first one is told; where no quorum is in use none misses another."""
    assert apart(reads, writes) == (missed, first)
