"""What documents show of the kit is what the kit says today: ``make reference`` renews it."""

from __future__ import annotations

import re
from pkgutil import resolve_name

import pytest

from tests.house.source import ROOT
from tools import reference

PARTS = (
    "course",
    *("families", "editions", "glossary", "properties", "nodetool", "answers", "gallery"),
    "stories",
)


@pytest.mark.parametrize("part", PARTS)
def test_what_is_made_from_the_kit_is_current(part: str) -> None:
    """Families, both editions, answers and pages are those of today."""
    made = dict(reference.made([part]))
    assert made
    old = [path.name for path, text in made.items() if path.read_text("utf-8") != text]
    assert not old, "make reference"


def test_each_function_that_the_index_names_is_there() -> None:
    """A name is a module's, followed by a function, or by a class and its method."""
    text = (ROOT / "docs/reference/rules.md").read_text(encoding="utf-8")
    names = re.findall(r"`(kit(?:\.\w+){2,})`", text)
    assert len(names) > 70
    for name in names:
        assert (resolve_name(name).__doc__ or "").strip(), name


def test_every_command_is_answered_once_at_least() -> None:
    """The reference has an answer of each command that answers without a file of its own."""
    text = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    [listed] = re.findall(r"COMMAND\n(.*?)\n\n", text.partition("positional")[2], re.DOTALL)
    commands = set(re.findall(r"^    ([a-z]+) ", listed, re.MULTILINE))
    shown = set(re.findall(r"^\$ python -m kit ([a-z]+)", text, re.MULTILINE))
    assert commands - shown == {
        *("models", "handout", "drill", "class", "serve", "lab", "explain", "site")
    }


def test_a_table_without_its_marks_is_told() -> None:
    """A document whose marks are missing, doubled or in the wrong order is refused."""
    begin, end = "<!-- families: begin -->", "<!-- families: end -->"
    for text in ("", begin, end + begin, begin + end + begin, begin + end + end):
        with pytest.raises(ValueError, match="once each"):
            reference.renewed(text)


def test_the_page_tells_three_stories_and_is_small() -> None:
    """The page that needs no installation lists three stories in at most 250,000 bytes."""
    text = reference.PAGE.read_text(encoding="utf-8")
    assert len(text.encode()) <= reference.LARGEST_PAGE
    assert len(reference.STORIES) == 3
    names = re.findall(r'<a href="\?(\d)">([^<]+)</a>', text)
    assert names == [(str(n), name) for n, name in enumerate(reference.STORIES, 1)]
    assert "default-src 'none'" in text
