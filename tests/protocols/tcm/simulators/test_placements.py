"""The placement simulator: random growth and shrinking, looked at after every event."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from itertools import product
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.model import fingerprint
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.tcm.cluster import Driver, TcmCluster
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules import metadata as rules_history
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel
from kit.protocols.tcm.rules.operations import usual_steps
from kit.protocols.tcm.simulators import plain
from kit.protocols.tcm.simulators.columns import COLUMNS, Columns
from kit.protocols.tcm.simulators.placements import Simulation, Size, draw, simulate
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
def test_a_cluster_that_grows_and_shrinks_keeps_every_placement_property(
    nodes: int, rf: int, at_once: int
) -> None:
    """After each event: RF replicas, pending ones only in moving ranges, the plain model's rows."""
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
def test_placements_keep_their_properties_with_racks_datacenters_and_cancels(
    sizes: dict[str, Any],
) -> None:
    """Several tokens of a node and the server's edition are among the sizes."""
    for seed in range(2):
        found = simulate(seed, **sizes)
        assert found.ok, (seed, found.verdict, found.witness)
        assert found.most_nodes == sizes["nodes"], seed


@pytest.mark.spec("B-078")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_cancelled_at_any_step_restores_its_placements(
    kind: str, edition: str
) -> None:
    """Once old writers are dropped it cannot be cancelled."""
    model = TcmCluster(
        TcmParameters(nodes=7, rf=3, operations=(OPERATIONS[kind],), cancels=1, edition=edition)  # type: ignore[arg-type]  # a plain text of the parameters
    )
    columns = Columns(model)
    steps = usual_steps(kind, edition)  # type: ignore[arg-type]  # plain texts of the parameters
    cancelled = []
    for after in range(1, len(steps)):
        driver = Driver(model)
        assert driver.bring_about(Begin(model.tcm.cluster.operations[0])), after
        node = driver.metadata.sequences[0].node
        for _ in range(after - 1):
            assert driver.bring_about(Advance(node)), after
        if not driver.bring_about(Cancel(node)):
            continue
        cancelled.append(steps[after - 1])
        assert columns.looked(driver.state.tcm.events).faults == {}, after
        while driver.metadata.sequences:
            assert driver.bring_about(Advance(node)), after
            assert columns.looked(driver.state.tcm.events).faults == {}, after
        assert model.snapshot(driver.state).placements == model.snapshot(model.start()).placements
    last = "mid" if edition == "server" else "switch-reads"
    assert cancelled == [*steps[: steps.index(last) + 1]]


@pytest.mark.spec("B-078")
def test_simulated_cancels_meet_every_kind_and_step_of_operations() -> None:
    """Two seeds are enough for all of them."""
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
def test_every_interleaving_of_a_join_and_a_cancel_agrees_with_the_plain_model() -> None:
    """The search with the columns as properties is complete."""
    parameters = TcmParameters(nodes=4, rf=2, operations=("bootstrap X --tokens 150",), cancels=1)
    model = TcmCluster(parameters)
    found = check(model, Columns(model).properties())
    assert found.complete, found
    assert found.states > 1000


@pytest.mark.spec("B-079")
def test_the_plain_model_imports_nothing_of_the_kit() -> None:
    """What is wrong in the engine is not wrong in it by an import."""
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
def test_the_simulator_finds_the_column_that_a_missing_safeguard_breaks(
    off: str, broken: str
) -> None:
    """The shrunk run opens in the Player and fails in the same column."""
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
    assert Columns(model).looked(small.state.tcm.events).faults[broken]
    assert Player(small).timeline is small


def test_a_failing_simulation_shrinks_to_one_join_and_one_leave() -> None:
    """Of more than 300 steps fewer than 40 remain."""
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
def test_the_simulator_finds_a_bug_planted_in_either_model(
    planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine forgets a delta, or the plain model walks from the wrong token."""
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
def test_the_plain_models_replicas_are_those_of_the_readable_reference(
    factors: dict[str, int],
) -> None:
    """Every token is tried, with racks and two datacenters."""
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


def test_the_columns_count_replicas_in_each_datacenter_by_itself() -> None:
    """A join in dc1 adds a writer there and none in dc2. A keyspace on all nodes has no factor."""
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
    assert (looked.reads, looked.writes, looked.faults) == ((1, 2), (1, 3), {})
    assert 0 < looked.over < looked.rows
    assert looked.under_way == 1


@pytest.mark.spec("B-078")
def test_a_simulation_is_determined_by_its_seed() -> None:
    """Another seed is another run."""
    one, again, other = (simulate(seed, nodes=10, rf=2) for seed in (3, 3, 4))
    assert one == again
    assert one.actions != other.actions


@pytest.mark.spec("B-078")
def test_the_table_of_a_simulation_has_a_row_for_each_event_and_its_witness() -> None:
    """What is left out is told, and a witness is escaped in HTML."""
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
def test_a_simulation_refuses_a_size_out_of_its_limits(sizes: dict[str, Any], said: str) -> None:
    """The error names the size, its value and what is allowed."""
    with pytest.raises(BadInput, match=like(said)):
        simulate(1, **sizes)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None])
def test_a_simulation_refuses_a_seed_that_is_no_whole_number(seed: Any) -> None:
    """The error names the seed."""
    with pytest.raises(BadInput, match=like("seed |")):
        simulate(seed)


def test_operations_may_name_a_node_that_an_earlier_operation_brings() -> None:
    """A node that no operation brings is refused by name."""
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


def test_drawn_operations_use_each_token_once_and_known_nodes() -> None:
    """So no drawn plan is refused for its names."""
    drawn = draw(5, Size(nodes=20, rf=3, tokens=2))
    tokens = [t for node in drawn.parameters.members for t in node.tokens]
    tokens += [t for x in (*drawn.growing, *drawn.shrinking) for t in x.tokens]
    assert len(tokens) == len(set(tokens))
    known = {node.name for node in drawn.parameters.members}
    known |= {x.node for x in drawn.growing if x.kind in ("bootstrap", "replace")}
    assert {x.target or x.node for x in drawn.growing if x.kind != "bootstrap"} <= known


PROGRAM = """
from kit import build
from kit.lessons.hunting import hunt
from kit.protocols.tcm.simulators.placements import simulate
from kit.protocols.dataplane.quorums import quorums

one = simulate(3, nodes=9, rf=2, strategy="network", dcs=2, racks=2)
bad = simulate(3, nodes=9, rf=2, off=("S-09",))
print(one.table(0, 500).text(), bad, [a for a in one.actions[:200]])
small = bad.timeline(small=True)
print([small.model.verb(m.action) for m in small.moments[1:]])
print(quorums(build("tcm", {"rf": 3}, ("S-01",))).table(500).text())
print(hunt(4), hunt(4).search(2), hunt(4).accuse(2, "S-05"))
"""


@pytest.mark.spec("H-013")
def test_simulations_quorums_and_hunts_print_the_same_under_two_hash_seeds() -> None:
    """A simulation, a shrunk failure, a table of quorums and a hunt are compared byte by byte."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0]) > 10_000
