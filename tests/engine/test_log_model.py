"""The log as a model: decided once, applied in order by each node, never rewritten."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.engine.check import check_refinement
from kit.engine.compose import Product
from kit.engine.flows import flows
from kit.engine.log import (
    Append,
    Apply,
    AtomicLog,
    Deliver,
    LogParameters,
    LogState,
    Rewrite,
    gaps,
    log_of,
    refined_by_logs,
)
from kit.engine.model import fingerprint, verdicts
from kit.errors import Refused
from tests.engine.toys import Go, Graph, LiftModel, LiftParameters, Up, a_log, applied, walk
from tests.examples import examples


def logging_lift(window: int, nodes: tuple[str, ...] = ("A", "B")) -> Product:
    """A lift whose every move is an entry in a log."""
    return Product(
        "logged",
        {"lift": LiftModel(LiftParameters(4)), "log": AtomicLog(LogParameters(nodes, window))},
        link=lambda s, part, action: (("log", Append(action)),) if part == "lift" else (),
        passive=(Append,),
    )


@pytest.mark.spec("A-001")
@given(st.lists(st.integers(0, 100), max_size=60), st.integers(-3, 1000))
@examples(40)
def test_each_commit_takes_the_next_epoch(choices: list[int], base: int) -> None:
    """Every committed event gets one epoch, one above the last; nothing else moves it."""
    model = logging_lift(3)
    log = AtomicLog(LogParameters(("A", "B"), 3, base))
    epochs = [(base, False)]
    for _, action, after in walk(model, choices):
        epochs.append((log.epoch_of(len(after.log.entries)), model.part_of(action)[0] == "lift"))
    for (before, _), (epoch, committed) in pairwise(epochs):
        assert epoch == before + committed


@pytest.mark.spec("A-003")
def test_a_node_applies_one_epoch_after_the_other() -> None:
    """Without early arrivals a node takes entries 1, 2 and 3 in order, then has nothing to do."""
    model, state = a_log(3)
    seen = []
    while model.refusal(state, Apply("A")) is None:
        state = applied(model, state, "A")
        seen.append(state.applied)
    assert seen == [(1, 0), (2, 0), (3, 0)]
    with pytest.raises(Refused, match="has applied every committed epoch"):
        model.act(state, Apply("A"))


@pytest.mark.spec("A-003")
def test_an_early_entry_is_held_until_the_gap_is_filled() -> None:
    """Entry 3 and 4 wait above the gap; entry 1 moves by one, entry 2 brings both along."""
    model, state = a_log(4, window=4)
    state = model.act(state, Deliver("A", 2))
    state = model.act(state, Deliver("A", 3))
    assert (state.applied[0], state.held[0]) == (0, 0b1100)
    state = applied(model, state, "A")
    assert (state.applied[0], state.held[0]) == (1, 0b1100)
    state = applied(model, state, "A")
    assert (state.applied[0], state.held[0]) == (4, 0)


@pytest.mark.spec("A-003")
@given(st.lists(st.integers(0, 100), max_size=80), st.integers(1, 5))
@examples(60)
def test_what_a_node_applied_is_a_prefix(choices: list[int], window: int) -> None:
    """On every walk a node's applied entries only grow, one after the other, without a gap; what
    it holds back lies above the gap and within the window.
    """
    model = logging_lift(window)
    for before, _, after in walk(model, choices):
        for node in range(2):
            was, now = before.log.applied[node], after.log.applied[node]
            skipped = [i for i in range(was + 1, now) if not before.log.held[node] >> i & 1]
            assert was <= now <= len(after.log.entries)
            assert not skipped
            held = after.log.held[node]
            assert not held & (1 << now + 1) - 1, "it holds nothing that it could apply"
            assert held.bit_length() <= min(now + window, len(after.log.entries))


@pytest.mark.spec("A-003")
def test_the_same_entry_is_not_held_twice() -> None:
    """A second copy of an early entry is refused with its epoch."""
    model, state = a_log(3, window=3)
    state = model.act(state, Deliver("B", 2))
    with pytest.raises(Refused, match="B already holds back epoch 3 above a gap"):
        model.act(state, Deliver("B", 2))


@pytest.mark.spec("A-003")
@pytest.mark.parametrize("index", [0, 3, 4, 99, -1])
def test_only_what_is_early_and_near_is_delivered(index: int) -> None:
    """The next entry itself, one beyond the window and one not decided cannot arrive early."""
    model, state = a_log(4, window=3)
    with pytest.raises(Refused, match="no such action here"):
        model.act(state, Deliver("A", index))


@pytest.mark.spec("A-002")
def test_a_rewrite_is_offered_and_refused() -> None:
    """The button that edits an entry is there, and answers that a committed epoch never changes."""
    model, state = a_log(3)
    waiting = dict(model.waiting(state))
    assert model.verb(Rewrite(2)) == "edit epoch 3"
    assert "epoch 3 is committed" in waiting[Rewrite(2)].reason
    with pytest.raises(Refused, match="never changes, moves or disappears"):
        model.act(state, Rewrite(2))


@pytest.mark.spec("A-002")
@given(st.lists(st.integers(0, 100), max_size=80))
@examples(60)
def test_no_walk_changes_what_is_committed(choices: list[int]) -> None:
    """Whatever is done, every former log is a prefix of every later one."""
    model = logging_lift(3)
    for before, _, after in walk(model, choices):
        former, now = tuple(before.log.entries), tuple(after.log.entries)
        assert now[: len(former)] == former
        assert all(model.refusal(after, model.wrap["log"](Rewrite(i))) for i in range(len(now)))


@pytest.mark.spec("A-002")
@pytest.mark.parametrize("index", [0, 1, 2, 3, -1])
def test_no_entry_can_be_rewritten(index: int) -> None:
    """Trying to edit any entry, first, last or none, is refused."""
    model, state = a_log(3)
    with pytest.raises(Refused):
        model.act(state, Rewrite(index))
    with pytest.raises(Refused):
        model.apply(state, Rewrite(2))


def test_an_unknown_node_learns_nothing() -> None:
    """A node that is no member of the log is refused."""
    model, state = a_log(1)
    with pytest.raises(Refused, match="no such action here"):
        model.act(state, Apply("Z"))


def test_a_log_far_above_sixty_four_entries() -> None:
    """With hundreds of entries, held ones included, states keep equality and fingerprints."""
    model, state = a_log(300, window=3)
    for _ in range(200):
        state = applied(model, state, "A")
    held = model.act(state, Deliver("A", 202))
    assert held.held[0].bit_length() == 203
    assert fingerprint(held) == fingerprint(LogState(held.entries, held.applied, held.held))
    assert fingerprint(held) != fingerprint(state)
    after = applied(model, applied(model, held, "A"), "A")
    assert (after.applied[0], after.held[0]) == (203, 0)


def test_the_lamp_names_a_node_that_ran_ahead() -> None:
    """A state in which a node has applied more than is decided darkens the lamp, with the node."""
    model, state = a_log(1)
    (verdict,) = verdicts(model, state)
    assert verdict.ok
    ahead = LogState(state.entries, (1, 2), state.held)
    (verdict,) = verdicts(model, ahead)
    assert verdict.witness == "B is ahead of the log"


def test_decisions_come_only_by_link() -> None:
    """The log offers no decision of its own: what is submitted belongs to another model."""
    model, state = a_log(2)
    every: list[Any] = [*model.actions(state), *(action for action, _ in model.waiting(state))]
    assert not [action for action in every if isinstance(action, Append)]
    assert model.verb(Append("x")) == "append x"


# how many each node has applied, what it holds (masks) -> the nodes that skipped some, and these
SKIPPED: list[tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, int]]]] = [
    ((0, 2), (0, 0), []),
    ((2, 2), (0b01, 0b01), [(0, 0b01), (1, 0b01)]),
    ((2, 2), (0b100, 0b101), [(1, 0b001)]),
    ((3, 1), (0b1110, 0b10), [(0, 0b110)]),
]


@pytest.mark.parametrize(("known", "held", "skipped"), SKIPPED)
def test_what_is_held_below_the_newest_entry_was_skipped(
    known: tuple[int, ...], held: tuple[int, ...], skipped: list[tuple[int, int]]
) -> None:
    """What is held from the next one on only waits."""
    entries = a_log(4)[1].entries
    assert list(gaps(LogState(entries, known, held))) == skipped


# what is pressed -> what is said, or why not, and how many A and B have applied and which (masks)
# they hold back; four entries are there, from epoch 11 on
IN_ORDER = [
    ("deliver 12 to B", "Epoch 12 reaches B above a gap and is held back until", (0, 0), (0, 0b10)),
    ("apply A", "A applies epoch 11.", (1, 0), (0, 0b10)),
    ("ask B for A", "B knows no epoch that A lacks", (1, 0), (0, 0b10)),
    ("ask A for B", "B asks A for everything above epoch 10 and applies 11, 12.", (1, 2), (0, 0)),
    ("deliver 14 to A", "Epoch 14 reaches A above a gap and is held back", (1, 2), (0b1000, 0)),
    ("ask B for A", "A asks B for everything above epoch 11 and applies 12.", (2, 2), (0b1000, 0)),
    ("ask B for A", "B knows no epoch that A lacks", (2, 2), (0b1000, 0)),
    ("apply A", "A applies epochs 13 to 14.", (4, 2), (0, 0)),
    ("apply A", "A has applied every committed epoch", (4, 2), (0, 0)),
    ("ask A for B", "B asks A for everything above epoch 12 and applies 13, 14.", (4, 4), (0, 0)),
]
AT_ONCE = [
    ("apply A", "A applies epoch 11.", (1, 0), (0, 0)),
    ("deliver 14 to A", "Epoch 14 reaches A above a gap and is applied at", (4, 0), (0b110, 0)),
    ("deliver 12 to B", "Epoch 12 reaches B above a gap and is applied at", (4, 2), (0b110, 1)),
    ("apply B", "B applies epoch 13.", (4, 3), (0b110, 1)),
    ("edit epoch 14", "epoch 14 is committed", (4, 3), (0b110, 1)),
]


@pytest.mark.parametrize(("in_order", "run"), [(True, IN_ORDER), (False, AT_ONCE)])
def test_each_step_says_what_is_applied(in_order: bool, run: list[tuple[Any, ...]]) -> None:
    """What a peer sends, and what was held back right behind it."""
    model: Any = AtomicLog(LogParameters(("A", "B"), 4, 10, True), in_order=in_order)
    state = LogState(log_of(range(4)), (0, 0), (0, 0))
    for verb, said, applied_by_each, held in run:
        action, why_not = model.find(state, verb)
        assert model.verb(action) == verb
        if why_not is not None:
            assert why_not.reason.startswith(said)
        else:
            after = model.act(state, action)
            assert model.describe(state, action, after).startswith(said)
            state = after
        assert (state.applied, state.held) == (applied_by_each, held)
    (verdict,) = verdicts(model, state)
    assert verdict.witness == (None if in_order else "A has applied an entry above a gap")


@pytest.mark.parametrize(
    ("has", "holds", "said", "sent"),
    [
        (0, 0, "everything above epoch 10", "epochs 11 to 12"),
        (0, 0b10, "everything above epoch 10", "epochs 11 to 12"),
        (1, 0, "everything above epoch 11", "epoch 12"),
        (1, 0b100, "everything above epoch 11", "epoch 12"),
    ],
)
def test_a_peer_sends_what_the_asker_lacks(has: int, holds: int, said: str, sent: str) -> None:
    """Also what the asker holds back: the peer does not know of it, and has no more to send."""
    model: Any = AtomicLog(LogParameters(("A", "B"), 4, 10, True))
    state = LogState(log_of(range(3)), (2, has), (0, holds))
    action, _ = model.find(state, "ask A for B")
    after = model.act(state, action)
    assert said in model.describe(state, action, after)
    request, entry = flows(model, state, action, after)
    assert (request.from_key, request.to_key) == ("n:B", "n:A")
    assert (entry.from_key, entry.to_key, entry.label) == ("n:A", "n:B", sent)


@pytest.mark.parametrize(
    ("ways", "losing", "holds"),
    [
        ({0: (1,), 1: (2,)}, (), True),
        ({0: (2,)}, (), True),  # two entries at once
        ({0: (1,), 1: (2,), 2: (0,)}, (Go,), True),
        ({0: (1,), 1: (2,), 2: (0,)}, (Up, Go), True),
        ({0: (1,), 1: (2,), 2: (0,)}, (Up,), False),  # a step that may not lose it
        ({0: (1,), 1: (2,), 2: (0,)}, (), False),
        ({0: (1,), 1: (2,), 2: (1,)}, (Go,), False),  # it is lost whole, or not at all
        ({0: (1,), 1: (1,)}, (Go,), True),  # nothing new, and nothing lost
    ],
)
def test_only_what_may_lose_a_log_makes_it_shorter(
    ways: dict[int, tuple[int, ...]], losing: tuple[type, ...], holds: bool
) -> None:
    """A node that knows as many entries as its number says: steps along the graph lead to it."""
    fine: Any = Graph(ways)
    fine.names = ("A",)
    refinement = refined_by_logs(fine, lambda s: (("x",) * s.at,), ("x",), losing)
    found = check_refinement(refinement).violation
    assert (found is None) == holds
    assert found is None or found.property == "refines"


def test_who_knows_another_log_has_applied_none_that_there_is() -> None:
    """The longest log is the log; who knows no beginning of it is at -1, where no step leads."""
    fine: Any = Graph({0: ()})
    fine.names = ("A", "B", "C")
    logs = (("x", "y"), ("x",), ("z",))
    refinement = refined_by_logs(fine, lambda s: logs, ())
    state = refinement.project(fine.start())
    assert (tuple(state.entries), state.applied, state.held) == (("x", "y"), (2, 1, -1), (0, 0, 0))
