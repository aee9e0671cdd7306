"""Random rings, keyspaces, operations and schedules: what must hold whatever one does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import Refused
from kit.model.model import Refinement
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.examples import refinement
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel, too_few_left
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.tcm import Stream
from kit.ring.replication import (
    EverywhereStrategy,
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.topology import Node
from tests.examples import examples
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.ordered import OrderedPlain

LOW, HIGH = -40, 60
PLACES = st.tuples(st.sampled_from(("dc1", "dc2")), st.sampled_from(("r1", "r2", "r3")))


@st.composite
def replications(draw: st.DrawFn, datacenters: list[str], most: int) -> Replication:
    """Any strategy; factors a datacenter for those that have nodes, not all of them 0."""
    factors = {dc: draw(st.integers(0, 3)) for dc in datacenters}
    network = NetworkTopologyStrategy(tuple(factors.items())) if any(factors.values()) else None
    simple = SimpleStrategy(draw(st.integers(1, most)))
    return draw(
        st.sampled_from((simple, simple, network or simple, EverywhereStrategy(), LocalStrategy()))
    )


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Up to 12 nodes with up to three tokens each, up to three keyspaces and four operations."""
    tokens = draw(st.permutations(range(LOW, HIGH + 1)))
    free = iter(tokens)
    members = []
    simple = draw(st.booleans())  # one token a node on one rack: room for several at once
    for i in range(draw(st.integers(6, 12) if simple else st.integers(1, 12))):
        dc, rack = ("dc1", "r1") if simple else draw(PLACES)
        own = tuple(next(free) for _ in range(1 if simple else draw(st.integers(1, 3))))
        members.append(Node(f"n{i}", own, dc, rack))
    datacenters = sorted({node.dc for node in members})
    keyspaces = tuple(
        Keyspace(f"ks{i}", draw(replications(datacenters, 2 if simple else 5)))
        for i in range(draw(st.integers(1, 3)))
    )
    operations = []
    newcomers = iter("XYZW")
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(
            st.sampled_from(
                ("bootstrap", "decommission", "move", "replace", "removenode", "assassinate")
            )
        )
        node = draw(st.sampled_from(members))
        dc, rack = draw(st.sampled_from(datacenters)), draw(PLACES)[1]
        match kind:
            case "bootstrap":
                new = tuple(next(free) for _ in range(1 if simple else draw(st.integers(1, 3))))
                one = Operation("bootstrap", next(newcomers), new, dc=dc, rack=rack)
            case "move":
                new = tuple(next(free) for _ in node.tokens)
                one = Operation("move", node.name, new)
            case "replace":
                place = (node.dc, rack) if draw(st.booleans()) else (None, None)
                one = Operation("replace", next(newcomers), (), node.name, *place)
            case _:
                one = Operation(kind, node.name)  # type: ignore[arg-type]  # one of the rest
        operations.append(one.text)
    return {
        "members": tuple(members),
        "low": LOW,
        "high": HIGH,
        "keyspaces": keyspaces,
        "operations": tuple(dict.fromkeys(operations)),
        "edition": draw(st.sampled_from(("documents", "server"))),
        "crashes": draw(st.integers(0, 1)),
        "cancels": draw(st.integers(0, 1)),
        "epoch": draw(st.sampled_from((0, 7))),
        "window": draw(st.integers(1, 2)),
    }


CHOICES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=10, max_size=70)


def walked(model: TcmCluster, state: Any, choices: list[tuple[int, int]]) -> Any:
    """A random walk: a kind of action first, then one of that kind; then suggestions to rest.

    Yields (action, state after it).
    """
    for kind, which in choices:
        kinds: dict[str, list[Any]] = {}
        for action in model.actions(state):
            kinds.setdefault(model.kind(action), []).append(action)
        if not kinds:
            return
        chosen = list(kinds.values())[kind % len(kinds)]
        action = chosen[which % len(chosen)]
        state = model.act(state, action)
        yield action, state
    for _ in range(600):
        wanted = model.suggest(state)
        if wanted is None:
            return
        state = model.act(state, wanted)
        yield wanted, state
    raise AssertionError("the suggestions lead nowhere")


def compare(plain: OrderedPlain, model: TcmCluster, state: Any) -> None:
    """All tables agree, row by row; several new writers of one row come in any order."""
    for keyspace in plain.replications:
        mine = plain.rows(keyspace)
        theirs = facts.rows(model, state, keyspace)
        assert [(row.left, row.right) for row in theirs] == [row[:2] for row in mine]
        for row, (_, _, reads, writes) in zip(theirs, mine, strict=True):
            assert row.reads == tuple(reads)
            if len(writes) - len(reads) > 1:
                assert set(row.writes) == set(writes)
            else:
                assert row.writes == tuple(writes)


@pytest.mark.spec("A-007", "A-008", "A-011", "A-012", "A-013", "A-014", "A-034", "A-039")
@examples(30)
@given(configurations(), CHOICES)
def test_tables_of_random_runs_are_those_of_the_plain_model(
    parameters: dict[str, Any], choices: list[tuple[int, int]]
) -> None:
    """After every event, in order, and stable when nothing is under way."""
    model = TcmCluster(TcmParameters(**parameters))
    ring = model.tcm.cluster.ring
    plain = OrderedPlain(ring.nodes, parameters["keyspaces"], ring.space, parameters["edition"])
    compare(plain, model, model.start())
    for action, state in walked(model, model.start(), choices):
        if isinstance(action.action, Begin | Advance | Cancel):
            plain.follow(action.action)
            compare(plain, model, state)
            assert plain.under_way == {s.node for s in model.snapshot(state).metadata.sequences}
        if not plain.under_way:
            assert facts.stable(model, state)


@pytest.mark.spec("A-009", "A-018", "A-019")
@examples(30)
@given(configurations(), CHOICES)
def test_no_random_run_with_all_safeguards_puts_out_a_lamp(
    parameters: dict[str, Any], choices: list[tuple[int, int]]
) -> None:
    """Each ends in a stable ring. The server's assassinations may leave fewer replicas."""
    drive = Drive(**parameters)
    excused: set[str] = set()
    for action, state in walked(drive.model, drive.state, choices):
        begun = action.action.operation if isinstance(action.action, Begin) else None
        if begun and begun.kind == "assassinate" and parameters["edition"] == "server":
            metadata = drive.metadata
            leaving = {sequence.plan.resolved.node for sequence in metadata.sequences}
            code = metadata.ring.names.index(begun.node)
            if too_few_left(metadata.ring, metadata.keyspaces, leaving, code):
                excused = {"replicas"}
        drive.states.append(state)
        assert {witness.split(":")[0] for witness in drive.dark()} <= excused
    assert not drive.metadata.sequences
    assert drive.stable()
    assert (
        len(drive.state.tcm.events) == drive.model.newest_epoch(drive.state) - parameters["epoch"]
    )


@examples(30)
@given(configurations(), CHOICES)
def test_no_action_of_a_random_state_is_both_enabled_and_refused(
    parameters: dict[str, Any], choices: list[tuple[int, int]]
) -> None:
    """A suggestion is enabled, and acting on a refusal raises its reason."""
    model = TcmCluster(TcmParameters(**parameters))
    for _, state in walked(model, model.start(), choices[:25]):
        enabled, waiting = list(model.actions(state)), dict(model.waiting(state))
        assert not set(enabled) & set(waiting)
        suggested = model.suggest(state)
        assert suggested is None or suggested in enabled
        for action, refusal in list(waiting.items())[:3]:
            with pytest.raises(Refused, match=r".") as refused:
                model.act(state, action)
            assert str(refused.value) == refusal.reason
            assert "\n" not in refusal.reason


@examples(20)
@given(configurations(), CHOICES)
def test_a_write_group_of_a_random_run_has_its_readers_and_affected_nodes_alone(
    parameters: dict[str, Any], choices: list[tuple[int, int]]
) -> None:
    """A node comes or goes only in the ranges that its operation locks."""
    model = TcmCluster(TcmParameters(**parameters))
    for action, state in walked(model, model.start(), choices):
        if not isinstance(action.action, Begin | Advance | Cancel | Stream):
            continue
        metadata = model.snapshot(state).metadata
        for keyspace in facts.keyspaces(model):
            held = [
                (locked, set(codes))
                for sequence in metadata.sequences
                if (group := metadata.group_of(keyspace)) is not None
                for locked, codes in zip(
                    sequence.plan.movements[group].locked,
                    sequence.plan.movements[group].affected,
                    strict=True,
                )
            ]
            for row in facts.rows(model, state, keyspace):
                assert len(set(row.reads)) == len(row.reads)
                assert len(set(row.writes)) == len(row.writes)
                assert set(row.reads) <= set(row.writes)
                part = [codes for locked, codes in held if locked.contains(row.right)]
                assert len(part) <= 1
                if part:
                    assert {model.codes[name] for name in row.writes} <= part[0]


@examples(30)
@given(configurations(), CHOICES)
def test_every_step_of_a_random_run_by_the_documents_is_one_of_the_server(
    parameters: dict[str, Any], choices: list[tuple[int, int]]
) -> None:
    """Locks at both ends of the line, which only the server has, are left out."""
    both = refinement(TcmParameters(**{**parameters, "window": 1}))
    state = both.fine.start()
    for kind, which in choices:
        actions = [a for a in both.fine.actions(state) if on_the_map(both, state, a)]
        if not actions:
            return
        kinds = sorted({both.fine.kind(action) for action in actions})
        wanted = kinds[kind % len(kinds)]
        chosen = [action for action in actions if both.fine.kind(action) == wanted]
        action = chosen[which % len(chosen)]
        after = both.fine.act(state, action)
        assert both.mismatch(state, action, after) is None
        state = after


def on_the_map(both: Refinement, state: Any, action: Any) -> bool:
    """Not the beginning of what only the implementation refuses: locks at both ends of the line."""
    if not isinstance(action.action, Begin):
        return True
    coarse: Any = both.coarse
    refusal = coarse.refusal(both.project(state), coarse.wrap["tcm"](action.action))
    return refusal is None or "is locked by" not in refusal.reason
