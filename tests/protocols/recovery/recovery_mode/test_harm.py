"""The harm of a step that is left out or stands elsewhere is found by a search, not written."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

import kit
from kit.errors import BadInput
from kit.protocols.recovery import orders
from kit.protocols.recovery.orders import (
    ANY_ORDER,
    DOCUMENTED,
    PROCEDURES,
    STEPS,
    USUAL,
    actions_of,
    order_harm,
)
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.recovery.rules.procedure import OLD_STEPS

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


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_mishap_is_one(procedure: str) -> None:
    """From the start each live node can go down, and come up again."""
    model, plan = orders._planned(procedure)
    assert len(plan.mishaps) == len(orders.INDEXES) - len(orders.DEAD.split())
    for actions in plan.mishaps:
        state = model.start()
        for action in actions:
            assert model.refusal(state, action) is None
            before, state = state, model.apply(state, action)
            assert state != before


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_the_last_live_node_leads(procedure: str) -> None:
    """It was restarted last; the old procedure has no leader."""
    _, plan = orders._planned(procedure)
    chosen = [move.name for move in plan.moves if move.name.startswith("choose")]
    assert chosen == ([] if procedure == "old" else ["choose B"])
