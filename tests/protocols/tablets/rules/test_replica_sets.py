"""Rules on a tablet's replicas: who has data, who streams, and words that are none."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dump import holders
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, replicas_in
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS
from tests.saying import like

A, B, C, D, E, F = map(replicas_in, "ABCDEF")


@pytest.mark.parametrize(
    ("stage", "whole", "some"),
    [
        ("allow_write_both_read_old", A, A),
        ("write_both_read_old", A, A + B),
        ("cleanup_target", A, A + B),
        ("revert_migration", A, A),
        ("use_new", A + B, A + B),
        ("end_migration", B, B),
    ],
)
def test_who_has_data_at_a_stage(stage: str, whole: Replicas, some: Replicas) -> None:
    """On the way back the pending replica has some until it is cleaned up."""
    for edition in EDITIONS:
        table = TRANSITIONS[edition]["migration"]
        found = holders(table, stage, ReplicaSets(A, B))
        assert tuple(tuple(sorted(each)) for each in found) == (whole, some)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", "at least one replica, and no more than one per host"),
        ("A A", "at least one replica, and no more than one per host"),
        ("B A:0 C A:1", "at least one replica, and no more than one per host"),
        ("A:", "hosts and shards, as in A:0 B:1"),
        ("A B:x", "hosts and shards, as in A:0 B:1"),
        ("A:-1", "hosts and shards, as in A:0 B:1"),
        ("A:0:1", "hosts and shards, as in A:0 B:1"),
    ],
)
def test_words_that_are_no_replicas_of_a_tablet(text: str, allowed: str) -> None:
    """None at all, a host twice, or a shard that is no number."""
    with pytest.raises(BadInput, match=like(f"tablets | {text!r} | {allowed}")):
        replicas_in(text)
