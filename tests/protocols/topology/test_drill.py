"""The drill of a barrier that does not pass: look at one node, and restart that one only."""

from __future__ import annotations

import pytest

from tests.drills import failed, printed, replayed, typed

NAME = "topology/stuck-barrier"
LOG = "grep barrier /var/log/scylla.log"
LOOK = (LOG, "on B", "cat /var/log/scylla.log")
# what is typed -> what does not hold of the grade
WALKS: list[tuple[tuple[str, ...], set[str]]] = [
    ((*LOOK, "restart B"), set()),
    (("restart B",), set()),
    (LOOK, {"operation done"}),
    (("restart C",), {"operation done", "one node"}),
    (("restart A", "restart B", "restart C"), {"one node"}),
    (("restart B", "restart C"), {"one node"}),
    (("on B", "systemctl restart scylla-server"), set()),
]


@pytest.mark.parametrize(("lines", "wrong"), WALKS)
def test_only_the_node_that_holds_it_up_is_restarted(
    lines: tuple[str, ...], wrong: set[str]
) -> None:
    """A rolling restart ends the wait as well, and is graded as wrong."""
    drill = typed(NAME, *lines)
    assert set(failed(drill)) == wrong
    assert drill.grade() == replayed(drill, NAME).grade()


def test_the_logs_say_whom_it_waits_for() -> None:
    """The coordinator names B; B tells of a request of an older version; C tells of nothing."""
    assert "no answer from B" in printed(typed(NAME, LOG))
    assert "waits for a request at version" in printed(typed(NAME, *LOOK))
    assert printed(typed(NAME, "on C", "cat /var/log/scylla.log")) == ""


def test_the_table_and_status_show_no_cause() -> None:
    """Every node is up; the row says where the operation stands."""
    drill = typed(NAME, "nodetool status")
    assert printed(drill).count("UN ") == 3
    assert printed(drill).count("UJ ") == 1
    assert "write_both_read_old" in printed(typed(NAME, "SELECT * FROM system.topology"))


def test_the_checklist_is_ticked_by_what_was_looked_at() -> None:
    """The coordinator's log, that of the node, the restart."""
    steps = typed(NAME, *LOOK).checklist()
    assert [step.done for step in steps] == [True, True, False]
    assert all(step.done for step in typed(NAME, *LOOK, "restart B").checklist())


@pytest.mark.parametrize(
    ("lines", "ticked"),
    [
        (("grep zzz /var/log/scylla.log", "on B", "grep -i zzz /var/log/scylla.log"), []),
        (("grep BARRIER /var/log/scylla.log",), []),
        (("grep -i BARRIER /var/log/scylla.log",), ["coordinator"]),
        (("restart B", *LOOK), ["coordinator", "node", "restart"]),
    ],
)
def test_what_was_printed_is_what_was_seen(lines: tuple[str, ...], ticked: list[str]) -> None:
    """A search without a line is no look; a log keeps its lines after the restart."""
    assert [step.name for step in typed(NAME, *lines).checklist() if step.done] == ticked
