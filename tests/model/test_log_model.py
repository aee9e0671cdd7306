"""The log as a model: decided once, applied in order by each node, never rewritten."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import Refused
from kit.model.compose import Product
from kit.model.log import Append, Apply, AtomicLog, Deliver, LogParameters, Rewrite
from tests.examples import examples
from tests.model.toys import LiftModel, LiftParameters, a_log, applied, walk


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
