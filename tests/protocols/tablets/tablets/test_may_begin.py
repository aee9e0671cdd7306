"""Which transitions may begin, what may not yet, and who is passed over."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.tablets import cluster
from kit.protocols.tablets.cluster import LateRpc
from kit.protocols.tablets.dump import DumpedTable, TabletDump
from kit.protocols.tablets.plans import replaced
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.topology import ElectCoordinator, FindImbalance
from tests.protocols.tablets.tablets.test_given_up import reached
from tests.protocols.tablets.tablets.test_promises import MODEL, MOVING, row, state, way
from tests.protocols.tablets.tablets.test_track import acted

BARRIER = "allow_write_both_read_old"  # a stage whose work is a barrier


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"tablets": ("A",)}, ["migrate 0 A:0 B:0", "migrate 0 A:0 C:0"]),
        (
            {"tablets": ("A",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")},
            ["migrate 0 A:0 C:0"],
        ),
        ({"tablets": ("A C",), "racks": ("dc1/r1", "dc1/r2", "dc1/r1")}, []),
        (
            {"tablets": ("A",), "nodes": 5, "kinds": ("add_tablet_replica",)},
            [f"rebuild-tablet-v2 0 {name}:0" for name in "BCDE"],
        ),
        ({"tablets": ("A",), "kinds": ("migration", "repair"), "balancing": False},
         ["repair-tablet 0"]),
        ({"tablets": ("A",), "kinds": ("intranode_migration",), "balancing": False}, []),
        ({"tablets": ("A",), "moves": 0, "kinds": ("repair",)}, []),
    ],
)  # fmt: skip
def test_what_may_begin(given: dict[str, Any], begins: list[str]) -> None:
    """Within a rack, by name; with balancing off what operators ask for, and nothing else."""
    model: Any = build("tablets", {"nodes": 3, **given})
    moves = [Tablets.begin_transition.struct(*each) for each in model.balance_moves(model.start())]
    assert [model.verb(each) for each in moves] == begins


def test_who_gets_no_replica() -> None:
    """A node without tokens, one that is to leave, one that is dead."""
    leaving, zero = {"request": "leave"}, {"zero_token": True}
    given = state(row("A"), B=leaving, C={"request": "remove"}, D=zero)
    given = given.but(control=given.control.but(up=0b011111))
    assert MODEL.named(cluster.targets(given)) == ("A", "E")


@pytest.mark.parametrize(("off", "role"), [((), "leaving"), (("S-27",), "normal")])
def test_without_its_drain_a_node_is_none_to_empty(off: tuple[str, ...], role: str) -> None:
    """S-27: with the safeguard off the balancer does not see that it is to go."""
    given = {"nodes": 3, "tablets": ("A",), "edition": "server", "operations": ("leave C",)}
    model: Any = build("tablets", given, off=off)
    asked = acted(model, model.start(), "leave C")
    normal = ("normal", "normal")
    assert model.roles(asked) == (*normal, role if not off else "zero-token")


@pytest.mark.parametrize("off", [(), ("S-27",)])
@pytest.mark.parametrize(
    ("transition", "state_of_b", "drains"),
    [("", "normal", []), ("", "left", [1, 2]), ("tablet_draining", "decommissioning", [1, 2])],
)
def test_what_a_node_that_goes_has_to_give(
    transition: str, state_of_b: str, drains: list[int], off: tuple[str, ...]
) -> None:
    """Every replica of a tablet that is at rest, and none with S-27 off."""
    model: Any = build("tablets", {"nodes": 4, "tablets": ("A",) * 4}, off=off)
    rows = (row("A C"), row("A B"), row("B C"), row("A B", MOVING))
    given = state(*rows, model=model, transition=transition, B={"state": state_of_b})
    due, [b] = [] if off else drains, replicas_in("B")
    assert [*model.drains(given)] == [(tablet, b) for tablet in due]
    assert {begin[0] for begin in model.drain_moves(given)} == set(due)


@pytest.mark.parametrize(("down", "elected"), [((), "A"), ("A", "B"), ("B", "A")])
def test_the_first_node_that_is_up_is_to_coordinate(down: str, elected: str) -> None:
    """Of those that may be; where there is one already, uneven loads are looked for."""
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A B",)})
    first = model.start()
    up = sum(1 << node for node, name in enumerate(model.names) if name not in down)
    control = first.control.but(coordinator=NOBODY, up=up)
    assert model.suggest(first.but(control=control)) == ElectCoordinator(elected)
    assert model.suggest(first) == FindImbalance()


JOINED = TabletDump(
    (2, 1),
    (DumpedTable("ks.t", 2, lasts=(5, 2**63 - 1)), DumpedTable("ks.u", 2)),
    capacities=(300, 200),
)


def test_a_node_that_a_dump_does_not_show_is_like_its_first() -> None:
    """Shards and capacity; the tablets keep the last tokens that the dump has."""
    given = {"nodes": 2, "tablets": ("A", "B", "A", "B"), "tables": ("ks.t",)}
    model: Any = build("tablets", {**given, "operations": ("join C",), "dump": JOINED})
    nodes = [*model.balancer_nodes(model.roles(model.start()))]
    assert [(each.host, each.shards, each.capacity) for each in nodes] == [
        ("A", 2, 300),
        ("B", 1, 200),
        ("C", 2, 300),
    ]
    maps = model.maps(model.start().tablets)
    assert maps["ks.t"].last_tokens == (5, 2**63 - 1)
    assert maps["ks.u"].last_tokens == (-1, 2**63 - 1)


GIB = 1 << 30


@pytest.mark.parametrize(
    ("sizes", "copied"),
    [
        (((10 * GIB, 20 * GIB),), 20 * GIB),
        (((20 * GIB, 10 * GIB),), 20 * GIB),
        (((0, 0),), 0),
        (((-1, 7),), 7),
        (((-1, -1),), 5 * GIB),
        ((), 5 * GIB),
    ],
)
def test_a_replica_that_came_is_as_large_as_the_largest(
    sizes: tuple[tuple[int, ...], ...], copied: int
) -> None:
    """C has got one since the dump, and is to leave: it copies what the largest had there, also
    where that is nothing, and the target size where nothing is known.
    """
    dump = TabletDump((1,) * 4, (DumpedTable("ks.t", 1),), (1000 * GIB,) * 4, sizes)
    given = {"nodes": 4, "tablets": ("A B",), "edition": "server", "dump": dump}
    model: Any = build("tablets", {**given, "operations": ("leave C",)})
    asked = acted(model, model.start(), "leave C").but(tablets=(row("C B"),))
    [move] = model.planner.plan(asked).step.moves
    assert (str(move.source), move.bytes) == ("C:0", copied)


# -- what is late ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "runs", "off", "barrier", "answers"),
    [
        (1, True, (), None, {"B": None, "C": None}),
        (9, False, (), None, {"B": None, "C": None}),
        (9, True, ("S-24",), None, {"B": None, "C": None}),
        (
            *(9, True, (), "work of a finished stage is still running"),
            {"B": None, "C": "work of a finished stage is still running here"},
        ),
    ],
)
def test_a_barrier_waits_for_work_of_stages_that_are_over(
    session: int, runs: bool, off: tuple[str, ...], barrier: str | None, answers: dict[str, Any]
) -> None:
    """A late stream to C was sent in a session of tablet 0, whose session is 1 now; tablet 1 waits
    for the barrier. The node that it runs on does not answer, where each answers for itself.
    """
    late = LateRpc(0, "stream", replicas_in("C"), "streaming", session, runs=runs)
    tablets = row("A", way("A", "C")), row("A", way("A", "B", BARRIER, session=0))
    given = {"nodes": 3, "tablets": ("A", "A"), "late": 1}
    for answering in (False, True):
        model: Any = build("tablets", {**given, "answering": answering}, off=off)
        s = state(*tablets, model=model, transition="tablet_migration").but(late=late)
        wanted = {f"answer stages {name}": said for name, said in answers.items()}
        for verb, said in (wanted if answering else {"barrier": barrier}).items():
            option = model.find(s, verb)
            assert option is not None
            assert (option[1] and option[1].reason) == said, verb


def test_what_is_sent_to_a_node_that_dies_never_arrives() -> None:
    """The late stream to C goes with C; that to B does not."""
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",), "late": 1, "crashes": 1})
    tablet = row("A", way("A", "C"))
    for host, crashed, is_left in (("C", "C", False), ("B", "C", True)):
        late = LateRpc(0, "stream", replicas_in(host), "streaming", 1)
        s = state(tablet, model=model, transition="tablet_migration").but(late=late)
        assert (acted(model, s, f"crash {crashed}").late is not None) == is_left


def test_tablets_in_transition_go_on_though_the_track_has_not_begun() -> None:
    """As after a command that came late without a guard: what stands in a track goes on."""
    assert MODEL.busy(state(row("A B", MOVING), transition="tablet_migration")) is None
    assert MODEL.busy(state(row("A B"))).reason == "no tablet moves"


# -- who cannot be drained -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tablets", "said"),
    [
        (("A B",), ""),
        (("A B C",), "Draining fails: there is no place for C:0."),
        (("A B C",) * 2, "Draining fails: there is no place for C:0 C:0."),
        (("A B C",) * 3, "Draining fails: there is no place for C:0 C:0 and 1 more."),
    ],
)
def test_what_has_no_place_is_named(
    tablets: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of the replicas, where a sentence has no room for more."""
    monkeypatch.setattr("kit.protocols.tablets.tablets.MOST_SAID", 2)
    given = {"nodes": 3, "tablets": tablets, "operations": ("decommission C",), "moves": 0}
    model: Any = build("tablets", given)
    s = acted(model, model.start(), "decommission C", "decide", "commit")
    assert model.drain_failed(s, None, s) == said


def test_a_node_that_has_left_fails_no_drain() -> None:
    """A replica with no place keeps B's drain from its end; once B has left, nothing of it."""
    model: Any = build("tablets", {"nodes": 2, "tablets": ("A B",), "moves": 0})
    for node_state, is_placeless in (("decommissioning", True), ("left", False)):
        s = state(row("A B"), model=model, transition="tablet_draining", B={"state": node_state})
        topology = replace(s.control.topology, tablets="moving")
        s = s.but(control=s.control.but(topology=topology))
        assert [str(each) for each in model.without_target(s)] == ["B:0"]
        assert model.is_placeless(s) == is_placeless


@pytest.mark.parametrize(("number", "label"), [
    (1, "tablet 0"), (2, "tablet 0, 1"), (3, "tablet 0, 1, 2"), (4, "4 tablets"),
])  # fmt: skip
def test_of_many_tablets_a_command_names_none(
    number: int, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What travels into the log, where a label has room for three."""
    monkeypatch.setattr("kit.protocols.tablets.tablets.MOST_NAMED", 3)
    given = {"nodes": 3, "tablets": ("A B",) * number, "edition": "server", "moves": 0}
    timeline = Timeline(build("tablets", {**given, "operations": ("keyspace_rf_change ks dc1=3",)}))
    reached(timeline, "keyspace_rf_change ks dc1=3")
    reached(timeline, "decide")
    before = timeline.state
    assert len(before.command.begins) == number
    reached(timeline, "commit")
    [travel] = timeline.model.into_log(before, before.command, timeline.state)
    assert travel.label == label


@pytest.mark.parametrize(
    ("source", "target", "after"),
    [
        ("", "", "A:0 B:1 C:0"),
        ("", "D:1", "A:0 B:1 C:0 D:1"),
        ("A:0", "D:1", "D:1 B:1 C:0"),
        ("B:1", "D:0", "A:0 D:0 C:0"),
        ("C:0", "D:0", "A:0 B:1 D:0"),
        ("A:0", "", "B:1 C:0"),
        ("B:1", "", "A:0 C:0"),
        ("C:0", "", "A:0 B:1"),
    ],
)
def test_the_target_takes_the_place_of_the_source(source: str, target: str, after: str) -> None:
    """Or comes last, or nobody comes."""
    assert replaced(row("A:0 B:1 C:0"), source, target) == replicas_in(after)


@pytest.mark.parametrize(
    ("off", "free"), [((), (True, False, False)), (("S-25",), (True, True, False))]
)
def test_a_tablet_begins_one_transition_at_a_time(
    off: tuple[str, ...], free: tuple[bool, ...]
) -> None:
    """S-25: with the safeguard off two, but no third one."""
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",)}, off=off)
    ways = (way("A", "B"), way("A", "C"))
    assert tuple(model.free(row("A", *ways[:count])) for count in range(3)) == free


@pytest.mark.parametrize(
    ("held", "source", "able", "places"),
    [
        ("A", 0, "ABC", "C:0 C:1"),
        ("A C", 0, "ABC", ""),
        ("B", 0, "ABC", ""),
        ("A", 0, "AB", ""),
        ("C", 0, "ABC", "A:0"),
    ],
)
def test_a_replica_goes_to_another_host_of_its_rack(
    held: str, source: int, able: str, places: str
) -> None:
    """To any shard of one that may take it, and has none."""
    racks = ("dc1/r1", "dc1/r2", "dc1/r1")
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",), "racks": racks})
    model.shards_of = lambda host: 2 if host == "C" else 1
    given = row(held)
    mask = sum(1 << "ABC".index(host) for host in able)
    found = [str(each) for each in model.to_hosts(given, given.replicas[source], mask)]
    assert found == places.split()
    added = [*model.added(7, "AC")]
    assert added == [(7, model.rebuild, "", place) for place in ("A:0", "C:0", "C:1")]


@pytest.mark.parametrize(
    ("sizes", "capacities"),
    [((), [0, 0, 0]), ((5, 6, 7), [5, 6, 7]), ((5, 6), [5, 6, 5]), ((5,), [5, 5, 5])],
)
def test_a_node_that_no_dump_shows_is_like_its_first(
    sizes: tuple[int, ...], capacities: list[int]
) -> None:
    """With its disk, in its own place and with its own shards."""
    racks = ("dc1/r1", "dc1/r2", "dc1/r1")
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",), "racks": racks})
    names, model.names = model.names, model.names[:3]
    model.shards_of = lambda host: names.index(host) + 1
    model.layout = replace(model.layout, capacities=sizes)
    assert [*model.balancer_nodes(("normal", "leaving", "down"))] == [
        BalancerNode("A", "dc1", "r1", 1, capacities[0], "normal"),
        BalancerNode("B", "dc1", "r2", 2, capacities[1], "leaving"),
        BalancerNode("C", "dc1", "r1", 3, capacities[2], "down"),
    ]


# -- which nodes are what, and whether the track may end -------------------------------------------

GOING = {"state": "decommissioning"}
GONE = {"state": "left"}


@pytest.mark.parametrize(
    ("held", "b", "able", "wanted", "unfinished"),
    [
        ("A C", GOING, "ABCD", 2, False),  # B has nothing
        ("A B", GOING, "ABCD", 2, True),
        ("A B C D", GOING, "ABCD", 4, True),  # and there is no place
        ("A B", GONE, "ABCD", 2, True),
        ("A B C D", GONE, "ABCD", 4, False),  # what has no place keeps nobody from leaving
        ("A B", {}, "ABCD", 2, False),
        ("A B", {}, "ABCD", 3, True),
        ("A B", {}, "AB", 3, False),
        ("A B", {}, "ABCD", 1, True),
        ("A B", GOING, "ABCD", 3, True),
    ],
)
def test_a_track_ends_when_nothing_is_left_to_do(
    held: str, b: dict[str, str], able: str, wanted: int, unfinished: bool
) -> None:
    """No drain that goes on or keeps B from leaving, and no RF change that can go on."""
    model: Any = build("tablets", {"nodes": 4, "tablets": ("A",)})
    s = state(row(held), model=model, transition="tablet_draining", B=b)
    topology = replace(s.control.topology, keyspaces=(("ks", (("dc1", wanted),)),))
    up = sum(1 << "ABCD".index(host) for host in able)
    s = s.but(control=s.control.but(topology=topology, up=up))
    assert model.unfinished(s) == unfinished


@pytest.mark.parametrize(
    ("edition", "roles"),
    [
        ("documents", "left leaving excluded removing excluded normal excluded down zero-token"),
        ("server", "left leaving leaving removing excluded normal excluded down zero-token"),
    ],
)
def test_what_each_node_is_to_the_balancer(edition: str, roles: str) -> None:
    """A has left, B and C are to leave, D is removed, E is to leave and ignored, G ignored, I has
    no tokens; C and H are down. J joins.
    """
    given = {"nodes": 9, "tablets": ("A",), "operations": ("join J",), "edition": edition}
    model: Any = build("tablets", given)
    leaving = {"state": "decommissioning", "request": "leave"}
    s = state(
        row("A"),
        model=model,
        transition="tablet_draining",
        A=GONE,
        B=leaving,
        C=leaving,
        D={"state": "removing", "request": "remove"},
        E=leaving,
        I={"zero_token": True},
    )
    topology = replace(s.control.topology, ignored=0b1010000)
    s = s.but(control=s.control.but(topology=topology, up=0b1101111011))
    assert " ".join(model.roles(s)) == f"{roles} joining"
    failed = s.but(given_up=0b10)
    assert model.roles(failed)[1] == "excluded"
    assert (
        model.roles(failed)[:1] + model.roles(failed)[2:] == model.roles(s)[:1] + model.roles(s)[2:]
    )


@pytest.mark.parametrize(
    ("request_of_c", "keyspaces", "begins"),
    [
        ("", (), ["migration"]),
        ("join", (), []),
        ("", (("ks", (("dc1", 2),)),), ["rebuild_v2"]),
        ("join", (("ks", (("dc1", 2),)),), ["rebuild_v2"]),
    ],
)
def test_loads_are_evened_out_while_no_request_waits(
    request_of_c: str, keyspaces: Any, begins: list[str]
) -> None:
    """An RF change goes first, and goes on beside a request."""
    model: Any = build("tablets", {"nodes": 2, "tablets": ("A",), "operations": ("join C",)})
    s = state(row("A"), model=model, C={"request": request_of_c, "request_id": 1})
    topology = replace(s.control.topology, keyspaces=keyspaces)
    s = s.but(control=s.control.but(topology=topology))
    assert [kind for _, kind, _, _ in model.plan(s)] == begins


@pytest.mark.parametrize(
    ("edition", "b", "e", "able"),
    [
        ("documents", {"state": "decommissioning"}, {}, "AD"),
        ("server", {}, {}, "ABDE"),
        ("server", {"request": "leave"}, {}, "ACDE"),
        ("server", {"request": "remove"}, {}, "ACDE"),
        ("server", {"state": "left"}, {}, "ADE"),
        ("server", {}, {"request": "leave"}, "ABD"),
        ("server", {"state": "left"}, {"request": "leave"}, "AD"),
    ],
)
def test_a_drain_of_the_server_chooses_nodes_that_are_down_too(
    edition: str, b: dict[str, str], e: dict[str, str], able: str
) -> None:
    """C is down. It is chosen while a node of its datacenter is to leave; none of dc2 is one, nor
    one that has left already.
    """
    racks = ("dc1/r1",) * 4 + ("dc2/r1",)
    given = {"nodes": 5, "tablets": ("B",), "racks": racks, "edition": edition}
    model: Any = build("tablets", given)
    transition = "tablet_draining" if edition == "documents" else ""
    s = state(row("B"), model=model, transition=transition, B=b, E=e)
    s = s.but(control=s.control.but(up=0b11011))
    expected = able + "E" * (edition == "documents")
    [source] = replicas_in("B")
    assert "".join(model.named(model.drain_able(s, source))) == expected


@pytest.mark.parametrize(
    ("b", "ignored", "given_up", "begins"),
    [
        ({"request": "leave"}, 0, 0, "migration C:0"),
        ({"request": "leave"}, 0b10, 0, ""),
        ({"request": "leave"}, 0, 0b10, ""),
        ({"request": "leave"}, 0b1, 0b1, "migration C:0"),
        ({"request": "remove"}, 0, 0, "rebuild_v2 C:0"),
        ({"request": "remove"}, 0b10, 0, "rebuild_v2 C:0"),
        ({"state": "left"}, 0b10, 0, "rebuild_v2 C:0"),
        ({}, 0, 0, ""),
    ],
)
def test_how_a_replica_leaves_its_node(
    b: dict[str, str], ignored: int, given_up: int, begins: str
) -> None:
    """What is removed or has left is made again from others; a dead node that is to leave sends
    nothing, and what has failed is not tried again. Of what cannot go the replica is named.
    """
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",), "edition": "server"})
    s = state(row("A B"), model=model, B=b)
    topology = replace(s.control.topology, ignored=ignored)
    s = s.but(control=s.control.but(topology=topology), given_up=given_up)
    moves = [f"{kind} {target}" for _, kind, source, target in model.drain_moves(s)]
    assert moves == [begins] * bool(begins)
    stuck = [str(each) for each in model.without_target(s)]
    assert stuck == ["B:0"] * (bool(b) and not begins)


@pytest.mark.parametrize(
    ("kinds", "later", "begins"),
    [
        (("migration",), False, ["A:0 D:0", "A:0 D:1", "B:1 D:0", "B:1 D:1"]),
        (("intranode_migration",), False, ["A:0 A:1", "B:1 B:0"]),
        (("repair",), False, [" "]),
        (("add_tablet_replica",), False, [" D:0", " D:1"]),
        (("repair", "intranode_migration"), False, [" ", "A:0 A:1", "B:1 B:0"]),
        (("repair",), True, [" "]),
        (("intranode_migration",), True, ["B:1 B:0"]),
        (("migration",), True, ["B:1 A:0", "B:1 A:1", "B:1 D:0", "B:1 D:1"]),
    ],
)
def test_what_evens_out_loads_stays_on_nodes_that_are_heard(
    kinds: tuple[str, ...], later: bool, begins: list[str]
) -> None:
    """Tablet 0 is free, tablet 1 is not; nothing goes to C, which is down, or comes off it."""
    given = {"nodes": 4, "tablets": ("A", "A"), "kinds": kinds, "shards": 2}
    model: Any = build("tablets", given)
    s = state(row("A:0 B:1 C:0"), row("B:1", way("B:1", "C:0")), model=model)
    s = s.but(control=s.control.but(up=0b1011), moves=1)
    found = [*model.balance_moves(s, later=later)]
    assert {tablet for tablet, *_ in found} == {int(later)}
    assert [f"{source} {target}" for _, _, source, target in found] == begins


@pytest.mark.parametrize(
    ("given", "moves", "asks", "begins"),
    [
        ({}, 1, "", {"migration"}),
        ({}, 0, "", set()),
        ({"balancing": False}, 1, "", set()),
        ({}, 0, "leave", {"migration"}),
        ({"balancing": False}, 1, "leave", {"migration"}),
        ({}, 0, "remove", {"rebuild_v2"}),
        ({"rebuild": "rebuild"}, 0, "remove", {"rebuild"}),
    ],
)
def test_a_dump_is_balanced_by_its_planner(
    given: dict[str, Any], moves: int, asks: str, begins: set[str]
) -> None:
    """Four tablets on A and none on B or C: loads are evened out while moves are left and balancing
    is on; else only what A has to give goes, by the planner's moves alone.
    """
    dump = TabletDump((1,) * 3, (DumpedTable("ks.t", 2), DumpedTable("ks.u", 2)))
    fixed = {"nodes": 3, "tablets": ("A",) * 4, "edition": "server", "dump": dump}
    model: Any = build("tablets", {**fixed, **given})
    s = state(*(row("A"),) * 4, model=model, A={"request": asks}).but(moves=moves)
    planned = model.planner.plan(s)
    assert tuple(model.plan(s)) == planned.begins
    assert {kind for _, kind, _, _ in planned.begins} == begins
    tables = {"ks.t": 0, "ks.u": 2}
    places = [tables[m.table] + number for m in planned.step.moves for number in m.tablets]
    assert [tablet for tablet, *_ in planned.begins] == places
    drains = planned.begins if asks else ()
    assert tuple(model.drain_moves(s)) == planned.drains == drains


@pytest.mark.parametrize(
    ("held", "wanted", "asks", "begins"),
    [
        ("A", 2, "", ["0 rebuild_v2  B:0", "1 rebuild_v2  C:0"]),
        ("A B", 1, "", ["0 rebuild_v2 B:0 ", "1 rebuild_v2 B:0 "]),
        ("A", 1, "", []),
        ("A", 2, "leave", ["0 migration A:0 B:0", "1 migration A:0 C:0"]),
    ],
)
def test_an_rf_change_of_a_dump_goes_on_before_loads_are_evened_out(
    held: str, wanted: int, asks: str, begins: list[str]
) -> None:
    """A step of each tablet of the keyspace, to the emptiest shards, or off the last host of a row.
    Only a drain is first, of which A sends two at once.
    """
    dump = TabletDump((1,) * 3, (DumpedTable("ks.t", 2), DumpedTable("other.u", 1)))
    fixed = {"nodes": 3, "tablets": ("A",) * 3, "edition": "server", "dump": dump}
    model: Any = build("tablets", fixed)
    s = state(*(row(held),) * 2, row("A"), model=model, A={"request": asks}).but(moves=0)
    topology = replace(s.control.topology, keyspaces=(("ks", (("dc1", wanted),)),))
    s = s.but(control=s.control.but(topology=topology))
    assert [" ".join(map(str, begin)) for begin in model.plan(s)] == begins


@pytest.mark.parametrize(
    ("held", "leaving", "given_up", "stuck"),
    [
        ("A B C", "", "", []),
        ("A B C", "A", "", ["A:0"]),
        ("A B C", "AB", "", ["A:0", "B:0"]),
        ("A B C", "AB", "A", ["B:0", "A:0"]),
        ("A B C", "AC", "AC", ["A:0", "C:0"]),
        ("A B", "A", "", []),
        ("A B", "A", "A", ["A:0"]),
    ],
)
def test_what_a_dumps_planner_cannot_place_is_told(
    held: str, leaving: str, given_up: str, stuck: list[str]
) -> None:
    """Of nodes that are to leave; what could go, but has failed, is told behind that."""
    dump = TabletDump((1,) * 3, (DumpedTable("ks.t", 1),))
    model: Any = build(
        "tablets", {"nodes": 3, "tablets": ("A",), "edition": "server", "dump": dump}
    )
    asks = {host: {"request": "leave"} for host in leaving}
    s = state(row(held), model=model, **asks)
    s = s.but(given_up=sum(1 << "ABC".index(host) for host in given_up))
    assert [str(each) for each in model.without_target(s)] == stuck


@pytest.mark.parametrize(
    ("edition", "held", "wanted", "begins"),
    [
        ("documents", "A", 1, []),
        ("documents", "A", 2, [" B:0", " C:0"]),
        ("server", "A", 2, [" B:0", " C:0"]),
        ("documents", "A B", 1, ["A:0 ", "B:0 "]),
        ("server", "A B", 1, ["B:0 "]),
    ],
)
def test_an_rf_change_goes_on_by_any_node_that_its_rule_names(
    edition: str, held: str, wanted: int, begins: list[str]
) -> None:
    """Each node that may get the replica, or lose it: on the server the last of the row."""
    model: Any = build("tablets", {"nodes": 3, "tablets": ("A",), "edition": edition})
    s = state(row(held), row(held, MOVING), model=model)
    topology = replace(s.control.topology, keyspaces=(("ks", (("dc1", wanted),)),))
    found = [*model.completions(s.but(control=s.control.but(topology=topology)))]
    assert {(tablet, kind) for tablet, kind, _, _ in found} <= {(0, "rebuild_v2")}
    assert [f"{source} {target}" for _, _, source, target in found] == begins


BY_RACK, BY_NUMBER = (("ks", (("dc1", factor),)) for factor in (("r1",), 1))


@pytest.mark.parametrize(
    ("rack_lists", "changed", "moves"),
    [
        ((), (), {"ks.t", "other.u"}),
        ((("ks.t", "dc1"),), (), set()),
        ((("ks.t", "dc1"),), (BY_NUMBER,), {"ks.t", "other.u"}),
        ((), (BY_RACK,), set()),
        ((("other.u", "dc1"),), (BY_NUMBER,), set()),
        ((("ks.t", "dc2"),), (), {"ks.t", "other.u"}),
    ],
)
def test_racks_that_a_keyspace_names_keep_their_tablets(
    rack_lists: tuple[tuple[str, str], ...], changed: Any, moves: set[str]
) -> None:
    """As the dump has it, or what an RF change has made of that; then each rack is even for itself,
    and each of these has one node.
    """
    tables = (DumpedTable("ks.t", 2), DumpedTable("other.u", 2))
    dump = TabletDump((1,) * 2, tables, rack_lists=rack_lists)
    given = {"nodes": 2, "tablets": ("A",) * 4, "racks": ("dc1/r1", "dc1/r2"), "dump": dump}
    model: Any = build("tablets", {**given, "edition": "server"})
    s = state(*(row("A"),) * 4, model=model).but(moves=1)
    topology = replace(s.control.topology, keyspaces=changed)
    s = s.but(control=s.control.but(topology=topology))
    assert {move.table for move in model.planner.plan(s).step.moves} == moves


@pytest.mark.parametrize(("held", "copied"), [("A B", 5 * GIB), ("A C", 7)])
def test_what_is_not_known_of_a_tablet_that_stays_is_not_guessed(held: str, copied: int) -> None:
    """A's bytes are not known, those of B are: once the tablet has moved they are the largest."""
    dump = TabletDump((1,) * 4, (DumpedTable("ks.t", 1),), (1000 * GIB,) * 4, ((-1, 7),))
    given = {"nodes": 4, "tablets": ("A B",), "edition": "server", "dump": dump}
    model: Any = build("tablets", {**given, "operations": ("leave A",)})
    s = acted(model, model.start(), "leave A")
    [move] = model.planner.plan(s if held == "A B" else s.but(tablets=(row(held),))).step.moves
    assert (str(move.source), move.bytes) == ("A:0", copied)
