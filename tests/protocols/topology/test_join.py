"""The join handshake and the beginning of a cluster: every order of messages and faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import Safeguard, always
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology import topology as act
from kit.protocols.topology.handshake import JOINER, REASONS
from kit.protocols.topology.join import Join, joiner, left, tables, with_tables
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.protocols.topology.joins import PLACED, played, shown
from tests.quality.breaking import broken, changing, doing, never
from tests.quality.reporting import assert_reported, judges
from tests.views.frames import go_on

GUARDS = entry_of("join").safeguards


INVARIANTS = {prop.name: prop.invariant for prop in build("join").properties}


MOST = 20_000


"""States that a search of each landing may have."""


def searched(**given: Any) -> Any:
    """A search with all safeguards on."""
    result = check(build("join", given), max_states=MOST)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())
    return result


# -- searches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_each_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks an invariant that it names; on, nothing is broken."""
    missing = check(build("join", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    searched(**guard.smallest)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"restarts": 1, "losses": 1},
        {"restarts": 1, "copies": 1},
        {"restarts": 1, "downgrades": True, "enabled": False, "outages": 1},
        {"outages": 1, "losses": 1, "nodes": 3},
        {"supports": False, "enabled": False, "restarts": 1},
        {"zombie": True, "restarts": 1},
    ],
    ids=str,
)
def test_no_join_with_faults_breaks_a_promise(edition: Edition, given: dict[str, Any]) -> None:
    """Messages lost, copied or late, nodes restarted, in any order: every join can end."""
    searched(edition=edition, **given)


@pytest.mark.spec("D-058", "D-059")
def test_a_wiped_joiner_holds_the_queue_in_edition_documents_alone() -> None:
    """A known cost: there the coordinator tries for ever. The server gives up."""
    given = {"restarts": 1, "wipes": 1}
    model = build("join", {"edition": "documents", **given})
    result = check(model)
    assert (result.verdict, result.violation) == ("known cost", None)
    [cost] = result.costs
    assert cost.property == "ends"
    assert "Topology over Raft, Join procedure" in cost.remark
    said = Timeline.along(model, cost.actions).now.say
    assert "Nobody answers for N1 any more, but its request stays in the queue" in said
    assert "giving up is not implemented yet" in said
    searched(edition="server", **given)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_join_that_is_not_wiped_has_no_cost(nodes: int) -> None:
    """In edition documents, with any other fault."""
    for budget in ("restarts", "outages", "losses", "copies"):
        result = check(build("join", {"nodes": nodes, budget: 1}))
        assert (result.verdict, result.costs) == ("complete", ()), budget


def test_the_server_may_give_up_an_accepted_joiner_whose_answer_is_lost() -> None:
    """The joiner goes on as accepted, and sees in group 0 that it has left."""
    timeline = played(
        *("deliver N>B query N1 1", "deliver B>N mode 1 raft"),
        *("deliver N>B request N1 1 prod simple f -", "place B", "deliver B>N placed 1"),
        *("take", "add", "respond", "deliver A>N response N1 accepted", "drop N>A handled N1"),
        *("call-fails", "learn"),
        edition="server",
        losses=1,
    )
    assert "call failed" in timeline.moments[-2].say
    assert joiner(timeline.state).reason == "not-accepted"


def test_the_host_id_handshake_alone_keeps_left_nodes_out() -> None:
    """Edition server without S-56: nothing breaks; without the handshake as well, it does."""
    given = {"edition": "server", "nodes": 1, "removed": True}
    assert check(build("join", given, ("refuse-left",))).violation is None
    off = check(build("join", given, ("refuse-left", "host-id-handshake"))).violation
    assert off is not None
    assert off.property == "left-final"


def test_random_walks_break_nothing_and_take_every_rule() -> None:
    """With all faults."""
    fuzzing = entry_of("join").fuzzing
    model = build("join", fuzzing.parameters)
    result = fuzz(model, seeds=range(30), steps=150, weights=fuzzing.weights)
    assert (result.findings, result.untaken) == ((), ())


@pytest.mark.deep
@pytest.mark.parametrize(
    "given",
    [
        {"restarts": 2, "downgrades": True, "enabled": False, "wipes": 1, "losses": 1},
        {"restarts": 1, "wipes": 1, "outages": 1, "copies": 1, "nodes": 3},
    ],
    ids=str,
)
def test_a_join_with_two_attempts_and_all_faults_breaks_no_promise(given: dict[str, Any]) -> None:
    """Edition server; the search is complete."""
    result = check(build("join", {**given, "edition": "server"}))
    assert (result.violation, result.complete) == (None, True)


# -- why a node does not get in --------------------------------------------------------------------


@pytest.mark.spec("D-051", "D-055")
@pytest.mark.parametrize(
    ("reason", "state", "given"),
    [
        ("cluster-name", "", {"cluster": "test"}),
        ("snitch", "", {"snitch": "gossiping"}),
        ("removed", "left", {"removed": True, "edition": "documents"}),
        ("banned", "left", {"removed": True, "edition": "server"}),
        ("alive", "", {"replaces": "A"}),
        ("not-normal", "left", {"replaces": "Z", "zombie": True}),
        ("features", "left", {"supports": False}),
    ],
)
def test_a_rejected_joiner_knows_the_reason(reason: str, state: str, given: dict[str, Any]) -> None:
    """The joiner is no member; the coordinator's own rejection leaves a row in state left."""
    timeline = played(**given)
    row = tables(timeline.state).row("N1")
    assert (joiner(timeline.state).status, joiner(timeline.state).reason) == ("stopped", reason)
    assert (row.state if row else "") == state
    assert "N1" not in tables(timeline.state).members
    assert REASONS[reason] in shown(timeline, "processes", "process:N")


REPLACED: dict[str, Any] = {"replaces": "B", "down": ("B",)}


RACKS = ("dc1/r1", "dc1/r2", "dc2/r1")


# the cluster, and why the server turns a replacing node away (empty: it does not)
REPLACES: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, ""),
    ({"racks": (*RACKS, "dc1/r2")}, ""),
    ({"racks": (*RACKS, "dc1/r1")}, "other-place"),
    ({"racks": (*RACKS, "dc2/r2")}, "other-place"),
    ({"racks": RACKS}, "other-place"),
    ({"racks": ("dc1/r1",)}, ""),
    ({"zero_tokens": ("B", "N")}, ""),
    ({"zero_tokens": ("B",)}, "owner-for-zero"),
    ({"zero_tokens": ("N",)}, "zero-for-owner"),
    ({"zero_tokens": ("A", "C", "N")}, "zero-for-owner"),
    ({"ignores": ("C",)}, "ignored-alive"),
    ({"ignores": ("B",)}, ""),
    ({"down": ("B", "C"), "nodes": 4}, "another-down"),
    ({"down": ("B", "C"), "nodes": 4, "ignores": ("C",)}, ""),
    ({"down": ("B", "C"), "nodes": 4, "ignores": ("C", "D")}, "ignored-alive"),
    ({"down": ("B", "C", "D"), "nodes": 5, "ignores": ("C",)}, "another-down"),
    ({"zombie": True}, ""),  # who has left is down, and no normal node
)


@pytest.mark.parametrize(("given", "reason"), REPLACES, ids=str)
def test_the_server_refuses_a_replace_that_does_not_fit(given: dict[str, Any], reason: str) -> None:
    """In its words, without a row; edition documents lets the same node in."""
    parameters = {"nodes": 3, **REPLACED, **given}
    timeline = played(**parameters, edition="server")
    status = "stopped" if reason else "normal"
    assert (joiner(timeline.state).status, joiner(timeline.state).reason) == (status, reason)
    assert (tables(timeline.state).row("N1") is None) == bool(reason)
    if reason:
        said = " ".join(moment.say for moment in timeline.moments)
        assert f"rejects the request: {REASONS[reason]}." in said
        assert shown(timeline, "checks", f"check:{reason}").endswith("!")
    assert joiner(played(**parameters, edition="documents").state).status == "normal"


def test_a_plain_join_needs_no_list_of_ignored_nodes() -> None:
    """Beside a node that is down, or with an ignored node that is up."""
    for given in ({"down": ("C",)}, {"ignores": ("C",)}):
        timeline = played(nodes=3, edition="server", **given)
        assert joiner(timeline.state).status == "normal"


@pytest.mark.spec("D-055")
def test_the_table_of_checks_warns_of_a_missing_feature_from_the_start() -> None:
    """Before the coordinator has looked; checks that pass have a tick."""
    timeline = played("deliver N>B query N1 1", supports=False)
    assert shown(timeline, "checks", "check:features") == "features the coordinator !"
    assert shown(timeline, "checks", "check:snitch").endswith("✓")


@pytest.mark.spec("D-058")
def test_a_joiner_that_crashed_gets_in_only_under_a_new_host_id() -> None:
    """N1 is rejected as unfinished; with its data wiped, the node joins as N2."""
    [scenario] = [one for one in entry_of("join").scenarios if one.name == "crash-and-wipe"]
    timeline = Timeline(build("join", scenario.parameters), scenario.script)
    played_out(timeline)
    said = " ".join(moment.say for moment in timeline.moments)
    assert REASONS["unfinished"] in said
    assert "new host id, N2" in said
    assert shown(timeline, "hosts", "host:N1").startswith("N1 left –")
    assert shown(timeline, "hosts", "host:N2").startswith("N2 normal member")


def both_normal(s: Any) -> str | None:
    """The joiner has the place of B, and B has left."""
    row, old = tables(s).row("N1"), tables(s).row("B")
    if row is None or old is None or row.state != "normal":
        return None
    gone = old.state == "left" and "B" not in tables(s).members
    return None if gone else "B and who replaces it are both there"


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_replaced_node_leaves_as_the_joiner_becomes_normal(edition: Edition) -> None:
    """In every order of messages and faults."""
    given = {"edition": edition, "replaces": "B", "down": ("B",), "nodes": 3}
    model = build("join", {**given, "restarts": 1, "losses": 1, "outages": 1})
    model.properties += (always("replaced", "One of both is there", both_normal, "INV-MEMBER"),)
    result = check(model, max_states=MOST)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())
    timeline = played(**given)
    assert joiner(timeline.state).status == "normal"
    assert shown(timeline, "hosts", "host:N1").startswith("N1 normal member")
    assert shown(timeline, "hosts", "host:B").startswith("B left –")
    assert tables(timeline.state).members == ("A", "C", "N1")
    timeline = played(*(verb.replace("B", "C").replace("f -", "f B") for verb in PLACED), **given)
    go_on(timeline, "take")
    assert shown(timeline, "hosts", "host:N1").startswith("N1 replacing")


@pytest.mark.parametrize(
    ("given", "field"),
    [({"replaces": "Q"}, "replaces"), ({"down": ("A",)}, "down"), ({"nodes": 9}, "nodes")],
)
def test_parameters_of_no_possible_join_are_refused(given: dict[str, Any], field: str) -> None:
    """No such member, a coordinator that is down, too many nodes."""
    with pytest.raises(BadInput) as error:
        build("join", given)
    assert error.value.field.endswith(field)


def made(**given: Any) -> Any:
    """A model; of three members, A leads, and D may join."""
    return build("topology", given)


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
def test_the_first_member_up_leads_at_first(
    given: dict[str, Any], up: int, coordinator: int
) -> None:
    """Nobody leads where no member is up."""
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
def test_unknown_names_of_nodes_are_refused(given: dict[str, Any], said: str) -> None:
    """The error lists the names that are allowed."""
    with pytest.raises(BadInput, match=f"^{said}$"):
        made(**given).start()


@pytest.mark.parametrize(
    ("newer", "enabled"),
    [((), 1), (("A", "B", "C"), 3), (("B", "C", "D"), 1), (("A", "B", "D"), 1), (("D",), 1)],
)
def test_a_feature_is_enabled_once_all_members_support_it(
    newer: tuple[str, ...], enabled: int
) -> None:
    """Whatever D supports, which is no member yet."""
    start = made(newer=newer).start()
    assert start.topology.enabled == enabled
    assert [row.supported for row in start.topology.nodes] == [
        0 if name == "D" else 3 if name in newer else 1 for name in "ABCD"
    ]


def electable(timeline: Timeline) -> str:
    """The nodes that may be elected now."""
    actions = timeline.model.actions(timeline.state)
    return "".join(each.node for each in actions if isinstance(each, act.ElectCoordinator))


def test_every_node_but_the_coordinator_may_be_elected() -> None:
    """Before and after each of two elections."""
    model: Any = build("topology", {"nodes": 3, "operations": (), "changes": 3})
    timeline = Timeline(model)
    assert electable(timeline) == "BC"
    timeline.do(act.ElectCoordinator("B"))
    assert electable(timeline) == "AC"
    timeline.do(act.ElectCoordinator("C"))
    assert electable(timeline) == "AB"


SMALLEST = {guard.name: guard.smallest for guard in entry_of("join").safeguards}


def without(off: str) -> Callable[[], Any]:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("join", SMALLEST[off], (off,))


def careless() -> Any:
    """Whoever asks is in group 0 at once."""

    def adding(s: Any, action: Any, after: Any) -> Any:
        held = tables(after)
        added = (*held.members, joiner(after).host)
        return with_tables(after, replace(held, members=added))

    return broken(build("join"), Join.place_request.struct, changing(adding))


def giving_up() -> Any:
    """A cluster of edition ``documents`` gives a joiner up as the published code does."""

    def giving(s: Any, action: Any, after: Any) -> Any:
        joining = tables(after).joining
        return left(after, joining.host, "not-accepted") if joining else after

    return broken(
        build("join", {"edition": "documents", "losses": 1}),
        Join.call_fails.struct,
        changing(giving),
    )


def mistaken() -> Any:
    """A joiner that has left takes itself for normal."""
    model: Any = build("join", {"edition": "server", "losses": 1})

    def mistakes(s: Any, action: Any) -> Any:
        normal = replace(joiner(s), status="normal")
        return model.turned(s, model.index[JOINER], (normal, ()))

    return broken(model, Join.learn_outcome.struct, doing(mistakes))


REPORTED: dict[str, Callable[[], Any]] = {
    "attempt": without("join-message-order"),
    "members": careless,
    "stays": giving_up,
    "left-final": without("refuse-left"),
    "in-service": mistaken,
    "features": without("features-with-joins"),
    "owners-store": without("host-id-handshake"),
    "no-return": without("host-id-handshake"),
    "over": lambda: broken(build("join"), Join.learn_outcome.struct, doing(lambda s, action: s)),
    "ends": lambda: broken(build("join"), Join.learn_outcome.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("join")))
