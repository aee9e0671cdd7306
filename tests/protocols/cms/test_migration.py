"""From gossip to the log: every order of upgrades, crashes and deaths keeps every promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit import Player
from kit.errors import BadInput, Refusal
from kit.model.flows import flows
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.protocols.cms.migrating_cluster import NO_LOG, MetadataLog, MigratingNode
from kit.protocols.cms.migration import KINDS, Migration
from kit.search.check import check, check_refinement
from tests.protocols.storage.proofs import assert_holds
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

GUARDS = {guard.id: guard for guard in entry_of("migration").safeguards}
SERVER = {"edition": "server"}
FRESH = {"begins": "fresh"}
# parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "documents": ({}, 1785, 14),
    "server": (SERVER, 375, 13),
    "fresh, a flag": (FRESH, 425, 11),
    "fresh, discovery": ({**FRESH, **SERVER}, 413, 11),
    "fresh, a later seed": ({**FRESH, **SERVER, "contact": "C"}, 824, 11),
    "fresh, a crash at any step": ({**FRESH, **SERVER, "contact": "C", "crashes": 1}, 4670, 16),
    "server, a crash at any step": ({**SERVER, "crashes": 1}, 6627, 16),
    "server, a node lost at any step": ({**SERVER, "deaths": 1}, 3534, 17),
}
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "documents, a crash at any step": ({"crashes": 1}, 22_647, 19),
    "documents, two crashes": ({"crashes": 2}, 87_828, 20),
    "documents, a crash and a death": ({"crashes": 1, "deaths": 1}, 124_921, 20),
    "server, a crash and a death": ({**SERVER, "crashes": 1, "deaths": 1}, 35_493, 18),
    "a further node": ({"nodes": 2, "spares": 1, "crashes": 1, "deaths": 1}, 128_442, 19),
}


@pytest.mark.parametrize("name", CLEAN)
def test_no_order_of_steps_breaks_a_promise(name: str) -> None:
    """The search is complete, judged all, and finds no harm, whatever goes down at which step."""
    parameters, states, depth = CLEAN[name]
    assert_holds(check(build("migration", parameters)), states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_no_large_run_breaks_a_promise(name: str) -> None:
    """The same where it takes longer; none has more than a million states."""
    parameters, states, depth = LARGE[name]
    assert states <= 1_000_000
    assert_holds(check(build("migration", parameters)), states, depth)


@pytest.mark.parametrize("guard", GUARDS)
def test_a_safeguard_is_needed_and_enough(guard: str) -> None:
    """Without it the smallest configuration breaks a promise; with it a full search finds none."""
    given = GUARDS[guard]
    violation = check(build("migration", given.smallest, (given.name,))).violation
    assert violation is not None
    whole = check(build("migration", given.smallest))
    assert (whole.complete, whole.violation) == (True, None)


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 2},
        {"nodes": 2, **SERVER, "crashes": 1},
        {"nodes": 2, "deaths": 1, "changes": 2},
        FRESH,
    ],
)
def test_it_refines_the_log_in_one_step(given: dict[str, Any]) -> None:
    """The first epochs and all that follows are entries of the log that tcm runs on."""
    refinement = entry_of("migration").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("migration", given).parameters))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.deep
def test_it_refines_the_log_where_nodes_are_lost() -> None:
    """The same for three nodes and a spare one: a log may be lost, and another one begun."""
    test_it_refines_the_log_in_one_step({"deaths": 1, "spares": 1})


def test_a_log_is_lost_with_the_only_node_that_has_it() -> None:
    """B dies as the only member: nobody knows of its third epoch, and A begins another log."""
    timeline = played("nodes=2 deaths=1 changes=2", "upgrade B", "freeze B A", "initialize B",
                      "begin-log B", "upgrade A", "change B schema")  # fmt: skip
    refinement = entry_of("migration").refinement
    assert refinement is not None
    compared = refinement(timeline.model.parameters)
    assert compared.project(timeline.state).applied == (0, 3)
    for line in ("die B", "initialize A B", "begin-log A", "change A schema"):
        before = timeline.state
        go(timeline, line)
        assert compared.mismatch(before, timeline.moments[-1].action, timeline.state) is None
    assert compared.project(timeline.state).applied == (3, 0)


def test_two_schemas_without_the_switch() -> None:
    """One old node, one new: a CREATE by gossip and an ALTER through the log, and they differ."""
    timeline = played("nodes=2 changes=2", "upgrade A", "initialize A", "begin-log A",
                      "change B schema", "change A schema", off=("metadata-switch",))  # fmt: skip
    a, b = timeline.state.nodes
    assert (a.facts, b.facts) == (0b10, 0b01)


def played(given: str, *lines: str, off: tuple[str, ...] = ()) -> Timeline:
    """A timeline after these lines; parameters as ``nodes=2 edition=server``."""
    values = dict(each.split("=") for each in given.split())
    parameters = {k: int(v) if v.isdigit() else v for k, v in values.items()}
    return go(Timeline(build("migration", parameters, off)), *lines)


def go(timeline: Timeline, *lines: str) -> Timeline:
    """The timeline, these steps further."""
    for line in lines:
        model = timeline.model
        enabled = {model.verb(each): each for each in model.actions(timeline.state)}
        timeline.do(enabled[line])
    return timeline


def why_not(timeline: Timeline, action: Any) -> str:
    """Why an action may not happen now; empty where it may."""
    refusal = timeline.model.why_not(timeline.state, action)
    return refusal.reason if isinstance(refusal, Refusal) else ""


@pytest.mark.spec("B-067")
def test_a_switch_on_each_node_stops_every_change() -> None:
    """Schema, move, decommission, bootstrap: refused where it is set, on that node alone; a lock
    shows it.
    """
    timeline = played("requested=every spares=1", "upgrade A", "freeze A B")
    assert {"schema", "move", "decommission", "bootstrap"} <= {*KINDS}
    for kind in KINDS:
        assert "switch of B is set" in why_not(timeline, Migration.change("B", kind))
        assert why_not(timeline, Migration.change("C", kind)) == ""
    stage = Player(timeline).rendered.html(2)
    assert "switch set" in stage


@pytest.mark.spec("B-068")
def test_an_upgraded_node_has_old_ones_set_it_and_they_ignore_the_rest() -> None:
    """Once A is upgraded it asks B and C, and nobody asks before. Asked for the CMS, or told of an
    epoch, an old node does nothing, and its state stays as it is.
    """
    timeline = played("", "upgrade A", "freeze A B", "freeze A C", "initialize A", "begin-log A",
                      "upgrade B", "ask-members B", "catch-up B", "grow B")  # fmt: skip
    said = {flow.text for flow in flows_of(timeline, 7)}
    assert "B → C: CMS?: ignored" in said
    assert "B → C: epoch 3: ignored" in {flow.text for flow in flows_of(timeline, 9)}
    before, after = (timeline.moments[at].state.nodes[2] for at in (3, 9))
    assert before == after


def flows_of(timeline: Timeline, at: int) -> tuple[Any, ...]:
    """What travelled in the step to a moment."""
    before, now = timeline.moments[at - 1], timeline.moments[at]
    return flows(timeline.model, before.state, now.action, now.state)


@pytest.mark.spec("B-069")
def test_only_the_new_version_comes_in_while_versions_are_mixed() -> None:
    """A further node, and the one that replaces a dead old one: new, or refused. Before that an
    old node may still join.
    """
    timeline = played("spares=1 deaths=1", "die C")
    assert why_not(timeline, Migration.bring("X", "old")) == ""
    timeline = played("spares=1 deaths=1", "die C", "upgrade A", "freeze A B")
    for node in ("X", "C"):
        assert "only the new version" in why_not(timeline, Migration.bring(node, "old"))
        assert why_not(timeline, Migration.bring(node, "new")) == ""


def test_a_switch_that_is_set_keeps_old_nodes_out_even_where_none_is_new() -> None:
    """A had B set it and is lost: B lets nobody bootstrap, until it runs the new version."""
    timeline = played("spares=1 deaths=1", "upgrade A", "freeze A B", "die A")
    assert "the switch is set: no bootstrap" in why_not(timeline, Migration.bring("X", "old"))
    assert why_not(timeline, Migration.bring("X", "new")) == ""


def test_without_the_switch_old_nodes_come_in_and_come_back() -> None:
    """Where versions are mixed, and where a log has begun without the node."""
    timeline = played("spares=1 crashes=1", "upgrade A", off=("metadata-switch",))
    assert why_not(timeline, Migration.bring("X", "old")) == ""
    go(timeline, "crash C", "upgrade B", "initialize A C", "answer A B", "begin-log A")
    assert why_not(timeline, Migration.restart("C")) == ""


@pytest.mark.spec("B-070")
def test_a_node_that_is_upgraded_later_learns_the_members() -> None:
    """It asks its peers, an upgraded one answers, and it gets the log from a member."""
    timeline = played("", "upgrade A", "freeze A B", "freeze A C", "initialize A", "begin-log A",
                      "upgrade C", "ask-members C")  # fmt: skip
    assert timeline.model.named(timeline.state.nodes[2].knows) == ("A",)
    assert "A → C: CMS A" in {flow.text for flow in flows_of(timeline, 7)}
    go(timeline, "catch-up C")
    assert timeline.state.nodes[2].epoch == 2


def test_only_who_runs_by_the_log_says_who_its_members_are() -> None:
    """B has asked A, and has no log yet: while A is down C gets no answer, from B either."""
    timeline = played("crashes=1", "upgrade A", "freeze A B", "freeze A C", "initialize A",
                      "begin-log A", "upgrade B", "upgrade C", "ask-members B")  # fmt: skip
    ask = "ask-members C"
    for line, answered in (("crash A", False), ("restart A", True)):
        go(timeline, line)
        model, state = timeline.model, timeline.state
        assert model.named(state.nodes[1].knows) == ("A",)
        assert model.named(model.members_heard(state, 2)) == ("A",) * answered
        assert (ask in map(model.verb, model.actions(state))) is answered


@pytest.mark.spec("B-071")
def test_the_operator_looks_at_gossip_and_injects_it() -> None:
    """The inspector shows who differs; an injected message gives an old node the change, and does
    nothing to one that runs by the log.
    """
    timeline = played("nodes=3", "change C schema", "upgrade C", "freeze C A", "freeze C B")
    text = Player(timeline).text()
    assert "C  new  –  no log yet  1 ≠" in text
    go(timeline, "inject C A", "inject C B")
    assert "differs" not in Player(timeline).text()
    go(timeline, "initialize C", "begin-log C")
    assert not [
        each
        for each in timeline.model.actions(timeline.state)
        if isinstance(each, Migration.inject)
    ]
    off = played("nodes=2", "upgrade A", "initialize A", "begin-log A", "change B schema",
                 off=("metadata-switch",))  # fmt: skip
    assert "follows the log" in why_not(off, Migration.inject("B", "A"))


def test_a_mismatch_is_found_named_and_mended() -> None:
    """The log does not begin; the node is named; after it is mended by hand, it does."""
    lines = ("upgrade A", "change C schema", "upgrade B", "upgrade C", "initialize A",
             "answer A B", "answer A C")  # fmt: skip
    timeline = played("edition=server", *lines)
    refusal = timeline.model.why_not(timeline.state, Migration.begin_log("A"))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.missing) == ("mismatching cluster metadata", ("C",))
    go(timeline, "abort A", "inject C A", "inject C B", "initialize A", "answer A B",
                    "answer A C", "begin-log A")  # fmt: skip
    assert timeline.state.logs[0].base == 1
    assert timeline.moments[-1].milestone == "the point of no return"


def test_an_aborted_initialization_leaves_nobody_with_half_of_it() -> None:
    """All nodes are as before, and it can be done again, by another initiator, too."""
    timeline = played("edition=server", "upgrade A", "upgrade B", "upgrade C")
    before = timeline.state
    go(timeline, "initialize A", "answer A B", "abort B")
    assert timeline.state == before
    go(timeline, "initialize C", "answer C A", "answer C B", "begin-log C")
    assert timeline.state.nodes[2].log != NO_LOG


@pytest.mark.spec("B-040")
def test_a_flag_begins_a_fresh_cluster_alone() -> None:
    """Nobody else can begin, nobody is asked, and one node is the CMS that all others find."""
    for flag in "ABC":
        timeline = played(f"begins=fresh contact={flag}")
        enabled = timeline.model.actions(timeline.state)
        assert [each.node for each in enabled if isinstance(each, Migration.initialize)] == [flag]
        go(timeline, f"initialize {flag}", f"begin-log {flag}")
        assert "first member" in timeline.moments[1].say
        [log] = timeline.state.logs
        assert timeline.model.named(log.members_at(log.top)) == (flag,)
        other = "BAA"["ABC".index(flag)]
        go(timeline, f"discover {other} {flag}", f"ask-members {other}", f"catch-up {other}")
        assert timeline.state.nodes["ABC".index(other)].epoch == 2


def test_on_the_server_fresh_nodes_elect_the_first_member() -> None:
    """Whoever knows a lower name, or nobody, does not begin; all that one has found take part in
    one election; what is given up leaves nobody with half of it.
    """
    timeline = played("begins=fresh edition=server contact=C")
    begins = [
        each
        for each in timeline.model.actions(timeline.state)
        if isinstance(each, Migration.initialize)
    ]
    assert [each.node for each in begins] == ["C"]
    go(timeline, "discover B C", "initialize B", "discover A C", "answer B C", "initialize A")
    assert "C takes part in the election of B" in why_not(timeline, Migration.answer("A", "C"))
    held = timeline.model.why_not(timeline.state, Migration.begin_log("A"))
    assert isinstance(held, Refusal)
    assert held.missing == ("B", "C")
    before = timeline.state.nodes
    go(timeline, "abort A")
    assert timeline.state.nodes[1:] == before[1:]
    assert timeline.state.nodes[0].initiator is None
    go(timeline, "begin-log B", "ask-members A", "catch-up A")
    assert [node.epoch for node in timeline.state.nodes] == [2, 2, 0]
    panel = Player(timeline).text()
    assert "asked by B" in panel


@pytest.mark.parametrize("given", ["begins=fresh spares=1", "begins=fresh deaths=1", "contact=E"])
def test_what_is_no_fresh_cluster_is_refused(given: str) -> None:
    """Nobody is added to it or lost by it, and the first one is a node."""
    with pytest.raises(BadInput):
        played(given)


def test_past_the_point_of_no_return_nothing_is_aborted() -> None:
    """A writes the log and goes down: nobody else knows, and the abort waits for A."""
    timeline = played("edition=server crashes=1", "upgrade A", "upgrade B", "upgrade C",
                      "initialize A", "answer A B", "answer A C", "begin-log A",
                      "crash A")  # fmt: skip
    assert "might have begun the log" in why_not(timeline, Migration.abort("B"))
    assert "takes part in the migration of A" in why_not(timeline, Migration.initialize("B", "A"))
    go(timeline, "restart A", "catch-up B", "catch-up C", "grow B")
    assert {node.epoch for node in timeline.state.nodes} == {2, 3}


def without(guard: str) -> Callable[[], Any]:
    """The smallest configuration without a safeguard."""
    given = GUARDS[guard]
    return lambda: build("migration", given.smallest, (given.name,))


def told_by_gossip(s: Any, action: Any) -> Any:
    """Gossip that a node with a log takes over."""
    return s.but(nodes=tuple(n.but(facts=n.facts | 1 << 5) for n in s.nodes))


def thrown_back(s: Any, action: Any) -> Any:
    """A node that forgets its log as it learns of another entry."""
    return s.but(nodes=tuple(n.but(log=NO_LOG, epoch=0) for n in s.nodes))


def of_two(**given: Any) -> Any:
    """Two nodes."""
    return build("migration", {"nodes": 2, **given})


REPORTED: dict[str, Callable[[], Any]] = {
    "one-log": without("S-72"),
    "one-metadata": without("S-19"),
    "nothing-lost": without("S-71"),
    "deaf-to-gossip": lambda: broken(
        build("migration", {"nodes": 2}, ("metadata-switch",)),
        Migration.inject.struct,
        doing(told_by_gossip),
    ),
    "no-return": lambda: broken(of_two(), Migration.catch_up.struct, doing(thrown_back)),
    "migrated": lambda: broken(of_two(), Migration.grow.struct, never),
    "mixed-log": lambda: broken(of_two(), Migration.begin_log.struct, never),
    "found-unlike": lambda: broken(of_two(), Migration.change.struct, never),
    "ends": lambda: broken(of_two(), Migration.begin_log.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert {*REPORTED} == {*judges(build("migration"))}


OLD, NEW = MigratingNode(facts=0b1), MigratingNode(is_new=True, facts=0b1)
OF_A, OF_B = MetadataLog(0, 0b1, 0), MetadataLog(1, 0b10, 0b1, (("member", 2),))
"""A log of A, and one of B that holds another change, and C as a member from epoch 3 on."""
BY_A, BY_B = NEW.but(log=1, epoch=2, knows=0b1), NEW.but(log=2, epoch=3, facts=0b10, knows=0b110)
