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
from kit.protocols.cms.migration import KINDS, NO_LOG, Migration
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


@pytest.mark.parametrize(
    "name", [*CLEAN, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)]
)
def test_no_order_of_steps_breaks_a_promise(name: str) -> None:
    """Whatever goes down at which step: the search is complete."""
    parameters, states, depth = (CLEAN | LARGE)[name]
    assert_holds(check(build("migration", parameters)), states, depth)


@pytest.mark.parametrize("guard", GUARDS)
def test_each_safeguard_is_needed_and_enough(guard: str) -> None:
    """In its smallest configuration a promise breaks without it, and none with it."""
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
def test_each_step_refines_the_log_of_tcm(given: dict[str, Any]) -> None:
    """The first epochs and all that follows."""
    refinement = entry_of("migration").refinement
    assert refinement is not None
    result = check_refinement(refinement(build("migration", given).parameters))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.deep
def test_each_step_refines_the_log_of_tcm_where_nodes_are_lost() -> None:
    """Three nodes and a spare one: a log may be lost, and another one begun."""
    test_each_step_refines_the_log_of_tcm({"deaths": 1, "spares": 1})


def test_a_log_that_died_with_its_only_node_is_begun_again() -> None:
    """B dies as the only member: A begins another log, and each step still refines that of tcm."""
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


def test_without_the_metadata_switch_an_old_and_a_new_node_differ() -> None:
    """A CREATE by gossip on the old node, an ALTER through the log on the new one."""
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
def test_a_node_with_its_switch_set_refuses_every_kind_of_change() -> None:
    """Other nodes do not; a lock in the picture shows the switch."""
    timeline = played("requested=every spares=1", "upgrade A", "freeze A B")
    assert {"schema", "move", "decommission", "bootstrap"} <= {*KINDS}
    for kind in KINDS:
        assert "switch of B is set" in why_not(timeline, Migration.change("B", kind)), kind
        assert why_not(timeline, Migration.change("C", kind)) == "", kind
    stage = Player(timeline).rendered.html(2)
    assert "switch set" in stage


@pytest.mark.spec("B-068")
def test_an_old_node_ignores_messages_on_the_cms_and_its_epochs() -> None:
    """C's state stays as it was when its switch was set."""
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
def test_an_old_node_cannot_join_while_versions_are_mixed() -> None:
    """Neither as a further node nor as a replacement; before that, it can."""
    timeline = played("spares=1 deaths=1", "die C")
    assert why_not(timeline, Migration.bring("X", "old")) == ""
    timeline = played("spares=1 deaths=1", "die C", "upgrade A", "freeze A B")
    for node in ("X", "C"):
        assert "only the new version" in why_not(timeline, Migration.bring(node, "old")), node
        assert why_not(timeline, Migration.bring(node, "new")) == "", node


def test_a_set_switch_keeps_old_nodes_out_after_the_upgraded_node_is_lost() -> None:
    """B lets only the new version bootstrap."""
    timeline = played("spares=1 deaths=1", "upgrade A", "freeze A B", "die A")
    assert "the switch is set: no bootstrap" in why_not(timeline, Migration.bring("X", "old"))
    assert why_not(timeline, Migration.bring("X", "new")) == ""


def test_without_the_switch_old_nodes_join_and_come_back() -> None:
    """While versions are mixed, and after a log has begun without the node."""
    timeline = played("spares=1 crashes=1", "upgrade A", off=("metadata-switch",))
    assert why_not(timeline, Migration.bring("X", "old")) == ""
    go(timeline, "crash C", "upgrade B", "initialize A C", "answer A B", "begin-log A")
    assert why_not(timeline, Migration.restart("C")) == ""


@pytest.mark.spec("B-070")
def test_a_node_upgraded_later_learns_the_members_and_fetches_the_log() -> None:
    """C asks its peers, A answers, and the log comes from a member."""
    timeline = played("", "upgrade A", "freeze A B", "freeze A C", "initialize A", "begin-log A",
                      "upgrade C", "ask-members C")  # fmt: skip
    assert timeline.model.named(timeline.state.nodes[2].knows) == ("A",)
    assert "A → C: CMS A" in {flow.text for flow in flows_of(timeline, 7)}
    go(timeline, "catch-up C")
    assert timeline.state.nodes[2].epoch == 2


def test_only_a_node_with_the_log_says_who_its_members_are() -> None:
    """B has asked A, and has no log yet: while A is down C gets no answer, from B either."""
    timeline = played("crashes=1", "upgrade A", "freeze A B", "freeze A C", "initialize A",
                      "begin-log A", "upgrade B", "upgrade C", "ask-members B")  # fmt: skip
    ask = "ask-members C"
    for line, answered in (("crash A", False), ("restart A", True)):
        go(timeline, line)
        model, state = timeline.model, timeline.state
        assert model.named(state.nodes[1].knows) == ("A",)
        assert model.named(model.members_heard(state, 2)) == ("A",) * answered
        assert (ask in map(model.verb, model.actions(state))) is answered, line


@pytest.mark.spec("B-071")
def test_an_injected_gossip_message_changes_only_nodes_without_the_log() -> None:
    """The panel marks nodes that differ until they got it; a node with the log refuses it."""
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


def test_the_log_begins_only_after_a_mismatch_is_mended() -> None:
    """Before, the refusal names the node that differs."""
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


def test_an_aborted_initialization_changes_no_node() -> None:
    """Another initiator can then begin."""
    timeline = played("edition=server", "upgrade A", "upgrade B", "upgrade C")
    before = timeline.state
    go(timeline, "initialize A", "answer A B", "abort B")
    assert timeline.state == before
    go(timeline, "initialize C", "answer C A", "answer C B", "begin-log C")
    assert timeline.state.nodes[2].log != NO_LOG


@pytest.mark.spec("B-040")
def test_only_the_node_with_the_flag_begins_a_fresh_cluster() -> None:
    """That node is the CMS, and another node finds it."""
    for flag in "ABC":
        timeline = played(f"begins=fresh contact={flag}")
        enabled = timeline.model.actions(timeline.state)
        begins = [each.node for each in enabled if isinstance(each, Migration.initialize)]
        assert begins == [flag]
        go(timeline, f"initialize {flag}", f"begin-log {flag}")
        assert "first member" in timeline.moments[1].say
        [log] = timeline.state.logs
        assert timeline.model.named(log.members_at(log.top)) == (flag,)
        other = "BAA"["ABC".index(flag)]
        go(timeline, f"discover {other} {flag}", f"ask-members {other}", f"catch-up {other}")
        assert timeline.state.nodes["ABC".index(other)].epoch == 2, other


def test_on_the_server_fresh_nodes_take_part_in_a_single_election() -> None:
    """C is in that of B, so A's cannot end; given up, it leaves no node with half of it."""
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
def test_a_fresh_cluster_with_spares_deaths_or_an_unknown_seed_is_refused(given: str) -> None:
    """Such a cluster could not begin fresh."""
    with pytest.raises(BadInput, match=r"^(begins: got 'fresh'|contact: got 'E')"):
        played(given)


def test_after_the_log_was_begun_no_node_aborts_the_migration() -> None:
    """A wrote the log and is down: the abort waits for A."""
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
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert {*REPORTED} == {*judges(build("migration"))}
