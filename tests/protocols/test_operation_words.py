"""Every operation that a model takes can be searched and walked, alone and beside another one."""

from __future__ import annotations

import json

import pytest

from kit.commands.cli import main
from kit.protocols.topology.rules.machines import EDITIONS, GLOBAL_REQUESTS, NODE_REQUESTS
from kit.protocols.topology.rules.requests import BALANCING, COMMANDS, LOCK, REQUEST_OF

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


def test_the_words_are_all_that_the_tables_know() -> None:
    """No request of the tables, and no command of an operator, is left out."""
    said = {word.split(" ")[0] for word in CONTROL}
    played = {each.name for each in GLOBAL_REQUESTS if each.played}
    assert {*NODE_REQUESTS, *REQUEST_OF, *played} <= said
    assert {name for name in COMMANDS if " " in name} <= set(CONTROL)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("model", "word"), WORDS)
def test_each_word_is_searched_and_walked(
    model: str, word: str, edition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search finds nothing, walks count the edges that they take, and neither fails."""
    first = "create keyspace k2 at A" if model == "group0" else "balancing off"
    both = [word] if model == "tcm" else list(dict.fromkeys((word, first)))
    for operations in ([word], both):
        asked = ["-p", f"operations={json.dumps(operations)}"]
        asked += [] if model == "group0" else ["-p", f"edition={edition}"]
        assert main(["check", model, *asked, "--max-states", "300"]) in (0, 2)
        assert main(["fuzz", model, *asked, "--seeds", "0:2", "--steps", "40"]) == 0
        assert "kit:" not in capsys.readouterr().err
