"""The catalogue of the interface: what is said is in it, and nothing is said around it.

KIT_REWRITE=1 adds what is said now and takes out what is said no more.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit.edge.words import ENGLISH, FOLDER, VARIABLE, said_in, say
from kit.errors import BadInput
from kit.views.shell import browser_module
from tests.house.source import ROOT
from tests.widgets.pseudo import forget

PYTHON = [
    path
    for path in sorted((ROOT / "kit").rglob("*.py"))
    if "kit.edge.words import" in path.read_text(encoding="utf-8")
]
SCRIPTS = sorted((ROOT / "kit" / "widgets" / "browser").glob("*.js"))
SCREEN = sorted(
    path for name in ("views", "widgets") for path in (ROOT / "kit" / name).glob("*.py")
)
SHOWN = ("aria_label", "title", "placeholder", "description", "tooltip")
PLAIN = ("n", "Home", "End")
LETTERS = re.compile(r"[A-Za-z]{2}")
CALLED = re.compile(r'(?<![\w.])say\(\s*"([^"]*)"')
TOLD = re.compile(
    r"(?:textContent|ariaLabel|ariaValueText) [+]?= ([\"`])(.*?)\1|tell\(([\"`])(.*?)\3"
)
# What a person never sees: names of tags, the picture of a state graph, a page's own title.
NOT_SAID = {"kit/views/diagrams.py", "kit/views/states.py", "kit/views/chart.py"}


@contextmanager
def language(monkeypatch: pytest.MonkeyPatch, path: Path) -> Iterator[None]:
    """Let the interface speak the language of a file."""
    with monkeypatch.context() as set_:
        set_.setenv(VARIABLE, str(path))
        forget()
        yield
    forget()


def calls(path: Path) -> Iterator[ast.Call]:
    """Yield all calls in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def name_of(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    return getattr(function, "id", "") or getattr(function, "attr", "")


def said() -> set[str]:
    """All that the interface says, in Python and in the browser's modules."""
    texts = {text for path in SCRIPTS for text in CALLED.findall(path.read_text(encoding="utf-8"))}
    for path in PYTHON:
        for call in calls(path):
            if isinstance(call.func, ast.Name) and call.func.id in ("say", "later") and call.args:
                texts |= {
                    part.value
                    for part in ast.walk(call.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    return texts


def test_the_catalogue_has_what_is_said_and_no_more() -> None:
    """Every text of the interface is a key of en.json; the keys are in their order."""
    texts = said()
    known = json.loads(ENGLISH.read_text(encoding="utf-8"))
    wanted = {text: known["words"].get(text, "") for text in sorted(texts)}
    if os.environ.get("KIT_REWRITE") == "1":
        known["words"] = wanted
        written = json.dumps(known, ensure_ascii=False, indent=1)
        ENGLISH.write_text(f"{written}\n", encoding="utf-8")
    assert list(known["words"].items()) == list(wanted.items())


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_language_has_words_and_places_of_the_english(path: Path) -> None:
    """A catalogue that is not so is refused when it is read."""
    assert said_in(path, said_in(ENGLISH)).words


def literal(part: ast.expr) -> str:
    """The words that an expression has by itself, outside of any call."""
    if isinstance(part, ast.Constant):
        return part.value if isinstance(part.value, str) else ""
    if isinstance(part, ast.JoinedStr):
        return " ".join(filter(None, map(literal, part.values)))
    if isinstance(part, ast.IfExp):
        return f"{literal(part.body)} {literal(part.orelse)}"
    if isinstance(part, ast.BinOp):
        return f"{literal(part.left)} {literal(part.right)}"
    return ""


def around(path: Path) -> Iterator[str]:
    """Yield the words that a file puts on the screen without saying them."""
    for call in calls(path):
        name, place = name_of(call), f"{path.relative_to(ROOT)}:{call.lineno}"
        kids = call.args[1:] if name == "h" else call.args[:1] if name in ("word", "soft") else []
        kids += [each.value for each in call.keywords if each.arg in SHOWN and name != "Panel"]
        yield from (f"{place}: {text}" for kid in kids if LETTERS.search(text := literal(kid)))


def test_nothing_is_put_on_the_screen_without_being_said() -> None:
    """No word stands in a call that draws, and in no assignment of the browser's modules."""
    found = [
        line
        for path in SCREEN
        if str(path.relative_to(ROOT)) not in NOT_SAID
        for line in around(path)
    ]
    for path in SCRIPTS:
        for _, shown, _, told in TOLD.findall(CALLED.sub("(", path.read_text(encoding="utf-8"))):
            text = shown or told
            words = re.sub(r"\$\{[^}]*\}", "", text)
            found += [f"{path.name}: {text}"] * bool(LETTERS.search(words))
    assert not found


def test_a_number_takes_its_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that the language has for it; what the language lacks is said in English."""
    page = tmp_path / "xx.json"
    forms = ["{n} krok", "{n} kroky", "{n} kroků"]
    rule = "n == 1 ? 0 : n >= 2 && n <= 4 ? 1 : 2"
    page.write_text(json.dumps({"plural": rule, "words": {"{n} steps": forms, "close": ""}}))
    with language(monkeypatch, page):
        said_now = [say("{n} steps", n=n) for n in (1, 3, 5)]
        assert [*said_now, say("close")] == ["1 krok", "3 kroky", "5 kroků", "close"]
        assert all(f'"{form}"' in browser_module("widget") for form in forms)
        assert rule.replace(" ", "") in browser_module("widget")
    assert [say("{n} steps", n=n) for n in (1, 3)] == ["1 step", "3 steps"]


WRONG = {
    "no catalogue": "a catalogue like en.json",
    '{"plural": "n != 1", "words": {"nein": "no"}}': "'nein'; allowed: words of en.json",
    '{"plural": "n != 1", "words": {"close": "zu {it}"}}': "the places of 'close' alone",
    '{"plural": "alert(1)", "words": {}}': "a catalogue like en.json",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_catalogue_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is wrong in it; a language that is nowhere, with those that there are."""
    page = tmp_path / "xx.json"
    page.write_text(text, encoding="utf-8")
    with language(monkeypatch, page), pytest.raises(BadInput, match=re.escape(WRONG[text])):
        say("close")
    with language(monkeypatch, tmp_path / "yy"), pytest.raises(BadInput, match="one of en"):
        say("close")
