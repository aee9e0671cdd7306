"""Which lines of servers' logs are quoted, and which are in words of the kit's own."""

from __future__ import annotations

import pytest

from kit.protocols.recovery import recovery_mode as log_lines

OWN = {
    "waits until every node is ready to start",
    "waits until every peer has joined",
    "every peer is a member of group 0",
    "waits for equal schema in group 0",
    "schema changes are off; if a failure stops the upgrade, it may take manual recovery",
    "waits until all peers are in synchronize",
    "another member has finished the upgrade",
}
PHASES = (
    *("RECOVERY", "UPGRADE_BEGINS", "GOES_ON", "JOINED", "SYNCHRONIZE"),
    *("FINISHED", "FOLLOWS"),
)


@pytest.mark.parametrize("phase", PHASES)
def test_own_words_are_marked_as_such(phase: str) -> None:
    """And no line keeps a gap: its group and version are filled in."""
    for line in getattr(log_lines, phase):
        assert line.own is (line.text in OWN), line.text
        said = line.text.format(group_id="the-group", version="the-version", matching=2)
        assert ("the-group" in said) is ("{group_id}" in line.text)
        assert ("the-version" in said) is ("{version}" in line.text)
        assert "{" not in said.replace("{}", "")
