"""A member of Paxos at one message, one parameter or one promise: cases at their boundaries."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, Refusal
from kit.model.machines import MachineState
from kit.model.network import Envelope
from kit.model.registry import build
from kit.protocols.paxos.facts import EpochRow, acceptors, epochs, proposers, why
from kit.protocols.paxos.messages import (
    Accept,
    AcceptedReply,
    Chosen,
    PaxosNode,
    Prepare,
    Promise,
    RefusedReply,
    Round,
)
from kit.protocols.paxos.paxos import Paxos
from kit.protocols.paxos.rules import Accepted, Slot
from tests.quality.reporting import judges


def a_model(off: tuple[str, ...] = (), **given: Any) -> Paxos:
    """The model with these parameters."""
    model = build("paxos", given, off)
    assert isinstance(model, Paxos)
    return model


def with_nodes(model: Paxos, **nodes: PaxosNode) -> MachineState:
    """The start, but these nodes are as given."""
    start = model.start()
    named = zip(model.names, start.nodes, strict=True)
    return start.but(nodes=tuple(nodes.get(name, node) for name, node in named))


@pytest.mark.parametrize(
    ("epoch", "value", "holds"),
    [
        (1, "x", True),  # known to be chosen
        (1, "y", False),
        (2, "y", True),  # accepted
        (2, "x", False),
        (3, "x", False),  # promised only
        (4, "x", False),
    ],
)
def test_what_a_member_holds(epoch: int, value: str, holds: bool) -> None:
    """Of each epoch the value that it knows or has accepted, and no other one."""
    slots = Slot(2, 1, Accepted(1, "y")), Slot[str](3, 1)
    assert PaxosNode(("x",), slots).holds(epoch, value) is holds


def test_the_order_of_promises_makes_no_difference() -> None:
    """A member keeps what it promised by epoch, so that both ways lead to one state."""
    kept = Slot[str](2, 1), Slot[str](3, 1)
    for first, second in (kept, kept[::-1]):
        assert PaxosNode().keeping(first).keeping(second).slots == kept


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"members": 5, "becomes": ("F", "G")}, ""),
        ({"members": 5, "becomes": ("F", "G", "H")}, "becomes"),
        ({"becomes": ("B", "C")}, ""),
        ({"becomes": ("B", "B")}, "becomes"),
        ({"values": ("x at A", "y at A")}, ""),
        ({"values": ("x at A", "x at B")}, "values"),
        ({"values": ("x at D",)}, "values"),
        ({"values": ("x at D",), "becomes": ("D",)}, ""),
        ({"values": ("A",)}, "values"),
        ({"values": (" at A",)}, "values"),
        ({"given_names": ("P", "Q", "R"), "values": ("x at P",)}, ""),
        ({"given_names": ("P", "Q", "P"), "values": ("x at P",)}, "given_names"),
        ({"given_names": ("P", "Q"), "values": ("x at P",)}, "given_names"),
    ],
)
def test_which_parameters_make_a_cluster(given: dict[str, Any], field: str) -> None:
    """Seven nodes at most, each name and each value once, and each value with its member."""
    if not field:
        assert a_model(**given).names
        return
    with pytest.raises(BadInput) as caught:
        a_model(**given)
    assert caught.value.field == field


PROMISED = PaxosNode(slots=(Slot(1, 4),))
KNOWS = PaxosNode(log=("x",))
PROPOSES = PaxosNode(round=Round(1, 1, 1, entry="x"))
ASKS = PaxosNode(round=Round(1, 1, 1))


@pytest.mark.parametrize(
    ("node", "message", "silent", "told"),
    [
        (PROMISED, Prepare(1, 1), True, False),
        (PROMISED, Prepare(1, 4), False, False),
        (PROMISED, Accept(1, 1, "x"), True, False),
        (PROMISED, Accept(1, 7, "x"), False, False),
        (KNOWS, Prepare(1, 1), False, False),  # it says what the epoch is
        (KNOWS.but(slots=(Slot(1, 4),)), Prepare(1, 1), False, False),
        (KNOWS, Chosen(1, "x"), True, True),
        (KNOWS, Chosen(2, "y"), False, False),
        (PROPOSES, Promise(1, 1, None), True, True),  # it has a majority of them
        (ASKS, Promise(1, 1, None), False, False),
        (ASKS, Promise(1, 2, None), True, True),
        (PROPOSES, AcceptedReply(1, 1), False, False),
        (PROPOSES, AcceptedReply(1, 2), True, True),
        (PROPOSES, AcceptedReply(2, 1), True, True),
        (PROPOSES, RefusedReply(1, 1, 4), False, False),
    ],
)
def test_which_messages_change_nothing(
    node: PaxosNode, message: Any, silent: bool, told: bool
) -> None:
    """Where acceptors refuse in silence, and where they say so; where promises bind, or do not."""
    envelope = Envelope(source="B", target="A", message=message)
    assert a_model(refusals=False).is_idle(node, envelope) is silent
    assert a_model(refusals=True).is_idle(node, envelope) is told
    free = a_model(("promises-bind",), refusals=False)
    asked = isinstance(message, Prepare | Accept)
    assert free.is_idle(node, envelope) is (silent and not asked)


@pytest.mark.parametrize(
    ("node", "message", "then"),
    [
        (ASKS, AcceptedReply(1, 1), ASKS),  # nothing was asked to be accepted
        (PROPOSES, AcceptedReply(1, 2), PROPOSES),
        (PROPOSES, AcceptedReply(1, 1), PaxosNode(round=Round(1, 1, 1, entry="x", accepts=2))),
        (ASKS, RefusedReply(1, 1, 4), PaxosNode(round=Round(1, 1, 1, higher=4))),
        (ASKS, RefusedReply(1, 2, 4), ASKS),
    ],
)
def test_what_a_proposer_makes_of_an_answer(node: PaxosNode, message: Any, then: PaxosNode) -> None:
    """Answers to other ballots, and to what it has not asked yet, change nothing."""
    model, envelope = a_model(), Envelope(source="B", target="A", message=message)
    hears = {AcceptedReply: model.hears_accepted, RefusedReply: model.hears_refusal}
    assert hears[type(message)](node, envelope) == (then, ())


@pytest.mark.parametrize("promised", [3, 5, 4])
def test_only_a_higher_refusal_is_news(promised: int) -> None:
    """The highest ballot that a proposer has heard of stays, and its next one is above it."""
    node = PaxosNode(round=Round(1, 1, 1, higher=4))
    envelope = Envelope(source="B", target="A", message=RefusedReply(1, 1, promised))
    then, _ = a_model().hears_refusal(node, envelope)
    assert then.round.higher == max(4, promised)
    assert a_model().ballot_after(0, then, 1) == 7  # of three proposers, A has 1, 4, 7


@pytest.mark.parametrize(
    ("epoch", "then"),
    [(1, PaxosNode(log=("x",))), (2, PROPOSES)],
)
def test_a_round_is_over_where_its_epoch_is_taken(epoch: int, then: PaxosNode) -> None:
    """What is above a gap is nothing."""
    assert PROPOSES.learning(epoch, "x") == then


def test_a_repair_goes_on_with_what_it_learns() -> None:
    """It asks the others to accept that in a ballot above all others, and keeps its round."""
    model = a_model(becomes=("B", "C"), ballots=1)
    node = PaxosNode(phase=1, round=Round(1, 1, 1, repairs=True))
    envelope = Envelope(source="B", target="A", message=Chosen(1, "x"))
    then, posts = model.hears_chosen(node, envelope)
    assert (then.log, then.round) == (("x",), Round(1, 1, 1, entry="x", accepts=1, repairs=True))
    assert [(post.target, post.message) for post in posts] == [
        ("B", Accept(1, 1, "x")), ("C", Accept(1, 1, "x")),
    ]  # fmt: skip
    other = Envelope(source="B", target="A", message=Chosen(2, "x"))
    assert model.hears_chosen(node, other) == (node, ())


@pytest.mark.parametrize(
    ("mine", "may"),
    [
        (Round(), True),
        (Round(1, 1, repairs=True), False),
        (Round(1, 1, repairs=True, higher=5), True),
        (Round(1, 1, higher=5), True),
    ],
)
def test_one_repair_at_a_time(mine: Round, may: bool) -> None:
    """Unless a higher ballot has stopped the one that runs."""
    model = a_model(becomes=("B", "C"))
    nodes = {name: PaxosNode(phase=1) for name in model.names}
    state = with_nodes(model, **{**nodes, "A": nodes["A"].but(round=mine)})
    option = model.find(state, "repair B")
    assert option is not None
    assert option[1] == (None if may else Refusal("a repair is in progress"))


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ((), None),
        (("x",), None),
        (("x", "y"), None),
        (("x", "x"), "x is in the log twice, or was never proposed"),
        (("x", "z"), "z is in the log twice, or was never proposed"),
    ],
)
def test_the_log_has_what_was_proposed_once(log: tuple[str, ...], said: str | None) -> None:
    """The promise says which value is odd."""
    model = a_model(epochs=2)
    assert model.proposed_only(with_nodes(model, B=PaxosNode(log=log))) == said
    assert "proposed-only" in judges(model)


X1 = Accepted(1, "x")


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (Round(1, 1), ""),
        (Round(1, 1, entry="x"), "its own"),
        (Round(1, 1, repairs=True), ""),
        (Round(1, 1, repairs=True, entry="x"), "decided"),
        (Round(1, 1, newest=X1), "accepted before"),
        (Round(1, 1, newest=X1, entry="x", repairs=True), "accepted before"),
    ],
)
def test_why_a_value_is_proposed(mine: Round, said: str) -> None:
    """A repair has no value of its own: without an accepted one it brings what is decided."""
    assert why(mine) == said


def test_who_has_crashed_has_no_round() -> None:
    """Its round was in memory only."""
    model = a_model(crashes=1)
    state = with_nodes(model, A=PROPOSES, B=PROPOSES.but(round=Round(1, 2, 2)))
    assert [row.name for row in proposers(model, state)] == ["A", "B"]
    option = model.find(state, "crash A")
    assert option is not None
    assert [row.name for row in proposers(model, model.act(state, option[0]))] == ["B"]


@pytest.mark.parametrize(
    ("off", "phase", "having", "enough"),
    [
        ((), 0, 0b011, True),
        ((), 0, 0b001, False),
        ((), 1, 0b0110, True),
        ((), 2, 0b0011, False),
        ((), 2, 0b0110, True),
        (("majority",), 0, 0b001, True),
        (("majority",), 0, 0b000, False),
        (("majority",), 2, 0b0001, False),  # A is no member any more
        (("majority",), 2, 0b1000, True),
    ],
)
def test_how_many_are_enough(off: tuple[str, ...], phase: int, having: int, enough: bool) -> None:
    """A majority of the members of that phase; without the safeguard any one of them."""
    assert a_model(off, becomes=("B", "C", "D")).enough(phase, having) is enough


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ({"A": ("x",), "B": ("x",)}, None),
        ({"A": ("x",), "B": ("y",)}, "epoch 1 is x on A and y on B"),
        ({"A": ("x", "y"), "C": ("x",)}, None),
        ({"A": ("x", "y"), "C": ("x", "x")}, "epoch 2 is y on A and x on C"),
    ],
)
def test_two_values_of_an_epoch_are_told(
    logs: dict[str, tuple[str, ...]], said: str | None
) -> None:
    """Of the first epoch, and of the last."""
    model = a_model(epochs=2)
    nodes = {name: PaxosNode(log=log) for name, log in logs.items()}
    assert model.one_log(with_nodes(model, **nodes)) == said


Kept = tuple[tuple[str, ...], tuple[Slot[str], ...]]
HAS_X, HAS_Y, HAS_Y2 = Slot(1, 1, X1), Slot(1, 2, Accepted(2, "y")), Slot(2, 2, Accepted(2, "y"))


@pytest.mark.parametrize(
    ("kept", "first", "second"),
    [
        ({}, ("", "free", "", ""), ("", "free", "", "")),
        ({"A": ((), (HAS_X,))}, ("x", "accepted by some", "A", ""), ("", "free", "", "")),
        (
            {"B": ((), (HAS_X,)), "C": ((), (HAS_X,))},
            ("x", "chosen, not known yet", "BC", ""),
            ("", "free", "", ""),
        ),
        (
            {"A": ((), (HAS_X,)), "C": ((), (HAS_Y,))},
            ("x or y", "accepted by some", "AC", ""),
            ("", "free", "", ""),
        ),
        (
            {"A": ((), (HAS_X,)), "B": (("x",), ()), "C": ((), (HAS_Y2,))},
            ("x", "chosen", "AB", "B"),
            ("y", "accepted by some", "C", ""),
        ),
        (
            {"A": (("x", "y"), ()), "B": (("x",), (HAS_Y2,)), "C": ((), (HAS_Y,))},
            ("x", "chosen", "AB", "AB"),
            ("y", "chosen", "AB", "A"),
        ),
    ],
)
def test_how_far_epochs_are(
    kept: dict[str, Kept], first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """What is accepted or chosen, who has stored that, who knows of it."""
    model = a_model(epochs=2)
    state = with_nodes(
        model, **{name: PaxosNode(log, slots) for name, (log, slots) in kept.items()}
    )
    assert epochs(model, state) == tuple(
        EpochRow(number, value, said, tuple(stored), tuple(known))
        for number, (value, said, stored, known) in enumerate((first, second), 1)
    )


@pytest.mark.parametrize(
    ("having", "said"),
    [("BD", "chosen, not known yet"), ("AB", "accepted by some"), ("ABC", "chosen, not known yet")],
)
def test_while_members_change_the_new_ones_choose(having: str, said: str) -> None:
    """D joins and A leaves: what is shown as chosen is so for B, C and D."""
    model = a_model(becomes=("B", "C", "D"), epochs=1)
    nodes = {name: PaxosNode(slots=(HAS_X,) * (name in having), phase=1) for name in "ABCD"}
    [row] = epochs(model, with_nodes(model, **nodes))
    assert (row.value, row.state, row.stored) == ("x", said, tuple(having))


@pytest.mark.parametrize(
    ("log", "slots", "told"),
    [
        ((), (), ("", "", "")),
        ((), (Slot[str](1, 2),), ("1B", "", "promise 1B")),
        ((), (HAS_X,), ("1A", "x 1A", "promise 1A, x 1A")),
        (("x",), (HAS_Y2,), ("1B", "y 1B", "promise 1B, y 1B")),
        (("x", "y"), (Slot[str](3, 4),), ("2A", "", "promise 2A")),
    ],
)
def test_what_an_acceptor_keeps_of_the_next_epoch(
    log: tuple[str, ...], slots: tuple[Slot[str], ...], told: tuple[str, ...]
) -> None:
    """Its promise and what it has accepted for the epoch above its log, in memory and on disk."""
    model = a_model(epochs=3)
    row = acceptors(model, with_nodes(model, A=PaxosNode(log, slots)))[0]
    assert (row.promised, row.accepted, row.disk) == told


@pytest.mark.parametrize(
    ("mine", "value"),
    [
        (Round(1, 1), "x"),
        (Round(1, 1, newest=Accepted(1, "y")), "y"),
        (Round(1, 1, newest=Accepted(1, "y"), entry="z"), "z"),
        (Round(1, 1, entry="z"), "z"),
        (Round(1, 1, repairs=True), ""),
        (Round(1, 1, newest=Accepted(1, "y"), repairs=True), "y"),
    ],
)
def test_which_value_a_round_is_about(mine: Round, value: str) -> None:
    """What it proposes; before that what it has to, or its own."""
    model = a_model(values=("x at A",))
    [row] = proposers(model, with_nodes(model, A=PaxosNode(round=mine)))
    assert (row.value, row.proposed) == (value, mine.entry is not None)


def test_a_member_that_is_alone_is_its_own_majority() -> None:
    """What it has chosen is on the disks of all members, and so it is told."""
    model = a_model(members=1, values=("x at A",))
    state = with_nodes(model, A=PaxosNode(log=("x",)))
    assert model.stored(state) is None
    assert epochs(model, state) == (EpochRow(1, "x", "chosen", ("A",), ("A",)),)
    assert epochs(model, model.start()) == (EpochRow(1, "", "free", (), ()),)
