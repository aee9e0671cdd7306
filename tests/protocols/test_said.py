"""What every model says of its steps, and every operation that it takes in words."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from kit.commands.cli import main
from kit.errors import BadInput, KitError
from kit.model.registry import build, entries
from kit.model.timeline import suggested
from kit.protocols.topology.rules.machines import EDITIONS, GLOBAL_REQUESTS, NODE_REQUESTS
from kit.protocols.topology.rules.requests import BALANCING, COMMANDS, LOCK, REQUEST_OF

STEPS = 12


every_model = pytest.mark.parametrize("name", entries())


@every_model
def test_each_step_has_a_verb_a_label_and_a_sentence(name: str) -> None:
    """The verb finds the step again, and no other step has it."""
    model: Any = build(name)
    state = model.start()
    for action in islice(suggested(model, state), STEPS):
        assert model.readable(state)
        verbs = [model.verb(each) for each, _ in model.options(state)]
        assert len(set(verbs)) == len(verbs)
        assert model.find(state, model.verb(action)) == (action, None)
        assert model.label(state, action), action
        assert model.kind(action) == model.rule_of(action).kind, action
        after = model.act(state, action)
        said = model.describe(state, action, after)
        assert said.endswith("."), action
        assert "\n" not in said
        assert model.milestone(state, action, after) != "", action
        state = after


@every_model
def test_an_unknown_safeguard_cannot_be_off(name: str) -> None:
    """The error names those of the model, or says that there are none; each of them can be off."""
    guards = build(name).safeguards
    with pytest.raises(BadInput, match=r"^safeguard: got 'no-such'") as caught:
        build(name, off=("no-such",))
    assert guards or "there are none" in str(caught.value)
    for guard in guards:
        assert build(name, off=(guard.name,)).off == (guard.name,)


@every_model
def test_anything_but_an_action_is_refused(name: str) -> None:
    """The reason names the model, and doing it raises."""
    model: Any = build(name)
    state = model.start()
    for wrong in (None, "up", 3):
        refusal = model.refusal(state, wrong)
        assert refusal is not None, wrong
        assert refusal.reason.endswith(f"is not an action of {model.name}")
        with pytest.raises(KitError, match="is not an action of"):
            model.act(state, wrong)


NAMED = {"join": "{} E", "replace": "{} E C"}


OF_TABLES = {"keyspace_rf_change": "{} ks dc1=2", "truncate_table": "{} ks.t"}


NODE_WORDS = [
    NAMED.get(REQUEST_OF.get(word, word), "{} C").format(word)
    for word in (*NODE_REQUESTS, "bootstrap", "decommission", "removenode")
]


OPTIONS = [
    *("join E --zero-token", "join E --initial-token=150", "rebuild C --source-dc=dc1"),
    *("replace E C --zero-token", "check_and_repair_cdc_streams", LOCK, *BALANCING),
]


GLOBAL_WORDS = [OF_TABLES.get(e.name, "{}").format(e.name) for e in GLOBAL_REQUESTS if e.played]


CONTROL = [*NODE_WORDS, *OPTIONS, *GLOBAL_WORDS]


CEP = [
    *("bootstrap X --tokens 150", "replace C X", "decommission C", "removenode C"),
    *("move C --tokens 150", "assassinate C"),
]


SCHEMA = [f"{words} ks.t at A" for words in ("create table", "drop table", "alter table")]


TABLETS = [word for word in CONTROL if "zero" not in word]


WORDS = [
    *(("topology", word) for word in CONTROL),
    *(("tablets", word) for word in TABLETS),
    *(("tcm", word) for word in CEP),
    *(("group0", word.replace("alter table ks.t", "alter table ks.t add c")) for word in SCHEMA),
]


def test_every_request_and_command_has_a_word_here() -> None:
    """A request of the tables or an operator's command without a word would not be searched."""
    said = {word.split(" ")[0] for word in CONTROL}
    played = {each.name for each in GLOBAL_REQUESTS if each.played}
    assert {*NODE_REQUESTS, *REQUEST_OF, *played} <= said
    assert {name for name in COMMANDS if " " in name} <= set(CONTROL)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("model", "word"), WORDS)
def test_each_requested_operation_is_searched_and_walked_without_an_error(
    model: str, word: str, edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone and with another one; walks find nothing."""
    first = "create keyspace k2 at A" if model == "group0" else "balancing off"
    both = [word] if model == "tcm" else list(dict.fromkeys((word, first)))
    for operations in ([word], both):
        asked = ["-p", f"operations={json.dumps(operations)}"]
        asked += [] if model == "group0" else ["-p", f"edition={edition}"]
        assert main(["check", model, *asked, "--max-states", "300"]) in (0, 2), operations
        assert main(["fuzz", model, *asked, "--seeds", "0:2", "--steps", "40"]) == 0, operations
        assert "kit:" not in capsys.readouterr().err
