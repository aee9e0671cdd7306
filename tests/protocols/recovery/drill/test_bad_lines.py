"""Whatever is typed: one clear line, and nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.drill import Drill, GradeRow, open_drill
from kit.errors import LONGEST_MESSAGE
from tests.examples import examples
from tests.protocols.recovery.drill.walks import (
    DELETE,
    DRILL,
    ISOLATE,
    MODE_WALK,
    READ,
    WHOLE,
    host,
    lead,
    walked,
)

WORDS = st.sampled_from(
    [word for line in (*WHOLE["server"], *MODE_WALK) for word in line.split()]
    + ["'", '"', "=", ";", ",", "--", "\x00", "\N{NO-BREAK SPACE}", "*", "happen", "die", "grep"]
)
LINES = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=12).map(" ".join),
    st.sampled_from(WHOLE["server"]),
    st.sampled_from(MODE_WALK),
)
BAD = {
    "unknown": ("nodtool status", "a command of this drill. Did you mean nodetool? help"),
    "half": ("nodetool", "nodetool: got 'nothing'; allowed: one of "),
    "half statement": ("DELETE value FROM system.scylla_local", "allowed: one of WHERE"),
    "wrong host id": ("nodetool removenode 42", f"a host id: one of {host('A')}, {host('B')}"),
    "open quote": ("SELECT * FROM system.raft WHERE group_id = 'x", "allowed: a closing '"),
    "unknown column": ("SELECT value FROM system.raft", "got 'value'; allowed: * or group_id"),
    "function": ("SELECT MAX(term) FROM system.raft", "version; or one of COUNT, JSON (SELECT"),
    "unquoted": ("SELECT * FROM system.scylla_local WHERE key = x", "a value in quotes"),
    "too much": ("nodetool status now", "nodetool status: got 'now'; allowed: nothing more"),
    "dump": ("Datacenter: dc1\n=====\nUN 10.0.0.1", "allowed: one command on one line"),
    "long": ("x" * 100_000, "line: got '100,000 characters'; allowed: one command"),
    "nothing": ("", "command: got 'nothing'; allowed: one of"),
    "option without a value": (
        "edit /etc/scylla/scylla.yaml recovery_leader: 42",
        "edit /etc/scylla/scylla.yaml recovery_leader: got '42'; allowed: a host id",
    ),
    "dead server": ("start C", "C is dead: there is no server to stop or start"),
    "dead server, restarted": ("restart D", "D is dead: there is no server to stop or start"),
    "server that is up": ("start A", "A is already up"),
    "another file": ("cat /etc/passwd", "allowed: one of /etc/scylla/scylla.yaml, /var/log"),
    "another tool": ("etcdctl endpoint status", "got 'etcdctl'; allowed: a command of this drill."),
    "another tool's dump": ('{"nodes": []}', "got '{'; allowed: a command of this drill."),
    "a shell's word": ("$(reboot)", "got '$(reboot)'; allowed: a command of this drill."),
    "no rows": ("SELECT * FROM system.raft LIMIT 0", "LIMIT: got '0'; allowed: a number from 1 on"),
    "not modelled, and half": ("jmx", "command: got 'jmx'; allowed: a command of this drill. help"),
    "impossible event": ("happen return A", "happen: got 'return A'; allowed: crash A, crash B"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_an_error_names_what_is_allowed(name: str) -> None:
    """One line; the state and all that was typed before stay."""
    drill = open_drill(DRILL["documents"])
    drill.enter("nodetool status")
    before, at = list(drill.transcript), drill.timeline.at
    line, said = BAD[name]
    entry = drill.enter(line)
    assert said in entry.error
    assert "\n" not in entry.error
    assert len(entry.typed) <= 2000
    assert drill.transcript[:-1] == before
    assert drill.timeline.at == at


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("start C", "C is dead: there is no server to stop or start"),
        ("stop C", "C is dead: there is no server to stop or start"),
        ("start A", "A is already up"),
        ("TRUNCATE system.raft", "allowed: one of TABLE, system.discovery, system.group0_history"),
        ("systemctl status scylla-server", "allowed: one of start, restart, stop"),
        ("nodetool removenode ffffffff-0000-4000-8000-000000000000", "allowed: a host id: one of"),
    ],
)
def test_an_error_in_recovery_mode_names_what_is_allowed(line: str, said: str) -> None:
    """One line, and nothing is lost; no verb of the model that was not typed."""
    drill = open_drill(DRILL["mode"])
    entry = drill.enter(line)
    assert said in entry.error
    assert len(drill.timeline.moments) == 1


@pytest.mark.parametrize("name", ["documents", "server", "mode"])
@examples(40)
@given(lines=st.lists(LINES, max_size=12))
def test_nothing_that_is_typed_loses_anything(name: str, lines: list[str]) -> None:
    """Each line leaves one entry; the history only grows, and replays to the same state."""
    drill = open_drill(DRILL[name])
    for count, line in enumerate(lines, 1):
        moments, transcript = list(drill.timeline.moments), list(drill.transcript)
        entry = drill.enter(line)
        assert drill.timeline.moments[: len(moments)] == moments
        assert drill.transcript == [*transcript, entry]
        assert len(drill.transcript) == count
        assert len(entry.error) <= LONGEST_MESSAGE
        assert not re.search("there is (no such action|nothing like that)", entry.error)
        assert all(part.isprintable() for part in (entry.error, entry.typed))
    drill.grade()
    assert type(drill.timeline).load(drill.timeline.save()).state == drill.timeline.state


@examples(60)
@given(line=LINES, cut=st.integers(0, 90))
def test_what_completes_a_line_begins_with_it(line: str, cut: int) -> None:
    """Each completion goes on from what was typed, in any case of letters, and is read further."""
    drill: Drill = open_drill(DRILL["server"])
    begun = line[:cut]
    for whole in drill.complete(begun):
        assert whole.casefold().startswith(begun.lstrip().casefold())


def data_row(edition: str, *lines: str) -> str:
    """What the grade tells of data after these lines."""
    [row] = [row for row in walked(edition, *lines).grade().rows if row.name == "data unavailable"]
    assert row.holds is None
    return row.why.removeprefix("more than at the start: ")


@pytest.mark.parametrize(
    ("edition", "lines", "one", "quorum"),
    [
        ("documents", WHOLE["documents"], 2, 2),
        ("server", WHOLE["server"], 4, 4),
        ("mode", MODE_WALK, 2, 4),
    ],
)
def test_only_stops_make_data_unavailable_removals_do_not(
    edition: str, lines: list[str], one: int, quorum: int
) -> None:
    """Fewer nodes have fewer ranges, but no smaller part of them is available. The published
    manual and RECOVERY mode stop both servers twice; the second time in RECOVERY mode both hold all
    data, so that ONE is met by the other.
    """
    states = len(walked(edition, *lines).now.run)
    said = f"at ONE in {one} of {states} states, at QUORUM in {quorum} of {states} states"
    assert data_row(edition, *lines) == said


def test_what_died_with_a_node_is_no_loss_of_the_operator() -> None:
    """B alone knew of entry 11 and died before A joined; had A led, the loss was a choice."""
    begun = [*ISOLATE, *READ, *DELETE]
    [row] = lost_row([*begun, *lead(), "restart B", "happen die B"])
    assert (row.holds, row.why) == (
        True,
        "only these entries are gone, with the last node that knew them: 11",
    )
    [row] = lost_row([*begun, *lead("A"), "restart A", "restart B", "happen die B"])
    assert row.holds is False
    assert "no live node has these entries any more: 11" in row.why


def lost_row(lines: list[str]) -> list[GradeRow]:
    """What the grade says of losses after these lines."""
    return [row for row in walked("documents", *lines).grade().rows if row.name == "nothing lost"]
