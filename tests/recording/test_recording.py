"""Each model says today what was recorded of it: ``python -m tests.recording MODEL`` tells more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from kit.model.model import Model
from kit.model.registry import build, entries
from tests.kinds import action_types
from tests.recording.records import (
    REFUSED,
    STATE,
    Block,
    Look,
    block_of,
    blocks_of,
    differences,
    file_of,
    look_at,
    names_of,
    read,
    table,
    written,
)
from tests.recording.truth import (
    LEADS,
    acting,
    false_words,
    known_after_all,
    no_new_replica,
    no_value,
)
from tests.recording.walking import Step, Visit
from tests.views.frames import walk

MODELS = tuple(entries())
MOST = 40_000
"""Transitions of a model that are walked at every landing."""
SMALL = {"rms": 2}


def deep_looks(model: str) -> list[Look]:
    """What of a model is looked at by the long tests alone."""
    return [look for look in table()[model].looks if look.deep]


def recorded(model: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The lines recorded of a model's looks: name of the block, of the line, and its cells."""
    blocks = read(file_of(model))
    for look in table()[model].looks:
        name = f"{model}: {look.about}"
        for row, cells in blocks[name].items():
            yield name, row, cells


BLOCKS = [name for model in MODELS for name in names_of(model, deep=False)]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", BLOCKS)
def test_a_model_says_what_is_recorded(name: str) -> None:
    """Every state, step, refusal and sentence of its configurations and scenarios is as it was.

    And every sentence is true. Nobody who is down acts, the coordinator is who it is called, and
    cells hold their types. Nobody knows of whom nobody hears, and what is for a new replica goes
    to one.
    """
    false = set[str]()
    block = block_of(name, reader=lambda step: false.update(false_words(step)))
    assert list(differences(name.partition(":")[0], [(name, block)])) == []
    assert sorted(false) == []


def test_a_false_sentence_is_found() -> None:
    """The reading finds a node that is down, a wrong coordinator and a number for a kind."""
    said = "The coordinator on B decides: global_topology_request = 1. C streams to D."
    assert [*acting(said)] == [("C", "streams")]
    assert [*no_value(said)] == ["global_topology_request (text) = 1"]
    assert LEADS.findall(said) == ["B"]


def last_step(scenario: str, verb: str, said: str) -> Step:
    """The last step with this verb in a scenario, as if this were said of it."""
    timeline = walk(scenario)
    while timeline.forward() is not None:
        pass
    m, moments = timeline.model, timeline.moments
    last = next(each for each in reversed(moments) if each.action and m.verb(each.action) == verb)
    return Step(m, moments[last.parent].state, last.action, last.state, said, ())


def test_a_claim_about_others_is_held_against_the_state() -> None:
    """X is known when it asks again after its death; B was a replica before the repair."""
    again = last_step("gossip_join/death-of-the-joiner", "shadow X A", "Nobody hears of X.")
    assert [*known_after_all(again)] == ["A, B, C heard of X"]
    landed = last_step("tablet/tablet-repaired", "land A to B", "The new replica has it.")
    assert [*no_new_replica(landed)] == ["B is no new replica"]
    moved = last_step("tablet/tablet-moves", "land A to D", "The new replica has it.")
    assert not [*no_new_replica(moved)]


@pytest.mark.deep
@pytest.mark.parametrize("model", [model for model in MODELS if deep_looks(model)])
def test_a_model_says_what_is_recorded_of_large_configurations(model: str) -> None:
    """So it is where there is too much to walk at every landing."""
    assert list(differences(model, blocks_of(model, deep=True))) == []


def test_every_model_is_recorded() -> None:
    """Each registered model has looks and scenarios on record, and nothing else is there."""
    assert set(table()) == set(MODELS)
    for path in {file_of(model) for model in MODELS}:
        here = [name for model in MODELS if file_of(model) == path for name in names_of(model)]
        assert set(read(path)) == set(here)


@pytest.mark.parametrize("model", MODELS)
def test_a_landing_walks_no_more_than_it_may(model: str) -> None:
    """All looks at a model but the deep ones take few enough transitions together."""
    deep = {f"{model}: {look.about}" for look in deep_looks(model)}
    taken = [int(cells.get("done", "0")) for name, _, cells in recorded(model) if name not in deep]
    assert sum(taken) <= MOST


@pytest.mark.parametrize("model", MODELS)
def test_every_type_of_action_is_done(model: str) -> None:
    """Somewhere each action happens, but for those that are listed with a reason."""
    done = {
        tag
        for _, row, cells in recorded(model)
        if int(cells.get("done", "0"))
        for tag in row.split("/")
    }
    looks = table()[model]
    models = [build(model, look.parameters, look.off) for look in looks.looks]
    known = {kind.__struct_config__.tag for each in models for kind in action_types(each)}
    assert known - done == set(looks.not_done)
    assert all(looks.not_done.values())


@pytest.mark.parametrize("model", MODELS)
def test_what_is_never_said_is_listed(model: str) -> None:
    """No look meets a sentence of refusal that is listed as met by none, each with a reason."""
    said = {row.removeprefix(REFUSED) for _, row, _ in recorded(model) if row.startswith(REFUSED)}
    assert not said & set(table()[model].not_said)
    assert all(table()[model].not_said.values())


def changed(change: Callable[[Any], None]) -> dict[str, set[str]]:
    """Which cells of a small run of two-phase commit differ when its model is changed, by line."""
    model: Any = build("twophase", SMALL)
    change(model)
    was, now = look_at(Visit(build("twophase", SMALL))), look_at(Visit(model))
    rows = {row: (was.get(row, {}), now.get(row, {})) for row in {**was, **now}}
    return {
        row: {cell for cell in {**old, **new} if old.get(cell) != new.get(cell)}
        for row, (old, new) in rows.items()
        if old != new
    }


def test_another_sentence_changes_words_alone() -> None:
    """Where one step is described otherwise, the words of its type of action differ."""

    def tell_otherwise(model: Model[Any, Any]) -> None:
        say = model.describe
        model.describe = lambda *step: say(*step).replace("aborts on its own", "gives up")

    assert changed(tell_otherwise) == {"give-up": {"words"}}


def test_a_refusal_that_is_left_out_changes_the_protocol() -> None:
    """Where something is not refused any more, its type of action and the sentence tell."""

    def offer_less(model: Model[Any, Any]) -> None:
        offer = model.options
        model.options = lambda s: (
            option for option in offer(s) if option[1] is None or "right to" not in option[1].reason
        )

    found = changed(offer_less)
    assert found.pop(STATE) == {"order"}
    assert found.pop("give-up") == {"refused", "content", "protocol", "words"}
    assert [(row.split()[1], cells) for row, cells in found.items()] == [("this", {"times"})]


def test_another_order_of_options_changes_the_order_alone() -> None:
    """Neither the numbers of states nor any digest but one see in which order options come."""

    def turn_round(model: Model[Any, Any]) -> None:
        offer, model.suggest = model.options, build("twophase", SMALL).suggest
        model.options = lambda s: reversed(list(offer(s)))

    assert changed(turn_round) == {STATE: {"order"}}


def test_the_order_of_fields_does_not_count() -> None:
    """A state is told by the names of its fields; another name is another content, no more."""
    own = type(build("twophase", SMALL).start())
    names = own.__struct_fields__

    def turn_fields(model: Any) -> None:
        offer, do, begin = model.options, model.apply, model.start
        start = begin()

        def turned(s: Any) -> Any:
            return other(**{name: getattr(s, name) for name in names})

        def back(s: Any) -> Any:
            return own(**{name: getattr(s, name) for name in names})

        fields = [(name, Any) for name in reversed(names)]
        other = msgspec.defstruct("Other", fields, frozen=True)
        model.start = lambda: turned(start)
        model.options = lambda s: offer(back(s))
        model.apply = lambda s, action: turned(do(back(s), action))
        suggest = model.suggest
        model.suggest = lambda s: suggest(back(s))

    assert changed(turn_fields) == {}


def test_a_block_is_read_as_it_was_written() -> None:
    """Reading what was written gives the same names, lines and cells."""
    blocks: dict[str, Block] = {"small: two": look_at(Visit(build("twophase", SMALL)))}
    path = file_of("twophase")
    assert written(read(path)) == path.read_text(encoding="utf-8")
    assert set(blocks["small: two"]) > {STATE, "give-up"}
