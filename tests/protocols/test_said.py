"""What every model says of the steps of its default schedule, and what it refuses to be made of."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.model.registry import build, entries
from kit.model.timeline import suggested

STEPS = 12
every_model = pytest.mark.parametrize("name", entries())


@every_model
def test_each_step_has_a_verb_a_button_and_a_sentence(name: str) -> None:
    """The verb finds it again, and is no other step's; a state is told in words, as plain data."""
    model: Any = build(name)
    state = model.start()
    for action in islice(suggested(model, state), STEPS):
        assert model.readable(state)
        verbs = [model.verb(each) for each, _ in model.options(state)]
        assert len(set(verbs)) == len(verbs)
        found = model.find(state, model.verb(action))
        assert found == (action, None)
        assert model.label(state, action)
        assert model.kind(action) == model.rule_of(action).kind
        after = model.act(state, action)
        said = model.describe(state, action, after)
        assert said.endswith(".")
        assert "\n" not in said
        assert model.milestone(state, action, after) != ""
        state = after


@every_model
def test_a_safeguard_that_there_is_not_cannot_be_off(name: str) -> None:
    """The error names those that there are, or says none; each of them can be."""
    guards = build(name).safeguards
    with pytest.raises(BadInput, match=r"^safeguard: got 'no-such'") as caught:
        build(name, off=("no-such",))
    assert guards or "there are none" in str(caught.value)
    for guard in guards:
        assert build(name, off=(guard.name,)).off == (guard.name,)


@every_model
def test_what_is_no_action_is_refused(name: str) -> None:
    """By a reason that names it, and neither is it done."""
    model: Any = build(name)
    state = model.start()
    for wrong in (None, "up", 3):
        refusal = model.refusal(state, wrong)
        assert refusal is not None
        assert refusal.reason.endswith(f"is not an action of {model.name}")
        with pytest.raises(KitError):
            model.act(state, wrong)
