"""A tablet's replicas: who has data, who streams, who gets one more, or loses one."""

from __future__ import annotations

from collections import Counter

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dump import holders
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, replicas_in
from kit.protocols.tablets.rules.replication import Misfit, Place, Replication, misfits, steps
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.topology.rules.replication import number_of
from tests.saying import like

PLACES: tuple[tuple[Place, ...], ...] = (
    (),
    (("dc1", "r1"),),
    (("dc1", "r1"), ("dc1", "r1"), ("dc1", "r2")),
    (("dc1", "r1"), ("dc2", "r1"), ("dc2", "r3")),
    (("dc2", "r2"), ("dc3", "r9")),
)

ASKED: tuple[Replication, ...] = (
    {},
    {"dc1": 0},
    {"dc1": 1},
    {"dc1": 3, "dc2": 2},
    {"dc1": ("r1",)},
    {"dc1": ("r1", "r2"), "dc2": 1},
    {"dc2": ("r3", "r1")},
    {"dc1": ("r9",), "dc3": ()},
)


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("places", PLACES, ids=str)
def test_a_misfit_is_a_difference_from_the_factor_or_the_listed_racks(
    places: tuple[Place, ...], asked: Replication
) -> None:
    """By datacenter for a number, rack by rack for a list."""
    expected = []
    for datacenter in ("dc1", "dc2", "dc3"):
        here = Counter(rack for dc, rack in places if dc == datacenter)
        factor = asked.get(datacenter)
        if isinstance(factor, tuple):
            wanted = Counter(factor)
            found = [(rack, here[rack], wanted[rack]) for rack in ("r1", "r2", "r3", "r9")]
        else:
            found = [("", here.total(), factor or 0)]
        expected += [Misfit(datacenter, *each) for each in found if each[1] != each[2]]
    assert list(misfits(places, asked)) == expected


HOSTS: dict[str, Place] = {
    "a": ("dc1", "r1"),
    "b": ("dc1", "r1"),
    "c": ("dc1", "r2"),
    "d": ("dc1", "r3"),
    "e": ("dc1", "r3"),
    "x": ("dc2", "r1"),
}

ABLE = ("a", "b", "c", "d", "e")  # x is on its way out


@pytest.mark.parametrize(
    ("held", "asked", "by_tablet"),
    [
        # The last of the row goes, whichever rack has two.
        ("abc", {"dc1": 2}, ("c", "c", "c")),
        ("cab", {"dc1": 2}, ("b", "b", "b")),
        ("caxb", {"dc1": 2, "dc2": 1}, ("b", "b", "b")),
        ("cabx", {"dc1": 3, "dc2": 0}, ("x", "x", "x")),
        # Racks that have none take turns, by the tablet's number.
        ("a", {"dc1": 2}, ("c", "de", "c")),
        ("ac", {"dc1": 3}, ("de", "de", "de")),
        ("", {"dc1": 1}, ("ab", "c", "de")),
        # Where each has one: the racks that still have a node.
        ("acd", {"dc1": 4}, ("b", "e", "b")),
        ("acde", {"dc1": 5}, ("b", "b", "b")),
        ("abcde", {"dc1": 6}, ("", "", "")),
        # Racks by name.
        ("ac", {"dc1": ("r1", "r2", "r3")}, ("de", "de", "de")),
        ("acd", {"dc1": ("r2", "r3")}, ("a", "a", "a")),
    ],
)
def test_the_server_adds_and_drops_replicas_in_the_published_order(
    held: str, asked: Replication, by_tablet: tuple[str, ...]
) -> None:
    """Three tablets of a table are asked, and none gains and loses at once."""
    made = [steps(number, held, asked, HOSTS, ABLE, "server") for number in range(3)]
    assert tuple("".join(coming + going) for coming, going in made) == by_tablet
    count = dict.fromkeys(asked, 0) | Counter(HOSTS[host][0] for host in held)
    comes = any(number_of(factor) > count[dc] for dc, factor in asked.items())
    assert not any(going if comes else coming for coming, going in made)


def test_the_documents_allow_any_replica_of_the_fullest_rack_to_go() -> None:
    """A new replica may come to any rack that has the fewest."""
    assert steps(1, "cab", {"dc1": 2}, HOSTS, ABLE, "documents") == ((), ("a", "b"))
    assert steps(1, "a", {"dc1": 2}, HOSTS, ABLE, "documents") == (("c", "d", "e"), ())


def test_one_step_may_add_in_one_datacenter_and_drop_in_another() -> None:
    """In either order of their names."""
    places = {**HOSTS, "y": ("dc2", "r2"), "v": ("dc0", "r1"), "w": ("dc0", "r2")}
    able = (*ABLE, "v", "w", "x", "y")
    for edition in EDITIONS:
        made = steps(0, "abcx", {"dc1": 2, "dc2": 2}, places, able, edition)
        assert made == (("y",), ("c",) if edition == "server" else ("a", "b")), edition
        made = steps(0, "acx", {"dc0": 1, "dc1": 2}, places, able, edition)
        assert made == (("v",) if edition == "server" else ("v", "w"), ("x",)), edition
    assert steps(0, "ax", {"dc1": 1, "dc2": 2}, HOSTS, ABLE, "documents") == ((), ())


A, B = map(replicas_in, "AB")


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
def test_the_holders_of_data_at_a_stage_include_the_pending_replica_in_part(
    stage: str, whole: Replicas, some: Replicas
) -> None:
    """On the way back that replica has some until it is cleaned up."""
    for edition in EDITIONS:
        table = TRANSITIONS[edition]["migration"]
        found = holders(table, stage, ReplicaSets(A, B))
        assert tuple(tuple(sorted(each)) for each in found) == (whole, some), edition


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
def test_malformed_replicas_of_a_tablet_are_refused(text: str, allowed: str) -> None:
    """None at all, a host twice, or a shard that is no number."""
    with pytest.raises(BadInput, match=like(f"tablets | {text!r} | {allowed}")):
        replicas_in(text)
