"""Rules of a loss: who votes after deaths, which data is available, which procedure is right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from random import Random

import numpy as np
import pytest

from kit.masks import nodes_in
from kit.protocols.group0.rules.quorum import Place, Quorum
from kit.protocols.group0.rules.voters import chosen_voters
from kit.protocols.recovery.rules.availability import (
    FAILURES,
    ClusterLayout,
    FailureRow,
    JudgedFailure,
    after_deaths,
    answers,
    judged_failure,
    live_replicas,
    lost_ranges,
    orders_of_deaths,
    standings,
    voters_of_groups,
)
from kit.protocols.recovery.rules.procedure import (
    OLDER,
    ONLY_FOR,
    Procedure,
    ProcedureChoice,
    choices,
    choices_between,
    leaders,
    only_on,
    regressing,
    which_procedure,
)
from kit.protocols.topology.rules.machines import Edition
from kit.ring.natural import replicas
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.fixtures import rows

LEVELS_OF_FAILURE = {
    "1 DC: 1 node": "THREE ALL",
    "1 DC: 2 nodes": "TWO THREE QUORUM LOCAL_QUORUM EACH_QUORUM ALL",
    "2 DCs: 1-2 nodes": "LOCAL_QUORUM EACH_QUORUM ALL",
    "2 DCs: 3 nodes": "QUORUM LOCAL_QUORUM EACH_QUORUM ALL",
    "2 DCs: 1 DC": "QUORUM LOCAL_QUORUM EACH_QUORUM ALL",
    "3 DCs: 1-4 nodes": "LOCAL_QUORUM EACH_QUORUM ALL",
    "3 DCs: 1 DC": "LOCAL_QUORUM EACH_QUORUM ALL",
    "3 DCs: 2 DCs": "QUORUM LOCAL_QUORUM EACH_QUORUM ALL",
}


"""The rows, and the levels at which data are not always available though the documents say so."""


NAMED = dict(zip(LEVELS_OF_FAILURE, FAILURES, strict=True))


@pytest.fixture(scope="module")
def truth() -> dict[str, JudgedFailure]:
    """Every row of the tables, judged."""
    return {name: judged_failure(row) for name, row in NAMED.items()}


def drawn(seed: int, most: int) -> tuple[tuple[Place, ...], int]:
    """Some places, and a set of dead nodes."""
    random = Random(seed)
    size = random.randint(1, most)
    places = [(f"dc{random.randint(1, 3)}", f"r{random.randint(1, 3)}") for _ in range(size)]
    return tuple(places), random.getrandbits(size)


def test_the_rows_of_failures_are_those_of_the_documents() -> None:
    """Number and kind of failures, what is possible then, and how many must come back."""
    told = [
        (
            *(str(row.datacenters), row.failure),
            "-".join(map(str, sorted({row.least, row.most}))),
            "possible and safe" if row.schema else "impossible",
            "available" if row.data else "unavailable",
            str(row.back or ""),
        )
        for row in FAILURES
    ]
    assert told == rows("FAIL")


@pytest.mark.spec("G-019")
def test_schema_changes_are_as_the_documents_say(truth: dict[str, JudgedFailure]) -> None:
    """In every row, where all members vote."""
    test_the_rows_of_failures_are_those_of_the_documents()
    for name, row in NAMED.items():
        assert truth[name].schema == ("always" if row.schema else "never"), name


def test_limited_voters_make_the_order_of_deaths_matter(truth: dict[str, JudgedFailure]) -> None:
    """With two or three datacenters losing some nodes; in the other rows it changes nothing."""
    two, three = truth["2 DCs: 3 nodes"], truth["3 DCs: 1-4 nodes"]
    assert (two.schema, two.at_once, two.in_turn) == ("never", "sometimes", "always")
    assert (three.schema, three.at_once, three.in_turn) == ("always", "sometimes", "always")
    for name in ("1 DC: 1 node", "1 DC: 2 nodes", "3 DCs: 1 DC", "3 DCs: 2 DCs"):
        assert truth[name].at_once == truth[name].in_turn == truth[name].schema, name


def test_the_rules_name_the_levels_at_which_the_documents_data_are_not_available(
    truth: dict[str, JudgedFailure],
) -> None:
    """The documents call data available; at RF 3 some levels are not (Q-16)."""
    for name, levels in LEVELS_OF_FAILURE.items():
        data, said = truth[name].data, NAMED[name].data
        found = (each.level for each in data if (each.standing == "available") is not said)
        assert [*dict.fromkeys(found)] == levels.split(), name


def test_the_rules_contradict_a_table_that_promises_too_much() -> None:
    """Two of three nodes down never change the schema."""
    wrong = judged_failure(FailureRow(1, "nodes", 2, 2, True, ""))
    assert wrong.schema == "never"


@pytest.mark.parametrize("seed", range(60))
def test_the_verdict_on_orders_of_deaths_is_that_of_playing_each_order(seed: int) -> None:
    """Whether some order, and whether every order, keeps the quorum."""
    places, dead = drawn(seed, 8)
    dying = list(nodes_in(dead))[:5]
    dead = sum(1 << node for node in dying)
    played = [
        after_deaths("server", places, [1 << node for node in order]).holds
        for order in permutations(dying)
    ]
    assert orders_of_deaths(places)(dead) == (any(played), all(played))


def test_a_quorum_lost_before_the_last_death_counts_as_lost() -> None:
    """Six of ten nodes die: some orders keep the quorum and some lose it on the way."""
    home, second, third = ("dc1", "r1"), ("dc2", "r1"), ("dc3", "r2")
    places = (("dc1", "r2"), home, second, home, third, home, home, second, ("dc2", "r2"), third)
    dying = (0, 1, 2, 3, 5, 8)
    lasts = [
        after_deaths("server", places, [1 << node for node in order]).holds
        for order in permutations(dying)
    ]
    assert (any(lasts), all(lasts)) == (True, False)
    assert orders_of_deaths(places)(sum(1 << node for node in dying)) == (True, False)


@pytest.mark.parametrize("voters", [(0b110,), (0b110, 0)], ids=["new", "forgotten"])
def test_a_group_with_a_new_or_forgotten_number_begins_with_all_its_voters(
    voters: tuple[int, ...],
) -> None:
    """Nobody votes any more in the group that had the number before."""
    places = (("dc1", "r1"),) * 3
    groups = 0b110, 0b001
    assert voters_of_groups(places, groups, voters, lambda group: ()) == groups


@pytest.mark.parametrize("seed", range(60))
def test_voters_after_deaths_are_those_chosen_anew_after_each_death(seed: int) -> None:
    """At most five, and members only."""
    places, dead = drawn(seed, 20)
    deaths = [1 << node for node in nodes_in(dead)]
    quorum = after_deaths("server", places, deaths)
    voters, up = after_deaths("server", places, []).voters, (1 << len(places)) - 1
    for death in deaths:
        up &= ~death
        if 2 * (voters & up).bit_count() <= voters.bit_count():
            break
        voters = after_limited(places, up, voters)
    assert quorum.voters == voters
    assert quorum.voters.bit_count() <= 5
    assert not quorum.voters >> len(places)


def after_limited(places: tuple[Place, ...], up: int, voters: int) -> int:
    """The published choice, asked for all nodes."""
    dcs = {dc: at for at, dc in enumerate(dict.fromkeys(dc for dc, _ in places))}
    racks = {place: at for at, place in enumerate(dict.fromkeys(places))}
    leader = next(nodes_in(voters & up), -1)
    return chosen_voters(
        [dcs[dc] for dc, _ in places], up, leader, voters, [racks[place] for place in places]
    )


SIX: tuple[Place, ...] = tuple((f"dc{n // 3 + 1}", f"r{n % 3 + 1}") for n in range(6))


def seen_live(racks: tuple[str, ...], dead: int, factor: int) -> set[int]:
    """How many replicas of a range live, over all ranges of rings in every order of nodes."""
    strategy = NetworkTopologyStrategy((("dc1", factor),))
    found = set()
    for order in permutations(range(len(racks))):
        nodes = tuple(
            Node(f"n{node}", (10 * at,), "dc1", racks[node]) for at, node in enumerate(order)
        )
        ring = Ring.of(nodes, small(100))
        rights = np.array([10 * at for at in range(len(racks))])
        names = ring.names
        for row in replicas(ring, strategy, rights):
            held = [int(names[code][1:]) for code in row.tolist() if code >= 0]
            found.add(sum(not dead >> node & 1 for node in held))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_bounds_on_live_replicas_are_met_by_rings(seed: int) -> None:
    """The fewest and the most of a range, over rings in every order of the nodes."""
    random = Random(seed)
    size = random.randint(1, 5)
    racks = tuple(f"r{random.randint(1, 3)}" for _ in range(size))
    dead, factor = random.getrandbits(size), random.randint(1, size)
    bounds = live_replicas(racks, dead, factor)
    found = seen_live(racks, dead, factor)
    assert (bounds.least, bounds.most) == (min(found), max(found))


def test_a_replication_factor_above_the_nodes_counts_in_full() -> None:
    """RF 3 on two nodes: QUORUM takes two answers, and ALL is out of reach."""
    bounds = live_replicas(("r1", "r1"), 0b01, 3)
    assert (bounds.factor, bounds.least, bounds.most) == (3, 1, 1)
    assert not answers("QUORUM", {"dc1": (3, 1)}, "dc1")
    assert answers("QUORUM", {"dc1": (3, 2)}, "dc1")
    assert not answers("ALL", {"dc1": (3, 2)}, "dc1")


@pytest.mark.parametrize(
    ("racks", "dead", "standing"),
    [
        ("a a b b", 0b0011, "available"),
        ("a a b b", 0b0101, "of some ranges"),
        ("a a a a", 0b0011, "of some ranges"),
        ("a a b b", 0b1111, "unavailable"),
    ],
)
def test_a_lost_rack_leaves_a_replica_in_another_rack(racks: str, dead: int, standing: str) -> None:
    """ONE at RF 2; lost nodes of two racks, or of the only rack, cost some ranges."""
    places = tuple(("dc1", rack) for rack in racks.split())
    by_level = {cell.level: cell.standing for cell in standings(places, dead, {"dc1": 2})}
    assert by_level["ONE"] == standing


def test_quorum_may_be_met_in_some_ranges_only() -> None:
    """RF 2 of three nodes and a dead one: ONE is met in all ranges, THREE in none."""
    places = SIX[:3]
    by_level = {cell.level: cell.standing for cell in standings(places, 0b1, {"dc1": 2})}
    assert by_level["ONE"] == "available"
    assert by_level["QUORUM"] == "of some ranges"
    assert by_level["THREE"] == "unavailable"


def test_ranges_are_lost_where_every_replica_is_lost() -> None:
    """In none, some or all ranges; a single datacenter with live replicas keeps them."""
    places = SIX[:3]
    assert lost_ranges(places, 0b011, {"dc1": 2}) == "of some ranges"
    assert lost_ranges(places, 0b011, {"dc1": 3}) == "available"
    assert lost_ranges(places, 0b111, {"dc1": 3}) == "unavailable"
    assert lost_ranges(SIX, 0b000111, {"dc1": 3, "dc2": 3}) == "available"
    assert lost_ranges(SIX, 0b011111, {"dc1": 3, "dc2": 1}) == "of some ranges"


def test_only_nodes_with_the_latest_commit_index_may_lead() -> None:
    """Another choice takes back the nodes beyond it, by as many entries."""
    indexes = {"A": 10, "B": 11, "C": 11}
    assert leaders(indexes) == ("B", "C")
    assert leaders({}) == ()
    assert regressing(indexes, "A") == {"B": 1, "C": 1}
    assert regressing(indexes, "B") == {}


def test_only_a_majority_of_the_voters_can_hold_a_committed_entry_alone() -> None:
    """Of half the voters it is known that somebody else stores the entry."""
    assert only_on(0b00111, 0b11111, 3)
    assert not only_on(0b000111, 0b111111, 4)
    assert not only_on(0b00111, 0b11110, 3)


LAYOUTS = {
    ((3,), 3): ("3", "A:dc1/r1 B:dc1/r2 C:dc1/r3"),
    ((2,), 1): ("2", "A:dc1/r1 B:dc1/r1"),
    ((3, 2), 2): ("3+2", "A:dc1/r1 B:dc1/r2 C:dc1/r1 D:dc2/r1 E:dc2/r2"),
    ((1, 1, 1), 3): ("1+1+1", "A:dc1/r1 B:dc2/r1 C:dc3/r1"),
}


@pytest.mark.parametrize("given", LAYOUTS, ids=str)
def test_a_layout_deals_nodes_to_racks_in_turn(given: tuple[tuple[int, ...], int]) -> None:
    """With its text; each datacenter gets the same number of replicas."""
    layout, (text, dealt) = ClusterLayout(*given), LAYOUTS[given]
    assert layout.text == text
    nodes = zip(layout.names, layout.places, strict=True)
    assert " ".join(f"{name}:{dc}/{rack}" for name, (dc, rack) in nodes) == dealt
    for rf in (0, 3):
        assert layout.factors(rf) == {f"dc{at + 1}": rf for at in range(len(given[0]))}


TOO_FEW = "too few nodes can come back"


FIVE, OTHER_NODE = 0b11111, 0b100000


def clusters() -> Iterator[tuple[Quorum, int, int]]:
    """Every way in which each of some nodes is up, down or lost; all of them vote."""
    for size in range(1, 6):
        for kinds in product("udl", repeat=size):
            down, lost = (sum(1 << i for i, k in enumerate(kinds) if k == kind) for kind in "dl")
            everybody = (1 << size) - 1
            yield Quorum(everybody, everybody & ~down & ~lost), down, lost


def test_a_single_procedure_is_offered_and_reasons_against_the_others_are_true() -> None:
    """In every cluster of up to five nodes that are up, down or lost."""
    for quorum, down, lost in clusters():
        rows = {each.procedure: each for each in choices(quorum, down, lost, False, "server")}
        assert sum(each.offered for each in rows.values()) == 1, (quorum, down, lost)
        back = Quorum(quorum.voters, quorum.live | down)
        said = rows["restart"].why
        if not rows["restart"].offered:
            assert (said == TOO_FEW) == (bool(down) and not back.holds), (quorum, down, lost)
        assert rows["recovery leader"].offered == (not back.holds), (quorum, down, lost)
        if rows["recovery leader"].why == "enough voters can come back":
            assert (back.holds, quorum.holds) == (True, False), (quorum, down, lost)
        assert not rows["recovery mode"].offered, (quorum, down, lost)


def test_recovery_mode_is_refused_for_a_true_reason() -> None:
    """With a quorum or a lost node it is for other cases; else enough may come back."""
    for quorum, down, lost in clusters():
        rows = choices(quorum, down, lost, False, "documents")
        [row] = [each for each in rows if each.procedure == "recovery mode"]
        if not row.offered:
            said = ONLY_FOR if lost or quorum.holds else "enough voters can come back"
            assert row.why == said, (quorum, down, lost)


UP = "no node that can come back is down"


NONE_LOST = "no node is lost for good"


NO_LEADER = "recovery_leader came with release 2025.2"


NO_MODE = "the published server has no RECOVERY mode"


NOT_ENDED = "the Raft upgrade has not ended"


CONTINUES = "no node is lost for good: the upgrade continues once all nodes are up"


@pytest.mark.parametrize(
    ("live", "lost", "stuck", "edition", "by_leader", "offered", "against"),
    [
        # All are up, one is lost, and a majority is: first with the recovery leader, then before.
        (FIVE, 0, False, "documents", True, ["nothing"], [UP, NONE_LOST, "quorum", ONLY_FOR]),
        (0b11110, 1, False, "documents", True, ["replace"], [UP, "quorum", ONLY_FOR]),
        (0b11110, 1, False, "server", True, ["replace"], [UP, "quorum", NO_MODE]),
        (0b11110, 1, False, "server", False, ["replace"], [UP, NO_LEADER, ONLY_FOR]),
        (3, 28, False, "documents", True, ["recovery leader", "recovery mode"], [UP, "no quorum"]),
        (3, 28, False, "server", True, ["recovery leader"], [UP, "no quorum", NO_MODE]),
        (3, 28, False, "server", False, ["recovery mode"], [UP, "no quorum", NO_LEADER]),
        # The upgrade into Raft is stuck: without a node that is lost, and with one.
        (3, 0, True, "documents", True, ["restart"], [NONE_LOST, NOT_ENDED, CONTINUES]),
        (3, 0, True, "server", False, ["restart"], [NONE_LOST, NO_LEADER, CONTINUES]),
        (
            *(0b11110, 1, True, "documents", True, ["recovery mode"]),
            [UP, "the Raft upgrade must finish first", NOT_ENDED],
        ),
    ],
)
def test_each_procedure_that_is_not_offered_says_why(
    live: int,
    lost: int,
    stuck: bool,
    edition: Edition,
    by_leader: bool,
    offered: list[str],
    against: list[str],
) -> None:
    """In the order of the list; the reason of what a release lacks comes before all others."""
    rows = choices(Quorum(FIVE, live), FIVE & ~live & ~lost, lost, stuck, edition, by_leader)
    said = {"quorum": "group 0 has a quorum", "no quorum": "group 0 has no quorum"}
    assert [row.procedure for row in rows if row.offered] == offered
    assert [row.why for row in rows if not row.offered] == [said.get(why, why) for why in against]
    assert [row.procedure for row in rows if row.why == OLDER] == offered[1:]


def test_a_stuck_upgrade_is_not_helped_by_a_restart_when_a_node_is_lost() -> None:
    """The upgrade needs every node."""
    [row] = [
        each
        for each in choices(Quorum(0b111, 0b001), 0b010, 0b100, True, "documents")
        if each.procedure == "restart"
    ]
    assert not row.offered
    assert "not nodes that are lost" in row.why


@pytest.mark.parametrize(
    ("live", "down", "lost", "stuck", "by_leader", "procedure", "why"),
    [
        (FIVE, 0, 0, False, True, "nothing", "all members are up"),
        (FIVE, 0, 0, True, True, "restart", "needs every node to be up"),
        (0b11110, 1, 0, True, True, "restart", "needs every node to be up"),
        (0b11110, 0, 1, True, True, "recovery mode", "stuck because it needs nodes that are lost"),
        (0b11110, 1, 0, False, True, "restart", "group 0 has a quorum"),
        (0b11110, 0, 1, False, True, "replace", "has a quorum, but nodes are lost"),
        (FIVE, 0, OTHER_NODE, False, True, "replace", "has a quorum, but nodes are lost"),
        # Two of five live: enough come back as long as two are lost, and not when three are.
        (0b11000, 0b111, 0, False, True, "restart", "no quorum, but enough voters can come back"),
        (0b11000, 0b001, 0b110, False, True, "restart", "no quorum, but enough voters can come"),
        (0b11000, 0, 0b111, False, True, "recovery leader", "majority of group 0's voters cannot"),
        (0b11000, 0, 0b111, False, False, "recovery mode", "majority of group 0's voters cannot"),
        (0b11000, 0, 0b111, True, True, "recovery mode", "stuck because it needs nodes that are"),
    ],
)
def test_the_procedure_fits_the_cluster_and_gives_its_reason(
    live: int, down: int, lost: int, stuck: bool, by_leader: bool, procedure: str, why: str
) -> None:
    """A stuck upgrade comes first, then the quorum, then who is lost."""
    chosen, reason = which_procedure(Quorum(FIVE, live), down, lost, stuck, by_leader)
    assert chosen == procedure
    assert why in reason


def test_a_procedure_that_depends_on_the_voters_is_not_offered() -> None:
    """The reason names the voters with which the answer would be another."""

    def rows(*offered: tuple[bool, str]) -> list[ProcedureChoice]:
        names: tuple[Procedure, ...] = ("restart", "replace", "recovery leader", "recovery mode")
        return [ProcedureChoice(name, *each) for name, each in zip(names, offered, strict=True)]

    worst = rows((True, "x"), (False, "x"), (True, "lost"), (False, "x"))
    best = rows((True, "x"), (True, "held"), (False, "x"), (False, "y"))
    assert choices_between(worst, best, ("A, B vote", "B, C vote")) == (
        ProcedureChoice("restart", True, "x"),
        ProcedureChoice("replace", False, "for example if B, C vote", True),
        ProcedureChoice("recovery leader", False, "for example if A, B vote", True),
        ProcedureChoice("recovery mode", False, "x, or y"),
    )
