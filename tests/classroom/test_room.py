"""A room: seats, and what a node may see and do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kit.classroom.pages import nodes_of
from kit.classroom.room import Press, Room, played
from kit.errors import BadInput, Refused
from kit.model.network import DeliverMessage
from kit.model.registry import build
from kit.views.actions import mark
from kit.views.panel import Scene
from kit.views.runs import node_rows
from tests.house.source import ROOT

STEPS = 30
KNOWN = ("raft", "raft_groups", "discovery", "gossip", "paxos", "join", "removed-node-is-back")
MODELS = ("raft", "raft_groups", "discovery/twelve", "gossip/both-sides", "paxos", "join")


def test_a_code_is_read_as_people_type_it() -> None:
    """Small letters and a gap do not matter; another letter does."""
    room = Room("raft")
    assert room.lets_in(f"{room.code[:4]} {room.code[4:]}".lower())
    other = "B" if room.code[0] == "A" else "A"
    assert not room.lets_in(other + room.code[1:])
    assert not room.lets_in("")


def test_no_two_rooms_have_one_code() -> None:
    """Code and key are drawn anew for each room."""
    one, other = Room("raft"), Room("raft")
    assert one.code != other.code
    assert one.opens(one.key)
    assert not one.opens(other.key)


def test_a_seat_is_for_one() -> None:
    """Who sits has a ticket; nobody else gets that seat until it is free."""
    room = Room("raft")
    ticket = room.sit("A")
    assert room.seat_of(ticket) == "A"
    with pytest.raises(Refused, match="Node A is already taken"):
        room.sit("A")
    room.free("A")
    with pytest.raises(Refused, match="Type the code"):
        room.seat_of(ticket)
    assert room.sit("A") != ticket


def test_only_nodes_have_seats() -> None:
    """A seat that is none is refused, with those that are."""
    with pytest.raises(BadInput, match="one of A, B, C"):
        Room("raft").sit("<b>")


def test_nodes_must_send_messages() -> None:
    """Of a model without a network nobody can say what one node knows."""
    with pytest.raises(BadInput, match="nodes that send messages"):
        Room("tcm")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("source", MODELS)
def test_what_others_do_changes_nothing_that_a_node_knows(source: str) -> None:
    """In a random run a step changes the row and the past of the node whose turn it is alone."""
    room, chance = Room(source), random.Random(7)
    model: Any = room.player.model
    after = room.known()
    for _ in range(STEPS):
        before = after
        state = room.player.state
        options = [action for action, refusal in model.options(state) if refusal is None]
        options = [each for each in options if model.kind(each) not in model.faults]
        if not options:
            break
        action = chance.choice(options)
        is_mail = isinstance(action, DeliverMessage)
        doer = action.envelope.target if is_mail else model.actor_of(state, action)
        room.player.act(action)
        after = room.known()
        for node, known in after.items():
            if doer and node != doer:
                assert (known.row, known.did) == (before[node].row, before[node].did), action
    assert len(room.player.timeline.moments) > 5


@pytest.mark.parametrize("source", KNOWN)
def test_a_node_knows_its_own_state_and_nothing_else(source: str) -> None:
    """Its rows are the same were all others still as they began, and say what its state holds."""
    room, chance = Room(source), random.Random(3)
    model: Any = room.player.model
    start = room.player.state
    for _ in range(STEPS):
        state = room.player.state
        rows = node_rows(Scene(model, state), room.nodes)
        for node in room.nodes:
            mine = {*model.shared, node}
            pairs = zip(room.names, state.nodes, start.nodes, strict=True)
            nodes = tuple(now if name in mine else then for name, now, then in pairs)
            assert rows[node], node
            alone = Scene(model, state.but(nodes=nodes))
            assert node_rows(alone, room.nodes)[node] == rows[node], node
        options = [action for action, refusal in model.options(state) if refusal is None]
        if not options:
            break
        room.player.act(chance.choice(options))


@pytest.mark.parametrize(
    ("source", "node", "row"),
    [
        ("election", "A", ("state", "log: 1:-; committed up to 0")),
        ("raft_groups/one-node-leads", "A", ("schema", "leader in term 1")),
        ("raft_groups/one-node-leads", "A", ("data", "follower in term 0")),
        ("join/join-handshake", "B", ("what it is doing", "handles the request of N1")),
        ("join/removed-node-is-back", "B", ("what it is doing", "bans Z")),
    ],
)
def test_a_seat_says_what_its_node_holds(source: str, node: str, row: tuple[str, str]) -> None:
    """Within some steps of the story: a log with its commit index, each group, what it handles."""
    room, seen = Room(source), list[tuple[str, str]]()
    for _ in range(STEPS):
        seen += room.known()[node].row.items()
        room.player.timeline.forward()
    assert any(name == row[0] and row[1] in words for name, words in seen), seen


def test_a_removed_node_does_not_know_it_before_it_hears_it() -> None:
    """Its seat names no state that only group 0 holds."""
    room = Room("join/removed-node-is-back")
    assert room.known()["Z"].row == {"what it is doing": "is cut off"}


@pytest.mark.parametrize(
    ("name", "given", "node", "fault"),
    [("raft", {"crashes": 1}, "A", "crash A"), ("join", {"down": ("B",)}, "B", "")],
)
def test_the_seat_of_a_node_that_is_down_says_so(
    name: str, given: dict[str, Any], node: str, fault: str
) -> None:
    """It is down from the start, or once it has crashed."""
    room = Room(build(name, given))
    if fault:
        assert "is down" not in room.seen(node).text()
        option = room.player.model.find(room.player.state, fault)
        assert option is not None
        room.player.act(option[0])
    assert "Your node is down" in room.seen(node).text()
    state = room.known()[node].row.get("state", "")
    assert state.startswith("down, comes back as follower in term 0" if fault else "")


@pytest.mark.parametrize("source", ["paxos", "restart", "two-groups", "other-cluster"])
def test_at_the_end_nobody_is_told_to_wait(source: str) -> None:
    """Before it, who has no button waits for a message; then none comes by itself."""
    room = Room(source)
    timeline = room.player.timeline
    waits = set[str]()
    while timeline.suggest() is not None:
        waits |= {n for n in room.nodes if "Wait for a message" in room.seen(n).text()}
        timeline.forward()
    assert waits
    seen = [room.seen(node).text() for node in room.nodes]
    assert any("nothing more happens by itself" in text for text in seen)
    assert not any("Wait for a message" in text for text in seen)


def test_a_node_does_only_what_its_buttons_do() -> None:
    """The mark of another node's action and nonsense change nothing."""
    room = Room("raft")
    own = next(a for a in room.known()["A"].acts)
    other = mark(room.player.model, own)
    for said in (Press(other), Press("x"), Press("")):
        with pytest.raises(Refused, match="cannot do that now"):
            room.press("B", said)
    assert len(room.player.timeline.moments) == 1
    room.press("A", Press(other))
    assert room.player.timeline.now.action == own


def test_while_the_projector_looks_back_the_seats_wait() -> None:
    """They have no buttons and are told why; a press from before is refused, and nothing branches.
    At the newest step they go on, and where the projector forks.
    """
    room = Room("raft")
    timeline = room.player.timeline
    played = [timeline.forward() for _ in range(7)]
    for at in (0, 4):
        timeline.goto(at)
        for node, known in room.known().items():
            seen = room.seen(node)
            assert "The projector shows an earlier step" in seen.text()
            assert not [part for part in seen.walk() if part.tag == "button"]
            for act in known.acts:
                with pytest.raises(Refused, match="shows an earlier step"):
                    room.press(node, Press(mark(room.player.model, act)))
    assert len(timeline.moments) == len(played) + 1
    for go_on in (timeline.fork, lambda: timeline.goto(len(played))):
        go_on()
        texts = [room.seen(node).text() for node in room.nodes]
        assert not any("shows an earlier step" in text for text in texts)
    node, act = next((node, k.acts[0]) for node, k in room.known().items() if k.acts)
    room.press(node, Press(mark(room.player.model, act)))
    assert timeline.path() == [*range(len(played) + 2)]


def test_nobody_with_a_message_is_told_to_wait_for_one() -> None:
    """Below a full inbox, who can do nothing by itself can receive."""
    room = Room("discovery/twelve")
    waiting = 0
    for _ in range(STEPS):
        for node in room.nodes:
            inbox, _, own = room.seen(node).text().partition("What you can do")
            assert ("receive from" in inbox) <= ("You can do nothing now" not in own), node
            waiting += "only receive what is in your inbox" in own
        if room.player.timeline.forward() is None:
            break
    assert waiting


def test_every_model_on_a_network_is_said_to_be_played() -> None:
    """A refusal names what was typed and each model that serves; so does the teachers' guide."""
    guide = (ROOT / "TEACHING.md").read_text("utf-8")
    for typed in ("tcm", "bootstrap", "nosuch"):
        with pytest.raises(BadInput, match=f"got '{typed}'.*: {', '.join(played())}"):
            Room(typed)
    assert ", ".join(f"`{name}`" for name in played()) in guide
    with pytest.raises(BadInput, match="nearest: election"):
        Room("elction")


@pytest.mark.parametrize(
    ("source", "given", "faults"),
    [
        ("election", {}, set()),
        ("election", {"crashes": 1, "drops": 1}, {"crash", "drop"}),
        ("discovery", {"losses": 1}, {"drop"}),
        ("join/crash-and-wipe", {}, {"crash", "wipe"}),
        ("removed-node-is-back", {}, {"wake"}),
    ],
)
def test_a_room_says_which_faults_there_are(
    source: str, given: dict[str, Any], faults: set[str]
) -> None:
    """Those of the parameters, given or a scenario's; the story stays the scenario's."""
    room = Room(source, given)
    assert set(room.faults()) == faults
    assert room.player.timeline.script == Room(source).player.timeline.script
    assert len(room.player.timeline.moments) == 1


def test_faults_are_for_the_projector() -> None:
    """No seat has a button that loses a message or stops a node, though a fault may happen."""
    room = Room("raft")
    model = room.player.model
    kinds = {model.kind(each) for known in room.known().values() for each in known.acts}
    possible = {model.kind(each) for each in model.actions(room.player.state)}
    assert kinds
    assert not kinds & set(model.faults)
    assert "election" not in possible or "tick" in kinds or kinds <= possible


@pytest.mark.parametrize(
    ("source", "mark"),
    [
        ("raft", "1:-: one that holds nothing"),
        ("raft_groups", "1:-: one that holds nothing"),
        ("gossip", "≠: another version"),
        ("paxos", "x 1A: value x in ballot 1A"),
    ],
)
def test_a_seat_says_what_marks_mean(source: str, mark: str) -> None:
    """Below what a node knows, which has no captions there."""
    room = Room(source)
    assert all(mark in room.seen(node).text() for node in room.nodes)


def test_who_lost_a_seat_is_told_who_frees_it() -> None:
    """As long as nobody is anything, nobody can have lost it."""
    room = Room("election")
    words = "Ask your lecturer to free it"
    assert words not in nodes_of(room).text()
    for node in room.nodes:
        room.sit(node)
        assert words in nodes_of(room).text()
    assert "Every node is taken." in nodes_of(room).text()


@pytest.mark.parametrize("source", MODELS)
def test_buttons_are_words_and_the_verb_stands_beside_them(source: str) -> None:
    """No button of a random run is a mere verb; what a label does not say, the step's words do."""
    room, chance = Room(source), random.Random(3)
    model: Any = room.player.model
    for _ in range(STEPS):
        acts = [(node, act) for node, known in room.known().items() for act in known.acts]
        if not acts:
            break
        node, act = chance.choice(acts)
        verb, label = model.verb(act), model.label(room.player.state, act)
        seen = [*room.seen(node).walk()]
        [at] = [i for i, part in enumerate(seen) if part.get("data-act") == mark(model, act)]
        room.press(node, Press(mark(model, act)))
        said = seen[at].text()
        assert said != verb
        assert not said.startswith(f"{verb.split()[0]} ")  # which would be the verb once more
        if isinstance(act, DeliverMessage):
            assert said.startswith(f"receive from {act.envelope.source}: ")
        else:
            assert said == (room.player.timeline.now.say if label == verb else label)
            assert (seen[at + 1].tag, seen[at + 1].text()) == ("small", verb)


def test_a_message_lies_in_one_inbox() -> None:
    """What A sends can be received by whom it is for, and by nobody else."""
    room = Room("discovery")
    seen = {node: room.seen(node).text() for node in room.nodes}
    sent = [
        a.envelope
        for a in room.player.model.actions(room.player.state)
        if isinstance(a, DeliverMessage)
    ]
    assert sent
    for envelope in sent:
        reader = f"from {envelope.source}"
        assert reader in seen[envelope.target]
    for node in room.nodes:
        named = {e.source for e in sent if e.target == node}
        inbox = seen[node].partition("What you can do")[0]
        assert {name for name in room.nodes if f"from {name}" in inbox} == named
