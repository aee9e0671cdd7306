"""A cluster with a coordinator: who votes and is heard, what no step leaves behind, late work."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from kit.engine.flows import Flow, flows
from kit.engine.registry import build
from kit.errors import BadInput, Refusal
from kit.protocols.group0.rules.commands import Command
from kit.protocols.topology import control
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import Attempted, ControlState, FaultBudget
from kit.protocols.topology.rules.cluster import NOBODY, LocalView, NodeEntry, Setting
from tests.outcomes import outcome, why
from tests.protocols.topology.test_operations import run

RACKS = ("dc1/r1", "dc1/r2", "dc1/r3", "dc1/r1", "dc2/r1", "dc2/r2", "dc2/r3")
SETTING = Setting(edition="documents")
OLD, NEW = LocalView(1, 1, 0, 1), LocalView(2, 1, 0, 1)


def made(**given: Any) -> Any:
    """A model; of three members, A leads, and D may join."""
    return build("topology", given)


def standing(model: Any, *, of_topology: dict[str, Any] | None = None, **more: Any) -> ControlState:
    """Its first state, but for this."""
    state: ControlState = model.start()
    topology = replace(state.topology, **of_topology or {})
    return replace(state, topology=topology, **more)


def test_at_first_nothing_has_happened() -> None:
    """What is not given: nothing is tried, no fault may happen, nobody asks, nothing is late."""
    assert Attempted() == Attempted(0, 0, False, False, False, None) == control.NOTHING_DONE
    assert FaultBudget() == FaultBudget(*[0] * 11)
    start = made().start()
    given = ("topology", "state_id", "views", "applied", "up")
    least = ControlState(**{name: getattr(start, name) for name in given})
    rest = {name: value for name, value in asdict(least).items() if name not in given}
    assert rest == {
        "cut": 0, "chosen": 0, "coordinator": 0, "started": True, "heir": False,
        "attempted": Attempted(), "deposed": None, "made": 0, "client": NOBODY,
        "client_version": 0, "leftover": 0, "leftover_at": NOBODY, "sealed": False,
        "fence_before": 1, "addresses": (), "unheard": 0, "faults": FaultBudget(),
    }  # fmt: skip


def test_how_a_cluster_begins() -> None:
    """Members are normal and know all; the others have no row, and who goes is down."""
    model = made(
        edition="server", operations=("join D", "replace E C", "remove B"), zero_tokens=("B",),
        racks=("dc1/r1", "dc1/r2", "dc1/r3", "dc1/r4", "dc1/r3"), ignored=("B", "C"), rf=1,
        on_tablets=("A", "C"), keyspaces=("ks dc1=1",), crashes=1, clients=2, resizes=3,
        newer=("A", "D"),
    )  # fmt: skip
    start = model.start()
    normal = NodeEntry(state="normal", supported=1, tokens=True)
    assert start.topology.nodes == (
        replace(normal, rack="dc1/r1", supported=3),
        replace(normal, rack="dc1/r2", tokens=False, zero_token=True),
        replace(normal, rack="dc1/r3"),
        NodeEntry(rack="dc1/r4"),
        NodeEntry(rack="dc1/r3"),
    )
    topology = start.topology
    assert (topology.members, topology.ignored, topology.tablets_on) == (0b111, 0b110, 0b101)
    assert (topology.rf, topology.keyspaces, topology.enabled) == (1, model.plan.keyspaces, 1)
    assert (start.state_id, start.views, start.applied) == (1, (OLD,), (0,) * 5)
    assert (start.up, start.coordinator, start.made) == (0b11001, 0, 0)
    assert start.faults == FaultBudget(crashes=1, clients=2, resizes=3)


@pytest.mark.parametrize(
    ("given", "up", "coordinator"),
    [
        ({}, 0b1111, 0),
        ({"operations": ("remove A",)}, 0b110, 1),
        ({"operations": ("remove A",), "down": ()}, 0b111, 0),
        ({"operations": ("replace D C",)}, 0b1011, 0),
        ({"operations": ("leave C",), "down": ("A", "B", "C")}, 0, NOBODY),
        ({"down": ("A", "B", "C")}, 0b1000, NOBODY),  # D is no member: it does not lead
    ],
)
def test_who_is_up_and_leads_at_first(given: dict[str, Any], up: int, coordinator: int) -> None:
    """The first member that is up leads."""
    start = made(**given).start()
    assert (start.up, start.coordinator) == (up, coordinator)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"newer": ("Q",)}, "newer: got 'Q'; allowed: one of A, B, C, D"),
        (
            {"newer": ("Q",), "edition": "server", "nodes": 7},
            "newer: got 'Q'; allowed: one of A, B, C, D, E, F, G",
        ),
        ({"zero_tokens": ("D",)}, "zero_tokens: got 'D'; allowed: members: A, B, C"),
        ({"down": ("Q",)}, "down: got 'Q'; allowed: one of A, B, C, D"),
        ({"ignored": ("Q",)}, "ignored: got 'Q'; allowed: one of A, B, C, D"),
        ({"on_tablets": ("Q",)}, "on_tablets: got 'Q'; allowed: one of A, B, C, D"),
    ],
)
def test_names_of_no_node_are_refused(given: dict[str, Any], said: str) -> None:
    """With those that are allowed."""
    with pytest.raises(BadInput, match=f"^{said}$"):
        made(**given).start()


@pytest.mark.parametrize(
    ("newer", "enabled"),
    [((), 1), (("A", "B", "C"), 3), (("B", "C", "D"), 1), (("A", "B", "D"), 1), (("D",), 1)],
)
def test_a_feature_is_enabled_once_all_members_support_it(
    newer: tuple[str, ...], enabled: int
) -> None:
    """Whatever D supports, which is none yet."""
    start = made(newer=newer).start()
    assert start.topology.enabled == enabled
    assert [row.supported for row in start.topology.nodes] == [
        0 if name == "D" else 3 if name in newer else 1 for name in "ABCD"
    ]


def test_every_member_may_be_without_tokens() -> None:
    """The first one, too, and the last."""
    start = made(zero_tokens=("A", "C")).start()
    assert [row.tokens for row in start.topology.nodes] == [False, True, False, False]


@pytest.mark.parametrize(
    ("up", "cut", "unheard", "reachable", "heard", "alive"),
    [
        (0b111, 0b000, 0b000, 0b111, True, True),
        (0b011, 0b000, 0b000, 0b011, True, True),
        (0b111, 0b100, 0b000, 0b011, True, True),
        (0b111, 0b110, 0b000, 0b001, False, True),
        (0b111, 0b000, 0b011, 0b100, False, True),
        (0b111, 0b010, 0b001, 0b100, False, True),
        (0b100, 0b000, 0b000, 0b100, False, False),
        (0b1100, 0b000, 0b000, 0b1100, False, False),  # D does not vote
    ],
)
def test_who_is_heard_and_whether_that_is_a_majority(
    up: int, cut: int, unheard: int, reachable: int, heard: bool, alive: bool
) -> None:
    """Who is cut off, or at an address that nobody knows, lives but is not heard."""
    state = standing(made(), up=up, cut=cut, unheard=unheard)
    assert state.reachable == reachable
    assert state.apart == cut | unheard
    assert control.has_majority(state) is heard
    assert control.has_living_majority(state) is alive
    refusal = None if heard else Refusal("group 0 has no majority")
    assert control.majority_refusal(state) == refusal


@pytest.mark.parametrize(
    ("chosen", "votes"), [(0, 0b111), (0b011, 0b011), (0b1100, 0b100), (0b1000, 0b111)]
)
def test_who_votes(chosen: int, votes: int) -> None:
    """All members that may, or those of them that were chosen."""
    assert control.voting(standing(made(), chosen=chosen)) == votes


@pytest.mark.parametrize(
    ("coordinator", "up", "chosen"),
    [
        (0, 0b1111111, 0b110111),  # as it was
        (0, 0b1110001, 0b1110011),  # C was heard and votes no more
        (NOBODY, 0b1110001, 0b110111),  # there is nobody who would choose
        (0, 0b1001001, 0b110111),  # nor anybody who could commit it
    ],
)
def test_who_votes_once_nodes_are_gone(coordinator: int, up: int, chosen: int) -> None:
    """Of seven members five vote. The coordinator chooses, where a majority commits it."""
    model = made(edition="server", nodes=7, operations=("rebuild A",), racks=RACKS)
    state = standing(model, coordinator=coordinator, up=up)
    after = control.reconfigured(state, state, model.voter_rules)
    assert after == replace(state, chosen=chosen)
    assert (after is state) is (chosen == state.chosen)


@pytest.mark.parametrize(
    ("applied", "nodes", "now"),
    [
        ((0, 1, 0, 1), 0b0000, (0, 1, 0, 1)),
        ((0, 1, 0, 1), 0b1010, (0, 1, 0, 1)),
        ((0, 1, 0, 1), 0b0011, (1, 1, 0, 1)),
        ((0, 0, 0, 0), 0b1100, (0, 0, 1, 1)),
    ],
)
def test_who_has_applied_all_there_is(
    applied: tuple[int, ...], nodes: int, now: tuple[int, ...]
) -> None:
    """These do from now on; where they had, nothing has changed."""
    state = standing(made(), views=(OLD, NEW), applied=applied)
    after = control.caught_up(state, nodes)
    assert after == replace(state, applied=now)
    assert (after is state) is (now == applied)


@pytest.mark.parametrize(
    ("change", "views", "fence_before"),
    [
        ({"members": 0b1111}, (OLD,), 7),  # no view of a node tells of it
        ({"version": 2}, (OLD, NEW), 7),
        ({"fence_version": 1}, (OLD,), 7),
        ({"version": 3, "fence_version": 2}, (OLD, LocalView(3, 2, 0, 1)), 1),
        ({"session": 4}, (OLD, LocalView(1, 1, 4, 1)), 7),
        ({"fence_version": 0}, (OLD, LocalView(1, 0, 0, 1)), 7),
    ],
)
def test_a_command_makes_a_topology(
    change: dict[str, Any], views: tuple[LocalView, ...], fence_before: int
) -> None:
    """The next state id, a view that nobody has applied where it is new, the fence of before."""
    state = standing(made(), fence_before=7, state_id=5)
    topology = replace(state.topology, **change)
    assert control.with_topology(state, topology) == replace(
        state, topology=topology, state_id=6, views=views, fence_before=fence_before
    )


@pytest.mark.parametrize(("version", "views"), [(2, (OLD, NEW)), (1, (OLD, NEW, OLD))])
def test_a_view_is_new_beside_the_newest_one(version: int, views: tuple[LocalView, ...]) -> None:
    """Whatever stood before it."""
    state = standing(made(), views=(OLD, NEW))
    topology = replace(state.topology, version=version)
    assert control.with_topology(state, topology).views == views


EARLIER, LATER = (Command(*[at] * len(Command.__struct_fields__)) for at in (1, 2))


@pytest.mark.parametrize(
    ("decided", "deposed", "comes"),
    [(None, None, None), (LATER, None, LATER), (None, EARLIER, EARLIER), (LATER, EARLIER, LATER)],
)
def test_what_a_coordinator_leaves_behind(decided: Any, deposed: Any, comes: Any) -> None:
    """The command that it had decided on, or the one of its predecessor; all else is lost."""
    attempted = Attempted(2, 3, True, True, True, decided)
    state = standing(made(), attempted=attempted, deposed=deposed, started=True)
    assert control.without_coordinator(state) == replace(
        state, coordinator=NOBODY, attempted=Attempted(), deposed=comes
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({"coordinator": NOBODY}, {}),
        ({"coordinator": 2, "chosen": 0b011}, {"coordinator": NOBODY}),
        ({"coordinator": 1, "chosen": 0b011}, {}),
        # D is no member, and counts as having applied all
        ({"views": (OLD, NEW), "applied": (0, 1, 1, 0)}, {"applied": (0, 1, 1, 1)}),
        ({"views": (OLD, NEW), "applied": (1, 1, 1, 0)}, {"views": (NEW,), "applied": (0,) * 4}),
        (
            {"views": (OLD, OLD, NEW), "applied": (1, 2, 1, 0)},
            {"views": (OLD, NEW), "applied": (0, 1, 0, 1)},
        ),
        (
            {
                "views": (OLD, NEW),
                "applied": (0, 1, 0, 0),
                "coordinator": 1,
                "of_topology": {"members": 0b1110},
            },
            {"applied": (1, 1, 0, 0)},
        ),
        # a client, and late work, at a node that is down
        ({"client": 1, "client_version": 4}, {}),
        ({"client": 0, "client_version": 4, "up": 0b0110}, {"client": NOBODY, "client_version": 0}),
        ({"client": 1, "client_version": 4, "up": 0b1101}, {"client": NOBODY, "client_version": 0}),
        ({"client": 2, "client_version": 4, "up": 0b1101}, {}),
        ({"leftover": 3, "leftover_at": NOBODY, "sealed": True, "up": 0}, {}),
        ({"leftover": 3, "leftover_at": 2, "sealed": True}, {}),
        (
            {"leftover": 3, "leftover_at": 2, "sealed": True, "up": 0b1011},
            {"leftover": 0, "leftover_at": NOBODY, "sealed": False},
        ),
    ],
)
def test_no_step_leaves_ghosts(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Views that nobody goes by, a coordinator without a vote, clients of nodes that are down."""
    state = standing(made(), **before)
    assert control.settled(state) == replace(state, **after)


@pytest.mark.parametrize(
    ("change", "chosen"),
    [
        ({}, 0b110111),
        ({"up": 0b1110001}, 0b1110011),
        ({"cut": 0b0001110}, 0b1110011),
        ({"unheard": 0b0001110}, 0b1110011),
        ({"applied": (0,) * 6 + (0,)}, 0b110111),
    ],
)
def test_voters_are_chosen_again_where_nodes_have_changed(
    change: dict[str, Any], chosen: int
) -> None:
    """Where one died, or is not heard; and not in between, whoever would be chosen by now."""
    model = made(edition="server", nodes=7, operations=("rebuild A",), racks=RACKS)
    start = model.start()
    assert model.settled(start, replace(start, **change)).chosen == chosen
    gone = replace(start, **change)
    assert model.settled(gone, replace(gone, made=1)) == replace(gone, made=1)


def test_in_the_documents_all_vote() -> None:
    """Of seven members, whoever is gone."""
    model = made(nodes=7, operations=("rebuild A",), racks=RACKS)
    start = model.start()
    assert start.chosen == 0
    assert model.settled(start, replace(start, up=0b1110001)).chosen == 0


@pytest.mark.parametrize("changed", ["coordinator", "topology"])
def test_voters_are_chosen_again_by_another_coordinator(changed: str) -> None:
    """And after a command."""
    model = made(edition="server", nodes=7, operations=("rebuild A",), racks=RACKS)
    gone = replace(model.start(), up=0b1110001)
    other = 4 if changed == "coordinator" else replace(gone.topology, version=1)
    assert model.settled(gone, replace(gone, **{changed: other})).chosen == 0b1110011


@pytest.mark.parametrize(("lag", "applied"), [(True, (0, 1, 0, 1)), (False, (1, 1, 0, 1))])
def test_nodes_apply_at_once_where_they_do_not_lag(lag: bool, applied: tuple[int, ...]) -> None:
    """Those that are heard: C is cut off."""
    model = made(lag=lag)
    state = standing(model, views=(OLD, NEW), applied=(0, 1, 0, 1), cut=0b100)
    before = replace(state, applied=(0, 1, 0, 0))
    assert model.settled(before, state).applied == applied


# -- clients, and late work ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state_", "takes"),
    [("normal", True), ("decommissioning", True), ("removing", True), ("rebuilding", True),
     ("bootstrapping", False), ("replacing", False), ("none", False), ("left", False)],
)  # fmt: skip
def test_who_takes_requests_of_clients(state_: str, takes: bool) -> None:
    """Members that serve and are up, and one request runs at a time."""
    model = made(clients=1)
    rows = model.start().topology.nodes
    nodes = (rows[0], replace(rows[1], state=state_, replaced=2), rows[2], rows[3])
    state = standing(model, of_topology={"nodes": nodes}, up=0b0111)
    begins = [act.BeginRequest(name) for name in ("ABC" if takes else "AC")]
    own = [a for a in model.actions(state) if isinstance(a, act.BeginRequest)]
    assert own == begins
    down = [a for a in model.actions(replace(state, up=0b0101)) if isinstance(a, act.BeginRequest)]
    assert down == [act.BeginRequest("A"), act.BeginRequest("C")]
    busy = model.actions(replace(state, client=0))
    assert not any(isinstance(action, act.BeginRequest) for action in busy)


def test_a_request_runs_by_the_version_of_its_node() -> None:
    """B has applied the newest one; any member that is up may serve it, and then it is over."""
    model = made(clients=1)
    state = standing(model, views=(OLD, NEW), applied=(0, 1, 0, 1), up=0b1011)
    assert model.replicas(state) == 0
    begun = [outcome(model, state, act.BeginRequest(name)) for name in "AB"]
    assert [(s.client, s.client_version) for s in begun] == [(0, 1), (1, 2)]
    assert model.replicas(begun[1]) == 0b011
    served = outcome(model, begun[1], act.ServeRequest("A"))
    assert (served.client, served.client_version) == (NOBODY, 0)


@pytest.mark.parametrize(
    ("cut", "unheard", "refused"),
    [(0, 0, ""), (0b001, 0, "A"), (0b010, 0, "AC"), (0, 0b100, "C"), (0b100, 0b010, "AC")],
)
def test_no_request_passes_between_nodes_that_are_apart(
    cut: int, unheard: int, refused: str
) -> None:
    """B serves its own request all the same."""
    model = made(clients=1)
    state = standing(model, client=1, client_version=1, cut=cut, unheard=unheard)
    assert why(model, state, act.ServeRequest("B")) == ""
    for name in "AC":
        said = "one of the two nodes is cut off" if name in refused else ""
        assert why(model, state, act.ServeRequest(name)) == said


FENCED = LocalView(5, 4, 0, 1)


@pytest.mark.parametrize(("version", "ok"), [(3, False), (4, True), (5, True)])
def test_what_is_said_of_a_request_that_is_served(version: int, ok: bool) -> None:
    """B finds it below its fence, or serves it; C would serve it by what it has applied."""
    model = made(clients=1)
    state = standing(
        model, views=(OLD, FENCED), applied=(1, 1, 0, 1), client=0, client_version=version
    )
    assert [control.served(state, at, model.setting) for at in (1, 2)] == [ok, True]
    action = act.ServeRequest("B")
    after = model.act(state, action)
    said = "serves" if ok else "refuses"
    assert model.describe(state, action, after) == f"B {said} a request at version {version}."
    word, stale = ("done", "") if ok else ("stale", " version")
    kind: Any = "answer" if ok else "refusal"
    assert flows(model, state, action, after) == (
        Flow(
            "request", "n:A", "n:B", f"version {version}", f"A → B: a request at version {version}"
        ),
        Flow(kind, "n:B", "n:A", word, f"B → A: {word}{stale}", 1),
    )
    own = act.ServeRequest("A")  # the answer is told of where the client's node serves it, too
    ways = flows(model, state, own, model.act(state, own))
    assert [(way.from_key, way.to_key, way.leg) for way in ways] == [
        ("n:A", "n:A", 0),
        ("n:A", "n:A", 1),
    ]


def test_a_permit_is_told_of_where_there_is_a_session() -> None:
    """In the tag of an RPC and in words."""
    assert control.permit(0) == ("", "")
    tag, words = control.permit(7)
    assert tag == ", session 7"
    assert words == ", with a frozen_topology_guard of session 7"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ""),
        ({"client": 1, "client_version": 4}, "a request at an older version still runs here"),
        ({"client": 1, "client_version": 5}, ""),
        ({"client": 0, "client_version": 4}, ""),
        ({"leftover": 3, "leftover_at": 1}, "work from a closed session is still running here"),
        ({"leftover": 6, "leftover_at": 1}, ""),
        ({"leftover": 3, "leftover_at": 0}, ""),
    ],
)
def test_why_a_node_does_not_answer_a_barrier(given: dict[str, Any], said: str) -> None:
    """B has an older request, or work of another session than that which is open."""
    model = made()
    state = standing(model, of_topology={"version": 5, "session": 6}, **given)
    refusal = control.drain_refusal(state, 1, model.setting)
    assert ("" if refusal is None else refusal.reason) == said


def test_where_an_rpc_of_a_truncate_may_be_left_behind() -> None:
    """In the step that sends them, once; by the coordinator, and under a session."""
    model = made(
        edition="server", operations=("truncate_table ks.t",), keyspaces=("ks dc1=3",), late=1
    )
    state, places = model.start(), []
    behind = act.LeaveBehind()
    for step in range(14):
        if control.is_truncating(state, model.setting):
            places.append(step)
            after = model.act(state, behind)
            assert (after.leftover, after.leftover_at, after.faults.late) == (3, NOBODY, 0)
            assert model.describe(state, behind, after) == (
                "The coordinator stops waiting for an RPC of the TRUNCATE, which is left behind."
            )
            assert why(model, replace(state, leftover=2), behind) == (
                "an RPC of a session has already been left behind"
            )
            for other in (
                replace(state, coordinator=NOBODY),
                replace(state, topology=replace(state.topology, session=0)),
            ):
                assert not control.is_truncating(other, model.setting)
                assert outcome(model, other, behind) is None
        else:
            assert outcome(model, state, behind) is None
        state = model.act(state, model.suggest(state))
    assert places == [6]
    assert model.suggest(state) is None


def test_part_of_a_stream_is_left_behind() -> None:
    """While it runs."""
    model = made(late=1)
    state = standing(model, of_topology={"session": 9}, attempted=Attempted(streaming=True))
    assert not control.is_truncating(state, model.setting)
    after = model.act(state, act.LeaveBehind())
    assert (after.leftover, after.leftover_at) == (9, NOBODY)
    said = model.describe(state, act.LeaveBehind(), after)
    assert said == "Part of the stream is left behind in the network."


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"leftover": 3, "leftover_at": NOBODY}, "BC"),
        ({"leftover": 3, "leftover_at": NOBODY, "up": 0b1011}, "B"),
        ({"leftover": 3, "leftover_at": 1}, ""),
        ({"leftover": 0, "leftover_at": NOBODY}, ""),
    ],
)
def test_where_late_work_may_arrive(given: dict[str, Any], names: str) -> None:
    """At members that are heard: A is cut off, and D is none."""
    model = made(late=1)
    state = standing(model, cut=1, **given)
    own = [a for a in model.actions(state) if isinstance(a, act.LateArrival)]
    assert own == [act.LateArrival(name) for name in names]


@pytest.mark.parametrize(
    ("session", "ok", "end"),
    [
        (3, True, "accepts it."),
        (4, False, "refuses the work, because it does not know that session."),
    ],
)
def test_late_work_arrives(session: int, ok: bool, end: str) -> None:
    """It runs, or is over, as the session that B knows says; then it ends."""
    model = made(late=1)
    state = standing(
        model,
        views=(OLD, LocalView(2, 1, session, 1)),
        applied=(0, 1, 0, 1),
        leftover=3,
        sealed=True,
    )
    action = act.LateArrival("B")
    assert control.let_in(state, 1, model.setting) is ok
    after = outcome(model, state, action)
    assert (after.leftover, after.leftover_at, after.sealed) == (
        (3, 1, True) if ok else (0, NOBODY, False)
    )
    assert (
        model.describe(state, action, after) == f"Late work from session 3 reaches B, which {end}"
    )
    said = f"network → B: late work from session 3{'' if ok else ' (refused)'}"
    assert flows(model, state, action, after) == (
        Flow("data", "network", "n:B", "session 3", said),
    )
    over = outcome(model, after, act.EndLeftover())
    if not ok:
        assert over is None
    else:
        assert over == replace(after, leftover=0, leftover_at=NOBODY, sealed=False)


@pytest.mark.parametrize("words", ["join D", "leave C", "rebuild C"])
def test_no_other_operation_sends_rpcs_of_a_truncate(words: str) -> None:
    """Also where all of its work is done and its session is still open."""
    assert not any(control.is_truncating(state, SETTING) for state, _, _ in run(words))
