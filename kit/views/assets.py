"""The player's modules for the browser, joined into one text.

The sources are ES modules, to be read and checked as such; what is sent is one module without
imports, comments and layout. They lie beside the widget that loads them, but the exported page
needs them too, without importing any widget.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "widgets" / "browser"

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
_SHORT = {"true": "!0", "false": "!1", "const": "let", "undefined": "void 0"}


@cache
def widget_module() -> str:
    """The module that JupyterLab loads; its default export has ``render``."""
    return _joined("widget")


@cache
def page_module() -> str:
    """The module that starts an exported page."""
    return _joined("page")


@cache
def terminal_module() -> str:
    """The module of a terminal, which JupyterLab loads beside the player's."""
    return _joined("terminal")


def _joined(entry: str) -> str:
    """A module after all that it imports, each once."""
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        for imported in _IMPORT.findall(text):
            if imported not in modules:
                add(imported)
        modules[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    lines = "".join(map(_sent, "".join(modules.values()).splitlines()))
    joined = _CONSTANTS.sub(_one_statement, _PARAMETER.sub(r"\1", lines))
    return _NEEDLESS.sub(lambda part: part[1] or _SHORT.get(part[2], ""), joined)


def _one_statement(constants: re.Match[str]) -> str:
    """Constants that are declared one after the other."""
    return constants[0].replace(";const ", ",")


def _sent(line: str) -> str:
    """A line without comment and layout."""
    code = _COMMENT.sub("", line).strip()
    tight = _SPACE.sub(lambda part: part[1] or part[2], code)
    goes_on = not tight or tight == "}" or tight[-1] in "{(,;=>?:&|"
    return tight if goes_on else f"{tight}\n"
