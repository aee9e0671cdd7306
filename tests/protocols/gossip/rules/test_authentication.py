"""Where a role is held, who can log in, and when a node sees another service level."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.protocols.gossip.lessons import POLL_SECONDS, can_log_in, rebuild_delay, role_replicas

NODES = ("A", "B", "C", "D")


@pytest.mark.parametrize("rf", range(7))
@pytest.mark.parametrize("role", range(4))
def test_a_role_is_a_row_like_any_other_or_everywhere(role: int, rf: int) -> None:
    """So many nodes from its own on, around the ring, none twice; with group 0 all of them."""
    held = role_replicas(role, NODES, rf, "legacy")
    assert held == tuple("ABCDABCD"[role:][: min(rf, 4)])
    assert role_replicas(role, NODES, rf, "group 0") == NODES


def test_a_login_needs_one_holder_that_is_up() -> None:
    """Whoever else is up."""
    sets = [set(some) for size in range(5) for some in combinations(NODES, size)]
    for holders in sets:
        for up in sets:
            assert can_log_in((*holders,), (*up,)) is bool(holders & up)


def test_service_levels_are_polled_or_pushed() -> None:
    """At once with group 0; else within the interval, which is ten seconds unless configured."""
    assert POLL_SECONDS == 10
    assert rebuild_delay("legacy") == (0, 10)
    assert rebuild_delay("legacy", 3.5) == (0, 3.5)
    assert rebuild_delay("group 0", 3.5) == rebuild_delay("group 0") == (0, 0)
