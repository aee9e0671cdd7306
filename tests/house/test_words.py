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
SHOWN = ("aria_label", "title", "placeholder", "description", "tooltip")
PLAIN = ("n", "Home", "End")
LETTERS = re.compile(r"[A-Za-z]{2}")
CALLED = re.compile(r'(?<![\w.])say\(\s*"([^"]*)"')
TOLD = re.compile(
    r"(?:textContent|ariaLabel|ariaValueText) [+]?= ([\"`])(.*?)\1|tell\(([\"`])(.*?)\3"
)
# A file is searched if it draws, says, or counts what is done. Families say what they are about:
# that is content, and stays with them, as does what a command prints.
DRAWS = re.compile(
    r"^from (kit\.(views\.(fragment|static|parts)|lessons\.(stills|questions|tasks)"
    r"|edge\.words|engine\.progress)|ipywidgets) import|^import ipywidgets",
    re.MULTILINE,
)
SEARCHED = [
    path
    for path in sorted((ROOT / "kit").rglob("*.py"))
    if "protocols" not in path.parts and "commands" not in path.parts
    if DRAWS.search(path.read_text(encoding="utf-8"))
]
PHRASE = re.compile(r"[A-Za-z]{2,}[,;:.]? +(\w+ +)*[a-z]{2,}")
MARKUP = re.compile(r"[<=]|^\s*(import|const) |--|^'|[({]$|\b\w*_\w*\b|; \w+:|nodetool|curl")
LOOKS = {
    name
    for path in (ROOT / "kit" / "views" / "css").glob("*.css")
    for name in re.findall(r"\.([a-z][\w-]*)", path.read_text(encoding="utf-8"))
}
# What a search reports is plain text, as is the graph of its states; a chart names its program.
NOT_SAID = {
    *("kit/engine/check.py", "kit/engine/fuzz.py", "kit/views/states.py", "kit/views/chart.py"),
    "kit/engine/explain.py",
}
# Handed to an error, looked for in notebooks, kept with a name by others, or words of other tools.
NO_WORDS = {
    *("the first word of a command", ", this is ", "the trace is of kit ", "a folder of traces"),
    *("nothing more can happen", "from here the goal is out of reach"),
    *(", or a monitor remembers what tells them apart", "complete: no violation", "Note over "),
    *("What you will learn", "What you will learn here", "You need", "below a node", "on a disk"),
    *("dashed card", "with bars", "a notebook file (.ipynb) of format 4"),
}
LISTS = re.compile(
    r"^(again all|span b|button input|as do|local, local)|kp-pop|\[exit status|@page"
)


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


DRAWN = {"word": 1, "soft": 1, "prose": 1, "button": 2, "Sheet": 2, "_section": 1, "posed": 4}
ERRORS = ("BadInput", "BadType", "KitError", "SparkUnavailable", "say", "later")
HIDDEN = ("class_", "style", "href", "layout")


def said_or_unseen(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a file whose texts are said already, or that nobody sees.

    Docstrings, annotations, keys, errors, the looks of a part, and what Python shows of an object.
    """
    for part in ast.walk(tree):
        if isinstance(part, ast.Raise | ast.Assert | ast.Subscript) or (
            isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
        ):
            yield part
        elif isinstance(part, ast.arg | ast.AnnAssign) and part.annotation:
            yield part.annotation
        elif isinstance(part, ast.FunctionDef) and part.name.endswith(("__repr__", "_text")):
            yield part
        elif isinstance(part, ast.FunctionDef) and part.returns:
            yield part.returns
        elif isinstance(part, ast.Call) and name_of(part) in ERRORS:
            yield part
        elif isinstance(part, ast.Call):
            yield from (each for each in part.keywords if each.arg in HIDDEN)


def around(path: Path) -> Iterator[str]:
    """Yield the phrases in a file that are not said, and single words that a call draws.

    What is only ever handed to an error is none, nor are names that a type lists, or looks.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {id(part) for each in said_or_unseen(tree) for part in ast.walk(each)}
    for made in ast.walk(tree):
        if isinstance(made, ast.FunctionDef):
            uses = [each for each in ast.walk(made) if isinstance(each, ast.Name)]
            for each in ast.walk(made):
                if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                    name = each.targets[0].id
                    read = [u for u in uses if u.id == name and isinstance(u.ctx, ast.Load)]
                    if read and all(id(use) in hidden for use in read):
                        hidden |= {id(part) for part in ast.walk(each)}
    names = {
        part.value
        for each in ast.walk(tree)
        if isinstance(each, ast.Subscript) and getattr(each.value, "id", "") == "Literal"
        for part in ast.walk(each)
        if isinstance(part, ast.Constant)
    }
    drawn = {id(part) for call in calls(path) for kid in drawn_by(call) for part in ast.walk(kid)}
    for part in ast.walk(tree):
        if not isinstance(part, ast.Constant) or id(part) in hidden:
            continue
        text = part.value if isinstance(part.value, str) else ""
        is_drawn = id(part) in drawn and LETTERS.search(text)
        if not (is_drawn or PHRASE.search(text)) or MARKUP.search(text) or text in names:
            continue
        if text not in NO_WORDS and not LISTS.search(text) and not {*text.split()} <= LOOKS:
            yield f"{path.relative_to(ROOT)}:{part.lineno}: {text}"


def drawn_by(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call puts on the screen as it is."""
    name = name_of(call)
    kids = call.args[1:] if name in ("h", "Judgement") else call.args[: DRAWN.get(name, 0)]
    kids += [each.value for each in call.keywords if each.arg in SHOWN and name != "Panel"]
    # A call within says its own words, or is looked at by itself.
    yield from (kid for kid in kids if not isinstance(kid, ast.Call))


def test_nothing_is_put_on_the_screen_without_being_said() -> None:
    """Whatever draws has no phrase that it does not say, and the browser's modules assign none."""
    found = [
        line
        for path in SEARCHED
        if str(path.relative_to(ROOT)) not in NOT_SAID
        for line in around(path)
    ]
    for path in SCRIPTS:
        for _, shown, _, told in TOLD.findall(CALLED.sub("(", path.read_text(encoding="utf-8"))):
            text = shown or told
            words = re.sub(r"\$\{[^}]*\}", "", text)
            found += [f"{path.name}: {text}"] * bool(LETTERS.search(words))
    assert not found, "\n".join(found)


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
    '{"plural": "n != 1", "words": {"close": "zu {it}"}}': "only the places of 'close'",
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
