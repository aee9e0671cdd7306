"""Links the first use of each word of the glossary in a notebook's prose to what it means.

Doing it again changes nothing: links are taken out first. ``make notebooks`` does it to each
notebook that it runs; alone this links all of them, or those that are named, without running any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from kit.catalogue.course import lesson
from kit.catalogue.glossary import Finder, finder, glossary_anchor
from kit.model.family import families

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
PAGE = "../docs/glossary.md"
LINKED = re.compile(rf"\[([^\]]+)\]\({re.escape(PAGE)}#[\w-]+\)")
# What is no running text: fenced code, tables, headings, pictures and links, code, HTML.
APART = re.compile(
    r"^ *```.*?^ *```|^ *\|.*?$|^#+ .*?$|!?\[[^\]]*\]\([^)]*\)|(`+).+?\1|<[^>]+>|\$[^$\n]+\$",
    re.MULTILINE | re.DOTALL,
)
TRACKS = {0: "tcm", 30: "topology", 90: "tcm"}
"""Whose words a lesson speaks whose cells name no model, by the first number of its track."""

LED = {"coordinator": "topology coordinator"}
MEANT: dict[str, dict[str, str]] = {
    "the-cms": {"promise": "", "promises": ""},
    "a-log-by-paxos": {"promise": "", "promises": ""},
    "be-the-network": {"promise": ""},
    "the-coordinator": {**LED, "cancels": ""},
    "when-things-fail-halfway": LED,
    "one-tablet-moves": LED,
    "the-row-that-came-back": LED,
    "balance-split-merge": LED,
    "into-raft": LED,
    "recovery-drill": LED,
    "every-way-back": LED,
    "a-nodes-way-in": LED,
    "the-queue": {**LED, "cancels": ""},
    "four-small-stories": LED,
}
"""Words that mean something else in a lesson: another word of the glossary, or none of them."""


def spoken(notebook: Any, name: str) -> Finder:
    """What finds the words of a notebook: those of the models that its cells name in quotes."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    quoted = set(re.findall(r"[\"']([\w-]+)(?:/[\w-]+)?[\"']", code))
    models = {model: family for family in families() for model in family.models}
    named = [model for model, family in models.items() if {model, family.name} & quoted]
    number = lesson(name).number
    return finder(*named or [next(TRACKS[at] for at in reversed(TRACKS) if at <= number)])


def linked(notebook: Any, name: str) -> Any:
    """Link, in place, the words of a notebook of that name; returns the notebook."""
    words, met = spoken(notebook, name), set[str]()
    meant = MEANT.get(lesson(name).slug, {})
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = "".join(_linked(LINKED.sub(r"\1", cell.source), words, meant, met))
    return notebook


def _linked(text: str, words: Finder, meant: dict[str, str], met: set[str]) -> Iterator[str]:
    done = 0
    apart = [match.span() for match in APART.finditer(text)]
    for found, begin, end in words.find(text):
        word = meant.get(text[begin:end].casefold(), found)
        inside = any(start < end and begin < stop for start, stop in apart)
        if word and word not in met and not inside:
            met.add(word)
            yield f"{text[done:begin]}[{text[begin:end]}]({PAGE}#{glossary_anchor(word)})"
            done = end
    yield text[done:]


def main() -> int:
    """Link the notebooks named on the command line, or all of them; say which have changed."""
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        before = path.read_text(encoding="utf-8")
        after = nbformat.writes(linked(nbformat.reads(before, as_version=4), path.name))
        if f"{after}\n" != before:
            path.write_text(f"{after}\n", encoding="utf-8")
            print(f"linking: {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
