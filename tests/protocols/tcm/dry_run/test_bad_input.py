"""Outputs that are cut short, mixed up or of two clusters: one line, wherever one looks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from kit.operators.importers.ringfile import RingFile
from tests.commands.calling import bad
from tests.protocols.tcm.dry_run.samples import FILES, KS, SHOP, cluster
from tests.saying import says

RING, STATUS = (path.read_text(encoding="utf-8") for path in FILES)
LEAVE = "decommission 10.20.0.2"


def lines(text: str, *parts: slice) -> str:
    """Some lines of a text."""
    found = text.splitlines(keepends=True)
    return "".join(line for part in parts for line in found[part])


CASES: dict[str, tuple[list[str], str]] = {
    "cut inside a row": ([RING[:900]], "{ring} line 11 | '10.20.0.6 r3 Down Normal'"),
    "cut behind a row": (
        [lines(RING, slice(9))],
        "{ring} line 9 | -2122045640811179692 | 8110021140146165997 | last | token",
    ),
    "cut behind a heading": (
        [lines(RING, slice(4))],
        "{ring} line 2 | 'east' | datacenter | rows | cut",
    ),
    "status cut inside a row": (
        [RING, STATUS[:700]],
        "{status} line 12 | 'UN 10.20.0.7 446.29 Gi' | row | nodetool | status",
    ),
    "status cut behind a row": (
        [RING, lines(STATUS, slice(9))],
        "{ring}: node | '10.20.0.5' | node | also in {status}",
    ),
    "one output twice in a file": (
        [RING + RING],
        "{ring} line 27 | 'Datacenter: east' | Datacenter | name | each",
    ),
    "two outputs in one file": (
        [RING + STATUS],
        "{ring} line 26 | 'Datacenter: east' | Datacenter | name | each",
    ),
    "rows of another output": (
        [lines(RING, slice(8)) + lines(STATUS, slice(6, None))],
        "{ring} line 9 | 'UN 10.20.0.2 464.13 GiB 1 ? 00000002",
    ),
    "a node of another cluster": (
        [RING, STATUS.replace("10.30.0.4", "10.30.0.7")],
        "{ring}: node | '10.30.0.4' | node | also in {status}",
    ),
    "a datacenter of another cluster": (
        [RING, STATUS.replace("west", "north")],
        "{status}: datacenter of 10.30.0.1 | 'north' | west | {ring} | these",
    ),
    "a rack of another cluster": (
        [RING, STATUS.replace("  r3", "  r9")],
        "{status}: rack of 10.20.0.3 | 'r9' | r3 | {ring} | these",
    ),
    "a token twice": (
        [RING.replace("2067824220163296681", "43919817010192881  ")],
        "{ring} line 11 | 43919817010192881 | each | token | once",
    ),
    "a token that is none": (
        [RING.replace("2067824220163296681", "92067824220163296681")],
        "{ring} line 11 | '10.20.0.6 r3 Down Normal 491.64 GiB ? 920678",
    ),
    "only the status": ([STATUS], "{ring} | 'no tokens' | files | say | tokens"),
    "another tool's words": (
        ["nodetool: Failed to connect to '127.0.0.1:7199'\n"],
        '{ring} line 1 | "nodetool: Failed to connect',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_output_is_refused_in_one_line_with_place_value_and_remedy(
    name: str, tmp_path: Path
) -> None:
    """The command line, a file and a text in a notebook say the same."""
    texts, said = CASES[name]
    files = [tmp_path / ("ring.txt", "status.txt")[i] for i in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    more = [word for file in files[1:] for word in ("--with", str(file))]
    in_files = said.format(ring="ring.txt", status="status.txt")
    command = ("plan", str(files[0]), "decommission", "10.20.0.2", "--keyspace", SHOP)
    assert says(bad(*command, *more), in_files)
    for given, wanted in ((files, in_files), (texts, said.format(ring="text 1", status="text 2"))):
        with pytest.raises(BadInput) as caught:
            kit.rehearse(given, LEAVE, keyspaces=SHOP)
        assert says(caught.value, wanted), (given, wanted)
        assert "\n" not in str(caught.value), (given, wanted)
        assert caught.value._render_traceback_() == [f"BadInput: {caught.value}"], (given, wanted)


def bare() -> RingFile:
    """The lesson's cluster without a keyspace."""
    given = cluster()
    return RingFile(given.epoch, given.ring, ())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kit.rehearse(7, LEAVE), "ring | 7 | file | several | files"),
        (lambda: kit.rehearse([FILES[0], None], LEAVE), "ring | None | file"),
        (lambda: kit.rehearse([], LEAVE), "ring files | 'none'"),
        (lambda: kit.rehearse("no-such-file.txt", LEAVE), "ring file | 'no-such-file.txt'"),
        (lambda: kit.rehearse(FILES, LEAVE), "keyspaces | None | more"),
        (lambda: kit.rehearse(bare(), LEAVE), "keyspaces | None | more"),
        (lambda: kit.rehearse(cluster(), LEAVE, keyspaces=KS), "keyspaces |"),
        (lambda: kit.rehearse(FILES, LEAVE, keyspaces="shop"), "keyspaces | 'shop' | ks={"),
        (lambda: kit.rehearse(cluster(), ""), "operations | '' | line | several"),
        (lambda: kit.rehearse(cluster(), []), "operations | [] | line | several"),
        (lambda: kit.rehearse(cluster(), 7), "operations | 7 | line | several"),
        (lambda: kit.rehearse(cluster(), [7]), "operations | 7 | line"),
        (lambda: kit.rehearse(cluster(), [LEAVE, 7]), "operations | 7 | line"),
        (lambda: kit.rehearse(cluster(), "dance n1"), "operation | 'dance n1' | bootstrap"),
        (lambda: kit.rehearse(cluster(), LEAVE, edition="odd"), "edition | 'odd'"),
        (lambda: kit.rehearse(cluster(), LEAVE, sizes={"n1": 1}), "nodes | 'n1'"),
        (lambda: kit.rehearse(cluster(), LEAVE, sizes={"10.20.0.2": -1}), "nodes.10.20.0.2: got"),
        (lambda: kit.rehearse(cluster(), LEAVE, sizes="no.json"), "sizes file | 'no.json'"),
    ],
)
def test_a_rehearsal_refuses_a_wrong_argument_in_one_line(
    call: Callable[[], Any], said: str
) -> None:
    """The line names the argument, its value and what is allowed."""
    with pytest.raises(BadInput) as caught:
        call()
    assert says(caught.value, said), str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_endless_argument_of_a_rehearsal_is_refused_without_reading_to_its_end() -> None:
    """The error names the argument."""
    endless: tuple[tuple[Any, Any, Any, str], ...] = (
        (range(10**12), KS, LEAVE, "ring"),
        ([RING], repeat(KS), LEAVE, "keyspaces"),
        ([RING, STATUS], KS, repeat(LEAVE), "operations"),
    )
    for ring, keyspaces, operations, field in endless:
        with pytest.raises(BadInput, match=field):
            kit.rehearse(ring, operations, keyspaces=keyspaces)
