"""What nodetool cms and the virtual tables of the metadata log print.

The fixtures are written by hand after the layout of the published command.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.metadata_log import (
    Directory,
    Log,
    LogEntry,
    differences,
    is_metadata,
    parse_metadata,
    read_metadata,
)
from tests.saying import says

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "metadata"
LOG, DIRECTORY, VIEW = ((FOLDER / f"{n}.txt").read_text() for n in ("log", "directory", "describe"))
BLOCK = """\
Epoch: 7
  kind           PREPARE_JOIN
  transformation PrepareJoin{id=NodeId{id=5}, tokens=[2500, -500]}
  entry_id       -7
  entry_time     Mon Nov 23 10:00:03 UTC 2026
"""


def log(text: str) -> Log:
    """The entries of a text."""
    told = parse_metadata(text, "log")
    assert isinstance(told, Log)
    return told


def unplaced(told: Log) -> list[LogEntry]:
    """The entries without their places in the file."""
    return [replace(entry, where="") for entry in told.rows]


def test_a_dumped_log() -> None:
    """Fields in any order; a text over several lines; ids, tokens, places as far as told."""
    entries = {entry.epoch: entry for entry in log(LOG).rows}
    assert list(entries) == list(range(31, 43))
    assert entries[31].text.endswith("(\n    k int PRIMARY KEY,\n    kind text\n)}")
    assert entries[31].node is None
    came = entries[32]
    assert (came.address, came.dc, came.rack, came.node) == ("10.0.0.5", "dc1", "r2", None)
    assert came.entry_id == "4611686018427387904"
    assert (entries[33].node, entries[33].tokens) == (5, (-500, 2500))
    assert (entries[34].kind, entries[34].node) == ("START_JOIN", 5)
    left = next(entry for entry in entries.values() if entry.kind == "PREPARE_LEAVE")
    assert (left.node, left.force) == (3, True)


@pytest.mark.parametrize(
    ("kind", "text", "node", "replaced", "tokens"),
    [
        ("UNSAFE_JOIN", "UnsafeJoin{id=NodeId{id=4}, tokens=[9], streamData=true}", 4, None, (9,)),
        ("PREPARE_MOVE", "PrepareMove{nodeId=NodeId{id=2}, tokens=[1]}", 2, None, (1,)),
        ("PREPARE_REPLACE", "PrepareReplace{replaced=NodeId{id=3}, replacement=7}", 7, 3, ()),
        (
            "MID_REPLACE",
            "MidReplace{, delta={}, replaced=NodeId{id=3}, replacement=NodeId{id=7}}",
            7,
            3,
            (),
        ),
        ("ASSASSINATE", "Assassinate{leaving=NodeId{id=8}}", 8, None, ()),
        ("CANCEL_SEQUENCE", "CancelInProgressSequence{nodeId=NodeId{id=1}}", 1, None, ()),
        ("FORCE_SNAPSHOT", "ForceSnapshot{base=Directory{id=NodeId{id=1}}}", None, None, ()),
        ("FROM_THE_FUTURE", "Nobody{knows=this}", None, None, ()),
    ],
)
def test_what_a_text_tells(
    kind: str, text: str, node: int | None, replaced: int | None, tokens: tuple[int, ...]
) -> None:
    """The nodes and tokens of each form; a base state names everybody, and so nobody."""
    block = BLOCK.replace("PREPARE_JOIN", kind)
    rendered = "PrepareJoin{id=NodeId{id=5}, tokens=[2500, -500]}"
    (entry,) = log(block.replace(rendered, text)).rows
    assert (entry.node, entry.replaced, entry.tokens) == (node, replaced, tokens)
    assert entry.text == text


def test_a_dumped_directory() -> None:
    """An address is compared without host name and port; an operation is shown while it runs."""
    told = parse_metadata(DIRECTORY, "directory")
    assert isinstance(told, Directory)
    assert [(node.node, node.address, node.state) for node in told.rows[:2]] == [
        (1, "10.0.0.1", "MOVING"),
        (2, "10.0.0.2", "JOINED"),
    ]
    assert dict(told.rows[0].operation)["nextStep"] == "MID_MOVE"
    assert told.rows[4].tokens == (-500, 2500)
    without = "".join(line + "\n" for line in DIRECTORY.splitlines() if "  tokens " not in line)
    again = parse_metadata(without, "directory")
    assert isinstance(again, Directory)
    assert {node.tokens for node in again.rows} == {None}
    assert list(differences(told, again)) == []


def test_rows_of_the_virtual_tables() -> None:
    """The same entries as JSON and as CSV, in whatever order the rows come."""
    entries = log(LOG).rows
    rows = [
        {
            "epoch": entry.epoch,
            "kind": entry.kind,
            "transformation": entry.text,
            "entry_id": int(entry.entry_id),
            "entry_time": "2026-11-23 10:00:03.000Z",
        }
        for entry in entries
    ]
    Random(5).shuffle(rows)
    told = log(json.dumps(rows))
    assert [(e.epoch, e.node, e.tokens) for e in told.rows] == [
        (e.epoch, e.node, e.tokens) for e in entries
    ]
    columns = list(rows[0])
    lines = [",".join(f'"{row[name]}"' for name in columns) for row in rows]
    assert unplaced(log("\n".join([",".join(columns), *lines]))) == unplaced(told)


def cqlsh(rows: list[dict[str, str]]) -> str:
    """Rows as cqlsh prints them: right-aligned, breaks of lines and backslashes escaped."""
    shown = [
        [each.replace("\\", "\\\\").replace("\n", "\\n") for each in row.values()] for row in rows
    ]
    widths = [max(map(len, each)) for each in zip(list(rows[0]), *shown, strict=True)]
    lines = [" | ".join(map(str.rjust, each, widths)) for each in (list(rows[0]), *shown)]
    rule = "+".join("-" * (width + 2) for width in widths)
    body = "\n".join(f" {line}" for line in lines[1:])
    return f"\n {lines[0]}\n{rule}\n{body}\n\n({len(rows)} rows)\n"


def test_the_table_that_cqlsh_prints() -> None:
    """A text may hold bars, breaks of lines and backslashes; the count of rows is held against."""
    entries = log(LOG.replace("v text", "v text -- a | b\\n")).rows
    rows = [
        {
            "epoch": str(e.epoch),
            "entry_id": e.entry_id,
            "entry_time": "2026-11-23 10:00:03.000000+0000",
        }
        | {"kind": e.kind, "transformation": e.text}
        for e in entries
    ]
    text = cqlsh(rows)
    assert is_metadata(text)
    assert [(e.epoch, e.text, e.node, e.tokens) for e in log(text).rows] == [
        (e.epoch, e.text, e.node, e.tokens) for e in entries
    ]
    directory = parse_metadata(DIRECTORY, "directory")
    assert isinstance(directory, Directory)
    listed = [
        {"node_id": str(n.node), **dict(n.fields), "tokens": str([*map(str, n.tokens or ())])}
        | {"multi_step_operation": str(dict(n.operation)) if n.operation else "null"}
        for n in directory.rows
    ]
    assert list(differences(directory, parse_metadata(cqlsh(listed), "table"))) == []
    for broken, message in (
        (text.replace("(12 rows)", "(13 rows)"), "line 17 | (13 rows) | the count of rows"),
        (text.partition("(12 rows)")[0] + "---MORE---\n", "line 17 | ---MORE--- | all pages"),
    ):
        with pytest.raises(BadInput) as raised:
            parse_metadata(broken, "log")
        assert says(str(raised.value), message)
    for cut in range(1, len(rows)):
        pages = "\n---MORE---\n".join(cqlsh(some)[1:-11] for some in (rows[:cut], rows[cut:]))
        for last in ("\n", "\n---MORE---\n\n"):  # cqlsh prints no table for a page without rows
            whole = log(f"{pages}{last}({len(rows)} rows)\n").rows
            assert [(e.epoch, e.text) for e in whole] == [(e.epoch, e.text) for e in entries]
    for last, message in (("(13 rows)\n", "(13 rows)"), ("foo\n\n(12 rows)\n", "foo")):
        with pytest.raises(BadInput) as raised:
            log(f"{cqlsh(rows)[:-10]}---MORE---\n\n{last}")
        assert says(str(raised.value), f"log line 19 | {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "allowed: what nodetool cms"),
        ("Epoch: 7\n", "log line 1 Epoch 7 kind | None | cut short"),
        (BLOCK.replace("  entry_id       -7\n", ""), "log line 1 Epoch 7 entry_id | None"),
        (BLOCK + BLOCK, "log line 6 | Epoch: 7 | ascending"),
        (BLOCK + "  kind           PREPARE_JOIN\n", "log line 6 | each field once"),
        (BLOCK.replace("-7", "seven"), "entry_id | seven | a number"),
        (BLOCK.replace("Mon Nov 23", "yesterday"), "entry_time | a time as Java"),
        (BLOCK.replace("Mon Nov 23", "Mon Feb 30"), "entry_time | a time as Java"),
        (BLOCK.replace("Mon Nov 23", "Tue Nov 23"), "entry_time | a time as Java"),
        (BLOCK.replace("Mon Nov 23 10:", "Mon Nov 23 25:"), "entry_time | a time as Java"),
        (BLOCK.replace("PREPARE_JOIN", "prepare join"), "kind | a kind in capitals"),
        (BLOCK.replace("2500, -500", "2500, 2500"), "tokens | 2500 | each token once"),
        (BLOCK.replace("2500", "9" * 19 + "9"), "tokens | signed 64-bit"),
        (BLOCK.replace("Epoch: 7", "Epoch: 0"), "epoch | 0 | a number from 1"),
        (BLOCK.replace("  kind ", "  zap            it\n  kind ", 1), "log line 2 | zap it"),
        (
            BLOCK.replace("-7\n", "-7\n  zap            it\n"),
            "log line 5 | zap it | a field of Epoch",
        ),
        (DIRECTORY.replace("JOINED", "HAPPY", 1), "state | HAPPY | REGISTERED"),
        (DIRECTORY.replace("6d194555", "6d19455", 1), "host_id | a UUID"),
        (DIRECTORY.replace("/10.0.0.1\n", "/10.0.0.\n", 1), "an IPv4 or IPv6 address"),
        (
            re.sub(r"(?m)^  tokens .*", "  tokens                [-3, 5]", DIRECTORY),
            "tokens | -3 | a token of its own; NodeId 1 owns this one",
        ),
        (VIEW.replace("Epoch: 42\n", ""), "describe Epoch | None | cut short"),
        (VIEW.replace("Epoch: 42", "Epoch: ٤٢"), "describe Epoch | a number"),
        (VIEW.replace("Epoch: 42", f"Epoch: {'9' * 20}"), "describe Epoch | a number"),
        (VIEW.replace("Member: true", "Member: yes"), "describe Is Member | 'yes' | true, false"),
        (VIEW.replace("LOCAL", "NEAR"), "describe Service State | 'NEAR' | LOCAL, REMOTE"),
        (VIEW.replace("1234567", "x"), "describe CMS Identifier | 'x' | a number"),
        (VIEW.replace("Count: 0", "Count: -1"), "describe Local Pending Count | '-1' | a number"),
        (VIEW.replace("/10.0.0.1:7000", "/10.0.0"), "describe Members | '10.0.0'"),
        (VIEW.replace("Epoch: 42", "Epoch: many"), "Epoch | many | a number"),
        (VIEW + "Weather: fine\n", "line 12 | Weather: fine"),
        ('[{"epoch": 1, "transformation": null}]', "kind | None"),
        ('[{"epoch": "x", "transformation": "t"}]', "epoch | x | a number from 0"),
    ],
)
def test_bad_input_gets_one_line(text: str, message: str) -> None:
    """Nothing is guessed: what is cut short, twice or no value is named."""
    source = "describe" if text.startswith("Cluster Metadata") else "log"
    with pytest.raises(BadInput) as raised:
        parse_metadata(text, source)
    assert says(str(raised.value), message)
    assert "\n" not in str(raised.value)


def test_a_file(tmp_path: Path) -> None:
    """Files are read within the usual limits."""
    read = read_metadata(FOLDER / "log.txt")
    assert isinstance(read, Log)
    assert read.rows[0].where == "log.txt line 1 Epoch 31"
    assert unplaced(read) == unplaced(log(LOG))
    with pytest.raises(BadInput):
        read_metadata(tmp_path / "none.txt")
