"""The glossary: every word has its lesson and its picture, and ``kit.glossary`` shows them."""

from __future__ import annotations

import re

import pytest

import kit
from kit.catalogue.course import lesson
from kit.catalogue.glossary import (
    Finder,
    drawing_file,
    entry,
    finder,
    lesson_file,
    lesson_name,
    lesson_title,
    parts,
    words,
)
from kit.errors import BadInput
from kit.lessons.glossary import glossary, timeline_at
from kit.views.static import Sheet
from tests.commands.calling import call
from tests.house.source import ROOT

SHOWN = {one.picture: word for word, one in words().items()}
"""Each picture with a word that it shows."""
ABSENT = {word for word, one in words().items() if one.absence}


def test_a_word_is_explained_once() -> None:
    """No two parts have the same word, and no word is another form of one."""
    every = [word for part in parts().values() for word in part.words]
    assert len(every) == len(set(every)) > 110
    assert [entry(word)[0] for word in every] == every


def test_of_words_that_begin_alike_the_longest_is_found() -> None:
    """So each word is found whole in itself."""
    every = Finder(words())
    assert [next(every.find(word)) for word in words()] == [(w, 0, len(w)) for w in words()]


def test_each_word_leads_to_a_lesson_that_uses_it() -> None:
    """The notebook of its lesson is there, whatever its number, and has the word."""
    led = {word: lesson_file(one.lesson) for word, one in words().items() if one.lesson}
    assert len(led) >= len(words()) - 3
    told = {file: file.read_text("utf-8").lower() for file in led.values() if file}
    assert not [
        word
        for word, file in led.items()
        if file is None or word.casefold().rstrip("y") not in told[file]
    ]


def test_a_lesson_is_found_by_its_name_alone() -> None:
    """The number of a notebook may change; what ends like a name is not that lesson."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert lesson_file(lesson_name(path)) == path
        assert lesson_title(lesson_name(path)) == f"{path.stem[:2]}, {lesson(path.stem).title}"
    assert lesson_title("") == lesson_title("epoch") == ""
    assert lesson_file("") is lesson_file("epoch") is lesson_file("by-epoch") is None


@pytest.mark.parametrize("picture", sorted(SHOWN))
def test_each_word_has_a_picture(picture: str) -> None:
    """It is a committed drawing, or a story that has a step of that number."""
    name, found = entry(SHOWN[picture])
    timeline = timeline_at(found)
    if timeline is None:
        assert drawing_file(picture)
    else:
        assert found.scene
        assert len(timeline.path()) - 1 >= found.scene[1]
        assert timeline.moments[timeline.at].action is not None, name


def test_a_notebook_shows_a_word_with_its_picture_and_its_lesson() -> None:
    """The sentence, a picture with the same in words, and a link to the notebook beside."""
    file = lesson_file(words()["fence"].lesson)
    assert file
    shown = kit.glossary("Fences")
    bundle = shown._repr_mimebundle_()
    assert words()["fence"].means in bundle["text/html"]
    assert re.search(
        r'<img [^>]*src="data:image/svg\+xml;base64,[^"]+" alt="[^"]{40,}"', bundle["text/html"]
    )
    assert f'<a href="{file.name}">' in bundle["text/html"]
    assert bundle["text/html"].count("<div") == bundle["text/html"].count("</div>")
    assert bundle["text/plain"].splitlines()[:2] == ["fence", words()["fence"].means]


def test_without_a_word_all_are_listed() -> None:
    """A table of every word with what it means, in the order of the alphabet."""
    shown = glossary()
    assert isinstance(shown, Sheet)
    names = [name for name, _ in shown.rows]
    assert names == sorted(words(), key=str.casefold)


def test_a_word_that_is_not_there_is_told_with_near_ones() -> None:
    """One error: what was asked for, near words, and how to see all."""
    with pytest.raises(BadInput, match=r"word: got 'fense'; allowed: fence.*lists all"):
        glossary("fense")
    for stranger in ("", "nosuchword"):
        with pytest.raises(BadInput, match=r"allowed: a word of the glossary"):
            glossary(stranger)
    with pytest.raises(BadInput, match="word: got 7"):
        kit.glossary(7)


@pytest.mark.parametrize("word", sorted(ABSENT))
def test_the_nine_ways_in_which_a_node_is_not_there_have_four_answers(word: str) -> None:
    """Who says so, who knows it, whether a barrier waits, and whether the node may come back."""
    told = repr(glossary(word)).splitlines()
    assert len(ABSENT) == 9
    assert [line.partition("? ")[0] for line in told[4:6]] == [
        "Does a barrier wait for it",
        "Can it come back",
    ]


def test_the_command_line_answers_alike() -> None:
    """The same words; as JSON with the notebook's file; an unknown word is bad input.

    All words as JSON are what each alone is, in the order of the text.
    """
    assert call("glossary", "fence").out.startswith(f"fence\n  {words()['fence'].means}\n")
    data = call("glossary", "read", "group", "--json").json
    assert data["word"] == "read group"
    assert call("glossary", "read group", "--json").json == data
    assert (ROOT / "notebooks" / data["file"]).exists()
    every = call("glossary", "--json").json
    assert [one["word"] for one in every] == sorted(words(), key=str.casefold)
    assert data in every
    status, out, err = call("glossary", "fense")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "fence (python -m kit glossary lists all)" in err


def test_a_model_speaks_the_words_of_its_family_and_of_those_it_builds_on() -> None:
    """The longest word wins; words with a plain sense, or of another protocol, are none."""
    text = "The progress barrier of a range left the fence, and two epochs went by."
    found = {name: [word for word, _, _ in finder(name).find(text)] for name in ("tcm", "topology")}
    assert found["tcm"] == ["progress barrier", "range", "epoch"]
    assert found["topology"] == ["barrier", "range", "fence"]
    assert not [*finder("nobody's").find("an epoch")]
