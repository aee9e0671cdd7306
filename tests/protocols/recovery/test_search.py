"""Every reachable state of a recovery: all holds; without a safeguard it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.panels.recovery import standing
from kit.protocols.recovery.recovering_cluster import ENDS, next_of_operation
from kit.protocols.recovery.recovery import CleanRows, Recovery, Remove, Restart, Write
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.views.diagrams import draw_diagram
from kit.views.panel import scene_of
from tests.protocols.recovery.drill.walks import DELETE, ISOLATE, READ, lead, walked
from tests.protocols.recovery.runs import SEED_STEPS, after, played
from tests.protocols.storage.proofs import assert_holds
from tests.quality.breaking import broken, changing, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges
from tests.views.frames import classed, panel_text

GUARDS = {guard.name: guard for guard in Recovery.safeguards}


FIVE = {"commit_indexes": (1, 2, 2, 2, 2), "dead": "C D E"}


# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "latest-index": ({**GUARDS["latest-index"].smallest}, 276, 12),
    "causality": ({**GUARDS["causality"].smallest}, 48, 8),
    "leader-first": ({**GUARDS["leader-first"].smallest}, 128, 11),
    "isolation": ({**GUARDS["isolation"].smallest}, 4391, 17),
    "seed, all but crashes": ({**FIVE, "operation": True, "returns": 1, "writes": 1}, 1699, 15),
    "code, a crash": ({**FIVE, "edition": "server", "crashes": 1}, 1356, 18),
    "code, a death": (
        {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D", "deaths": 1,
         "changes": 1},
        3020, 21,
    ),
}  # fmt: skip


LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "code, a crash, a death and more": (
        {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D", "operation": True,
         "crashes": 1, "deaths": 1, "returns": 1, "changes": 1, "writes": 1},
        294_991, 26,
    ),
    "code, five nodes": (
        {**FIVE, "edition": "server", "operation": True, "crashes": 1, "returns": 2, "changes": 1,
         "writes": 1},
        90_012, 23,
    ),
    "seed, three live nodes, a death": (
        {"commit_indexes": (1, 2, 2, 3, 3, 3), "dead": "D E F", "deaths": 1, "changes": 1,
         "writes": 1},
        316_870, 22,
    ),
}  # fmt: skip


# name: the property that breaks first, and in how many steps
BROKEN = {
    "latest-index": ("causal", 7),
    "causality": ("causal", 5),
    "leader-first": ("one-group", 6),
    "isolation": ("one-group", 5),
}


@pytest.mark.parametrize(
    "name", [*CLEAN, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)]
)
def test_no_run_breaks_a_promise(name: str) -> None:
    """No order of steps and faults breaks a promise: the search is complete."""
    parameters, states, depth = (CLEAN | LARGE)[name]
    assert_holds(check(build("recovery", parameters)), states, depth)


@pytest.mark.parametrize("name", GUARDS)
def test_a_promise_breaks_without_each_safeguard(name: str) -> None:
    """In a shortest run of the length in BROKEN."""
    violation = check(build("recovery", GUARDS[name].smallest, (name,))).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == BROKEN[name]


@pytest.mark.parametrize(
    ("name", "invariant"),
    [(name, invariant) for name, guard in GUARDS.items() for invariant in guard.protects],
)
def test_each_invariant_breaks_without_its_safeguard(name: str, invariant: str) -> None:
    """Judged alone."""
    model = build("recovery", GUARDS[name].smallest, (name,))
    all_of_them = (*model.properties, *model.signs)
    judges = tuple(prop for prop in all_of_them if prop.invariant == invariant)
    assert judges
    violation = check(model, judges).violation
    assert violation is not None
    assert violation.property in [judge.name for judge in judges]


@pytest.mark.parametrize("name", GUARDS)
def test_each_smallest_configuration_is_searched_with_its_safeguard_on(name: str) -> None:
    """CLEAN has that configuration, in which no promise breaks."""
    assert CLEAN[name][0] == GUARDS[name].smallest


def test_leader_first_is_redundant_in_edition_server() -> None:
    """Without S-49 nothing breaks: others wait for the node that their option names."""
    given = {**GUARDS["leader-first"].smallest, "edition": "server"}
    model = build("recovery", given, ("leader-first",))
    result = check(model, (*model.properties, *model.signs))
    assert result.complete, result
    assert result.violation is None, result


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"crashes": 1},
        {"crashes": 3},
        {"commit_indexes": (1, 1), "dead": "B", "crashes": 1},
        {**FIVE, "crashes": 2, "operation": True},
    ],
    ids=str,
)
def test_a_recovery_can_end_after_a_crash_at_any_step(edition: Edition, given: Any) -> None:
    """No promise breaks, in either edition."""
    result = check(build("recovery", {"edition": edition, **given}))
    assert (result.verdict, result.violation) == ("complete", None)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("given", [{}, {"commit_indexes": (1, 1), "dead": "B"}], ids=str)
def test_nodes_behind_the_firewall_do_no_harm_together(edition: Edition, given: Any) -> None:
    """A leader dies and returns beside a node of the old group."""
    budgets = {"deaths": 1, "returns": 2, "changes": 1}
    result = check(build("recovery", {"edition": edition, **budgets, **given}))
    assert (result.verdict, result.violation) == ("complete", None)


def test_a_lagging_node_back_without_a_majority_breaks_no_promise() -> None:
    """A was down when column 3 was added, and stays at index 2."""
    given = {
        "commit_indexes": (2, 2, 1, 1), "dead": "B D", "crashes": 2, "deaths": 1, "changes": 1,
    }  # fmt: skip
    steps = "delete A, delete C, choose A, set A, set C, restart A, restart C, replace B, replace D"
    late = "crash A, alter B, crash B, die C, restart A"
    model, state = played(given, *steps.split(", "), *late.split(", "))
    assert [state.nodes[at].index for at in (0, 1)] == [2, 3]
    assert all(each.check(state) is None for each in model.properties if each.kind == "always")


def test_a_replacement_left_alone_recovers_its_group() -> None:
    """A dies after B was replaced: every order of steps can still end."""
    given = {
        "edition": "server", "commit_indexes": (3, 0), "dead": "B", "majority_lives": True,
        "deaths": 1,
    }  # fmt: skip
    result = check(build("recovery", given))
    assert (result.verdict, result.violation) == ("complete", None)


def without(name: str) -> Any:
    """The smallest configuration without a safeguard."""
    return build("recovery", GUARDS[name].smallest, (name,))


def keeping_its_schema() -> Any:
    """A node that joins keeps the schema that it has."""
    model: Any = build("recovery", GUARDS["latest-index"].smallest)

    def keeping(s: Any, action: Any, after: Any) -> Any:
        number = model.number(action.node)
        return after.at(number, columns=s.nodes[number].columns)

    return broken(model, Restart, changing(keeping))


def storing_early() -> Any:
    """Data are stored whatever is persisted, though the rule says otherwise."""
    return broken(build("recovery", GUARDS["causality"].smallest), Write, unguarded)


REPORTED: dict[str, Callable[[], Any]] = {
    "causal": lambda: without("latest-index"),
    "one-group": lambda: without("leader-first"),
    "one-schema": keeping_its_schema,
    "linearizable": lambda: without("isolation"),
    "majority": lambda: broken(build("recovery", {"changes": 1}), Recovery.alter.struct, unguarded),
    "cleaned-last": lambda: broken(build("recovery"), CleanRows, unguarded),
    "persist-in-order": storing_early,
    "taken-out": lambda: broken(build("recovery"), Remove, unguarded),
    "recovered": lambda: broken(build("recovery"), CleanRows, doing(lambda s, action: s)),
    "ends": lambda: broken(build("recovery"), Restart, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("recovery")))


def test_without_causality_data_stored_too_early_are_a_sign_and_no_violation() -> None:
    """A search judges the sign only if asked."""
    model = without("causality")
    assert [sign.name for sign in model.signs] == ["persist-in-order"]


EVEN: dict[str, Any] = {"commit_indexes": (2, 2, 2, 2, 2), "dead": "C D E"}


SERVER_STEPS = ("isolate", "read", "choose B", "delete A", "delete B", "set A", "set B")


STEPS = {"documents": SEED_STEPS, "server": SERVER_STEPS}


BACK = "rollback_to_normal"


DEAD, ALIVE, ALL = 0b11100, 0b00011, 0b11111


OLD_READS, NEW_READS = "write_both_read_old", "write_both_read_new"


def lit(timeline: Timeline) -> tuple[list[str | None], int]:
    """The keys of the states that are lit, and how many ways back were taken."""
    place = standing(scene_of(timeline, timeline.at))
    assert place is not None
    drawn = draw_diagram(place, "")
    taken = {one.key for one in classed(drawn, "taken")}
    back = sum(one.key in taken for one in classed(drawn, "back"))
    return [one.key for one in classed(drawn, "lit")], back


@pytest.mark.spec("G-031")
def test_the_recovery_leader_rolls_a_blocked_operation_back_by_itself() -> None:
    """The dead answer no barrier, so the way back is lit; it ends once A has joined."""
    drill = walked("documents", *ISOLATE, *READ, *DELETE, *lead())
    assert lit(drill.timeline) == ([f"state:{OLD_READS}"], 0)
    drill.enter("restart B")
    assert lit(drill.timeline) == ([f"state:{BACK}"], 1)
    assert "got no answer from" in drill.transcript[-1].said[-1]
    drill.enter("restart A")
    assert lit(drill.timeline) == (["state:normal"], 1)
    way = f"● → tablet_draining → {OLD_READS} → {BACK} → tablet_migration → normal"
    assert way in panel_text(drill.timeline, "operation")
    assert "its request has failed" in drill.transcript[-1].said[-1]


NEXT: tuple[tuple[Edition, str, int, str | None, str], ...] = (
    # edition; where it stood; who answers; where it leads (None: it waits); what fails
    ("documents", "tablet_draining", ALIVE, OLD_READS, ""),
    ("documents", OLD_READS, ALIVE, BACK, "barrier"),
    ("documents", OLD_READS, ALL & ~DEAD & ~1, BACK, "barrier"),
    ("documents", OLD_READS, ALL & ~0b100, BACK, "barrier"),
    ("documents", OLD_READS, ALL, NEW_READS, ""),
    ("documents", NEW_READS, ALIVE, "left_token_ring", ""),
    ("documents", NEW_READS, 0b00010, None, "barrier"),
    ("documents", "left_token_ring", ALIVE, "left", ""),
    ("documents", BACK, ALIVE, "tablet_migration", ""),
    ("documents", BACK, 0b00010, None, "barrier"),
    ("documents", "tablet_migration", ALIVE, "normal", ""),
    ("server", OLD_READS, ALIVE, BACK, "barrier"),
    ("server", NEW_READS, ALIVE, "left_token_ring", ""),
    ("server", NEW_READS, 0b00010, "left_token_ring", ""),
    ("server", "left_token_ring", ALIVE, "left", ""),
    ("server", BACK, 0b00010, "normal", ""),
)


@pytest.mark.spec("G-031")
@pytest.mark.parametrize(("edition", "state", "alive", "leads", "fails"), NEXT)
def test_each_step_of_the_interrupted_operation_is_an_edge_of_its_machine(
    edition: Edition, state: str, alive: int, leads: str | None, fails: str
) -> None:
    """Each row: state, who is alive, where it leads (or whom it waits for), and what failed."""
    done = next_of_operation(state, 2, ALL, DEAD, alive, edition)
    assert done.failed == fails
    assert ENDS.get(done.after, done.after) == (leads or state)
    if leads is None:
        assert done.missing == 1
        return
    edges = MACHINES[edition]["decommissioning"].edges
    assert (state, leads) in [(each.source, each.becomes or each.target) for each in edges]


@pytest.mark.spec("G-031")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_leave_past_the_read_switch_succeeds_in_a_recovery(edition: str) -> None:
    """No way back: C has left, needs no removal, and other dead nodes may be removed."""
    given = {**EVEN, "edition": edition, "operation": True, "past_barriers": True}
    verbs = (*STEPS[edition], "restart B", "restart A", "coordinate")
    timeline = after(given, *verbs)
    assert lit(timeline) == (["state:left_token_ring"], 0)
    timeline = after(given, *verbs, "coordinate")
    assert lit(timeline) == (["state:left"], 0)
    assert timeline.moments[timeline.at].say.endswith("C has left the cluster.")
    assert timeline.model.find(timeline.state, "removenode C") is None
    timeline = after(given, *verbs, "coordinate", "removenode D", "removenode E")
    assert timeline.state.dead == 0


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_every_run_ends_the_interrupted_operation_the_same_way(edition: str, past: bool) -> None:
    """With a crash and a return: rolled back before the read switch, done after it."""
    given = {"commit_indexes": (1, 1, 1), "dead": "B C", "crashes": 1, "returns": 1}
    model: Any = build(
        "recovery", {**given, "edition": edition, "operation": True, "past_barriers": past}
    )
    reached = found = {model.start()}
    while found:
        found = {model.apply(s, a) for s in found for a in model.actions(s)} - reached
        reached |= found
    on = {NEW_READS, "left_token_ring", "done"}
    back = {OLD_READS, BACK, "rolled back"}
    if edition == "documents":
        back |= {"tablet_migration"}
    assert {s.operation for s in reached} == (on if past else back)
