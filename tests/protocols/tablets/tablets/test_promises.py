"""What the promises on tablets say of states made by hand, on both sides of each line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.tablets.cluster import (
    StageChange,
    TabletCommand,
    TabletRow,
    TabletsState,
    TabletTransition,
)
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.protocols.topology.control import with_topology
from kit.protocols.topology.topology import CommitDecision

MODELS = {
    edition: build("tablets", {"edition": edition, "nodes": 6, "tablets": ("A B",) * 4})
    for edition in ("documents", "server")
}
MODEL: Any = MODELS["documents"]


def row(held: str, *ways: TabletTransition) -> TabletRow:
    """A tablet whose replicas hold all of its data."""
    replicas = replicas_in(held)
    return TabletRow(replicas, ways, tuple(sorted(replicas)), tuple(sorted(replicas)))


def way(old: str, new: str, stage: str = "streaming", **more: Any) -> TabletTransition:
    """A migration, or another kind."""
    given = {"kind": "migration", "session": 1, **more}
    former, following = (replicas_in(each) if each else () for each in (old, new))
    return TabletTransition(**given, stage=stage, old=former, new=following)


def state(
    *rows: TabletRow, model: Any = MODEL, transition: str = "", **nodes: dict[str, Any]
) -> TabletsState:
    """The first state with other tablets, another transition state, and nodes that differ."""
    start: TabletsState = model.start()
    topology = start.control.topology
    pairs = zip(model.names, topology.nodes, strict=True)
    entries = tuple(replace(each, **nodes.get(name, {})) for name, each in pairs)
    topology = replace(topology, transition=transition, nodes=entries)
    return start.but(control=with_topology(start.control, topology), tablets=rows)


LEFT = {"state": "left"}
MOVING = way("A B", "C B")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (state(row("A B C D"), A=LEFT), None),
        (state(row("A B C D"), A=LEFT, B=LEFT), "tablet 0 has no quorum: A:0, B:0"),
        (state(row("A B C"), A=LEFT), None),
        (state(row("A B C"), A=LEFT, C=LEFT), "tablet 0 has no quorum: A:0, C:0"),
    ],
)
def test_a_quorum_is_lost_with_half_of_the_replicas(given: TabletsState, said: str | None) -> None:
    """Two of four are enough to lose it, one of three is not."""
    found = MODEL.quorums_stay(given)
    assert found == (said and f"{said} has left with its node")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (state(row("A B"), C={"zero_token": True}), None),
        (state(row("A B", way("A B", "D B")), C={"zero_token": True}), None),
        (state(row("A B"), B={"zero_token": True}), "B"),
        (state(row("A B", MOVING), C={"zero_token": True}), "C"),
    ],
)
def test_no_tablet_is_on_a_node_without_tokens(given: TabletsState, said: str | None) -> None:
    """Nor on its way there."""
    words = said and f"tablet 0 has a replica on {said}, which has no tokens"
    assert MODEL.replicas_on_owners(given) == words


@pytest.mark.parametrize(
    ("old", "new", "judged"),
    [
        ("A B", "C B", True),
        ("A B", "A B C", True),
        ("A B", "A", True),
        ("A B", "C D", False),
        ("A", "A B C", False),
        ("A B C", "A", False),
    ],
)
def test_at_most_one_replica_comes_and_one_goes(old: str, new: str, judged: bool) -> None:
    """Two that come are too many, and so are two that go."""
    assert (MODEL.one_replica(state(row(old, way(old, new)))) is None) == judged


@pytest.mark.parametrize(
    ("edition", "nodes", "transition", "said"),
    [
        ("documents", {}, "tablet_migration", None),
        ("documents", {}, "", "null"),
        ("server", {}, "", "null"),
        ("server", {"F": {"state": "bootstrapping"}}, "join_group0", None),
        ("documents", {"F": {"state": "bootstrapping"}}, "join_group0", "join_group0"),
        ("server", {"F": {"state": "removing"}}, "write_both_read_old", "write_both_read_old"),
    ],
)
def test_tablets_move_in_their_own_tracks(
    edition: str, nodes: dict[str, Any], transition: str, said: str | None
) -> None:
    """In edition ``server`` a node may join meanwhile, and nothing else."""
    given = state(row("A B", MOVING), transition=transition, **nodes)
    words = said and f"a tablet is in transition in {said}"
    model: Any = MODELS[edition]
    assert model.tablets_apart(given) == words
    assert model.tablets_apart(given.but(tablets=(row("A B"),))) is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (row("A B", way("A B", "C B", "end_migration")), row("C B"), None),
        (row("A B", way("A B", "C B", "end_migration")), row("A B"), "has A:0, B:0, not C:0, B:0"),
        (row("A B", way("A B", "C B", "revert_migration")), row("A B"), None),
        (
            row("A B", way("A B", "C B", "revert_migration")),
            row("C B"),
            "has C:0, B:0, not A:0, B:0",
        ),
        (row("A B", MOVING), row("C B"), "lost its transition in streaming"),
        (row("A B", MOVING), row("A B", way("A B", "C B", "write_both_read_new")), None),
        (
            row("A B", MOVING),
            row("A B", way("A B", "C B", "use_new")),
            "went from streaming to use_new",
        ),
        (row("A B", MOVING), row("A B", MOVING), None),
    ],
)
def test_stages_follow_the_table(before: TabletRow, after: TabletRow, said: str | None) -> None:
    """The end of the way there leaves the new replicas, that of the way back the old ones."""
    found = MODEL.stage_edges(state(before), CommitDecision(), state(after))
    assert found == (said and f"tablet 0 {said}")


@pytest.mark.parametrize(
    ("begun", "lacking"),
    [
        (MOVING, None),
        (way("A B", "A B", kind="repair"), None),
        (way("A B", ""), "new_replicas"),
        (way("A B", "A B"), "new_replicas"),
        (way("A B", "C B", kind="repair"), "new_replicas"),
        (way("A B", "A B", kind="repair", session=0), "session"),
        (way("A B", "C B", session=0), None),
    ],
)
def test_a_transition_is_stored_with_its_columns(
    begun: TabletTransition, lacking: str | None
) -> None:
    """A repair has the replicas of before, and a session; all others have other replicas."""
    after = state(row("A B", begun))
    found = MODEL.transition_stored(state(row("A B")), CommitDecision(), after)
    assert found == (lacking and f"tablet 0 enters streaming without {lacking}")


@pytest.mark.parametrize(
    ("number", "said"), [(1, ""), (2, ""), (3, "; and 1 more"), (4, "; and 2 more")]
)
def test_of_many_tablets_the_first_are_said(
    number: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them, where a sentence has no room for more."""
    monkeypatch.setattr("kit.protocols.tablets.tablets.MOST_SAID", 2)
    begins = tuple((tablet, way("A B", "C B")) for tablet in range(number))
    one = "migration of tablet {} from A:0 B:0 to C:0 B:0".format
    parts = [one(tablet) for tablet in range(min(number, 2))]
    assert MODEL.said(MODEL.start(), TabletCommand(begins=begins)) == "; ".join(parts) + said


def test_a_command_says_only_what_it_finds() -> None:
    """A stage that leads on, one that leads to the end, and one of a transition that is over."""
    changes = [StageChange(0, 0, stage, "happy") for stage in ("streaming", "end_migration")]
    leads = [MODEL.said(state(row("A B", MOVING)), TabletCommand((each,))) for each in changes]
    assert leads == [
        "tablet 0 goes from streaming to write_both_read_new",
        "tablet 0 goes from end_migration to the end",
    ]
    over = TabletCommand((changes[0],))
    assert MODEL.said(state(row("A B")), over) == "nothing"
    assert MODEL.briefly(state(row("A B")), over) == "nothing"


A, B, C = map(replicas_in, "ABC")
STRAY = TabletRow(A, (), A, A + C)


@pytest.mark.parametrize(
    ("rows", "up", "said"),
    [
        ((row("A"),), "ABC", None),
        ((STRAY,), "ABC", "C:0 has data of tablet 0 but is not a replica"),
        ((STRAY,), "AB", None),  # C clears it away once it is back
        ((row("B A"), STRAY), "ABC", "C:0 has data of tablet 1 but is not a replica"),
        ((row("A B", MOVING), STRAY), "ABC", "C:0 has data of tablet 1 but is not a replica"),
        ((TabletRow(A, (way("A", "C"),), A, A + C),), "ABC", None),
        ((TabletRow(A + B, (), A, A),), "ABC", None),
    ],
)
def test_outside_a_transition_only_replicas_have_data(
    rows: tuple[TabletRow, ...], up: str, said: str | None
) -> None:
    """Of each tablet; who is down has yet to clear up."""
    given = state(*rows)
    mask = sum(1 << MODEL.names.index(name) for name in up)
    given = given.but(control=replace(given.control, up=mask))
    assert MODEL.data_owned(given) == said


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("streaming", None),
        ("write_both_read_new", "C:0 is read but lacks data of tablet 0"),
        ("cleanup_target", None),
    ],
)
def test_who_is_read_has_all_data(stage: str, said: str | None) -> None:
    """The new replica from the stage on in which reads ask it."""
    assert MODEL.replicas_complete(state(row("A B", way("A B", "C B", stage)))) == said


def test_a_node_has_one_replica_of_a_tablet() -> None:
    """Of any tablet, on whichever shards."""
    both = replicas_in("A:0") + replicas_in("A:1")
    assert MODEL.one_per_host(state(row("A B"), row("B A"))) is None
    found = MODEL.one_per_host(state(row("A B"), TabletRow(both, (), both, both)))
    assert found == "tablet 1 has two replicas on one node: A:0, A:1"


def test_stages_of_each_tablet_follow_the_table() -> None:
    """Also of one after another that is at rest."""
    rest, ahead = row("A B"), row("A B", way("A B", "C B", "use_new"))
    found = MODEL.stage_edges(state(rest, row("A B", MOVING)), CommitDecision(), state(rest, ahead))
    assert found == "tablet 1 went from streaming to use_new"


@pytest.mark.parametrize(
    ("transition", "said"),
    [("", None), ("tablet_migration", None), ("write_both_read_old", "write_both_read_old")],
)
def test_no_tablet_advances_in_another_operation(transition: str, said: str | None) -> None:
    """Nor is anything said while all stay as they are, or forget what they did."""
    before, after = (
        state(row("A B", each), transition=transition)
        for each in (MOVING, way("A B", "C B", "write_both_read_new"))
    )
    action = CommitDecision()
    assert MODEL.tablets_hold(before, action, before) is None
    found = MODEL.tablets_hold(before, action, after)
    assert found == (said and f"a tablet advanced in {said}")
    other = state(row("A B", MOVING), transition=transition)
    assert MODEL.tablets_hold(before, action, other.but(tablets=(row("B A", MOVING),))) is None
