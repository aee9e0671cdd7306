"""Citations in code lead somewhere: to an entry of ``docs/sources.md``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import ROOT, nodes, offenders, project_files, python_files

SOURCES = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
TEXT = {".py", ".js", ".css", ".md", ".txt", ".ipynb", ".svg"}
QUESTION = re.compile(r"\bQ-\d+\b")
CITED = re.compile(r"\bSources?: (.*?)(?=(?<!\b[A-Z])\.(?: [A-Z]|$)|$)")
TITLE = re.compile(r'"([^"]+)"')
# Nobody but those who made the kit knows the documents by number.
NUMBERED = re.compile(r"\bseeds?\s+(?:# )?0\d\d\b", re.IGNORECASE)
OTHERS = ("published", "RFC 9562", "WCAG", "``kit.")


def _short_names() -> list[str]:
    """The first column of the table of documents."""
    table = SOURCES.split("## The documents")[1].split("\n## ")[0]
    return re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[1:]


def _citations(path: Path) -> Iterator[str]:
    """What each text of a module says after *Source:* or *Sources:*, up to the sentence's end."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from CITED.findall(re.sub(r"\s+", " ", node.value))


def _unknown(path: Path) -> Iterator[str]:
    """Citations without a known source, and titles of sections that nothing lists."""
    names = (*_short_names(), *OTHERS)
    for cited in _citations(path):
        titles = TITLE.findall(cited)
        if not titles and not QUESTION.search(cited) and not any(name in cited for name in names):
            yield cited
        yield from (title for title in titles if f'"{title}"' not in SOURCES)


def _unanswered(path: Path) -> Iterator[str]:
    """Numbers of questions that have no answer in the table."""
    text = path.read_text(encoding="utf-8")
    yield from (each for each in QUESTION.findall(text) if f"| {each} |" not in SOURCES)


def test_every_citation_leads_to_a_source() -> None:
    """A document's short name, a section's title, or published code: all are explained there."""
    assert len(_short_names()) == 6
    assert not offenders(python_files("kit"), _unknown)


def test_every_question_has_its_answer() -> None:
    """A question of the documents that code or a page names by number is answered there."""
    texts = [path for path in project_files() if path.suffix in TEXT]
    assert not offenders(texts, _unanswered)


def test_no_document_is_cited_by_number() -> None:
    """Documents are cited by the names under which they are public."""
    texts = [path for path in project_files() if path.suffix in TEXT]
    assert not offenders(texts, lambda path: NUMBERED.findall(path.read_text(encoding="utf-8")))
