"""What is told of the moments of both worlds, and that each broken promise is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.compose import Product
from kit.model.model import Model
from kit.model.scenario import file_named, open_file
from kit.protocols.worlds.alignment import WORLDS, Now, aligned, moments
from kit.protocols.worlds.facts import JOIN, coordinator, epochs
from kit.protocols.worlds.side_by_side import SideBySide
from tests.protocols.topology.test_search import REPORTED as TOPOLOGY
from tests.quality.reporting import assert_reported, judges
from tests.quality.test_reported import REPORTED as ELSEWHERE
from tests.quality.test_reported import Broken

E_JOINS, C_LEAVES = "tcm/a-fifth-node-joins", "tcm/one-of-four-leaves"


NO_CMS, NO_MAJORITY = "cms/without-a-majority", "recovery/without-a-majority"


C_DIES, TWO_JOIN = "topology/a-replica-dies-meanwhile", "topology/two-joins-at-once"


@cache
def story(name: str) -> tuple[Now, ...]:
    """Each moment of a story; tests only look at them."""
    return tuple(moments(open_file(file_named(name))))


@pytest.mark.parametrize(
    ("says", "name", "step", "said"),
    [
        # A is at epoch 100 and D at 99, B and C at 101.
        (epochs.says_ended, E_JOINS, 13,
         "Epoch 102 is the last of 3 epochs. More than one epoch behind: A, D."),
        (epochs.says_locks, E_JOINS, 0, "Under way: nothing."),
        (epochs.says_members, NO_CMS, 1, "CMS: 2 of 3 members up, 2 needed."),
        # D is up, but no member.
        (epochs.says_members, NO_CMS, 5,
         "CMS: 1 of 1 member up, 1 needed. An operator forced an entry."),
        (coordinator.says_state, TWO_JOIN, 3,
         "State 4: no transition, version 1, committed by the coordinator on A."),
        (coordinator.says_failed, C_DIES, 30,
         ("State 7: left_token_ring, version 3, on the way back, committed by the coordinator on "
         "A.")),
        (coordinator.says_barrier, C_DIES, 19,
         ("The barrier asks A, B, C, D, E and needs 5 of 5 answers. It is closed. "
         "Still missing: C, E.")),
        (coordinator.says_barrier, C_DIES, 36,
         ("The barrier asks A, B, C, D and needs 4 of 4 answers. It is open. "
         "Still missing: nobody.")),
        (coordinator.says_streams, TWO_JOIN, 25,
         "Streaming has the permit of session 7. Fence 2 was set first."),
        (coordinator.says_ended, C_DIES, 15, "Version 2: 4 commands, 1 new version."),
        (coordinator.says_queue, TWO_JOIN, 0, "State 1. Requests: none."),
        # C is up and in the new group, but has no vote.
        (coordinator.says_voters, NO_MAJORITY, 10, "group 2: 1 of 1 voter up, 1 needed."),
    ],
)  # fmt: skip
def test_a_moment_is_described_truly(
    says: Callable[[Now], str], name: str, step: int, said: str
) -> None:
    """By each sentence of each world, at other moments than those of the rows."""
    assert says(story(name)[step]) == said


@pytest.mark.parametrize(
    ("is_it", "name", "steps"),
    [
        (epochs.commits("prepare"), E_JOINS, {1}),
        (epochs.commits("start"), E_JOINS, {6}),
        (epochs.commits("finish"), E_JOINS, {16}),
        (epochs.commits("cancel"), "tcm/taken-back", {4, 37}),
        (epochs.commits(""), C_LEAVES, {*range(19)} - {1, 6, 13, 18}),
        (epochs.is_open, E_JOINS, {9, 10, 11, 15}),
        (coordinator.enters("left_token_ring"), C_DIES, {30}),
        (coordinator.becomes("E", "left"), C_DIES, {44}),
        (coordinator.waits_in("left_token_ring"), C_DIES, {31, 32, 33}),
        (coordinator.waits_in("commit_cdc_generation"), C_DIES, {9, 10, 11, 12}),
        (coordinator.opens, C_DIES, {36}),
    ],
)
def test_a_condition_holds_at_known_steps(
    is_it: Callable[[Now], bool], name: str, steps: set[int]
) -> None:
    """The start is step 0."""
    assert {step for step, now in enumerate(story(name)) if is_it(now)} == steps


@pytest.mark.parametrize(("step", "loses"), [(0, False), (2, False)])
def test_a_first_moment_is_without_a_quorum_if_the_cms_has_none(step: int, loses: bool) -> None:
    """NO_CMS begins with a quorum, and has lost it at step 2."""
    now: Any = story(NO_CMS)[step]
    assert epochs.has_no_quorum(Now(now.m, None, None, now.after)) is loses


PARTS: dict[str, Mapping[str, Broken]] = {"epochs": ELSEWHERE["tcm"], "topology": TOPOLOGY}


REPORTED = {f"{world}:{name}": PARTS[world][name] for world in WORLDS for name in PARTS[world]}


REPORTED["last-row"] = TOPOLOGY["ends"]  # never met: neither world tells a story


PROMISES = [*judges(SideBySide(aligned(JOIN)))]


def still(model: Model[Any, Any]) -> Model[Any, Any]:
    """A world in which nothing happens."""
    if isinstance(model, Product):
        model.lifted = {}
    model.rules, model.suggest = (), lambda s: None
    return model


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", PROMISES)
def test_a_search_reports_each_promise_broken_in_a_single_world(name: str) -> None:
    """The other world stands still; where neither moves, no story ends."""
    broken, given = REPORTED[name], aligned(JOIN)
    models = tuple(
        broken() if name.startswith(f"{world}:") else still(model)
        for world, model in zip(WORLDS, given.models, strict=True)
    )
    begun = tuple(story[:1] for story in given.ways)
    model = SideBySide(replace(given, models=models, ways=begun, met=()))
    assert_reported(model, name)
