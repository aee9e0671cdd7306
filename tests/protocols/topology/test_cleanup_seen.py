"""What a student sees of cleanup after a change that failed."""

from __future__ import annotations

import pytest

from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.topology.test_seen import ended, in_state, press, seen, starting, until


@pytest.mark.spec("F-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_change_that_failed_leaves_cleanup_to_be_done(edition: Edition) -> None:
    """C does not leave after all: whoever took writes in its place needs cleanup, C does not."""
    timeline = until(
        starting("leave C", edition=edition, failures=1),
        lambda s: in_state("write_both_read_old")(s) and s.attempted.streaming,
    )
    before = [line for line in seen(timeline)["system.topology"] if "cleanup_status" in line]
    assert [line.rpartition(" ")[2] for line in before] == ["clean"] * 3
    now = seen(ended(press(timeline, "fail")))
    assert any(line.startswith("  C: normal") for line in now["Nodes"])
    after = [line for line in now["system.topology"] if "cleanup_status" in line]
    assert [line.rpartition(" ")[2] for line in after] == ["needed", "needed", "clean"]
