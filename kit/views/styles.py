"""The style sheets: of the page, of drawings that stand alone, and of stored output.

Generic rules lie in ``kit/views/css``, those of a family in its ``css``, each as
``page.css``, ``drawing.css`` and ``stored.css``. A sheet is written a declaration per line; what is
sent has neither comments nor layout.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from kit.model.family import families
from kit.views.palette import HUES, LIGHT, lab_colours, page_colours, resolved
from kit.views.typeface import faces

FOLDER = Path(__file__).resolve().parent / "css"
READ = ("root", "frame", "tables", "parts", "readable")
PLAYED = (
    *("board", "time", "actions", "messages", "question", "flows", "search", "breaks"),
    *("projector", "compare", "narrow", "forced-colors", "paper"),
)
"""Sheets of the page: what who has no scripts needs, too, and after those of the families the rest;
later rules win."""
TERMINAL = ("root", "terminal")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# Rules of parts of a player that follow one another are sent as one that has them all.
_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_PART = rf"(?P=of)(?:\.kp)* (?:[^{{}},()@]|{_ARGUMENTS})+"
_OF = r"(?:(?<=[{}])|^)(?=(?P<of>\.kp(?:\[data-my-large\])?))"
_WITHIN = re.compile(rf"{_OF}(?:{_PART}(?:,{_PART})*\{{[^{{}}]*\}}){{2,}}")
BOARD = {"words": "w", "slot": "s", "tall": "t", "foot": "f", "part": "p", "side": "i",
         "grow": "g", "head": "d", "seen": "n", "low": "l", "map": "m", "zoom": "z",
         "switch": "j"}  # fmt: skip
"""Lengths of the board, and what they are called where they are sent."""
_OF_BOARD = re.compile(rf"--({'|'.join(BOARD)})\b")
_VARIABLE = re.compile(r"var\(--([a-z-]+)\)")


class StoredRule(Struct, frozen=True):
    """A rule of stored output: ``tag`` or else all ``classes`` that an element needs for it."""

    tag: str
    classes: frozenset[str]
    declarations: str


@cache
def page_styles(model: str | None = None) -> tuple[str, str]:
    """What an exported page of a model (None: of any) needs to be read, and beside to be played."""
    drawings = "".join(map(_nested, (*drawing_rules(model), *stage_rules())))
    read, played = ([FOLDER / f"{name}.css" for name in names] for names in (READ, PLAYED))
    rules, more = map(_joined, ([*read, *_of_families("page", model)], played))
    return f"{faces()}{page_colours()}.kp svg{{{drawings}}}{rules}", more


@cache
def widget_style() -> str:
    """The same, and what JupyterLab needs beside."""
    return "".join(page_styles()) + lab_colours() + _sent(FOLDER / "controls.css")


@cache
def terminal_style() -> str:
    """What a terminal needs in JupyterLab, beside a player or alone.

    The common rules are confined to the terminal: a second time after a player's own they would
    win over those.
    """
    common, own = (_sent(FOLDER / f"{name}.css") for name in TERMINAL)
    return page_colours() + lab_colours() + common.replace(".kp", ".kit-terminal") + own


@cache
def drawing_rules(model: str | None = None) -> tuple[str, ...]:
    """The rules of drawings of a model (None: of any), one each."""
    return _rules((FOLDER / "drawing.css", *_of_families("drawing", model)))


@cache
def stage_rules() -> tuple[str, ...]:
    """The rules of the stage, one each."""
    return _rules((FOLDER / "stage.css",))


def _rules(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(rule[0] for rule in _RULE.finditer("".join(map(_sent, paths))))


@cache
def stored_rules() -> tuple[StoredRule, ...]:
    """The rules of stored output, with the light theme's colours in place."""
    sheets = [FOLDER / "stored.css", *_of_families("stored")]
    rules = [
        StoredRule("", frozenset(("chip", f"h-{hue}")), f"background:{fill};color:{ink}")
        for hue, (fill, ink, *_) in HUES.items()
    ]
    for selector, body in _RULE.findall("".join(map(_sent, sheets))):
        tag, *classes = selector.strip().split(".")
        declarations = _VARIABLE.sub(lambda name: LIGHT[name[1]], body)
        rules.append(StoredRule(tag, frozenset(classes), declarations))
    return tuple(rules)


def sheets() -> Iterator[Path]:
    """Yield every style sheet there is."""
    yield from sorted(FOLDER.glob("*.css"))
    for kind in ("page", "drawing", "stored"):
        yield from _of_families(kind)


def _of_families(kind: str, model: str | None = None) -> list[Path]:
    shown = set(_composed(model))
    paths = (
        family.folder / "css" / f"{kind}.css"
        for family in families()
        if model is None or family.name in shown
    )
    return [path for path in paths if path.is_file()]


def _composed(model: str | None) -> Iterator[str]:
    by_name = {family.name: family for family in families()}
    name = (model or "").split("/", maxsplit=1)[0]
    waiting = [each.name for each in families() if {model, name} & {*each.views}]
    while waiting:
        name = waiting.pop()
        yield name
        waiting += by_name[name].composes


def _sent(path: Path) -> str:
    text = resolved(_COMMENT.sub("", path.read_text(encoding="utf-8")))
    text = _OF_BOARD.sub(lambda name: f"--{BOARD[name[1]]}", text)
    return "".join(_tight(line.strip()) for line in text.splitlines()).replace(";}", "}")


def _joined(paths: Iterable[Path]) -> str:
    return _WITHIN.sub(_one_rule, "".join(map(_sent, paths)))


def _one_rule(run: re.Match[str]) -> str:
    begun = rf"(?:(?<=[,}}])|^){re.escape(run['of'])}(?: |(?=\.))"
    rules = re.sub(begun, lambda begin: "" if begin[0][-1] == " " else "&", run[0])
    return f"{run['of']}{{{rules}}}"


def _tight(line: str) -> str:
    if line.endswith(("{", ",")):
        return line.replace(" {", "{").replace(", ", ",")
    name, colon, value = line.partition(": ")
    return f"{name}:{value}".replace(", ", ",") if colon and line.endswith(";") else line


def _nested(rule: str) -> str:
    return rule.replace("svg", "&", 1) if rule.startswith(("svg{", "svg.")) else rule
