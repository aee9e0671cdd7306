"""What ARCHITECTURE.md says of where things are is true, and a stranger's questions end there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import ROOT, nodes

QUESTIONS = {
    "what majority a barrier asks for": "what majority a barrier asks for",
    "which node streams": "which node streams",
    "how to cancel after the read switch": "after the read switch",
    "how LOCAL_QUORUM counts": "how `LOCAL_QUORUM`",
    "how a frame gets to the browser": "from a frame to the browser",
    "how a Spark row gets to the Player": "from a Spark row to the Player",
}
FILE = re.compile(r"[\w./]+\.(?:py|js|css|toml|txt)")
NAMED = re.compile(r"((?:`[\w.]+`(?:\(\w*\))?(?:,? and )?)+) in `([\w./]+\.py)`")


def rows() -> list[tuple[str, str]]:
    """The rows of the table of rules: what is looked for, and where to look."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## Where to find a rule")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [(cell[0], cell[1]) for cell in cells[1:] if len(cell) == 2]


def files(where: str) -> Iterator[str]:
    """The files and folders that a row names, in code marks."""
    for word in re.findall(r"`([^`]+)`", where):
        if FILE.fullmatch(word) or word.startswith("kit/"):
            yield word


def there(word: str, where: str) -> bool:
    """Whether a file is there: from the top, beside another of its row, or in a family's folder."""
    folders = {
        Path(path) if not FILE.fullmatch(path) else Path(path).parent for path in files(where)
    }
    beside = [ROOT / folder / word for folder in folders]
    in_families = (ROOT / "kit/protocols").glob(f"*/{word}")
    return any(path.exists() for path in (ROOT / word, *beside, *in_families))


def names_of(path: Path) -> set[str]:
    """What a module defines at any depth: functions, classes, and values by name."""
    defined = {n.name for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return defined | {
        n.id for n in nodes(path) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def test_every_file_of_the_table_is_there() -> None:
    """Each file that a row sends a reader to exists."""
    assert len(rows()) > 40
    lost = [
        f"{what}: {word}"
        for what, where in rows()
        for word in files(where)
        if not there(word, where)
    ]
    assert not lost


def test_every_name_of_the_table_is_there() -> None:
    """Where a row says that a name is in a file, that file defines it."""
    claims = [
        (word.rsplit(".", 1)[-1], path)
        for _, where in rows()
        for listed, path in NAMED.findall(where)
        for word in re.findall(r"`([\w.]+)`", listed)
    ]
    assert len(claims) > 5
    lost = [
        f"{name} in {path}"
        for name, path in claims
        if (ROOT / path).exists() and name not in names_of(ROOT / path)
    ]
    assert not lost


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_strangers_question_is_answered_in_two_files(question: str) -> None:
    """One row of the table answers it, and sends the reader to two files at most."""
    [where] = [where for what, where in rows() if QUESTIONS[question] in what]
    assert 1 <= len(set(files(where))) <= 2
