"""``plan`` for people: what it says of each event, and how it is laid out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kit.commands.answer import WIDTH
from kit.commands.cli import ANSWERS, SESSIONS
from kit.model.family import families
from tests.commands.calling import call, ring_of, written
from tests.commands.drawing import clusters, keyspaces, operations
from tests.examples import examples
from tests.saying import line_with

ABC = [{"name": n, "tokens": [t]} for n, t in (("A", 100), ("B", 200), ("C", 300))]
CEP = ("--edition", "documents")
COMMANDS = (*ANSWERS, *(name for family in families() for name in family.commands), *SESSIONS)
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": 2}
# A line each: the key words of a sentence, or a row of a table.
JOIN = """\
bootstrap X --tokens 150 | accepted | 4 events | 1 to 4 | edition documents
locks
ks (min, 100] (100, 150] (150, 200] (300, max]
epoch 1: split
ks | reads writes
− (100, 200] B, C B, C
+ (100, 150] B, C B, C
+ (150, 200] B, C B, C
3 | unchanged
epoch 2: add-writes
wait | 1 | applied
ks (min, 100] 2 of A, B, X
(100, 150] 2 of B, C, X
(150, 200] 2 of B, C
(300, max] 2 of A, B, X
ks | reads writes
(min, 100] A, B A, B, +X
(100, 150] B, C B, C, +X
(300, max] A, B A, B, +X
2 | unchanged
epoch 3: switch-reads
wait | 2 | same
copy
ks (min, 100] 2,000 bytes B → X
(100, 150] 500 bytes C → X
(300, max] 0 bytes B → X
ks | reads writes
(min, 100] A, +X, −B A, B, X
(100, 150] +X, B, −C B, C, X
(300, max] A, +X, −B A, B, X
2 | unchanged
epoch 4: drop-writes
wait | 3 | same
ks | reads writes
(min, 100] A, X A, X, −B
(100, 150] X, B X, B, −C
(300, max] A, X A, X, −B
2 | unchanged
in total | 3 ranges | 2,500 bytes
X receives 3 ranges 2,500 bytes from B (2), C (1)
"""


def test_join_in_words(tmp_path: Path) -> None:
    """The text of a join, line by line: what waits, what is copied, what changes, and the sum."""
    path = written(tmp_path, ring_of(ABC, {"ks": SIMPLE_2}))
    rows = [[None, 100, 2000], [100, 200, 1000], [300, None, 0]]
    sizes = written(tmp_path, {"ranges": {"ks": rows}}, "sizes.json")
    answer = call("plan", path, "bootstrap", "X", "--tokens", "150", "--sizes", sizes, *CEP)
    assert (answer.status, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines() if line]
    for line, pinned in zip(lines, JOIN.splitlines(), strict=True):
        assert line_with(line, *pinned.split(" | ")), (line, pinned)


def test_refusal_in_words(tmp_path: Path) -> None:
    """A refusal says why, and by whom each range is held."""
    words = ["decommission", "n3", "--while", "bootstrap x --tokens 350"]
    answer = call("plan", written(tmp_path, ring_of()), *words)
    assert answer.status == 1
    lines = answer.out.splitlines()
    assert lines[0] == "decommission n3: refused (Cassandra, edition server)"
    assert line_with(lines[1], "(100, 200]", "locked", "bootstrap x")
    assert "  ks  (100, 200]  held by bootstrap x --tokens 350" in lines


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_within_the_terminal(tmp_path: Path, data: st.DataObject) -> None:
    """On any ring of short names no line is longer than 100 characters or ends in a blank."""
    nodes = data.draw(clusters(64, 3))
    content = ring_of([node.plain for node in nodes], data.draw(keyspaces(nodes)))
    words = data.draw(operations(nodes)).words
    words = [word for word in words if len(word) < 30]  # many tokens stand on one line
    answer = call("plan", written(tmp_path, content), *words)
    lines = answer.out.splitlines()
    assert all(len(line) <= WIDTH for line in lines[1:])
    assert all(line == line.rstrip() for line in lines)


def test_help() -> None:
    """The help of plan needs no ring, and explains both kinds of files and the statuses."""
    answer = call("plan", "--help")
    assert answer.status == 0
    for word in ("bootstrap NODE --tokens", "--while", "--sizes", '"keyspaces"', "Exits with 0"):
        assert word in answer.out
    assert max(map(len, answer.out.splitlines())) <= WIDTH
    assert answer.out.isascii()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_of_every_command(command: str) -> None:
    """Every command says what it does, within a terminal's width and without marks of a source."""
    answer = call(*command.split(), "--help")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"usage: python -m kit {command}".rstrip())
    assert max(map(len, answer.out.splitlines())) <= WIDTH
    assert "``" not in answer.out
    about = answer.out.split("\n\n")[1]
    assert not about.startswith(("options", "positional arguments"))
