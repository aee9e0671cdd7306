"""What is sent to the browser: one module, one style sheet, small, and nothing that is not used."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from kit.model.family import PROTOCOLS
from kit.views.palette import lab_colours, page_colours
from kit.views.shell import FOLDER, browser_module, renamed
from kit.views.styles import page_styles, sheets, stored_rules, terminal_style, widget_style
from kit.widgets import player as stage

MOST_MODULE, MOST_STYLE = 64_000, 41_000  # bytes that are sent
WIDEST = 100
FETCHING = ("import ", "fetch(", "XMLHttpRequest", "eval(", "Function(", "http:", "https:")
SOURCES = sorted(FOLDER.glob("*.js"))
MODULES = ("widget", "page", "terminal", "live", "lesson", "drill")
"""The modules that are sent: of a Player, of an exported page, of a drill, of pages of the site."""
KIT = PROTOCOLS.parent


def test_the_module_is_small_and_alone() -> None:
    """What is sent is one module of few bytes that imports nothing and fetches nothing."""
    for module in (browser_module("widget"), browser_module("page"), browser_module("terminal")):
        assert len(module.encode()) <= MOST_MODULE
        for word in FETCHING:
            assert word not in module


def test_the_style_is_small() -> None:
    """The style sheets together are few bytes, but for the fonts in them."""
    page, widget = (re.sub("base64,[^)]+", "", s) for s in ("".join(page_styles()), widget_style()))
    assert len(page.encode()) < len(widget.encode()) <= MOST_STYLE


def test_there_is_one_kind_of_dashes() -> None:
    """They are for what is planned or not yet so: no other line is broken."""
    assert {*re.findall(r"stroke-dasharray:\s*([^;}]+)", widget_style())} == {"4 3"}


def test_a_page_has_the_style_of_its_own_model() -> None:
    """The sheets of a family go with its models, and with those of a family that composes it."""
    (whole, played), (own, _), (bare, _) = map(page_styles, (None, "tcm", "somebody's own"))
    assert ".bubble" in page_styles("coordinator")[0]
    assert ".bubble" not in own
    assert len(bare) < len(own) < len(whole)
    assert played == page_styles("tcm")[1]


def test_rules_of_one_part_are_sent_as_one() -> None:
    """Whose selectors all begin alike stand within one rule; what is more special stays so."""
    _, played = page_styles()
    large = re.findall(r"\.kp\[data-my-large\]", played)
    assert len(large) < 12
    assert "&.kp .kp-said>p{" in played
    assert played.count("{") == played.count("}")


def test_sources_are_for_reading() -> None:
    """No line of a source for the browser is longer than a hundred characters."""
    wide = [
        f"{path.name}:{number}"
        for path in [*SOURCES, *sheets()]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDEST
    ]
    assert not wide


def test_every_module_is_sent() -> None:
    """Each source is part of a module that is sent, and no name is taken twice in one."""
    both = "".join(map(browser_module, MODULES))
    for path in SOURCES:
        called = re.findall(r"^  ([a-z]+)\(.*\) \{$", path.read_text(), re.MULTILINE)
        assert all(renamed(name) in both for name in called)
    top = re.compile(r"^(?:export )?(?:async )?(?:class|function|const|let) (\w+)", re.MULTILINE)
    for entry in MODULES:
        parts = [path for path in SOURCES if path.stem == entry or path.stem not in MODULES]
        names = [name for path in parts for name in top.findall(path.read_text(encoding="utf-8"))]
        assert sorted(names) == sorted(set(names))


def test_what_is_between_quotes_is_sent_as_it_stands() -> None:
    """Texts, templates and regular expressions keep their spaces."""
    sent = "".join(map(browser_module, MODULES))
    for path in SOURCES:
        code = re.sub(r"(^|\s)// .*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        code = re.sub(r"^import .*", "", code, flags=re.MULTILINE)
        for text in re.findall(r'"[^"\n]*"|`[^`]*`|(?<=[=(] )/[^/\n]+/|(?<=\()/[^/\n]+/', code):
            parts = re.split(r"\$\{[^{}\"]*\}", renamed(text))
            assert all(part in sent for part in parts)


@cache
def _words(folder: Path) -> set[str]:
    """The words of all texts in the modules of a folder; class names are among them."""
    constants = (
        node.value
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {word for text in constants for word in text.split()}


def _made_in_the_page() -> set[str]:
    """The classes of what the modules themselves make."""
    named = re.compile(r'className(?: =|:) "([^"]+)"|class="([a-z-]+)"')
    texts = (path.read_text(encoding="utf-8") for path in SOURCES)
    return {name for text in texts for pair in named.findall(text) for name in pair if name}


def _classes(path: Path) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]*)\{", text)
    return {name for part in selectors for name in re.findall(r"\.([a-z][\w-]*)", part)}


@pytest.mark.parametrize("path", tuple(sheets()), ids=lambda path: str(path.relative_to(KIT)))
def test_what_is_styled_is_drawn(path: Path) -> None:
    """Each class of a sheet is drawn by the generic stage or by the panels of its own family."""
    shown = (_words(KIT / name) for name in ("views", "widgets", "site", "playing"))
    words = _made_in_the_page().union(*shown)
    if PROTOCOLS in path.parents:
        words |= _words(path.parent.parent)
    assert sorted(_classes(path) - words) == []


def test_stored_rules_name_their_colours() -> None:
    """In stored output no variable is left: there is no style sheet to give it a value."""
    assert all("var(" not in rule.declarations for rule in stored_rules())
    assert stage.Stage._css == widget_style()


def test_a_terminal_leaves_players_as_they_are() -> None:
    """Behind a player's rules come a terminal's: but for the colours each is the terminal's own."""
    style = terminal_style().removeprefix(page_colours() + lab_colours())
    selectors = re.findall(r"(?:^|[{}])([^{}@]+)\{", style)
    rules = [one for each in selectors for one in each.split(",")]
    assert len(rules) > 30
    assert [one for one in rules if not one.startswith((".kit-", ".kp.kit-"))] == []
