"""Journals of a topology coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.operators.importers.topology_journals import (
    ASKS,
    LINES,
    is_journal,
    parse_journals,
    read_journals,
)
from tests.operators.samples import one_line
from tests.operators.topology_printing import uuid
from tests.saying import says

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "topology"
LOGS = (FOLDER / "journal-b.log", FOLDER / "journal-a.log")
INNER = "{} INFO  2026-02-01 10:00:00,081 [shard 0: gms] "
SAID = "raft_topology - entered `write both read old` transition state"


def test_journals_of_two_hosts() -> None:
    """The lines that name states, of both hosts in the order of time, and nothing else."""
    entries = read_journals(LOGS)
    kinds = [(entry.host, entry.kind) for entry in entries[:3]]
    assert kinds == [("node-a", kind) for kind in ("updated", "entered", "updated")]
    words = [entry.words for entry in entries if entry.kind == "entered"]
    assert words[:2] == ["join_group0", "commit_cdc_generation"]
    assert words[2:] == [*["write_both_read_old"] * 2, "write_both_read_new"]
    excluded = [entry.excluded for entry in entries if entry.kind == "command"]
    assert excluded == [(uuid(1),), (), (), ()]
    assert entries[1].time == "Feb 01 10:00:00.200000"
    assert (entries[-1].source, entries[-1].line) == ("journal-b.log", 7)
    assert all(is_journal(path.read_text("utf-8")) for path in LOGS)


@pytest.mark.parametrize("name", LINES)
def test_an_example_is_of_its_kind(name: str) -> None:
    """Each kind of line knows how a server writes it, whatever other kinds begin alike."""
    said = LINES[name]["example"]
    (entry,) = parse_journals([("log", f"INFO  2026-02-01 10:00:00,250 [shard 0: gms] {said}")])
    assert entry.of == name
    assert LINES[name].get("ask", "state") in ASKS


@pytest.mark.parametrize(
    ("head", "time", "host"),
    [
        ("Feb  1 10:00:00 n1 scylla[1]:  [shard 0: gms] ", "Feb 01 10:00:00", "n1"),
        ("INFO  2026-02-01 10:00:00,250 [shard 0:strm] ", "2026-02-01 10:00:00.250000", "log"),
        (INNER.format("2026-02-01T10:00:00.081389Z"), "2026-02-01 10:00:00.081389Z", "log"),
        (INNER.format("2026-02-01T10:00:00.081389123Z"), "2026-02-01 10:00:00.081389Z", "log"),
        ("2026-02-01T12:00:00+0200 n1 scylla[1]:  ", "2026-02-01 10:00:00Z", "n1"),
        ("2026-02-01T10:00:00.5Z n1   !INFO | scylla[1]:  ", "2026-02-01 10:00:00.500000Z", "n1"),
    ],
)
def test_clocks(head: str, time: str, host: str) -> None:
    """The forms of journalctl and of the server's own log."""
    (entry,) = parse_journals([("log", head + SAID)])
    assert (entry.time, entry.host, entry.words) == (time, host, "write_both_read_old")


GOOD = f"Feb 01 10:00:00 n1 scylla[1]: {SAID}"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([""], "a | 'no line that tells of it' | entered"),
        (["gossip - x\n"], "a | 'no line that tells of it' | lines here: 1 of other loggers"),
        ([f"x\n{SAID}"], "a line 2 | 'raft_topology | starts with its time"),
        ([GOOD.replace("Feb 01", "Feb 31")], "a line 1 | starts with its time"),
        ([GOOD.replace("10:00:00", "25:00:00")], "a line 1 | starts with its time"),
        (
            [GOOD.replace(SAID, "raft_topology - executing global topology command x, excluded"
             " nodes: {5}")],
            "a line 1 | HOST-ID",
        ),
        (
            [GOOD, f"2026-02-01T10:00:00Z n2 scylla[1]: {SAID}"],
            "a line 1 | without a year | with a zone as in b line 1",
        ),
        ([f"{GOOD}\n2026-02-01T10:00:00Z n1 scylla[1]: {SAID}"], "a line 1 | as in a line 2"),
        ([f"2026-02-01T10:00:00Z n1 scylla[1]: {SAID}\n{GOOD}"], "a line 2 | as in a line 1"),
        (
            ["\n".join(GOOD.replace("Feb 01", day) for day in ("Feb 29", "Dec 01", "Feb 29"))],
            "a line 3 | February 29 only in leap years",
        ),
        ([GOOD, ""], "b | 'no line that tells of it'"),
    ],
)  # fmt: skip
def test_bad_journals(texts: list[str], said: str) -> None:
    """What cannot be ordered or read is named with its file and line."""
    with pytest.raises(BadInput) as caught:
        parse_journals(zip("ab", texts, strict=False))
    assert says(one_line(caught.value), said)
