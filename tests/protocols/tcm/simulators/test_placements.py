"""The placement simulator: random growth and shrinking, looked at after every event."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import fingerprint
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.tcm.cluster import Driver, TcmCluster
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules import metadata as rules_history
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel, locks
from kit.protocols.tcm.rules.operations import usual_steps
from kit.protocols.tcm.simulators import placements, plain
from kit.protocols.tcm.simulators.columns import COLUMNS, Columns, Looked, _differ, followed
from kit.protocols.tcm.simulators.placements import (
    Simulation,
    Size,
    checked,
    draw,
    simulate,
    smaller,
)
from kit.ring.placements import Placement, Table
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    EverywhereStrategy,
    Keyspace,
    NetworkTopologyStrategy,
    SimpleStrategy,
)
from kit.ring.tokens import small
from kit.ring.topology import Node
from kit.search.check import check
from kit.widgets import Player
from tests.house.source import ROOT
from tests.saying import like

AT_ONCE = (1, 3, 5)
FACTORS = (2, 3, 5)
EACH = set(zip(FACTORS, AT_ONCE, strict=True))
"""What each landing runs: every replication factor once, every number of operations at once."""
RUNS = [
    *((16, rf, at_once) for rf, at_once in sorted(EACH)),
    *(pytest.param(50, *pair, marks=pytest.mark.deep) for pair in product(FACTORS, AT_ONCE)),
]
OPERATIONS = {
    "bootstrap": "bootstrap X --tokens 350",
    "decommission": "decommission C",
    "move": "move C --tokens 650",
    "replace": "replace C Z",
    "removenode": "removenode C",
}


@pytest.mark.spec("B-078", "B-079")
@pytest.mark.parametrize(("nodes", "rf", "at_once"), RUNS)
def test_nodes_come_and_go(nodes: int, rf: int, at_once: int) -> None:
    """A cluster that grows to so many nodes and shrinks again, some operations at once, keeps every
    column at every event: RF replicas, pending ones only while a range moves, owners everywhere,
    and the simple model's reads and writes, row by row; in a stable ring, its own replicas.
    """
    found = simulate(rf, nodes=nodes, rf=rf, parallelism=at_once)
    assert found.ok, (found.verdict, found.witness)
    assert found.most_nodes == nodes
    assert 1 <= found.at_once <= at_once
    assert found.at_once > 1 or at_once == 1
    assert len(found.turns) > 7 * nodes
    assert all(turn.looked.reads == (rf, rf) for turn in found.turns)
    assert {turn.looked.writes for turn in found.turns} == {(rf, rf), (rf, rf + 1)}
    assert all((turn.looked.over > 0) == (turn.looked.writes[1] > rf) for turn in found.turns)
    last = found.turns[-1].looked
    assert (last.under_way, last.over) == (0, 0)
    assert last.rows < 15


@pytest.mark.sweep(3)
@pytest.mark.spec("B-078", "B-079")
@pytest.mark.parametrize(
    "sizes",
    [
        {"strategy": "network", "dcs": 2, "racks": 3, "nodes": 22, "rf": 2},
        {"strategy": "network", "dcs": 2, "racks": 2, "nodes": 12, "rf": 3, "tokens": 2},
        {"strategy": "network", "racks": 2, "nodes": 10, "rf": 3, "edition": "server"},
        {"nodes": 12, "rf": 2, "tokens": 3, "cancelling": 0.3},
        {"nodes": 14, "rf": 3, "parallelism": 5, "edition": "server", "cancelling": 0.3},
    ],
    ids=str,
)
def test_datacenters_racks_and_several_tokens(sizes: dict[str, Any]) -> None:
    """Racks, datacenters, several tokens per node, many cancels and the published edition of the
    protocol: the same columns hold.
    """
    for seed in range(2):
        found = simulate(seed, **sizes)
        assert found.ok, (seed, found.verdict, found.witness)
        assert found.most_nodes == sizes["nodes"]


def test_a_stable_ring_is_compared_with_its_own_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """While an operation is under way there is nothing to compare; before and after it there is."""
    model = TcmCluster(TcmParameters(nodes=4, rf=2, operations=("decommission C",)))
    columns, driver = Columns(model), Driver(model)
    monkeypatch.setattr(Columns, "_settled", lambda self, snapshot, plain: "others")
    seen = [[name for name, _ in columns.looked(driver.state.tcm.events).faults]]
    assert driver.bring_about(Begin(model.tcm.cluster.operations[0]))
    while driver.metadata.sequences:
        seen.append([name for name, _ in columns.looked(driver.state.tcm.events).faults])
        assert driver.bring_about(Advance("C"))
    seen.append([name for name, _ in columns.looked(driver.state.tcm.events).faults])
    assert seen == [["stable"], *[[]] * (len(seen) - 2), ["stable"]]


@pytest.mark.spec("B-078")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_cancelled_at_every_step(kind: str, edition: str) -> None:
    """Every operation, cancelled after each of its steps, keeps every column, and the tables end
    as they began; once writes were dropped nobody may cancel.
    """
    model = TcmCluster(
        TcmParameters(nodes=7, rf=3, operations=(OPERATIONS[kind],), cancels=1, edition=edition)  # type: ignore[arg-type]  # a plain text of the parameters
    )
    columns = Columns(model)
    steps = usual_steps(kind, edition)  # type: ignore[arg-type]  # plain texts of the parameters
    cancelled = []
    for after in range(1, len(steps)):
        driver = Driver(model)
        assert driver.bring_about(Begin(model.tcm.cluster.operations[0]))
        node = driver.metadata.sequences[0].node
        for _ in range(after - 1):
            assert driver.bring_about(Advance(node))
        if not driver.bring_about(Cancel(node)):
            continue
        cancelled.append(steps[after - 1])
        assert columns.looked(driver.state.tcm.events).faults == ()
        while driver.metadata.sequences:
            assert driver.bring_about(Advance(node))
            assert columns.looked(driver.state.tcm.events).faults == ()
        assert model.snapshot(driver.state).placements == model.snapshot(model.start()).placements
    last = "mid" if edition == "server" else "switch-reads"
    assert cancelled == [*steps[: steps.index(last) + 1]]


@pytest.mark.spec("B-078")
def test_cancels_are_drawn_at_every_step() -> None:
    """Over two seeds, operations of every kind are cancelled by chance, after every step."""
    drawn: set[tuple[str, str]] = set()
    for seed in range(2):
        drawn.update(simulate(seed, nodes=16, rf=2, cancelling=0.3).cancelled)
    steps = {"bootstrap": ("split", "add-writes", "switch-reads"), "decommission": ("add-writes",)}
    assert {(kind, step) for kind, names in steps.items() for step in names} <= drawn
    assert {kind for kind, _ in drawn} == {
        "bootstrap",
        "decommission",
        "move",
        "replace",
        "removenode",
    }


@pytest.mark.spec("B-079")
def test_every_interleaving_of_a_small_case_agrees() -> None:
    """The columns are properties: a complete search, cancels included, finds none broken."""
    parameters = TcmParameters(nodes=4, rf=2, operations=("bootstrap X --tokens 150",), cancels=1)
    model = TcmCluster(parameters)
    found = check(model, Columns(model).properties())
    assert found.complete
    assert found.states > 1000


@pytest.mark.spec("B-079")
def test_the_simple_model_is_independent() -> None:
    """It imports nothing of the kit: what is wrong in the engine is not wrong in it."""
    text = (ROOT / "kit/protocols/tcm/simulators/plain.py").read_text(encoding="utf-8")
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    named = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in nodes}
    assert {str(name).split(".")[0] for name in named} <= sys.stdlib_module_names


@pytest.mark.spec("B-079")
@pytest.mark.parametrize(
    ("off", "broken"),
    [
        ("write-before-read", "reads agree"),
        ("old-writer-stays", "writes agree"),
        ("range-locks", "replicas"),
        ("two-event-cancel", "reads agree"),
        ("split-first", "owners"),
        ("merge-equality", "reads agree"),
    ],
)
def test_a_missing_safeguard_is_found(off: str, broken: str) -> None:
    """With a safeguard of the placements off some step is not as the simple model has it; the run,
    made small, opens in the player and fails in the same column.
    """
    found = simulate(0, nodes=10, rf=2, off=(off,))
    assert found.verdict == broken
    assert found.turns[-1].looked.faults
    assert all(not turn.looked.faults for turn in found.turns[:-1])
    loaded = Timeline.load(loads(dumps(found.trace())))
    assert fingerprint(loaded.state) == fingerprint(found.timeline().state)
    small = found.timeline(small=True)
    assert len(small.moments) <= len(loaded.moments)
    model = small.model
    assert isinstance(model, TcmCluster)
    assert Columns(model).looked(small.state.tcm.events).fault(broken)
    assert Player(small).timeline is small


def test_a_small_run_needs_all_its_events() -> None:
    """Of a run of hundreds of steps one join and one leave remain."""
    found = simulate(0, nodes=10, rf=2, off=("merge-equality",))
    assert len(found.actions) > 300
    small = found.timeline(small=True)
    verbs = [small.model.verb(small.moments[at].action) for at in small.path()[1:]]
    assert [
        verb.split()[0] for verb in verbs if verb.startswith(("bootstrap", "decommission"))
    ] == ["bootstrap", "decommission"]
    assert len(verbs) < 40


@pytest.mark.spec("B-079")
@pytest.mark.parametrize("planted", ["engine", "simple model"])
def test_a_planted_bug_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the engine's deltas, or in the simple model's walk, makes the two disagree."""
    if planted == "engine":
        real = rules_history.apply
        calls: list[Any] = []

        def forgetful(placement: Any, delta: Any, **options: Any) -> Any:
            calls.append(delta)
            return placement if len(calls) % 17 == 0 else real(placement, delta, **options)

        monkeypatch.setattr(rules_history, "apply", forgetful)
    else:
        real_walk = plain.replicas
        monkeypatch.setattr(
            plain,
            "replicas",
            lambda line, places, factors, token: real_walk(line, places, factors, token + 1),
        )
    assert not simulate(1, nodes=10, rf=3).ok


@pytest.mark.parametrize("factors", [{"dc1": 2}, {"dc1": 3, "dc2": 1}, {"dc2": 5}, {"": 3}])
def test_the_simple_walk_is_that_of_the_readable_rules(factors: dict[str, int]) -> None:
    """Racks come again only where there are too few; only nodes of the datacenter count."""
    nodes = [
        Node(f"n{i}", (10 * i, 500 + 7 * (i * 5 % 12)), f"dc{i % 2 + 1}", f"r{i * i % 7}")
        for i in range(1, 13)
    ]
    line = tuple(sorted((token, node.name) for node in nodes for token in node.tokens))
    places = {node.name: (node.dc, node.rack) for node in nodes}
    strategy: Any = NetworkTopologyStrategy(tuple(factors.items()))
    replication = SimpleStrategy(factors[""]) if "" in factors else strategy
    for token in range(1, 601):
        named = replicas_reference(nodes, replication, token, small(600))
        assert plain.replicas(line, places, factors, token) == frozenset(named), token


def test_each_datacenter_is_looked_at_by_itself() -> None:
    """X joins in dc1: rows that it gains have a writer more there, and none in dc2. A keyspace on
    all nodes has no factor that could be checked.
    """
    members = tuple(Node(f"n{i}", (100 * i,), f"dc{i % 2 + 1}") for i in range(1, 7))
    both = NetworkTopologyStrategy((("dc1", 2), ("dc2", 1)))
    keyspaces = Keyspace("ks", both), Keyspace("every", EverywhereStrategy())
    join = "bootstrap X --tokens 150 --dc dc1"
    model = TcmCluster(TcmParameters(members=members, keyspaces=keyspaces, operations=(join,)))
    columns, driver = Columns(model), Driver(model)
    assert [factors for _, factors in columns.groups] == [{"dc1": 2, "dc2": 1}]
    assert driver.bring_about(Begin(model.tcm.cluster.operations[0]))
    assert driver.bring_about(Advance("X"))
    looked = columns.looked(driver.state.tcm.events)
    assert (looked.reads, looked.writes, looked.faults) == ((1, 2), (1, 3), ())
    assert 0 < looked.over < looked.rows
    assert looked.under_way == 1


@pytest.mark.parametrize(
    ("part", "row"),
    [
        ("add", ("AB", "ABC")),
        ("switch", ("BC", "AB")),
        ("drop", ("AB", "B")),
        ("no reads", ("AB", "AB")),
        ("no writes", ("AB", "AB")),
    ],
)
def test_what_a_part_does_to_a_row(part: str, row: tuple[str, str]) -> None:
    """C comes for A, in a row that A and B have: reads, and writes. No other part does anything."""
    ours = frozenset("AB")
    after = plain.regrouped(part, (ours, ours), frozenset("C"), frozenset("A"))
    assert tuple("".join(sorted(group)) for group in after) == row
    with pytest.raises(AssertionError):
        plain.regrouped(part.upper(), (ours, ours), frozenset("C"), frozenset("A"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (plain.PlainOperation("bootstrap", "X", (50,)), ("dc1", "r1")),
        (plain.PlainOperation("bootstrap", "X", (50,), dc="dc2"), ("dc2", "r1")),
        (plain.PlainOperation("bootstrap", "X", (50,), dc="dc2", rack="r4"), ("dc2", "r4")),
        (plain.PlainOperation("replace", "X", instead="B"), ("dc2", "r3")),
        (plain.PlainOperation("replace", "X", instead="B", rack="r4"), ("dc2", "r4")),
        (plain.PlainOperation("move", "B", (50,)), ("dc2", "r3")),
        (plain.PlainOperation("decommission", "B"), ("dc2", "r3")),
    ],
)
def test_where_a_node_stands_in_the_simple_model(
    change: plain.PlainOperation, place: tuple[str, str]
) -> None:
    """Who replaces another node beside it, any other newcomer beside the first one, if not said."""
    line = ((100, "A"), (200, "B"), (300, "C"))
    places = {"A": ("dc1", "r1"), "B": ("dc2", "r3"), "C": ("dc1", "r2")}
    after = plain.stable_cluster(line, places, {"ks": {"": 1}}, (0, 400)).begin(change)
    assert after.places == {**places, change.node: place}


def test_a_row_that_differs_is_told_with_both_groups() -> None:
    """Where it ends, who replicates it here and there, and that somewhere nobody does."""
    theirs = {100: (frozenset({"A", "B"}), frozenset()), 200: (frozenset(), frozenset({"C"}))}
    ours = ((0, 100, ("B", "A")), (100, 200, ("C",)))
    said = "(100, 200]: C, but nobody in the simple model"
    assert _differ(ours, theirs, 0) == said
    said = "(0, 100]: nobody, but A, B in the simple model"
    assert _differ(((0, 100, ()), (100, 200, ())), theirs, 0) == said
    assert _differ(ours[:1], theirs, 0) == "only the simple model has a row that ends at 200"
    assert (
        _differ((*ours, (200, 300, ())), theirs, 0) == "only the engine has a row that ends at 300"
    )


@pytest.mark.spec("B-078")
def test_the_same_seed_gives_the_same_run() -> None:
    """Two simulations of a seed are equal to the last field; another seed is another run."""
    one, again, other = (simulate(seed, nodes=10, rf=2) for seed in (3, 3, 4))
    assert one == again
    assert one.actions != other.actions


@pytest.mark.spec("B-078")
def test_the_table_says_what_a_student_needs() -> None:
    """Each event has a row with its counts and a sign for each column; what is left out is told;
    a failing run shows its end and the witness; all of it is escaped.
    """
    found = simulate(7)
    rows = found.rows()
    assert len(rows) == len(found.turns)
    assert set(COLUMNS) < set(rows[0])
    text = repr(found)
    assert text.splitlines()[1].split("  ")[0] == "epoch"
    assert f"Shown: 12 of {len(rows)} events" in text
    assert "Every property holds at every event." in text
    assert "✗" not in text
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert bundle["text/html"].count("<tr") == 13
    failed = simulate(0, nodes=10, rf=2, off=("range-locks",))
    assert f"✗ {COLUMNS['replicas']}: (" in repr(failed)
    whole = failed.table(0, len(failed.turns))
    assert len(whole.rows) == len(failed.turns)
    assert "Shown" not in whole.text()
    assert f"Shown: {len(failed.turns) - 1} of" in failed.table(1, 1000).text()
    odd = Simulation(1, Size(), (), failed.turns, (), 0, 1, 5, (), "replicas", "<b>&")
    assert "<b>&" not in odd._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"nodes": 3}, "nodes | 3 | from 4"),
        ({"nodes": 1000}, "nodes | 1000"),
        ({"rf": 0}, "rf | 0"),
        ({"parallelism": 0}, "parallelism | 0"),
        ({"strategy": "netwrk"}, "strategy | 'netwrk' | network"),
        ({"edition": "CEP"}, "edition | 'CEP'"),
        ({"cancelling": 1.0}, "cancelling | 1.0"),
        ({"dcs": 9}, "dcs | 9"),
        ({"racks": 0}, "racks | 0"),
        ({"tokens": 0}, "tokens | 0"),
        ({"off": ("range-lock",)}, "safeguard | 'range-lock' | range-locks"),
        ({"node": 12}, "size | 'node' | nodes"),
        ({"nodes": "12"}, "nodes | '12'"),
    ],
    ids=str,
)
def test_sizes_have_limits(sizes: dict[str, Any], said: str) -> None:
    """A size out of its limits is refused in one line, before anything runs."""
    with pytest.raises(BadInput, match=like(said)):
        simulate(1, **sizes)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    """Seeds are whole numbers from 0 up."""
    with pytest.raises(BadInput, match=like("seed |")):
        simulate(seed)


def test_a_newcomer_may_leave_again() -> None:
    """The list of operations may be about nodes that others of it bring, and not about others."""
    operations = ("bootstrap X --tokens 150", "move X --tokens 350", "decommission X")
    model = TcmCluster(TcmParameters(operations=operations))
    driver = Driver(model)
    for operation in model.tcm.cluster.operations:
        assert driver.bring_about(Begin(operation))
        while driver.metadata.sequences:
            assert driver.bring_about(Advance("X"))
    assert model.snapshot(driver.state).placements == model.snapshot(model.start()).placements
    with pytest.raises(BadInput, match=like("tokens[0] | 99999")):
        TcmCluster(TcmParameters(operations=("bootstrap X --tokens 150", "move X --tokens 99999")))
    with pytest.raises(BadInput, match=like("node | 'Y'")):
        TcmCluster(TcmParameters(operations=("bootstrap X --tokens 150", "decommission Y")))


def test_what_is_drawn_fits_the_size() -> None:
    """No token is drawn twice, and every operation is about a node that there is by then."""
    drawn = draw(5, Size(nodes=20, rf=3, tokens=2))
    tokens = [t for node in drawn.parameters.members for t in node.tokens]
    tokens += [t for x in (*drawn.growing, *drawn.shrinking) for t in x.tokens]
    assert len(tokens) == len(set(tokens))
    known = {node.name for node in drawn.parameters.members}
    known |= {x.node for x in drawn.growing if x.kind in ("bootstrap", "replace")}
    assert {x.target or x.node for x in drawn.growing if x.kind != "bootstrap"} <= known


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ({"nodes": 4, "rf": 3}, True),
        ({"nodes": 3, "rf": 3}, False),
        ({"nodes": 200}, True),
        ({"nodes": 201}, False),
        ({"nodes": 8, "rf": 3, "strategy": "network", "dcs": 2}, True),
        ({"nodes": 7, "rf": 3, "strategy": "network", "dcs": 2}, False),
        ({"racks": 12}, True),
        ({"racks": 13}, False),
        ({"tokens": placements.MOST_TOKENS}, True),
        ({"tokens": placements.MOST_TOKENS + 1}, False),
        ({"cancelling": 0.0}, True),
        ({"cancelling": 0.999}, True),
        ({"cancelling": 1.0}, False),
        ({"cancelling": -0.001}, False),
    ],
    ids=str,
)
def test_the_limits_of_sizes_themselves(sizes: dict[str, Any], fits: bool) -> None:
    """One node more than is needed is enough; a chance is below 1."""
    if fits:
        assert checked(Size(**sizes)) == Size(**sizes)
        return
    with pytest.raises(BadInput):
        checked(Size(**sizes))


@pytest.mark.parametrize(
    ("field", "most"),
    [("rf", 12), ("parallelism", 32), ("tokens", 16), ("dcs", 4), ("racks", 12)],
)
def test_numbers_of_a_size_are_from_one_up(field: str, most: int) -> None:
    """To the largest of each, with the line that says so; the words are known ones."""
    for value in (1, most):
        size = Size(nodes=60, **{"strategy": "network", field: value})
        assert checked(size) is size
    for value in (0, most + 1):
        with pytest.raises(BadInput) as caught:
            checked(Size(nodes=60, **{"strategy": "network", field: value}))
        assert str(caught.value) == str(BadInput(field, value, f"a number from 1 to {most}"))
    assert placements.size_of({field: 1}) == Size(**{field: 1})


@pytest.mark.parametrize(
    ("sizes", "fewest"),
    [
        ({}, 4),
        ({"rf": 1}, 2),
        ({"dcs": 3}, 4),
        ({"strategy": "network"}, 4),
        ({"strategy": "network", "dcs": 3, "rf": 2}, 9),
    ],
)
def test_a_cluster_has_one_node_more_than_it_needs(sizes: dict[str, Any], fewest: int) -> None:
    """In each datacenter, where a strategy counts them."""
    assert Size(**sizes).fewest == fewest


def test_a_size_that_says_nothing() -> None:
    """It is of a dozen nodes, three replicas, three operations at once; and what is long."""
    assert Size() == Size(
        nodes=12, rf=3, parallelism=3, strategy="simple", dcs=1, racks=1, tokens=1, cancelling=0.06,
        edition="documents",
    )  # fmt: skip
    assert (placements.MANY, placements.MOST_IDLE, placements.SHOWN) == (250, 500, 12)


def text_of(drawn: placements.DrawnCluster) -> tuple[list[tuple[Any, ...]], list[str], list[str]]:
    """The members, and the operations that let it grow and shrink, as text."""
    members = [(x.name, x.tokens, x.dc, x.rack) for x in drawn.parameters.members]
    grows, shrinks = ([x.text for x in some] for some in (drawn.growing, drawn.shrinking))
    return members, grows, shrinks


def test_what_a_seed_draws() -> None:
    """To the last token: whoever has a seed of somebody else's sees the same."""
    drawn = draw(2, Size(nodes=7, rf=1))
    members, grows, shrinks = text_of(drawn)
    assert members == [("n1", (26539,), "dc1", "r1"), ("n2", (16990,), "dc1", "r1")]
    assert grows == [
        "bootstrap n3 --tokens 23393 --dc dc1 --rack r1",
        "bootstrap n4 --tokens 11018 --dc dc1 --rack r1",
        "replace n3 r3",
        "bootstrap n5 --tokens 10640 --dc dc1 --rack r1",
        "bootstrap n6 --tokens 26583 --dc dc1 --rack r1",
        "move n2 --tokens 20607",
        "bootstrap n7 --tokens 7510 --dc dc1 --rack r1",
    ]
    assert shrinks == [
        "decommission n2",
        "removenode n7",
        "decommission n4",
        "removenode n5",
        "decommission n6",
        "replace r3 r13",
    ]
    assert drawn.parameters == TcmParameters(
        members=drawn.parameters.members,
        keyspaces=(Keyspace("ks", SimpleStrategy(1)),),
        low=0,
        high=28000,  # 1000 for each of four tokens that a node may come to want
        operations=(*grows, *shrinks),
        cancels=1000,
    )
    without = draw(2, Size(nodes=7, rf=1), ("replace", "removenode"))
    assert text_of(without)[1:] == (
        [x for x in grows if not x.startswith("replace")],
        ["decommission n2", "decommission n4", "decommission n6"],
    )
    assert without.parameters.operations == sum(map(tuple, text_of(without)[1:]), ())


def test_what_a_seed_draws_of_datacenters() -> None:
    """Nodes are dealt to datacenters in turn, and in these to racks."""
    drawn = draw(1, Size(nodes=7, rf=2, tokens=2, strategy="network", dcs=2, racks=2))
    assert text_of(drawn) == (
        [
            ("n1", (117, 47456), "dc1", "r1"),
            ("n2", (30319, 18630), "dc2", "r1"),
            ("n3", (12414, 5256), "dc1", "r2"),
            ("n4", (25737, 1203), "dc2", "r2"),
            ("n5", (1424, 52935), "dc1", "r1"),
            ("n6", (37537, 21347), "dc2", "r1"),
        ],
        ["bootstrap n7 --tokens 12810,52592 --dc dc1 --rack r2", "move n1 --tokens 32984,52440"],
        ["decommission n2"],
    )
    factors = NetworkTopologyStrategy((("dc1", 2), ("dc2", 2)))
    assert drawn.parameters.keyspaces == (Keyspace("ks", factors),)
    assert (drawn.parameters.low, drawn.parameters.high) == (0, 56000)


EVENTS = """\
1 bootstrap n3 at 12196: split ranges
0 bootstrap n3 at 12196: cancel: restore the placements
1 move n1 to 0: add write replicas
1 move n1 to 0: switch reads
1 move n1 to 0: drop old write replicas
0 move n1 to 0: merge equal neighbours
1 replace n1 with r4: add write replicas
1 replace n1 with r4: switch reads
0 replace n1 with r4: drop old write replicas
1 bootstrap n4 at 33: split ranges
2 bootstrap n3 at 12196: split ranges
1 bootstrap n4 at 33: cancel: restore the placements
2 bootstrap n4 at 33: split ranges
2 bootstrap n3 at 12196: add write replicas
2 bootstrap n3 at 12196: switch reads
2 bootstrap n4 at 33: add write replicas
2 bootstrap n3 at 12196: cancel: move reads back to the old replicas
1 bootstrap n3 at 12196: cancel: move writes back to the old replicas
2 bootstrap n3 at 12196: split ranges
2 bootstrap n4 at 33: switch reads
1 bootstrap n4 at 33: drop old write replicas
1 bootstrap n3 at 12196: add write replicas
1 bootstrap n3 at 12196: switch reads
0 bootstrap n3 at 12196: drop old write replicas
1 decommission n3: add write replicas
0 decommission n3: cancel: restore the placements
1 replace n4 with r6: add write replicas
1 replace n4 with r6: switch reads
0 replace n4 with r6: drop old write replicas
1 decommission n3: add write replicas
1 decommission n3: switch reads
1 decommission n3: drop old write replicas
0 decommission n3: merge equal neighbours
1 removenode r4: add write replicas
1 removenode r4: switch reads
0 removenode r4: drop old write replicas""".splitlines()
"""How many operations are under way after each event of a small run, and what it was."""


def test_every_event_of_a_seed() -> None:
    """What is drawn at each turn, what was refused at first, what was cancelled and tried again."""
    run = simulate(1, nodes=4, rf=1, parallelism=2, cancelling=0.2)
    assert [f"{turn.looked.under_way} {turn.event}" for turn in run.turns] == EVENTS
    assert [turn.epoch for turn in run.turns] == [*range(1, 37)]
    assert (run.seed, run.off, run.refused, run.at_once, run.most_nodes) == (1, (), 5, 2, 4)
    assert run.size == Size(nodes=4, rf=1, parallelism=2, cancelling=0.2)
    assert run == simulate(1, run.size)
    assert run.cancelled == (
        ("bootstrap", "split"),
        ("bootstrap", "switch-reads"),
        ("decommission", "add-writes"),
    )
    assert (run.verdict, run.witness) == ("clean", None)
    assert run.rows()[2] == {
        "epoch": 3,
        "event": "move n1 to 0: add write replicas",
        "under way": 1,
        "rows": 3,
        "readers": (1, 1),
        "writers": (1, 2),
        "over-replicated": 1,
        **dict.fromkeys(COLUMNS, True),
    }
    shown = run.table(2, 1).rows
    assert shown == (("3", EVENTS[2][2:], "1", "3", "1", "1 to 2", "1", *["✓"] * len(COLUMNS)),)


@pytest.mark.parametrize(
    ("first", "most", "shown"),
    [(0, 3, [1, 2, 3]), (1, 2, [2, 3]), (-1, 3, [5]), (-9, 1, [1]), (5, 1, []), (3, 9, [4, 5])],
)
def test_any_part_of_a_run_is_shown(first: int, most: int, shown: list[int]) -> None:
    """From an event on, or so many from the end."""
    sheet = ended("clean", 5).table(first, most)
    assert [int(row[0]) for row in sheet.rows] == shown


def test_a_run_that_cannot_continue_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many turns without an event, all of the one operation that began."""
    real, asked = Driver.bring_about, Counter[str]()

    def begins(driver: Driver, event: Any) -> bool:
        asked[type(event).__name__] += 1
        return isinstance(event, Begin) and real(driver, event)

    monkeypatch.setattr(Driver, "bring_about", begins)
    run = simulate(1, nodes=4, rf=1, parallelism=1, cancelling=0.0)
    assert (run.verdict, run.witness) == ("stuck", "no operation under way can continue")
    assert [turn.event for turn in run.turns] == ["bootstrap n3 at 12196: split ranges"]
    assert asked == {"Begin": 1, "Advance": 502}  # the first one, and 501 idle turns
    assert run.summary().endswith(" No operation under way could continue.")


@pytest.mark.parametrize(("idle", "verdict", "refused"), [(4, "clean", 7), (3, "stuck", 4)])
def test_turns_are_idle_from_the_first_on(
    idle: int, verdict: str, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four operations that would let the cluster grow and three more, none of which may begin."""
    monkeypatch.setattr(Driver, "bring_about", lambda driver, event: False)
    monkeypatch.setattr(placements, "MOST_IDLE", idle)
    run = simulate(1, nodes=4, rf=1, parallelism=2)
    assert (run.verdict, run.refused, run.turns, run.at_once) == (verdict, refused, (), 0)
    assert run.most_nodes == 2


def test_of_a_run_that_keeps_everything_nothing_is_left_out() -> None:
    """There is no failure to look for."""
    clean = simulate(1, nodes=4, rf=1, parallelism=2)
    assert smaller(clean.model(), clean.actions, "replicas") == clean.actions


@pytest.mark.parametrize(("most", "shrunk"), [(-1, False), (0, True)])
def test_only_a_long_run_stays_as_it_is(
    most: int, shrunk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without events that it can lack it is made smaller action by action, up to a limit."""
    found = simulate(0, nodes=10, rf=2, off=("merge-equality",))
    lengths: list[int] = []

    def shrink(model: Any, kept: tuple[Any, ...], *_: Any) -> tuple[tuple[Any, ...], int]:
        lengths.append(len(kept))
        return kept[:1], 0

    monkeypatch.setattr(placements, "shrink", shrink)
    assert len(smaller(found.model(), found.actions, found.verdict)) == 1
    [length] = lengths
    monkeypatch.setattr(placements, "MANY", length + most)
    assert len(smaller(found.model(), found.actions, found.verdict)) == (1 if shrunk else length)


ROWS = [(0, 100, (0, 1)), (100, 200, (1, 2)), (200, 300, (2, 0)), (300, 400, (0, 1))]
THREE = {
    "members": tuple(Node(name, (at * 100,)) for at, name in enumerate("ABC", 1)),
    "keyspaces": (Keyspace("ks", SimpleStrategy(2)),),
    "operations": ("decommission A",),
    "low": 0,
    "high": 400,
}
TWICE = "tokens above {} are {} by no node, or twice"


def row(at: int, *codes: int, end: int | None = None) -> list[tuple[int, int, tuple[int, ...]]]:
    """The rows with others in one of them, or with another end."""
    left, right, _ = ROWS[at]
    return [*ROWS[:at], (left, end or right, codes), *ROWS[at + 1 :]]


@pytest.mark.parametrize(
    ("reads", "writes", "faults"),
    [
        (ROWS, ROWS, {}),
        (ROWS[:3], ROWS, {"owners": "tokens above 300 are read by no node"}),
        (ROWS, ROWS[:3], {"owners": "tokens above 300 are written by no node"}),
        (ROWS[1:], ROWS, {"owners": TWICE.format(0, "read")}),
        (ROWS, row(1, 1, 2, end=250), {"owners": TWICE.format(200, "written")}),
        (row(1), ROWS, {
            "owners": TWICE.format(100, "read"),
            "replicas": "(100, 200] is read from nobody; wanted: 2",
        }),
        (row(1, 1, 1), ROWS, {"replicas": "(100, 200] is read from B, B; wanted: 2"}),
        (row(1, 1), ROWS, {"replicas": "(100, 200] is read from B; wanted: 2"}),
        (ROWS, row(1, 0, 1, 2), {
            "over": "(100, 200] is written to A, B, C: 3, but 2 to 2 were expected"}),
        (ROWS, row(1, 1), {"over": "(100, 200] is written to B: 1, but 2 to 2 were expected"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_rows_is_said_by_column(
    reads: Any, writes: Any, faults: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is cut into pieces, each read from and written to by as many as it should."""
    model = TcmCluster(TcmParameters(**THREE))
    stable = model.snapshot(model.start())
    broken = Placement(Table.of(reads), Table.of(writes))
    monkeypatch.setattr(model.tcm, "snapshot", lambda events: replace(stable, placements=(broken,)))
    monkeypatch.setattr(Columns, "plain", lambda self, events: "it lost its way")
    lost = dict.fromkeys(("reads agree", "writes agree"), "it lost its way")
    assert dict(Columns(model).looked(model.start().tcm.events).faults) == faults | lost


def test_only_what_an_operation_holds_may_have_pending_replicas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it holds of another keyspace does not count: there other ranges move."""
    keyspaces = tuple(Keyspace(f"ks{rf}", SimpleStrategy(rf)) for rf in (1, 2))
    driver = Driver(TcmCluster(TcmParameters(**THREE | {"keyspaces": keyspaces})))
    assert driver.bring_about(Begin(driver.model.tcm.cluster.operations[0]))
    begun = driver.model.tcm.snapshot(driver.state.tcm.events)
    held = [
        {locked.right for group, locked in locks(begun.metadata.sequences[0]) if group == number}
        for number in (0, 1)
    ]
    assert 300 in held[1] - held[0]
    wide = Placement(
        begun.placements[0].reads,
        Table.of(
            (each.left, each.right, (0, 1) if each.right == 300 else (code,))
            for each in begun.placements[0].reads.rows(driver.model.names)
            for code in [driver.model.codes[each.replicas[0]]]
        ),
    )
    broken = replace(begun, placements=(wide, begun.placements[1]))
    monkeypatch.setattr(driver.model.tcm, "snapshot", lambda events: broken)
    looked = Columns(driver.model).looked(driver.state.tcm.events)
    assert looked.fault("over") == "(200, 300] is written to A, B: 2, but 1 to 1 were expected"


def test_keyspaces_without_a_factor_are_not_looked_at() -> None:
    """Of one that is everywhere there is no number of replicas to check."""
    keyspaces = (Keyspace("all", EverywhereStrategy()), Keyspace("ks", SimpleStrategy(2)))
    model = TcmCluster(TcmParameters(**THREE | {"keyspaces": keyspaces}))
    columns = Columns(model)
    assert columns.groups == [(1, {"": 2})]
    assert columns.looked(model.start().tcm.events).faults == ()
    alone = TcmCluster(TcmParameters(**THREE | {"keyspaces": keyspaces[:1]}))
    looked = Columns(alone).looked(alone.start().tcm.events)
    assert looked == Looked(0, (0, 0), (0, 0), 0, 0, ())


def test_the_simple_model_has_tokens_in_their_order() -> None:
    """However they are listed."""
    places, factors = {"A": ("dc1", "r1"), "B": ("dc1", "r1")}, {"0": {"": 1}}
    lines = ((100, "A"), (200, "B")), ((200, "B"), (100, "A"))
    one, other = (plain.stable_cluster(line, places, factors, (0, 400)) for line in lines)
    assert one == other


def test_every_table_of_a_stable_ring_is_compared() -> None:
    """The one to write to of the last keyspace, too."""
    keyspaces = tuple(Keyspace(f"ks{rf}", SimpleStrategy(rf)) for rf in (1, 2))
    model = TcmCluster(TcmParameters(**THREE | {"keyspaces": keyspaces}))
    columns, events = Columns(model), model.start().tcm.events
    simple, right = columns.plain(events), model.tcm.snapshot(events)
    assert isinstance(simple, plain.PlainCluster)
    assert columns._settled(right, simple) is None
    first, last = right.placements
    writes = Table.of([*ROWS[:1], (100, 200, (1, 0)), *ROWS[2:]])
    wrong = replace(right, placements=(first, Placement(last.reads, writes)))
    said = "(100, 200]: B, A, but B, C in the simple model"
    assert columns._settled(wrong, simple) == said


def test_the_simple_model_may_lose_its_way() -> None:
    """It says so; of rows that only one of the two has the first is told."""
    stable = plain.stable_cluster(((100, "A"),), {"A": ("dc1", "r1")}, {"0": {"": 1}}, (0, 400))
    said = "in the simple model, A has nothing left to do"
    assert [followed(stable, event) for event in (Advance("A"), Cancel("A"))] == [said, said]
    theirs: Any = dict.fromkeys((16, 3, 9, 400), (frozenset(), frozenset()))
    assert _differ(((0, 400, ()),), theirs, 0) == "only the simple model has a row that ends at 3"
    assert _differ(((0, 2, ()),), theirs, 0) == "only the engine has a row that ends at 2"


@pytest.mark.parametrize(
    ("factors", "change", "events"),
    [
        # Fewer nodes than are wanted: whoever comes is a replica, and nobody ceases to be one.
        ({"ks": {"": 3}}, ("bootstrap", "X", (150,)), ["split", "add", "switch"]),
        ({"ks": {"": 3}}, ("decommission", "A", ()), ["switch", "drop", "merge"]),
        ({"ks": {"": 1}}, ("bootstrap", "X", (150,)), ["split", "add", "switch", "drop"]),
        # Without keyspaces nothing changes, and the membership takes one event.
        ({}, ("bootstrap", "X", (150,)), ["drop"]),
        ({}, ("decommission", "A", ()), ["merge"]),
    ],
)
def test_an_operation_has_the_events_that_change_rows(
    factors: dict[str, plain.Factors], change: tuple[Any, str, tuple[int, ...]], events: list[str]
) -> None:
    """Reads switch where somebody becomes or ceases to be a replica."""
    places = dict.fromkeys("ABX", ("dc1", "r1"))
    stable = plain.stable_cluster(((100, "A"), (200, "B")), places, factors, (0, 400))
    operation = plain.PlainOperation(*change)
    line = plain.changed(stable.line, operation)
    parts = stable.events(plain.Flight(stable.line, line, ()), operation.kind)
    assert [*parts] == [(part,) for part in events]


def ended(verdict: str, turns: int, **size: Any) -> Simulation:
    """A run of so many events, of which each has the epoch and the number of rows of its place."""
    looked = [Looked(at, (2, 2), (2, 3), 1, 1) for at in range(1, turns + 1)]
    events = tuple(placements.Turn(look.rows, "said", look) for look in looked)
    witness = None if verdict == "clean" else "why"
    return Simulation(
        1, Size(**size), (), events, (), 4, 2, 9, (("move", "mid"),), verdict, witness
    )


@pytest.mark.parametrize(
    ("verdict", "size", "where", "kept"),
    [
        ("clean", {}, "", "Every property holds at every event"),
        ("clean", {"dcs": 2}, "", "Every property holds at every event"),
        ("stuck", {"strategy": "network", "dcs": 2, "nodes": 30}, " in each of 2 datacenters",
         "No operation under way could continue"),
        ("replicas", {"rf": 2}, "", "Stopped: a property does not hold"),
    ],
)  # fmt: skip
def test_a_run_in_a_sentence(verdict: str, size: dict[str, Any], where: str, kept: str) -> None:
    """Only a strategy that counts them names datacenters."""
    run = ended(verdict, 5, **size)
    assert run.summary() == (
        f"At most 9 of {run.size.nodes} nodes, RF {run.size.rf}{where}; at most 2 of 3 operations "
        f"at once; 5 events. Refused at first: 4; events after which one was cancelled: 1. {kept}."
    )


@pytest.mark.parametrize(
    ("verdict", "turns", "shown"),
    [
        ("clean", 12, range(1, 13)),
        ("clean", 13, range(1, 13)),
        ("replicas", 13, range(2, 14)),
        ("replicas", 30, range(19, 31)),
        ("replicas", 5, range(1, 6)),
    ],
)
def test_a_run_that_fails_shows_its_end(verdict: str, turns: int, shown: range) -> None:
    """Twelve events: the first ones where every column was kept."""
    run = ended(verdict, turns)
    lines = repr(run).splitlines()
    assert [int(line.split()[0]) for line in lines if " said " in line] == [*shown]
    assert repr(run) == run._repr_mimebundle_()["text/plain"]
    told = [line for line in lines if "Shown: " in line]
    assert told == (
        [f"Shown: 12 of {turns} events, from number {shown[0] - 1} on."] if turns > 12 else []
    )


def test_a_run_is_made_small_only_where_that_is_wanted() -> None:
    """Else a run that fails keeps every action; one that is clean has nothing to leave out."""
    failed = simulate(0, nodes=10, rf=2, off=("range-locks",))
    assert not failed.ok
    assert failed.timeline().actions() == failed.actions
    assert len(failed.timeline(small=True).actions()) < len(failed.actions)
    clean = simulate(0, nodes=4, rf=1)
    assert clean.timeline(small=True).actions() == clean.actions


def test_the_simple_model_begins_with_members_only() -> None:
    """Who will only join has no place yet."""
    operations = ("bootstrap X --tokens 150 --dc dc9 --rack r9",)
    model = TcmCluster(TcmParameters(nodes=3, rf=2, operations=operations))
    members = {node.name: (node.dc, node.rack) for node in model.tcm.cluster.ring.nodes}
    assert members.pop("X") == ("dc9", "r9")
    at_start = Columns(model)._at_start()
    assert (at_start.places, at_start.edition) == (members, "documents")
    assert at_start.line == tuple(
        (token, name) for name, token in zip("ABC", (100, 200, 300), strict=True)
    )


@pytest.mark.parametrize(
    ("edition", "switched"),
    [("documents", [False, False, True, True]), ("server", [False, False, True])],
)
def test_once_reads_have_switched_they_stay(edition: str, switched: list[bool]) -> None:
    """After each event but the last one, with which the operation is over."""
    places = dict.fromkeys("ABC", ("dc1", "r1"))
    line = ((100, "A"), (200, "B"), (300, "C"))
    now = plain.stable_cluster(line, places, {"ks": {"": 2}}, (0, 400), edition)
    now = now.begin(plain.PlainOperation("move", "C", (250,)))
    found = []
    while now.flights:
        found.append(now.flights["C"].switched)
        now = now.advance("C")
    assert found == switched


def test_now_and_then_a_node_moves_or_is_replaced() -> None:
    """After half of those who join and a fifth of those who leave; few are removed, or worse."""
    drawn = [draw(seed, Size(nodes=44, rf=3)) for seed in range(10)]
    grows = Counter(each.kind for one in drawn for each in one.growing)
    shrinks = Counter(each.kind for one in drawn for each in one.shrinking)
    leaves, removed, gone = (
        shrinks[kind] for kind in ("decommission", "removenode", "assassinate")
    )
    assert grows["bootstrap"] == leaves + removed + gone == 400
    assert 170 < grows["move"] + grows["replace"] < 230
    assert grows["move"] > grows["replace"] > 50
    assert 50 < shrinks["move"] + shrinks["replace"] < 110
    assert leaves > 200 > removed > 100
    assert 15 < gone < 50
