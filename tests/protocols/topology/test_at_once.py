"""What is refused at once, one after the other, and behind which barrier."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology import topology as act
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.rules.machines import EDITIONS, GLOBAL_REQUESTS, Edition
from kit.protocols.topology.topology import MakeRequest
from kit.search.check import check
from tests.outcomes import why
from tests.protocols.topology.test_seen import ended, in_state, press, seen, starting, until, way

DOWN_TOO = "another node is down: restart it, or exclude it if it is dead for good"


IGNORED_LIVES = "an ignored node is up, and ignoring it bans it for good"


LAST = "it is the last node that owns tokens"


PLACE = "it is in another datacenter or rack than the node that it would replace"


OWNER_FOR_ZERO = "a token owner cannot replace a zero-token node"


ZERO_FOR_OWNER = "a zero-token node cannot replace a token owner"


Case = tuple[str, dict[str, Any], str, tuple[str, ...]]


# asked for, the cluster (of five, A to E), what the server says, and which nodes stand in the way
CASES: tuple[Case, ...] = (
    # Another node is down: removal and replace say so, the others wait or are cancelled later.
    ("remove E", {"down": ("E",)}, "", ()),
    ("remove E", {"down": ("D", "E")}, DOWN_TOO, ("D",)),
    ("remove E", {"down": ("C", "D", "E"), "nodes": 7}, DOWN_TOO, ("C", "D")),
    ("remove E", {"down": ("D", "E"), "ignored": ("D",)}, "", ()),
    ("remove E", {"down": ("C", "D", "E"), "nodes": 7, "ignored": ("D",)}, DOWN_TOO, ("C",)),
    ("replace X E", {"down": ("E",)}, "", ()),
    ("replace X E", {"down": ("D", "E")}, DOWN_TOO, ("D",)),
    ("replace X E", {"down": ("D", "E"), "ignored": ("D",)}, "", ()),
    ("remove E", {"down": ("D", "E"), "zero_tokens": ("D",)}, DOWN_TOO, ("D",)),
    ("join X", {"down": ("D",)}, "", ()),
    ("leave E", {"down": ("D",)}, "", ()),
    ("rebuild E", {"down": ("D",)}, "", ()),
    # An ignored node lives.
    ("remove E", {"down": ("E",), "ignored": ("D",)}, IGNORED_LIVES, ("D",)),
    ("remove E", {"down": ("D", "E"), "ignored": ("C", "D")}, IGNORED_LIVES, ("C",)),
    ("replace X E", {"down": ("E",), "ignored": ("C", "D")}, IGNORED_LIVES, ("C", "D")),
    ("remove E", {"down": ("E",), "ignored": ("E",)}, "", ()),
    ("leave E", {"down": (), "ignored": ("D",)}, "", ()),
    # The last node that owns tokens.
    ("leave A", {"down": (), "nodes": 3, "zero_tokens": ("B", "C")}, LAST, ()),
    ("leave A", {"down": (), "nodes": 1}, LAST, ()),
    ("leave A", {"down": (), "nodes": 3, "zero_tokens": ("C",)}, "", ()),
    ("leave C", {"down": (), "nodes": 3, "zero_tokens": ("B", "C")}, "", ()),
    ("remove A", {"down": ("A",), "nodes": 3, "zero_tokens": ("B", "C")}, LAST, ()),
    ("remove C", {"down": ("C",), "nodes": 3, "zero_tokens": ("B", "C")}, "", ()),
    # A replace: the place, and tokens both ways.
    ("replace X E", {"racks": ("dc1/r1",) * 5 + ("dc1/r2",)}, PLACE, ()),
    ("replace X E", {"racks": ("dc1/r1",) * 5 + ("dc2/r1",)}, PLACE, ()),
    ("replace X E", {"racks": ("dc1/r1",) * 4 + ("dc1/r2", "dc1/r2")}, "", ()),
    ("replace X E", {"racks": ("dc1/r1",) * 5}, "", ()),
    ("replace X E --zero-token", {}, ZERO_FOR_OWNER, ()),
    ("replace X E", {"zero_tokens": ("E",)}, OWNER_FOR_ZERO, ()),
    ("replace X E --zero-token", {"zero_tokens": ("E",)}, "", ()),
)  # fmt: skip


@pytest.mark.parametrize(("words", "given", "reason", "nodes"), CASES)
def test_the_server_refuses_a_request_at_once_with_its_reason(
    words: str, given: dict[str, Any], reason: str, nodes: tuple[str, ...]
) -> None:
    """And names the nodes that stand in the way; an empty reason: the request is taken."""
    model: Any = build(
        "topology", {"edition": "server", "nodes": 5, **given, "operations": (words,)}
    )
    refusal = model.refusal(model.start(), MakeRequest(0))
    assert ("" if refusal is None else refusal.reason) == reason
    assert refusal is None or refusal.missing == nodes


@pytest.mark.parametrize(("words", "given", "reason", "nodes"), CASES)
def test_edition_documents_takes_every_request_that_the_server_refuses_at_once(
    words: str, given: dict[str, Any], reason: str, nodes: tuple[str, ...]
) -> None:
    """Such a request waits or fails later."""
    parameters = {"edition": "documents", "nodes": 5, **given, "operations": (words,)}
    model: Any = build("topology", parameters)
    assert model.refusal(model.start(), MakeRequest(0)) is None


def test_two_dead_nodes_are_removed_in_turn() -> None:
    """The second request finds the first node in ``ignore_nodes``, before its removal has begun."""
    given = {"edition": "server", "nodes": 5, "ignored": ("D",)}
    model: Any = build("topology", {**given, "operations": ("remove E", "remove D")})
    state = model.act(model.start(), MakeRequest(0))
    assert state.topology.ignored == 0b11000
    state = model.act(state, MakeRequest(1))
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert [row.state for row in state.topology.nodes[3:]] == ["left", "left"]
    assert state.topology.ignored == 0


def test_a_joiner_cannot_be_listed_as_a_member_without_tokens() -> None:
    """A joiner without tokens says so in its request (``--zero-token``)."""
    with pytest.raises(BadInput, match="zero_tokens"):
        build("topology", {"operations": ("join D",), "zero_tokens": ("D",)})


@pytest.mark.parametrize("name", [each.name for each in GLOBAL_REQUESTS if not each.played])
@pytest.mark.parametrize("rest", ["", " ks"])
def test_a_request_that_is_not_modelled_says_so(name: str, rest: str) -> None:
    """Published servers take it, so it is no unknown word."""
    with pytest.raises(BadInput, match=f"{name}.*a modelled request, unlike this one"):
        build("topology", {"operations": (name + rest,)})


FENCE_NEXT = "the drain is over, and the fence is committed next"


# asked for, the state whose barrier is played, and where a plain barrier that fails leads to
BARRIERS = (
    ("join D", "write_both_read_old", "left_token_ring"),
    ("replace D C", "write_both_read_old", "left_token_ring"),
    ("leave C", "write_both_read_old", "rollback_to_normal"),
    ("remove C", "write_both_read_old", "rollback_to_normal"),
    ("join D", "write_both_read_new", ""),
    ("leave C", "write_both_read_new", "left_token_ring"),
    ("leave C", "left_token_ring", "left_token_ring"),
)


def at_barrier(words: str, where: str, **given: Any) -> tuple[Any, Any]:
    """The first state in which the barrier of a transition state runs, and its model."""
    model: Any = build("topology", {"operations": (words,), "failures": 2, **given})
    state = model.start()
    while state.topology.transition != where or not model.unanswered(state):
        state = model.act(state, model.suggest(state))
    return model, state


def acted_until(model: Any, state: Any, *kinds: type[Any]) -> Any:
    """The state after what is suggested, up to the first of these actions and with it."""
    while True:
        action = model.suggest(state)
        state = model.act(state, action)
        if isinstance(action, kinds):
            return state


@pytest.mark.parametrize(("words", "where", "leads_to"), BARRIERS)
def test_a_failed_drain_commits_the_fence_before_the_plain_barrier_runs(
    words: str, where: str, leads_to: str
) -> None:
    """Nothing else can fail before; then the plain barrier can, and leads where the row says."""
    model, state = at_barrier(words, where, edition="server")
    state = model.act(state, act.FailWork())
    assert state.attempted.commands
    assert state.topology.fence_version < state.topology.version
    assert why(model, state, act.FailWork()) == FENCE_NEXT
    assert not model.unanswered(state)  # nor does the plain barrier run yet
    state = acted_until(model, state, act.CommitDecision)
    assert state.topology.fence_version == state.topology.version
    state = model.act(state, act.FailWork())
    work = task_of(state, model.setting).work
    paused = work is not None and work.on_failure == "proceed"
    state = acted_until(model, state, act.PauseWork if paused else act.CommitDecision)
    while state.topology.transition == where != leads_to:
        state = model.act(state, model.suggest(state))
    assert state.topology.transition == leads_to


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(("words", "where"), [row[:2] for row in BARRIERS])
def test_a_drain_that_all_nodes_answered_cannot_fail(words: str, where: str, edition: str) -> None:
    """Next comes the fence, or the retry that edition documents repeats for ever."""
    model, state = at_barrier(words, where, edition=edition)
    while model.unanswered(state):
        state = acted_until(model, state, act.AnswerBarrier)
    assert state.topology.fence_version < state.topology.version
    for_ever = edition == "documents" and where in ("write_both_read_new", "left_token_ring")
    tried_again = "no failure of work would make a difference now"
    assert why(model, state, act.FailWork()) == (tried_again if for_ever else FENCE_NEXT)


TAKING_OUT = ("replace D C", "replace E C", "remove C", "leave C", "rebuild C")


MODELS: dict[str, dict[str, Any]] = {
    "topology": {},
    "tablets": {"nodes": 3, "tablets": ("A B",), "moves": 0},
}


PAIRS = list(permutations(TAKING_OUT, 2))


def complete(model: str, edition: Edition, pair: tuple[str, str], **given: Any) -> None:
    """A complete search of two requests breaks nothing."""
    parameters = {"edition": edition, "operations": pair, **MODELS[model], **given}
    result = check(build(model, parameters), symmetry=model == "topology", max_states=60_000)
    assert result.violation is None, result.violation
    assert result.complete, result


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_node_is_taken_out_only_once(model: str, edition: Edition, pair: tuple[str, str]) -> None:
    """In whichever order they are made and taken: the search is complete and finds no harm."""
    complete(model, edition, pair)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_node_is_taken_out_once_beside_a_crash(edition: Edition, pair: tuple[str, str]) -> None:
    """Any node dies, or comes back, anywhere."""
    complete("topology", edition, pair, crashes=1)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("second", ["remove C", "rebuild C", "leave C"])
def test_a_node_that_is_being_replaced_takes_no_other_request(
    edition: Edition, second: str
) -> None:
    """From the request to the end of the operation, in every state between them."""
    given = {"edition": edition, "operations": ("replace D C", second), "down": ("C",)}
    timeline: Any = Timeline(build("topology", given), ("replace D C",))
    timeline.forward()
    action, told = MakeRequest(1), {"normal": "another node is replacing it"}
    while not timeline.model.is_over(timeline.state):
        state = timeline.state.topology.nodes[2].state
        expected = told.get(state, "the node is not normal")
        assert why(timeline.model, timeline.state, action) == expected
        timeline.do(timeline.model.suggest(timeline.state))
    assert timeline.state.topology.nodes[2].state == "left"


def test_a_removal_of_a_node_replaced_first_ends_with_an_error() -> None:
    """The published server takes a replace before a removal that was asked for earlier."""
    given = {"edition": "server", "operations": ("remove C", "replace D C")}
    timeline: Any = played_out(Timeline(build("topology", given), ("remove C", "replace D C")))
    removal, replaced = timeline.state.topology.requests
    assert (removal.done, removal.error) == (True, True)
    assert (replaced.done, replaced.error) == (True, False)
    assert timeline.state.topology.nodes[2].state == "left"


TRACK, FINALIZATION = "tablet_migration", "tablet_resize_finalization"


# The documents leave the track for it; the published server enters it where nothing else is to do.
WAYS: tuple[tuple[Edition, tuple[str, ...], tuple[str, ...], list[str]], ...] = (
    ("documents", (), ("imbalance", "resize"), [TRACK, FINALIZATION]),
    ("documents", (), ("resize",), [TRACK, FINALIZATION]),
    ("documents", (), ("imbalance",), [TRACK]),
    ("server", (), ("imbalance", "resize"), [TRACK, FINALIZATION]),
    ("server", (), ("resize",), [FINALIZATION]),
    ("server", (), ("resize", "imbalance"), [TRACK, FINALIZATION]),
    # A request that waits comes first in the server, which looks for it once the track has ended.
    ("documents", ("rebuild B",), (*("imbalance", "decide", "commit"), "resize", "rebuild B"),
     [TRACK, FINALIZATION, "rebuilding"]),
    ("server", ("rebuild B",), (*("imbalance", "decide", "commit"), "resize", "rebuild B"),
     [TRACK, "rebuilding", FINALIZATION]),
)  # fmt: skip


@pytest.mark.parametrize(("edition", "asked", "verbs", "states"), WAYS)
def test_the_resize_finalization_comes_where_its_edition_puts_it(
    edition: Edition, asked: tuple[str, ...], verbs: tuple[str, ...], states: list[str]
) -> None:
    """The documents leave the tablet track for it; the server enters it when it is at rest."""
    timeline = starting(*asked, edition=edition, tablets=1, resizes=1)
    for verb in verbs:
        press(timeline, verb)
    found = list[str]()
    for moment in ended(timeline).moments:
        topology = moment.state.topology
        rebuilds = topology.nodes[1].state == "rebuilding"
        now = topology.transition or "rebuilding" * rebuilds
        if now and now not in found[-1:]:
            found.append(now)
    assert found == states
    assert timeline.state.topology.resizes == 0


@pytest.mark.spec("D-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_map_of_tablets_changes_after_the_finalizations_barrier(edition: Edition) -> None:
    """An older request on B holds the barrier; no tablet moves and no request begins meanwhile."""
    timeline = starting("rebuild C", edition=edition, tablets=1, resizes=1, clients=1)
    enters = ("move tablets", "decide", "commit") if edition == "documents" else ()
    for verb in ("begin B", "resize", "decide", "commit", *enters, "rebuild C"):
        press(timeline, verb)
    assert in_state(FINALIZATION)(timeline.state)
    while timeline.forward() is not None:
        assert timeline.state.topology.tablets == "even"
    lines = seen(timeline)
    assert way(timeline)[-1] == FINALIZATION
    assert "  barrier_and_drain: 2 of 3 have answered" in lines["Barrier by node"]
    assert "  rebuild C: waits (the tablet track must end first)" in lines["Request queue"]
    assert timeline.state.topology.resizes == 1
    press(timeline, "serve B")
    until(timeline, lambda state: state.topology.resizes == 0)
    assert in_state("")(timeline.state)
    assert "new maps of tablets" in "".join(seen(timeline)["Group 0 history"])


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_barrier_of_the_finalization_does_not_ask_an_ignored_node(edition: Edition) -> None:
    """Two of three nodes are asked, and the finalization ends."""
    given: dict[str, Any] = {"edition": edition, "resizes": 1, "down": ("C",), "ignored": ("C",)}
    timeline = until(press(starting(**given), "resize"), in_state(FINALIZATION))
    lines = seen(timeline)["Barrier by node"]
    assert "  barrier_and_drain: 0 of 2 have answered" in lines
    assert not in_state(FINALIZATION)(ended(timeline).state)


SEARCHED: dict[str, dict[str, Any]] = {
    "alone": {},
    "tablets": {"tablets": 1},
    "a join": {"operations": ("join D",), "tablets": 1, "lag": False},
    "a client": {"nodes": 2, "clients": 1},
    "two": {"resizes": 2, "tablets": 1},
    "crashes": {"nodes": 2, "crashes": 1, "tablets": 1},
    "another coordinator": {"nodes": 2, "changes": 1},
}


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", SEARCHED)
def test_the_resize_finalization_breaks_no_promise(edition: Edition, name: str) -> None:
    """The search is complete, beside other operations and faults."""
    given = {"operations": (), "resizes": 1, **SEARCHED[name]}
    result = check(build("topology", {"edition": edition, **given}), max_states=200_000)
    assert (result.violation, result.verdict) == (None, "complete")


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_the_drain_an_older_request_meets_a_new_map(edition: Edition) -> None:
    """S-21 off: a request by an older version can still be served with the new map."""
    given = {"edition": edition, "operations": (), "nodes": 2, "resizes": 1, "clients": 1}
    model = build("topology", given, ("barrier-drains", "fencing"))
    only = tuple(prop for prop in model.properties if prop.name == "older-over")
    found = check(model, only).violation
    assert found is not None
    assert "would still serve an older request" in found.witness
