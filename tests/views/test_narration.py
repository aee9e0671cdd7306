"""What is said of a step: what happened, and larger why; a sheet where there is more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.compose import Product
from kit.model.model import Model
from kit.model.registry import build, entries
from kit.model.scenario import file_named, open_file, open_script, parse
from kit.model.timeline import Timeline
from kit.views import headlines
from kit.views.breaks import breaking
from kit.views.fragment import Frag
from kit.views.frame import frame
from kit.views.headlines import headline
from kit.views.panel import Scene, scene_of
from kit.views.parts import heads
from tests.views.frames import walk
from tests.widgets.exporting import NAMES, performed

LONGEST_WHY = 20  # words
ASSIGNMENT = re.compile(r"\w = \S")


def words_of(scene: Scene) -> dict[str, Frag]:
    """What a frame says beside its picture: the headline (``say``), the rest, what it was for."""
    drawn = frame(scene, ())
    return {part.key: part for part in drawn.walk() if part.key in ("say", "more", "why")}


@pytest.mark.parametrize(
    ("said", "head", "rest"),
    [
        ("RM0 is prepared.", "RM0 is prepared", ""),
        ("B has drained; it answers the barrier.", "B has drained", "It answers the barrier."),
        ("Epoch 3: switch reads. Next: drop.", "Epoch 3: switch reads", "Next: drop."),
        (f"A decides at state 4: the {'word ' * 12}ends.", "A decides at state 4",
         f"The {'word ' * 12}ends."),
        ("A hears of B, which is at epoch 3, and sends it all that it has stored so far.",
         "A hears of B, which is at epoch 3", "A sends it all that it has stored so far."),
        ("B, at epoch 9, gets a message that was planned at epoch 10, and learns epoch 10.",
         "B gets a message that was planned at epoch 10", "B learns epoch 10. B is at epoch 9."),
        ("A has the lowest id of all the nodes that it has heard of, so it leads them.",
         "A leads them", "A has the lowest id of all the nodes that it has heard of."),
        ("It ends. x := 1 is kept.", "It ends", "x := 1 is kept."),
    ],
)  # fmt: skip
def test_a_headline_is_the_first_clause(said: str, head: str, rest: str) -> None:
    """A long one ends at a colon, if that leaves some words; the rest stands below."""
    assert headline(said) == (head, rest)


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_a_step_is_lost(name: str) -> None:
    """Headline and rest are what happened; only what joins two clauses may be missing."""
    timeline = performed(name)
    for moment in timeline.moments:
        scene = scene_of(timeline, moment.id)
        told = " ".join(part.text() for key, part in words_of(scene).items() if key != "why")
        if not breaking(scene):
            say = headlines.words_of(timeline.model.name).abridge(scene.say)
            plain = [{*re.findall(r"\w+", text.lower())} for text in (say, told)]
            assert plain[0] - plain[1] <= {"and", "so", "it", "that", "which"}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_step_was_for_is_said_when_it_is_new(name: str) -> None:
    """Not again of such a step; what the story says of a moment always."""
    timeline, known = performed(name), set[type]()
    for at in timeline.path():
        scene = scene_of(timeline, at)
        drawn = words_of(scene).get("why")
        assert drawn is None or drawn.text() == scene.why
        known |= {type(scene.action)} if breaking(scene) else set()
        assert drawn is not None or not scene.why or type(scene.action) in known
        known.add(type(scene.action))


def test_a_word_is_marked_where_it_is_first_and_its_sentence_stays() -> None:
    """In what happened and why together; the text and its lines are as they were."""
    scene = replace(
        scene_of(walk("twophase/commit"), 0),
        say="No safeguard, no promise.",
        why="A safeguard keeps (promises).",
    )
    drawn = words_of(scene)
    assert [part.text() for part in drawn.values()] == ["No safeguard, no promise", scene.why]
    words = [part.text() for each in drawn.values() for part in each.walk() if part.tag == "button"]
    assert words == ["safeguard", "promise"]


def of_acts(model: Model[Any, Any]) -> Iterator[tuple[str, str]]:
    """The types of action of a model, and what each says that it is for."""
    if isinstance(model, Product):
        for part in model.parts.values():
            yield from of_acts(part)
    else:
        for act in getattr(model, "acts", {}).values():
            yield f"{model.name}: {act.name}", act.why


@pytest.mark.parametrize("name", entries())
def test_every_kind_of_action_says_what_it_is_for(name: str) -> None:
    """In one sentence or two of at most twenty words."""
    said = dict(of_acts(build(name)))
    assert said
    assert not [act for act, why in said.items() if not why.endswith(".")]
    assert not [act for act, why in said.items() if len(why.split()) > LONGEST_WHY]


@pytest.mark.parametrize("name", NAMES)
def test_captions_are_plain_words(name: str) -> None:
    """No step of a scenario is told as an assignment, and each says why it is made."""
    timeline = performed(name)
    for moment in timeline.moments[1:]:
        assert not ASSIGNMENT.search(moment.say), moment.say
        assert timeline.why(moment.id)


@pytest.mark.parametrize("name", entries())
def test_a_model_says_what_it_is_about(name: str) -> None:
    """The first sentence of its premise is told at the start, where no scenario says more."""
    model = build(name)
    told = Timeline(model).why(0)
    assert told
    assert model.premise.startswith(told)


def test_a_commit_says_whom_requests_ask_from_there_on() -> None:
    """Of a tablet's stages, of a topology's states, of the epochs of a range."""
    told = {
        name: [timeline.why(moment.id) for moment in timeline.moments]
        for name in ("tablets/one-tablet-moves", "vnodes/write-during-bootstrap")
        for timeline in [performed(name)]
    }
    both = "Writes now go to old and new replicas; reads still ask the old ones."
    assert both in told["tablets/one-tablet-moves"]
    assert (
        "By this entry of the log, X is read from, and D is no longer read from."
        in told["vnodes/write-during-bootstrap"]
    )


def test_a_comment_of_a_scenario_file_is_the_why_of_its_moment() -> None:
    """What stands above a verb is told at its step; above what is shown only, of the moment."""
    timeline = open_file(file_named("tcm/bootstrap"))
    assert timeline.why(0).startswith("The keyspace has RF 2. A, B and C own tokens 100")
    text = "# Why.\nmodel twophase\n\n# The first of three.\nprepare RM0\nprepare RM1\n----\n"
    told = open_script(parse(text))
    assert told.premise == "Why."
    assert told.why(1) == "The first of three."
    assert told.why(2) == told.model.why(told.moments[2].action)


def test_equal_messages_of_a_step_are_told_once() -> None:
    """Who asks many the same says it once, with the names of all."""
    timeline = walk("discovery/twelve")
    while timeline.forward() is not None:
        said = timeline.now.say.split("sends ")[1:]
        asked = [re.sub(r"^(\w+(, | and )?)+? (?=an? |the )", "", part) for part in said]
        assert len(asked) == len(set(asked))
        if len(timeline.moments) > 60:
            break


def test_every_column_has_a_name() -> None:
    """A table with a column that nobody can name is not drawn."""
    with pytest.raises(ValueError, match="no name"):
        heads("node", "")
