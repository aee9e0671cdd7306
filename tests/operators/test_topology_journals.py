"""Journals of a topology coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.operators.importers.topology_journals import is_journal, parse_journals, read_journals
from tests.operators.samples import one_line
from tests.operators.topology_printing import uuid
from tests.saying import says

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "topology"
LOGS = (FOLDER / "journal-b.log", FOLDER / "journal-a.log")
SAID = "raft_topology - entered `write both read old` transition state"


def test_journals_of_two_hosts() -> None:
    """The lines that name states, of both hosts in the order of time, and nothing else."""
    entries = read_journals(LOGS)
    assert [(entry.host, entry.kind) for entry in entries[:3]] == [
        ("node-a", "updated"),
        ("node-a", "entered"),
        ("node-a", "updated"),
    ]
    assert [entry.words for entry in entries if entry.kind == "entered"] == [
        "join_group0",
        "commit_cdc_generation",
        "write_both_read_old",
        "write_both_read_old",
        "write_both_read_new",
    ]
    assert [entry.excluded for entry in entries if entry.kind == "command"] == [
        (uuid(1),),
        (),
        (),
        (),
    ]
    assert entries[1].time == "Feb 01 10:00:00.200000"
    assert (entries[-1].source, entries[-1].line) == ("journal-b.log", 7)
    assert all(is_journal(path.read_text("utf-8")) for path in LOGS)


@pytest.mark.parametrize(
    ("head", "time", "host"),
    [
        ("Feb  1 10:00:00 n1 scylla[1]:  [shard 0: gms] ", "Feb 01 10:00:00", "n1"),
        ("INFO  2026-02-01 10:00:00,250 [shard 0:strm] ", "2026-02-01 10:00:00.250000", "log"),
        (
            "2026-02-01T10:00:00.081389Z INFO  2026-02-01 10:00:00,081 [shard 0: gms] ",
            "2026-02-01 10:00:00.081389Z",
            "log",
        ),
        (
            "2026-02-01T10:00:00.081389123Z INFO  2026-02-01 10:00:00,081 [shard 0: gms] ",
            "2026-02-01 10:00:00.081389Z",
            "log",
        ),
        ("2026-02-01T12:00:00+0200 n1 scylla[1]:  ", "2026-02-01 10:00:00Z", "n1"),
        ("2026-02-01T10:00:00.5Z n1   !INFO | scylla[1]:  ", "2026-02-01 10:00:00.500000Z", "n1"),
    ],
)
def test_clocks(head: str, time: str, host: str) -> None:
    """The forms of journalctl and of the server's own log."""
    (entry,) = parse_journals([("log", head + SAID)])
    assert (entry.time, entry.host, entry.words) == (time, host, "write_both_read_old")


def test_the_turn_of_a_year() -> None:
    """Where a journal has no years, January comes behind December."""
    lines = [f"{day} 10:00:00 n1 scylla[1]: {SAID}" for day in ("Dec 31", "Jan 01", "Feb 29")]
    other = f"Dec 30 09:00:00 n2 scylla[1]: {SAID}"
    entries = parse_journals([("one", "\n".join(lines)), ("other", other)])
    assert [entry.time[:6] for entry in entries] == ["Dec 30", "Dec 31", "Jan 01", "Feb 29"]


def test_a_journal_that_begins_in_january_comes_behind_one_of_december() -> None:
    """Of two hosts the second took over after the turn of the year: seconds lie between, not 11
    months; journals of one year stay in its order.
    """
    old = f"Dec 31 23:59:59 n1 scylla[1]: {SAID}"
    new = f"Jan 01 00:00:01 n2 scylla[1]: {SAID}"
    entries = parse_journals([("new", new), ("old", old)])
    assert [(entry.host, entry.seconds) for entry in entries] == [("n1", 0.0), ("n2", 2.0)]
    march, may = (f"{month} 01 10:00:00 n1 scylla[1]: {SAID}" for month in ("Mar", "May"))
    entries = parse_journals([("b", may), ("a", march)])
    assert [(entry.source, entry.seconds) for entry in entries] == [("a", 0.0), ("b", 61 * 86400.0)]


@pytest.mark.parametrize(
    ("days", "hours"), [(("Feb 28", "Mar 01"), 24), (("Feb 29", "Mar 01"), 24)]
)
def test_the_end_of_february(days: tuple[str, str], hours: int) -> None:
    """A year is a leap year where a line says so."""
    lines = [f"{day} 10:00:00 n1 scylla[1]: {SAID}" for day in days]
    assert parse_journals([("a", "\n".join(lines))])[-1].seconds == hours * 3600


GOOD = f"Feb 01 10:00:00 n1 scylla[1]: {SAID}"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([""], "a | 'no line that names a state' | entered"),
        (["gossip - x\n"], "a | 'no line that names a state'"),
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
        ([GOOD, ""], "b | 'no line that names a state'"),
    ],
)  # fmt: skip
def test_bad_journals(texts: list[str], said: str) -> None:
    """What cannot be ordered or read is named with its file and line."""
    with pytest.raises(BadInput) as caught:
        parse_journals(zip("ab", texts, strict=False))
    assert says(one_line(caught.value), said)


def test_long_reasons_are_cut() -> None:
    """A reason of any length is kept up to a bound, and says that it was cut."""
    line = f"Feb 01 10:00:00 n1 scylla[1]: raft_topology - updating topology state: {'x' * 5000}"
    (entry,) = parse_journals([("a", line)])
    assert len(entry.words) == 2000
    assert entry.words.endswith("…")
