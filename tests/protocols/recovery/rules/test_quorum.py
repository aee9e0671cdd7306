"""Who votes after deaths, at once and in turn; the tables of failures beside the truth."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from kit.masks import nodes_in
from kit.protocols.group0.rules.quorum import Place
from kit.protocols.group0.rules.voters import chosen_voters
from kit.protocols.recovery.rules.availability import FAILURES, FailureRow, JudgedFailure, judged
from kit.protocols.recovery.rules.quorum import after_deaths, orders_of_deaths
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
    return {name: judged(row) for name, row in NAMED.items()}


def drawn(seed: int, most: int) -> tuple[tuple[Place, ...], int]:
    """Some places, and a set of dead nodes."""
    random = Random(seed)
    size = random.randint(1, most)
    places = [(f"dc{random.randint(1, 3)}", f"r{random.randint(1, 3)}") for _ in range(size)]
    return tuple(places), random.getrandbits(size)


def test_the_rows_are_those_of_the_documents() -> None:
    """Who fails, what then is possible, and how many must come back."""
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
def test_schema_changes_are_as_the_tables_say(truth: dict[str, JudgedFailure]) -> None:
    """Where every member votes, the verdict of each row is that of the documents."""
    test_the_rows_are_those_of_the_documents()
    for name, row in NAMED.items():
        assert truth[name].schema == ("always" if row.schema else "never"), name
        assert "schema" not in truth[name].differs


def test_limited_voters_make_the_order_of_deaths_matter(truth: dict[str, JudgedFailure]) -> None:
    """Five voters: who dies one after another is replaced among them, who dies at once is not."""
    two, three = truth["2 DCs: 3 nodes"], truth["3 DCs: 1-4 nodes"]
    assert (two.schema, two.at_once, two.in_turn) == ("never", "sometimes", "always")
    assert (three.schema, three.at_once, three.in_turn) == ("always", "sometimes", "always")
    for name in ("1 DC: 1 node", "1 DC: 2 nodes", "3 DCs: 1 DC", "3 DCs: 2 DCs"):
        assert truth[name].at_once == truth[name].in_turn == truth[name].schema


def test_the_levels_at_which_data_are_not_available_are_told(
    truth: dict[str, JudgedFailure],
) -> None:
    """The documents call data available; at RF 3 some levels are not (Q-16), and both are given."""
    for name, levels in LEVELS_OF_FAILURE.items():
        found = dict.fromkeys(told.split()[0] for told in truth[name].differs if told[0].isupper())
        assert list(found) == levels.split(), name


def test_a_false_row_is_found_out() -> None:
    """A table that promised schema changes with two of three nodes down would be told so."""
    wrong = judged(FailureRow(1, "nodes", 2, 2, True, ""))
    assert "schema" in wrong.differs


@pytest.mark.parametrize("seed", range(60))
def test_orders_are_those_that_can_be_played(seed: int) -> None:
    """What a look at all sets says of orders is what every order, played death by death, gives."""
    places, dead = drawn(seed, 8)
    dying = list(nodes_in(dead))[:5]
    dead = sum(1 << node for node in dying)
    played = [
        after_deaths("server", places, [1 << node for node in order]).holds
        for order in permutations(dying)
    ]
    assert orders_of_deaths(places)(dead) == (any(played), all(played))


def test_a_quorum_that_lasts_in_the_end_may_have_been_lost_on_the_way() -> None:
    """Of ten nodes six die. Whoever votes after all but the last death keeps the quorum at that
    one; but it was lost before, in some orders.
    """
    home, second, third = ("dc1", "r1"), ("dc2", "r1"), ("dc3", "r2")
    places = (("dc1", "r2"), home, second, home, third, home, home, second, ("dc2", "r2"), third)
    dying = (0, 1, 2, 3, 5, 8)
    lasts = [
        after_deaths("server", places, [1 << node for node in order]).holds
        for order in permutations(dying)
    ]
    assert (any(lasts), all(lasts)) == (True, False)
    assert orders_of_deaths(places)(sum(1 << node for node in dying)) == (True, False)


@pytest.mark.parametrize("seed", range(60))
def test_voters_are_whom_the_group_would_choose_each_time(seed: int) -> None:
    """Passing over deaths that change nothing gives the same voters as looking at each."""
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
