"""Every reachable state of the old procedure, and the harm of a step that is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from kit.model.registry import build
from kit.model.scenario import begun
from kit.protocols.recovery import orders
from kit.protocols.recovery.orders import (
    ANY_ORDER,
    DOCUMENTED,
    STEPS,
    USUAL,
    actions_of,
    order_harm,
)
from kit.protocols.recovery.recovery_mode import Alter, Enter, Finish, Mistype, RecoveryMode, Remove
from kit.protocols.recovery.rules.procedure import OLD_STEPS
from kit.search.check import check
from tests.protocols.recovery.recovery_mode.runs import (
    ENTER,
    LEAVE,
    REMOVE,
    TRUNCATE,
    UPGRADE,
    after,
)
from tests.protocols.storage.proofs import assert_holds
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

THREE: dict[str, Any] = {"commit_indexes": (1, 1, 1), "dead": "B C"}


# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "one lives": (THREE, 3120, 23),
    "one lives, a crash": ({**THREE, "crashes": 1}, 6240, 23),
}


@pytest.mark.parametrize("name", CLEAN)
def test_with_one_live_node_any_order_can_be_mended(name: str) -> None:
    """Whatever the operator does, nothing breaks, and the cluster can become whole."""
    parameters, states, depth = CLEAN[name]
    assert_holds(check(build("recovery_mode", parameters, ANY_ORDER)), states, depth)


# name: parameters, states up to symmetry, steps of the longest of the shortest runs
IN_ANY_ORDER: dict[str, tuple[dict[str, Any], int, int]] = {
    "two of three live, a stuck upgrade": (
        {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True}, 302_784, 42,
    ),
    "two of four live": ({"commit_indexes": (1, 1, 1, 1), "dead": "C D"}, 386_368, 43),
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_with_two_live_nodes_any_order_can_be_mended(name: str) -> None:
    """The same with two: the operator may do any step at any time, on either node."""
    parameters, states, depth = IN_ANY_ORDER[name]
    result = check(build("recovery_mode", parameters, ANY_ORDER), symmetry=True)
    assert (result.verdict, result.states, result.depth) == ("up to symmetry", states, depth)
    assert result.unreached == ()


def test_numbers_of_groups_are_names() -> None:
    """Joined or not, one live node has as many states: it never has two new groups."""
    result = check(build("recovery_mode", {**THREE, "crashes": 1}, ANY_ORDER), symmetry=True)
    assert (result.verdict, result.states) == ("up to symmetry", 6240)


def begun_with(*verbs: str, **more: Any) -> Any:
    """The model at the end of a run."""
    return begun(after({"commit_indexes": (1, 2, 2, 2), "dead": "C D", **more}, *verbs)).model


def keeping_the_history() -> Any:
    """Both are upgraded; nobody truncated the history, and a client changes the schema twice."""
    kept = [verb for verb in TRUNCATE if not verb.startswith("history")]
    return begun_with(*ENTER, *REMOVE, *kept, *LEAVE, *UPGRADE, changes=2)


def creating_a_group_each() -> Any:
    """Nobody asks another node for its group."""
    model = begun_with(*ENTER, *REMOVE, *TRUNCATE, *LEAVE)

    def creating(s: Any, action: Any) -> Any:
        node = model.number(action.node)
        return s.at(node, discovery=s.peers).created(node)

    return broken(broken(model, Enter, unguarded), Enter, doing(creating))


REPORTED: dict[str, Callable[[], Any]] = {
    "one-group": creating_a_group_each,
    "one-schema": keeping_the_history,
    "linearizable": keeping_the_history,
    "majority": lambda: broken(
        build("recovery_mode", {**THREE, "changes": 1}, ANY_ORDER),
        RecoveryMode.alter.struct,
        unguarded,
    ),
    "taken-out": lambda: broken(build("recovery_mode", THREE, ANY_ORDER), Remove, unguarded),
    "whole": lambda: broken(build("recovery_mode", THREE, ANY_ORDER), Finish, never),
    "ends": lambda: broken(build("recovery_mode", THREE, ANY_ORDER), Enter, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("recovery_mode")))


IN_ORDER: dict[str, dict[str, Any]] = {
    "one lives": THREE,
    "two of four live": {},
    "level": {"commit_indexes": (1, 1, 1, 1), "dead": "C D"},
    "a stuck upgrade": {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True},
}


BUDGETS = ("crashes", "deaths", "returns", "changes", "mistypes")


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("name", IN_ORDER)
@pytest.mark.parametrize("many", [1, 2])
def test_the_procedure_in_its_order_does_no_harm(name: str, edition: str, many: int) -> None:
    """Whatever happens beside it, once or twice: nothing breaks, and the cluster becomes whole."""
    for budget in BUDGETS:
        given = {**IN_ORDER[name], "edition": edition, budget: many}
        if edition == "server" and name == "two of four live":
            given |= {"dead": "B C D"}  # of four nodes three vote
        result = check(build("recovery_mode", given))
        assert (result.verdict, result.violation, result.unjudged) == ("complete", None, ()), given


@pytest.mark.deep
@pytest.mark.parametrize("name", IN_ORDER)
def test_all_that_may_happen_together_does_no_harm(name: str) -> None:
    """One crash, death, return, change and mistyped value in one run."""
    result = check(build("recovery_mode", {**IN_ORDER[name], **dict.fromkeys(BUDGETS, 1)}))
    assert (result.verdict, result.violation, result.unjudged) == ("complete", None, ())


MISTYPED: dict[str, dict[str, Any]] = {
    "two live, one of them votes": {"edition": "server", "changes": 2},
    "three of six live": {"commit_indexes": (1,) * 6, "dead": "D E F", "changes": 1},
}


@pytest.mark.parametrize("name", MISTYPED)
def test_a_change_in_recovery_mode_beside_a_working_group_is_a_known_cost(name: str) -> None:
    """The procedure is begun again after a mistyped value, beside a group that works. Members do
    not get what is added in RECOVERY mode; nothing else breaks, and the cluster becomes whole.
    """
    result = check(build("recovery_mode", {**MISTYPED[name], "mistypes": 1}))
    assert (result.verdict, result.violation, result.unjudged) == ("known cost", None, ())
    [met] = result.costs
    assert met.property == "one-schema"
    taken = [type(action) for action in met.actions]
    assert taken.index(Mistype) < taken.index(Alter)


@pytest.mark.parametrize("name", MISTYPED)
def test_without_a_mistyped_value_the_same_changes_do_no_harm(name: str) -> None:
    """Where nobody mistypes a value, no node is in RECOVERY mode beside a group that works."""
    result = check(build("recovery_mode", MISTYPED[name]))
    assert (result.verdict, result.violation, result.costs) == ("complete", None, ())


def test_who_comes_back_before_anything_was_done_needs_no_recovery() -> None:
    """Else the old group has its majority, and what it adds is lost when A and C are removed."""
    given = {"commit_indexes": (2, 1, 3), "dead": "A C", "returns": 2, "crashes": 1, "changes": 1}
    result = check(build("recovery_mode", given))
    assert (result.verdict, result.violation) == ("complete", None)


@pytest.mark.spec("G-022")
def test_without_isolation_the_dead_come_back_into_the_recovery() -> None:
    """Followed in order, but with no firewall: B and C are the old group's majority and return."""
    guard = next(each for each in RecoveryMode.safeguards if each.name == "isolation")
    model = build("recovery_mode", guard.smallest, ("isolation",))
    violation = check(model).violation
    assert violation is not None
    assert violation.property == "linearizable"
    assert check(build("recovery_mode", guard.smallest)).verdict == "complete"


@pytest.mark.spec("G-023")
def test_out_of_order_the_old_group_comes_back_half_recovered() -> None:
    """A's history is cleared first of all; then C returns, and A skips what it has to apply."""
    guard = next(each for each in RecoveryMode.safeguards if each.name == "order")
    model = build("recovery_mode", guard.smallest, ("order",))
    violation = check(model).violation
    assert violation is not None
    assert [model.verb(each) for each in violation.actions] == ["history A", "return C"]
    assert check(build("recovery_mode", guard.smallest)).verdict == "complete"


LEFT_OUT = {
    "isolate": ("ends", ""),
    "enter": ("ends", "logs waits: some nodes are not in RECOVERY mode (A, B)"),
    "restart": ("refused", ""),
    "check mode": ("", ""),
    "remove": ("ends", "the upgrade waits until every peer answers (C, D)"),
    "truncate discovery": ("ends", "discovery waits for all nodes that it knows about (C, D)"),
    "truncate history": ("one-schema", ""),
    "delete group id": ("ends", "some members of the node's group 0 do not answer (C, D)"),
    "compare": ("", ""),
    "leave": ("ends", "A runs in RECOVERY mode"),
    "restart again": ("ends", "A runs in RECOVERY mode"),
}


"""What a search finds where a step is left out: what breaks, and for what the rest waits."""


def without(step: str) -> tuple[str, ...]:
    """The documented order without a step."""
    return tuple(each for each in DOCUMENTED if each != step)


def swapped(first: str, second: str) -> tuple[str, ...]:
    """The documented order with two steps in each other's place."""
    places = {first: second, second: first}
    return tuple(places.get(step, step) for step in DOCUMENTED)


def test_the_documented_order_does_no_harm() -> None:
    """Every run of it can end with a whole cluster; nothing is wrong in it."""
    harm = order_harm(DOCUMENTED)
    assert (harm.wrong, harm.missing, harm.sentence) == (None, "", "no harm")


@pytest.mark.parametrize("step", DOCUMENTED)
def test_a_step_that_is_left_out(step: str) -> None:
    """The harm is named at the step, with the shortest run to it, and what waits."""
    harm = order_harm(without(step))
    breaks, waits = LEFT_OUT[step]
    assert (harm.missing, harm.breaks) == (step, breaks)
    assert waits in harm.waits
    assert (harm.states == 0) == (breaks == "refused")  # which needs no search
    if breaks not in ("", "refused"):
        assert harm.states > 1
        assert all(verb in verbs_of() for verb in harm.run)


def verbs_of() -> set[str]:
    """All that can be done in the model, by its words."""
    words = "isolate logs describecluster return set stop start removenode discovery history id"
    words += " unset pull enter synchronize finish alter"
    names = ("", " A", " B", " C", " D", " A B", " B A")
    return {f"{word}{name}" for word in words.split() for name in names}


def test_two_steps_of_which_no_text_speaks() -> None:
    """The history is truncated while the old group may still come back, and the dead are cut off
    after that: a search finds that C returns, and the members' schemas part.
    """
    harm = order_harm(swapped("isolate", "truncate history"))
    assert (harm.wrong, harm.missing, harm.breaks) == (0, "isolate", "one-schema")
    assert harm.run == ("return C",)
    assert harm.witness == "A and B run in the old group with different schemas"


def test_a_swap_that_changes_nothing() -> None:
    """The three tables may be emptied in any order, before or after the dead are removed."""
    for first, second in combinations(DOCUMENTED[4:8], 2):
        assert order_harm(swapped(first, second)).breaks == ""


def test_the_run_of_a_harm_breaks_the_promise() -> None:
    """Played in the model itself, behind the steps before it, the run leads to what it names."""
    harm = order_harm(without("truncate history"))
    assert harm.run[-1].startswith("alter")
    m = RecoveryMode(USUAL, ANY_ORDER)
    state = m.start()
    entered = "isolate,set A,set B,stop A,start A,pull A B,stop B,start B,logs"
    emptied = "removenode C,removenode D,discovery A,discovery B,id A,id B"
    before = f"{entered},{emptied}".split(",")
    for verb in (*before, *harm.run):
        option = m.find(state, verb)
        assert option is not None, verb
        state = m.act(state, option[0])
    [judge] = [prop for prop in m.properties if prop.name == harm.breaks]
    assert judge.check(state) == harm.witness


def test_an_empty_order_leaves_the_cluster_as_it_is() -> None:
    """Nobody does anything: the first documented step is missing, the end is out of reach."""
    harm = order_harm(())
    assert (harm.missing, harm.breaks, harm.run) == ("isolate", "ends", ())


@pytest.mark.parametrize(
    ("order", "said"),
    [(("enter", "dance"), "one of isolate"), (("enter", "enter"), "each step once")],
)
def test_bad_orders(order: tuple[str, ...], said: str) -> None:
    """Each is one line."""
    with pytest.raises(BadInput) as caught:
        order_harm(order)
    assert said in str(caught.value)


def test_the_steps_are_the_documented_ones() -> None:
    """Three queries of one step are three; the last step, the upgrade, is the servers' own."""
    names = [step.name for step in OLD_STEPS]
    assert names[:1] == ["isolate"]
    assert len(DOCUMENTED) == len(names) + 2 - 1
    m = RecoveryMode(USUAL)
    assert Counter(map(type, actions_of(m, DOCUMENTED))).most_common(1)[0][1] == 4
    assert set(STEPS) == set(DOCUMENTED)


@pytest.mark.deep
def test_every_swap_of_two_steps_is_answered() -> None:
    """The 55 swaps, by what breaks first; nothing breaks in 23 of them."""
    found = Counter(order_harm(swapped(*pair)).breaks for pair in combinations(DOCUMENTED, 2))
    assert found == {"": 23, "ends": 22, "refused": 9, "one-schema": 1}


COUNTED = {
    ("new, documents", False): {"breaks one-group": 420, "refused": 10_950, "whole": 180},
    ("new, documents", True): {"breaks one-group": 11_616, "refused": 258_574, "whole": 7_010},
    ("new, server", False): {"refused": 755_976, "whole": 780},
    ("new, server", True): {"refused": 24_188_580, "whole": 27_612},
    ("old", False): {"refused": 617_174, "whole": 1_716_586},
    ("old", True): {"refused": 22_614_774, "whole": 61_400_586},
}


"""By procedure, without and with one more crash: how many orders end in which outcome."""


def test_orders_by_what_they_end_in() -> None:
    """Every order is whole, refused by a server at some step, or breaks a promise; none is lost.
    Rows are sorted.
    """
    rows = kit.recovery_orders()
    counted: dict[tuple[str, bool], dict[str, int]] = {}
    for row in rows:
        counted.setdefault((row.procedure, row.crash), {})[row.outcome] = row.orders
    assert counted == COUNTED
    assert [*counted] == [*COUNTED]
    assert [[*outcomes] for outcomes in counted.values()] == [
        sorted(each) for each in COUNTED.values()
    ]


def test_a_mishap_is_one() -> None:
    """From the start each live node can go down, and come up again."""
    for _, model, plan in orders.order_plans():
        assert len(plan.mishaps) == len(orders.INDEXES) - len(orders.DEAD.split())
        for actions in plan.mishaps:
            state: Any = model.start()
            for action in actions:
                assert model.refusal(state, action) is None
                before, state = state, model.apply(state, action)
                assert state != before


def test_the_last_live_node_leads() -> None:
    """It was restarted last; the old procedure has no leader."""
    for procedure, _, plan in orders.order_plans():
        chosen = [move.name for move in plan.moves if move.name.startswith("choose")]
        assert chosen == ([] if procedure == "old" else ["choose B"])
