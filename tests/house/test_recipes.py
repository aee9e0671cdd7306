"""The recipes of CONTRIBUTING.md are done in a copy of the checkout, file by file as they say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.house.checkout import copied, ran
from tests.house.source import ROOT

MOST_FILES = 5
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
BLOCK = re.compile(r"(?P<told>[^\n]*)\n\n```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
WRITE = re.compile(r"Write `([^`]+)`")
COPY = re.compile(r"Copy `([^`]+)` to `([^`]+)`")
CHANGE = re.compile(r"In `([^`]+)`, put this (below|in place of) `([^`]+)`")


class Recipe(NamedTuple):
    """A recipe: its title, and its text."""

    title: str
    text: str


def recipes() -> Iterator[Recipe]:
    """The recipes of CONTRIBUTING.md, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, *parts = text.split("## Recipes\n")[1].split("\n## House rules\n")[0].split("\n### ")
    for part in parts:
        title, _, body = part.partition("\n")
        yield Recipe(title, body)


class Kitchen:
    """A copy of the checkout in which recipes are done."""

    def __init__(self, folder: Path) -> None:
        """Copy the checkout into ``folder``."""
        self.folder = copied(folder)
        self.touched()

    def touched(self) -> list[str]:
        """The files that are not what they were when this was asked before."""
        ran(self.folder, "git", "add", "--all")
        names = ran(self.folder, "git", "diff", "--cached", "--name-only").splitlines()
        who = ("-c", "user.name=cook", "-c", "user.email=cook@example.org")
        ran(self.folder, "git", *who, "commit", "--quiet", "--allow-empty", "--message", "so far")
        return names

    def done(self, recipe: Recipe) -> None:
        """Do what a recipe says, in its order."""
        for source, target in COPY.findall(recipe.text):
            shutil.copy2(self.folder / source, self.folder / target)
        for told, kind, body in BLOCK.findall(recipe.text):
            if kind == "sh":
                self._run(body)
            elif named := WRITE.search(told):
                target = self.folder / named[1]
                assert not target.exists(), named[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(body, encoding="utf-8")
            else:
                changed = CHANGE.search(told)
                assert changed, told
                self._change(changed[1], changed[2], changed[3], body)

    def _change(self, name: str, how: str, anchor: str, body: str) -> None:
        """Put lines below the only line that begins so, or in its place."""
        path = self.folder / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        [at] = [at for at, line in enumerate(lines) if line.startswith(anchor)]
        lines[at : at + 1] = [body] if how == "in place of" else [lines[at], body]
        path.write_text("".join(lines), encoding="utf-8")

    def _run(self, block: str) -> None:
        """Run the commands of a block, each as a shell does."""
        for line in block.splitlines():
            expected = int((re.findall(r"exit code (\d)", line) or ["0"])[0])
            ran(self.folder, "sh", "-c", line, status=expected)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    """One copy for all recipes: each may go on where the one before ended."""
    return Kitchen(tmp_path_factory.mktemp("checkout"))


def test_there_is_a_recipe_for_what_is_added_most() -> None:
    """A model, a safeguard, a stage, a panel, a drill and a lesson have a recipe each."""
    named = {recipe.title.rsplit(" ", 1)[1] for recipe in recipes()}
    assert named == {"model", "safeguard", "stage", "panel", "drill", "lesson"}


@pytest.mark.parametrize("recipe", list(recipes()), ids=lambda recipe: recipe.title)
def test_a_recipe_works_and_touches_few_files(recipe: Recipe, kitchen: Kitchen) -> None:
    """Done as it says, its commands end as they say, and it touches as many files as it says.

    What it wrote in Python is in the house's style.
    """
    kitchen.done(recipe)
    touched = kitchen.touched()
    [said] = {word for word in NUMBERS if re.search(rf"\b{word} files?\b", recipe.text)}
    assert len(touched) == NUMBERS[said] <= MOST_FILES
    written = [name for name in touched if name.endswith(".py")]
    for check in (("check",), ("format", "--check")) if written else ():
        ran(kitchen.folder, "ruff", *check, *written)
