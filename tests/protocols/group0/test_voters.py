"""Who votes in group 0 of edition ``server``: the published choice, release by release."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.masks import nodes_in
from kit.protocols.group0.rules.quorum import Quorum, extremes
from kit.protocols.group0.rules.releases import NEWEST, SUPPORTED, Release
from kit.protocols.group0.rules.voters import VoterRules, chosen_voters, surest_voters

NEWER: tuple[Release, ...] = ("2025.4", "2026.1", "2026.2", "2026.3", "master")
EVEN_KEPT: tuple[Release, ...] = ("2025.2", "2025.3")
LIMITED = (*EVEN_KEPT, *NEWER)

Cluster = tuple[tuple[int, ...], tuple[int, ...], int, int, int]


def cluster(text: str) -> Cluster:
    """Datacenters, racks, who is up, who votes, who leads of ``1a*! 1b 2a-``.

    A node is its datacenter and rack; ``*`` votes already, ``!`` leads, ``-`` is down.
    """
    nodes = text.split()
    of = {mark: [mark in node for node in nodes] for mark in "*!-"}
    masks = {
        mark: sum(1 << at for at, each in enumerate(is_so) if each) for mark, is_so in of.items()
    }
    dcs = tuple(int(node[0]) for node in nodes)
    everybody = (1 << len(nodes)) - 1
    leader = masks["!"].bit_length() - 1
    racks = tuple(ord(node[1]) for node in nodes)
    return dcs, racks, everybody & ~masks["-"], masks["*"], leader


def chosen(text: str, release: Release = "master", limit: int = 5, **more: object) -> int:
    """Who is to vote in such a cluster (a mask)."""
    dcs, racks, up, voters, leader = cluster(text)
    rules = VoterRules(release, limit)
    return chosen_voters(dcs, up, leader, voters, racks, rules, **more)  # type: ignore[arg-type]  # as named


# nodes, limit -> how many vote before 2025.2, in 2025.2 and 2025.3, from 2025.4 on
SIZES = [
    ("1a", 5, (1, 1, 1)),
    ("1a 1a", 5, (2, 2, 1)),
    ("1a 1a 1a", 5, (3, 3, 3)),
    ("1a 1a 1a 1a", 5, (4, 4, 3)),
    ("1a 1b 1c 1a", 5, (4, 4, 3)),
    ("1a 1a 2a 2a", 5, (4, 3, 3)),
    ("1a 1a 1a 2a", 5, (4, 4, 3)),
    ("1a 2a", 5, (2, 2, 1)),
    ("1a 2a 3a 1b", 5, (4, 3, 3)),
    ("1a 1a 1a 2a 2a 2a", 5, (6, 5, 5)),
    ("1a 1a 1a 1a 1a 1a", 5, (6, 5, 5)),
    ("1a 1a 1a 1a", 2, (4, 2, 1)),
    ("1a 1a 1a 2a 2a 2a", 7, (6, 5, 5)),
    ("1a 1a 1a 2a 3a", 7, (5, 3, 3)),
    ("1a 1a 1a 2a 3a 3a", 7, (6, 5, 5)),
    ("1a 1a 2a 2a 3a 3a", 7, (6, 6, 5)),
    ("1a 1a 1a 1a 2a 2a 2a 2a", 6, (8, 5, 5)),
]


@pytest.mark.parametrize(("nodes", "limit", "sizes"), SIZES)
@pytest.mark.parametrize("release", SUPPORTED)
def test_the_number_of_voters_is_that_of_the_release(
    nodes: str, limit: int, sizes: tuple[int, int, int], release: Release
) -> None:
    """No limit before 2025.2; until 2025.4 an even number stays, but for two equal halves."""
    column = 0 if release == "2025.1" else 1 if release in EVEN_KEPT else 2
    assert chosen(nodes, release, limit).bit_count() == sizes[column]


@pytest.mark.parametrize(
    ("release", "size"), [("2025.1", 4), ("2025.2", 3), ("2025.3", 3), ("2025.4", 3)]
)
def test_two_equal_datacenters_get_an_odd_number_of_voters(release: Release, size: int) -> None:
    """From 2025.2 on; two single nodes stay two before 2025.4."""
    assert VoterRules(release).size((2, 2)) == size
    assert VoterRules(release).size((1, 1)) == (1 if release == "2025.4" else 2)


# nodes, limit -> who is to vote in every release with a limit (places from 0)
WHO = [
    # only who is up, or votes already
    ("1a*! 1a* 1a* 1a- 1a-", 5, "0 1 2"),
    ("1a*- 1a*! 1a- 1a* 1a-", 5, "0 1 3"),
    ("1a- 1a-", 5, ""),
    # a voter that is down makes room for one that is up, not where there is none
    ("1a*! 1a* 1a* 1a*- 1a 1a*", 5, "0 1 2 4 5"),
    ("1a*! 1a*- 1a* 1a", 3, "0 2 3"),
    ("1a*! 1b* 1c*- 1a", 3, "0 1 2"),
    # who votes keeps the vote, the leader before all
    ("1a* 1a 1a* 1a 1a*!", 3, "0 2 4"),
    ("1a* 1b 1c* 1d 1e*!", 3, "0 2 4"),
    ("1a* 2a 3a* 4a 5a*!", 3, "0 2 4"),
    ("1a*! 1a* 2a* 2a 3a", 3, "0 2 4"),
    ("1a* 1a*! 2a* 2a 3a", 3, "1 2 4"),
    ("1a* 1b*! 2a 2b* 3a", 3, "1 3 4"),
    # a leader that is down is one of the dead
    ("1a*!- 1a* 1a 1a", 3, "1 2 3"),
    ("1a*- 1a*!- 1a 1a", 3, "1 2 3"),
    # racks take turns, datacenters before them
    ("1a! 1a 1a 1b 1c", 3, "0 3 4"),
    ("1a! 1b 1c 2a 3a", 3, "0 3 4"),
    ("2c! 1a 1b 2c 2c", 3, "0 1 2"),
    # who leads comes before who votes, and this before the first number
    ("1a! 1a*", 1, "0"),
    ("1a 1a*", 1, "1"),
    # to the datacenter of more racks with somebody left, and to the rack of more that are up
    ("1a 2a 2b", 1, "1"),
    ("1a 1b 2a 2a 2b", 3, "0 2 4"),
    ("1a 1b 1b", 1, "1"),
    # else to who is up
    ("1a*- 2a", 1, "1"),
    # of racks with as many that are up, to the one with a voter that is down
    ("1a 1b 1b*-", 1, "1"),
    # of three datacenters none has half
    ("1a*! 1a* 1a* 2a* 3a* 3a-", 7, "0 3 4"),
    ("1a! 1a 2a 3a 3a", 5, "0 1 2 3 4"),
]


def test_without_a_limit_nodes_that_are_down_vote() -> None:
    """As in 2025.1."""
    assert chosen("1a*! 1a- 2a", "2025.1") == 0b111


@pytest.mark.parametrize("release", SUPPORTED)
def test_the_limit_of_voters_and_recovery_leader_came_with_2025_2(release: Release) -> None:
    """Earlier servers have neither."""
    rules = VoterRules(release)
    assert rules.limits == rules.knows_recovery_leader == (release != "2025.1")


@pytest.mark.parametrize(("nodes", "limit", "voters"), WHO)
@pytest.mark.parametrize("release", LIMITED)
def test_voters_are_the_published_choice(
    nodes: str, limit: int, voters: str, release: Release
) -> None:
    """In every release with a limit: each row of WHO has its reason above it."""
    assert sorted(map(int, voters.split())) == list(nodes_in(chosen(nodes, release, limit)))


@pytest.mark.parametrize("release", SUPPORTED)
def test_only_members_become_voters_from_2026_1(release: Release) -> None:
    """Before that, a node outside group 0's configuration could take a vote."""
    members = 0b00111
    voters = chosen("1a*! 1a* 1a 2a 3a", release, members=members)
    outside = voters & ~members
    assert bool(outside) == (release < "2026.1")


# a leader that shuts down, and the others -> who votes then: master, 2025.4, 2025.2
LEAVING = [
    ("1a*! 1a* 1a*", "0 1 2", "0 1", "0 1 2"),
    ("1a*! 1b* 1c* 1a", "0 1 2", "0 1 2 3", "0 1 2 3"),
    ("1a*! 2a* 3a*", "0 1 2", "0 1", "0 1 2"),
    ("1a*! 1a* 1a* 1a* 1a*", "0 1 2 3 4", "0 1 2 3", "0 1 2 3 4"),
    ("1a*! 1a", "0", "0 1", "0 1"),
    # it is no longer among those that are up
    ("1a*!- 1a* 1a* 1a", "0 1 2", "0 1 2 3", "0 1 2 3"),
    ("1a- 1a*!- 1a* 1a 1a", "1 2 3", "1 2 3 4", "1 2 3 4"),
    ("1a*!- 2a", "0", "0 1", "0 1"),
]


@pytest.mark.parametrize(("nodes", "newest", "odd", "even"), LEAVING)
def test_only_the_newest_release_counts_a_leaving_leader(
    nodes: str, newest: str, odd: str, even: str
) -> None:
    """Before, the leader keeps its vote, and chooses as if it were not there."""
    for release, voters in (("master", newest), ("2026.1", odd), ("2025.4", odd), ("2025.2", even)):
        found = chosen(nodes, release, leaving=True)  # type: ignore[arg-type]  # a release
        assert list(nodes_in(found)) == list(map(int, voters.split())), release


def test_an_unknown_release_and_a_limit_of_no_voters_are_refused() -> None:
    """The errors say what is allowed."""
    with pytest.raises(BadInput, match=r"release: got '4\.6'; allowed: one of 5\.2"):
        VoterRules("4.6")  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(BadInput, match="limit of voters: got 0"):
        VoterRules(limit=0)


# dcs, members, who may be restarted, who may not -> voters and who of them lives: at worst, at best
EXTREMES = [
    # one of three datacenters has one vote, however many of its nodes live
    ("111123", 0b111111, 0, 0b110000, NEWEST, (0b110001, 0b1), (0b110001, 0b1)),
    # one of two votes: who is dead or who lives; the others are no members
    ("1111", 0b1010, 0, 0b0010, NEWEST, (0b0010, 0), (0b1000, 0b1000)),
    ("1111", 0b1010, 0b0010, 0, NEWEST, (0b0010, 0), (0b1000, 0b1000)),
    # votes that have moved to whom nothing happened; at worst who is lost votes, not who may return
    ("1111", 0b1111, 0b0010, 0b0001, NEWEST, (0b0111, 0b0100), (0b1110, 0b1100)),
    # two of each datacenter would be six: no more than five vote
    ("112233", 0b111111, 0, 0, NEWEST, (0b011111, 0b011111), (0b011111, 0b011111)),
    # without a limit all vote
    ("1111", 0b1110, 0b0010, 0b0100, "2025.1", (0b1110, 0b1000), (0b1110, 0b1000)),
]


@pytest.mark.parametrize(("dcs", "members", "down", "lost", "release", "worst", "best"), EXTREMES)
def test_unknown_voters_are_bounded_by_the_worst_and_the_best_case(
    dcs: str,
    members: int,
    down: int,
    lost: int,
    release: Release,
    worst: tuple[int, int],
    best: tuple[int, int],
) -> None:
    """After deaths in turn."""
    places = [(f"dc{dc}", "r1") for dc in dcs]
    ends = extremes(places, members, down, lost, VoterRules(release))
    assert ends == (Quorum(*worst), Quorum(*best))


CLUSTERS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("ab"), st.sampled_from(["", "-"])),
    min_size=1,
    max_size=7,
)
RULES = st.builds(VoterRules, st.sampled_from(LIMITED), st.integers(1, 7))


@given(CLUSTERS, RULES, st.data())
def test_the_choice_of_voters_takes_candidates_within_the_limit(
    nodes: list[tuple[int, str, str]], rules: VoterRules, data: st.DataObject
) -> None:
    """The live leader stays, and choosing again does not lose live voters."""
    text = " ".join(f"{dc}{rack}{mark}" for dc, rack, mark in nodes)
    dcs, racks, up, _, _ = cluster(text)
    before = data.draw(st.integers(0, (1 << len(nodes)) - 1), "voters")
    live = list(nodes_in(up & before))
    leader = data.draw(st.sampled_from(live), "leader") if live else -1
    voters = chosen_voters(dcs, up, leader, before, racks, rules)
    assert not voters & ~(up | before)
    assert voters.bit_count() <= rules.limit
    assert leader < 0 or voters >> leader & 1
    again = chosen_voters(dcs, up, leader, voters, racks, rules)
    assert (again & up).bit_count() >= (voters & up).bit_count() - (again != voters)


@given(CLUSTERS, RULES, st.data())
def test_live_voters_lie_between_the_bounds_after_any_history(
    nodes: list[tuple[int, str, str]], rules: VoterRules, data: st.DataObject
) -> None:
    """Any leader and voters before, if voters are chosen while all nodes are up."""
    dcs, racks, up, _, _ = cluster(" ".join(f"{dc}{rack}{mark}" for dc, rack, mark in nodes))
    everybody = (1 << len(nodes)) - 1
    before = data.draw(st.integers(0, everybody), "voters")
    leader = data.draw(st.sampled_from([-1, *nodes_in(before)]), "leader")
    live = (chosen_voters(dcs, everybody, leader, before, racks, rules) & up).bit_count()
    is_up = [up >> node & 1 for node in range(len(nodes))]
    fewest = surest_voters(dcs, racks, is_up, rules) & up
    most = surest_voters(dcs, racks, [-each for each in is_up], rules) & up
    assert fewest.bit_count() <= live <= most.bit_count()


def test_each_bound_on_voters_is_met_by_some_history() -> None:
    """In a small cluster."""
    dcs, racks = (1, 1, 1, 1), (1, 2, 3, 1)
    sets = {
        chosen_voters(dcs, 0b1111, leader, before, racks)
        for leader, before in product(range(-1, 4), range(16))
        if leader < 0 or before >> leader & 1
    }
    assert sets == {0b0111, 0b1110}
