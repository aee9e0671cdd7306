"""Which names are offered where one is no member's."""

from __future__ import annotations

from kit.protocols.tcm.rules.operations import no_member
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Node, Ring


def test_members_alone_are_offered_and_each_once() -> None:
    """A node without tokens owns nothing; a name that differs in case only comes first."""
    ring = Ring.of((Node("B", (1,)), Node("A", (5,)), Node("idle", ())), MURMUR3)
    assert str(no_member(ring, "a")) == "node: got 'a'; allowed: one of A, B"
    assert str(no_member(ring, "c")) == "node: got 'c'; allowed: one of B, A"
