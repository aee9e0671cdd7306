"""What travels in two-phase commit: the messages that are read."""

from __future__ import annotations

import pytest

from kit.model.flows import flows
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters

COMMIT = ("prepare RM0", "receive-prepared RM0", "decide commit", "receive-decision RM0")
ABORT = ("give-up RM0", "decide abort", "receive-decision RM0")


@pytest.mark.parametrize(
    ("verbs", "told"),
    [
        (COMMIT, ["RM0 → transaction manager: prepared", "transaction manager → RM0: commit"]),
        (ABORT[1:], ["transaction manager → RM0: abort"]),
    ],
)
def test_a_message_travels_when_it_is_read(verbs: tuple[str, ...], told: list[str]) -> None:
    """Until then it is in the network; the decision says what was decided."""
    model = TwoPhase(TwoPhaseParameters(1))
    state, sentences = model.start(), []
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None
        after = model.act(state, option[0])
        sentences += [flow.text for flow in flows(model, state, option[0], after)]
        state = after
    assert sentences == told


def test_giving_up_tells_nobody() -> None:
    """A manager that aborts on its own sends nothing."""
    model = TwoPhase(TwoPhaseParameters(1))
    state = model.start()
    option = model.find(state, ABORT[0])
    assert option is not None
    assert flows(model, state, option[0], model.act(state, option[0])) == ()
