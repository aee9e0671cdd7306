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
from kit.views.frame import BADGE, FINE, LINE, SHEET, WHY, WIDER, brief_narration, narration
from kit.views.labels import clause, measured
from kit.views.panel import Scene, scene_of
from kit.views.parts import heads
from tests.views.frames import walk
from tests.widgets.exporting import NAMES, performed

LONGEST_WHY = 20  # words
ASSIGNMENT = re.compile(r"\w = \S")


def scene_that_says(words: str, milestone: str | None = None) -> Scene:
    """A scene with these words and this milestone."""
    timeline = walk("twophase/commit")
    return replace(scene_of(timeline, 0), say=words, milestone=milestone, why="")


def test_what_fits_is_said_in_full() -> None:
    """Then nothing is behind anything."""
    scene = scene_that_says("a" * 2 * (int(LINE) // 12))
    assert brief_narration(scene) == narration(scene)


@pytest.mark.parametrize("milestone", [None, "the vote is over"])
def test_more_is_cut_at_a_clause_and_told_in_a_sheet(milestone: str | None) -> None:
    """The milestone counts; the sheet has every word, and a wider board shows more of them."""
    words = ", ".join(f"word{i} is said" for i in range(60)) + "."
    sheet, line = brief_narration(scene_that_says(words, milestone))
    badge, *shown = (part.text() for part in line.walk() if part.tag == "span")
    assert badge == milestone or not milestone
    brief, more = shown[-2:]
    assert brief.endswith(" is said")
    assert more.startswith(", word")
    assert more.endswith(" is said")
    assert words.startswith(brief + more)
    assert measured(brief, 15) < 2 * LINE < measured(brief + more, 15) < 2 * WIDER
    assert words in sheet.text()
    assert sheet.get("name") == "kp-sheet"


def test_what_happened_stands_above_why() -> None:
    """Each has a line of its own; of a long one the sheet has all."""
    scene = replace(scene_that_says("RM0 is prepared."), why="A promise.")
    assert [part.text() for part in brief_narration(scene)] == ["RM0 is prepared.", "A promise."]
    long = replace(scene, why="It is said; " * 20)
    sheet, what, why = brief_narration(long)
    assert what.text() == "RM0 is prepared."
    assert why.text().endswith("It is said")
    assert long.why.strip() in sheet.text()


def test_a_word_is_marked_where_it_is_first_and_its_sentence_stays() -> None:
    """In what happened and why together; the text and its lines are as they were."""
    scene = replace(
        scene_that_says("No safeguard, no promise."), why="A safeguard keeps (promises)."
    )
    drawn = brief_narration(scene)
    assert [part.text() for part in drawn] == [scene.say, scene.why]
    assert [part.lines() for part in drawn] == [[scene.say], [scene.why]]
    words = [part.text() for each in drawn for part in each.walk() if part.tag == "button"]
    assert words == ["safeguard", "promise"]


@pytest.mark.parametrize("name", NAMES)
def test_no_caption_is_cut_within_a_clause(name: str) -> None:
    """What is shown of a step begins what is said and ends where a clause does."""
    timeline = performed(name)
    for moment in timeline.moments:
        scene = scene_of(timeline, moment.id)
        *_, what, why = brief_narration(scene) if scene.why else (*brief_narration(scene), None)
        for part, words in ((what, scene.say), (why, scene.why)):
            cut = (
                [each.text() for each in part.walk() if each.get("class") == "cut"] if part else []
            )
            for brief in cut:
                assert words.startswith(brief), words
                assert re.match(r"[.;!?:] |, [a-z]|, \w+ (is|has) | and ", words[len(brief) :])
                assert brief.count("(") == brief.count(")")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_step_was_for_has_room_on_the_smallest_board(name: str) -> None:
    """In a line, with finer letters if need be: a second line would be half out of sight."""
    timeline = performed(name)
    for moment in timeline.moments:
        drawn = brief_narration(scene_of(timeline, moment.id))
        for why in (part for part in drawn if part.key == "why"):
            spans = {part.get("class"): part.text() for part in why.walk() if part.tag == "span"}
            size = FINE if "fine" in (why.get("class") or "") else WHY
            room = LINE - SHEET if drawn[0].key != "say" else LINE
            shown = spans.get("cut", why.text())
            assert measured(shown, size, bold=True) <= room, shown


@pytest.mark.parametrize("name", NAMES)
def test_a_milestone_stands_where_a_clause_has_room_beside_it(name: str) -> None:
    """On the smallest board; where none has, it is on the time bar alone, and *why* stays seen."""
    timeline = performed(name)
    for moment in timeline.moments:
        scene = scene_of(timeline, moment.id)
        drawn = brief_narration(scene)
        what = next(part for part in drawn if part.key == "say")
        spans = {part.get("class"): part.text() for part in what.walk() if part.tag == "span"}
        if "milestone" not in spans or drawn[0] is what:
            continue
        size, lines = (13, 1.0) if scene.why else (15, 1.9)
        taken = BADGE + measured(spans["milestone"], bold=True) + SHEET
        shown = spans.get("cut", scene.say)
        assert measured(shown, size) <= lines * LINE - taken, scene.say


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
    assert measured(clause(told, LINE, 17, bold=True), 17, bold=True) <= LINE


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
        "From now on, X is read from, and D is no longer read from."
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
