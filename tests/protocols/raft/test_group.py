"""A whole group in order: elected, asked, changed, handed over."""

from __future__ import annotations

from kit.protocols.raft import core
from kit.protocols.raft.state import Leader
from tests.protocols.raft.driving import Group, members


def test_a_command_of_any_member_is_committed_everywhere() -> None:
    """B forwards it to A, which leads; once reminded all know that it is committed."""
    group = Group("A B C")
    group.elect("A")
    group.did(core.submit(group.servers["B"], "x", group.options, "r1", "applied"))
    group.run()
    group.remind("A")
    assert group.answers["r1"].outcome == "applied"
    assert {s.commit for s in group.servers.values()} == {2}
    assert [e.data for e in group.servers["C"].log] == [None, "x"]


def test_other_members_take_over_and_the_leader_that_leaves_hands_over() -> None:
    """From A, B, C to B, C, D, E: by a joint configuration, whose end A does not lead on."""
    group = Group("A B C", more="D E")
    group.elect("A")
    group.did(core.configure(group.servers["A"], members("B C D E"), group.options, "change"))
    group.run()
    assert group.answers["change"].outcome == "committed"
    leaders = [n for n, s in group.servers.items() if isinstance(s.role, Leader)]
    assert leaders
    assert "A" not in leaders
    for name in "BCDE":
        assert group.servers[name].configuration.members == ("B", "C", "D", "E")
        assert not group.servers[name].configuration.is_joint


def test_a_read_barrier_waits_for_a_majority() -> None:
    """C may read index 1 once A has heard that a majority still follows; alone A cannot tell."""
    group = Group("A B C")
    group.elect("A")
    group.did(core.read_barrier(group.servers["C"], group.options, "r"))
    group.run()
    group.remind("A")
    assert (group.answers["r"].outcome, group.answers["r"].index) == ("read", 1)
    group.did(core.read_barrier(group.servers["A"], group.options, "alone"))
    group.run(lost=("B", "C"))
    assert "alone" not in group.answers
