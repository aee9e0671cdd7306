"""What surrounds the frames: time, modes, messages, the list of keys. Drawn once."""

import re
from collections import Counter
from collections.abc import Container, Iterable
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from string import ascii_letters
from typing import Literal, TypeAlias

from kit.views.fragment import Frag, Kid, h
from kit.views.frame import flow_markers
from kit.views.parts import sheet

FOLDER = Path(__file__).resolve().parent.parent / "widgets" / "browser"

Entry: TypeAlias = Literal["widget", "terminal", "page", "live", "lesson", "drill"]

_IMPORT = re.compile(r'^import .* from "\./([a-z]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_COMMENT = re.compile(r"(^|\s+)// .*$")
# Texts, templates and regular expressions stay as they are; elsewhere no space is needed by a sign.
_KEPT = r'"[^"]*"|`[^`]*`|(?<=[(=] )/[^/]+/\w*|(?<=[(])/[^/]+/\w*'
_CONSTANTS = re.compile(r"(?<![(\w$.])(?:const (?:\{[^{};]*\})?[^;{}]*;){2,}")
_PARAMETER = re.compile(r"(?<!\w)\((\w+)\)(?==>)")
_SPACE = re.compile(rf"({_KEPT})| ?(!==|[-+*/=<>?:;,&|(){{}}[\]]+) ?")
# What stands last needs no semicolon and no comma, a share no nought; some words have shorter ones
# that do the same.
_TIGHT = r'"[^"]*"|`[^`]*`|(?<=[=(])/[^/]+/\w*'
_NEEDLESS = re.compile(
    rf"({_TIGHT})|;(?=}})|,(?=[]}})])|(?<![\w.])0(?=\.\d)|(?<!\.)\b(true|false|const|undefined)\b"
)
# Names that stand in many places; in texts, and where a hyphen is beside them, they stay.
_NAMES = {
    "player": "P",
    "element": "E",
    "choices": "C",
    "store": "S",
    "voice": "V",
    "wanted": "W",
    "bounds": "B",
    "animated": "A",
    "document": "D",
    "picture": "I",
    "sheet": "H",
    "other": "O",
}
_LONG = re.compile(rf'(?<![\w"-])({"|".join(_NAMES)})(?![\w"-])')
_HOLE = re.compile(r"\$\{[^{}\"]*\}")
_PART = re.compile(rf"{_TIGHT}|\.\.\.|[A-Za-z_]\w*|\d[\w.]*|.", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(
    r"(?:let|function|class) (\w+)|(\w+)=>|\(([\w,]+)\)(?:=>|\{)|,(\w+)=(?!=)"
    r"|\[([\w,]+)\](?:=| of|\))"
)
_MEMBER = re.compile(r"(?:this\.|[;{}\n]|get |async )([a-z]+[A-Z]\w*)(?:=(?!=)|\([^()]*\)\{)")
_WORDS = frozenset("as do if in is of".split())
SHORT = 2
_SHORT = {"true": "!0", "false": "!1", "const": "let", "undefined": "void 0"}


@cache
def raw_module(name: str) -> str:
    """A module as it lies in the folder, for a page that imports it by its name."""
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")


@cache
def browser_module(entry: Entry) -> str:
    """A module after all that it imports, each once.

    JupyterLab loads the *widget*, whose default export has ``render``, and beside it the
    *terminal*; the *page* starts an exported one, *live* one whose engine is beside it,
    *lesson* one of several Players,
    *drill* one with a terminal.
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        text = raw_module(name)
        for imported in _IMPORT.findall(text):
            if imported not in modules:
                add(imported)
        modules[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    lines = "".join(map(_sent, "".join(modules.values()).splitlines()))
    joined = _PARAMETER.sub(r"\1", lines)
    joined = _CONSTANTS.sub(lambda many: many[0].replace(";const ", ","), joined)
    joined = _NEEDLESS.sub(lambda part: part[1] or _SHORT.get(part[2], ""), joined)
    return _shortened(f"let D=document;{renamed(joined)}")


def renamed(code: str) -> str:
    """Code of a module as it is sent: names that stand in many places are a letter."""
    return _LONG.sub(lambda name: _NAMES[name[1]], code)


def _shortened(code: str) -> str:
    """The same with short names for what is declared here and names nothing else.

    A name is the same wherever it is, so that scopes stay as they are. What is a property, a key, a
    field or a method anywhere keeps its name, but for those of the modules' own classes that have
    a capital within and stand in no text.
    """
    parts = _PART.findall(code)
    texts = "".join(part for part in parts if part[0] == "`")
    quoted = (part for part in parts if part[0] == '"')
    kept = {*_NAME.findall(_HOLE.sub("", texts)), *re.findall(r"\.(\w+)", texts)}
    around, before = [""], ""
    uses: Counter[str] = Counter()
    for part, after in pairwise([*parts, ""]):
        if part in "([{":
            around.append(part)
        elif part in ")]}":
            around.pop()
        elif _NAME.fullmatch(part):
            uses[part] += 1
            in_braces = around[-1] == "{"
            is_key = (before in "{," and after in ",}=:(") or (before in "};\n" and after in "=(")
            is_other = before in ("get", "async") or (after == ":" and before != "?")
            if before == "." or is_other or (in_braces and is_key):
                kept.add(part)
        before = part if part != " " else before
    known = {name for each in _DECLARED.findall(code) for name in _NAME.findall("".join(each))}
    known = (known - kept) | set(_MEMBER.findall(code)) - set(_NAME.findall("".join(quoted)))
    own = [each for each, _ in uses.most_common() if each in known and len(each) > SHORT]
    fresh = (*ascii_letters, *(first + last for first, last in product(ascii_letters, repeat=2)))
    free = (each for each in fresh if each not in uses and each not in _WORDS)
    short: dict[str, str] = dict(zip(own, free, strict=False))

    def own_name(name: re.Match[str]) -> str:
        return short.get(name[0], name[0])

    def named(part: str) -> str:
        is_text = part[0] == "`"
        holes = _HOLE.sub(lambda hole: _NAME.sub(own_name, hole[0]), part) if is_text else ""
        return holes or short.get(part, part)

    return "".join(map(named, parts))


def _sent(line: str) -> str:
    code = _COMMENT.sub("", line).strip()
    tight = _SPACE.sub(lambda part: part[1] or part[2], code)
    goes_on = not tight or tight == "}" or tight[-1] in "{(,;=>?:&|"
    return tight if goes_on else f"{tight}\n"


ICONS = {
    "first": "M5 4v12M15 4l-7 6 7 6z",
    "back": "M13 4l-7 6 7 6z",
    "play": "M6 4l10 6-10 6z",
    "pause": "M6 4h3v12h-3zM11 4h3v12h-3z",
    "step": "M7 4l7 6-7 6z",
    "milestone": "M4 4l6 6-6 6zM11 4l6 6-6 6z",
    "fork": "M5 17V3M5 13c0-6 9-2 9-9M11.5 6.5L14 4l2.5 2.5",
}


def keys_help() -> tuple[tuple[str, str], ...]:
    """The keys, and what each does."""
    return (
        ("→  or  j", "one step forward; at the end of a branch, what the model suggests"),
        ("←  or  k", "one step back"),
        ("Shift + →", "to the next milestone"),
        ("Shift + ←", "to the previous milestone"),
        ("Home, End", "first and last step"),
        ("Space", "play and pause"),
        ("1 to 9", "do the action with this number in the list of all; 1: the next"),
        ("1 to 9", "while a question is open: choose, or vote in a class"),
        ("[  and  ]", "move through the picture; Enter shows what you can do with a part"),
        ("m", "move a thing by hand: arrows choose where, Enter drops it, Esc cancels"),
        ("a", "all actions, with a search box"),
        ("t, s", "the table, the states, in the place of the picture; again: the picture"),
        ("+  and  −", "a larger or smaller picture; 0: original size"),
        ("w", "why a promise breaks in this step"),
        ("f", "fork: begin a new branch at this step"),
        ("o", "film: the milestones as small pictures; Enter goes to one"),
        ("p", "projector: full screen, large type"),
        ("Page Up, Page Down", "on the projector: back and forward, also from a remote"),
        ("Esc", "close what covers the panels"),
        ("?", "this list"),
    )


def marks_help() -> tuple[tuple[str, str], ...]:
    """The marks of all pictures, and what each means."""
    return (
        ("dashed", "planned, or not yet true"),
        ("ink outline", "changed in this step"),
        ("hue and letter", "a node, and what it sent"),
        ("✓", "a promise that holds"),
        ("+ and −", "added, removed"),
        ("hollow", "down; grey with ✗: dead; with +: joining"),
        ("crown", "the leader"),
    )


def _buttons() -> tuple[tuple[str, str, str], ...]:
    return (
        ("back", "one step back", "←"),
        ("play", "play", "Space"),
        ("first", "first step", "Home"),
        ("step", "one step forward", "→"),
        ("milestone", "to the next milestone", "Shift →"),
        ("fork", "fork here", "f"),
    )


def _speeds() -> tuple[tuple[str, str], ...]:
    words = "slow", "normal", "fast", "very fast"
    return tuple(zip(("0.5", "1", "2", "5"), words, strict=True))


def shell(stage: Kid = None, note: str = "", *, idle: Container[str] = ()) -> Frag:
    """Draw the player's surroundings; ``stage`` is what is shown before any script has run.

    ``idle`` names the controls that have nothing to do in this page: they are not shown.
    """
    return h(
        "div",
        h("div", note, class_="kp-left-out", title=note) if note else None,
        h(
            "div",
            _time(),
            h("div", class_="kp-map", hidden=True, role="group", aria_label="branches"),
            h("div", stage, class_="kp-stage"),
            _stepper(idle),
            h("div", class_="kp-side", hidden=True, role="region", aria_label="compared branch"),
            _parting(),
            _modes(idle),
            _help(idle),
            h("div", class_="kp-film kp-sheet", hidden=True, role="group", aria_label="film"),
            h("div", class_="kp-peek kp-sheet", hidden=True, aria_hidden="true"),
            h("div", class_="kp-ask kp-sheet", hidden=True, role="group", aria_label="prediction"),
            class_="kp-board",
        ),
        flow_markers(),
        h("svg", h("path"), class_="kp-stroke", aria_hidden="true"),
        h("div", class_="kp-menu", hidden=True, role="group", aria_label="menu", data_rove=True),
        h("div", class_="kp-note", hidden=True),
        h("div", class_="kp-live", role="status", aria_live="polite"),
        class_="kp",
    )


def _time() -> Frag:
    slider = h("input", type="range", min=0, max=0, step=1, data_do="scrub", aria_label="step")
    track = h("div", slider, h("div", class_="kp-ticks", aria_hidden="true"), class_="kp-track")
    return h("div", track, class_="kp-time")


def _stepper(idle: Container[str]) -> list[Frag]:
    buttons = [_button(*each) for each in _buttons()[:2] if each[0] not in idle]
    where = h("span", "0 / 0", class_="kp-where", hidden=True)
    time = h("div", buttons, class_="kp-keys", role="group", aria_label="time")
    chip = h("button", type="button", data_do="open", hidden=True, title="open these steps")
    predict = _toggle(
        "predict",
        "Predict first",
        hidden="predict" in idle,
        title="answer a question before a step is shown",
    )
    return [predict, h("div", chip, where, class_="kp-at"), h("div", time, class_="kp-stepper")]


def _parting() -> Frag:
    close = h("button", "close", type="button", data_do="alone", aria_label="stop comparing")
    return h("div", h("span", class_="kp-parts"), close, class_="kp-diff", hidden=True)


def _modes(idle: Container[str]) -> Frag:
    speeds = [h("option", word, value=value, selected=value == "1") for value, word in _speeds()]
    steps = [_button(*each) for each in _buttons()[2:] if each[0] not in idle]
    zoom = [
        h("button", sign, type="button", data_do=f"zoom-{way}", aria_label=word)
        for way, sign, word in (("out", "−", "picture smaller"), ("in", "+", "picture larger"))
    ]
    shown = h(
        "div",
        h("div", steps, class_="kp-keys", role="group", aria_label="steps"),
        h("div", zoom, class_="kp-keys", role="group", aria_label="picture"),
        h("button", "All tables", type="button", data_do="tables"),
        _toggle("setup", "Set up", hidden=True, title="model, parameters, safeguards, search"),
        _toggle("story", "Story", title="show what several nodes do alike as one step"),
        _toggle("film", "Film", title="the milestones as small pictures"),
        _toggle("unfold", "Unfold runs", hidden=True, title="show each step of a run"),
        h("label", h("span", "speed"), h("select", speeds, data_do="speed")),
        _toggle("projector", "Projector", title="full screen, large type"),
        h("button", "?", type="button", data_do="help", aria_label="list of keys", title="keys"),
        class_="kp-modes",
        role="group",
        aria_label="modes",
    )
    summary = h("summary", "•••", aria_label="more")
    return sheet(summary, shown, kind="kp-pop kp-more")


def _help(idle: Container[str]) -> Frag:
    copy = [
        h("button", "Copy as Mermaid", type="button", data_do="copy"),
        h("pre", tabindex=0, role="region", aria_label="as Mermaid"),
    ]
    return h(
        "div",
        h("h3", "Keys"),
        _key_list(keys_help()),
        h("h3", "Marks"),
        _key_list(marks_help()),
        [] if "copy" in idle else copy,
        class_="kp-help kp-sheet",
        hidden=True,
        tabindex="0",
        role="group",
        aria_label="list of keys",
    )


def _key_list(rows: Iterable[tuple[str, str]]) -> Frag:
    return h("ul", [h("li", h("kbd", key), h("span", what)) for key, what in rows])


def _icon(name: str) -> Frag:
    path = h("path", d=ICONS[name], class_="line" if name == "fork" else None)
    return h("svg", path, viewBox="0 0 20 20", aria_hidden="true", focusable="false")


def _button(name: str, label: str, key: str) -> Frag:
    return h(
        "button",
        _icon(name),
        _icon("pause") if name == "play" else None,
        type="button",
        data_do=name,
        aria_label=label,
        title=f"{label} ({key})",
        aria_pressed="false" if name == "play" else None,
    )


def _toggle(name: str, word: str, *, hidden: bool = False, title: str = "") -> Frag:
    return h(
        "button",
        word,
        type="button",
        data_do=name,
        aria_pressed="false",
        hidden=hidden,
        title=title,
    )
