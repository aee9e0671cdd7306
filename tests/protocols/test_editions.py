"""Whose rules are played: which edition comes first, and where a reader sees it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import kit
from kit import Player
from kit.engine.parameters import edition_in
from kit.engine.registry import build, entries, entry_of
from kit.engine.scenario import files, read
from kit.engine.timeline import Timeline
from kit.engine.trace import loads
from kit.protocols.recovery.dry_run import advise
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.lessons.balancing import decisions
from kit.protocols.tablets.lessons.questions import stage_table
from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.opening import open_topology
from kit.protocols.topology.lessons import machine_table
from tests.commands.calling import call

TWO_EDITIONS = [name for name, entry in entries().items() if edition_in(entry.parameters())]
OPERATORS_FILES = (open_topology, open_tablets, topology_history, advise, kit.coordinator)
LESSONS = (machine_table, stage_table, decisions)


def test_the_models_with_two_editions_are_known() -> None:
    """Those of the topology, of tablets and of recovery among them."""
    assert {"tcm", "group0", "topology", "join", "vnodes", "tablets", "tablet"} < set(TWO_EDITIONS)
    assert {"resize", "balance", "recovery", "recovery_mode", "failures"} < set(TWO_EDITIONS)


@pytest.mark.parametrize("name", TWO_EDITIONS)
def test_a_model_begins_with_the_documents_and_says_so(name: str) -> None:
    """In the first sentence, among the badges, and in what ``show`` prints first."""
    player = Player(name, controls=False)
    said = "edition documents"
    assert edition_in(player.model.parameters) == "documents"
    assert said in player.timeline.now.say
    assert said in player.static()
    assert said in call("show", name).out.splitlines()[0]


@pytest.mark.parametrize("name", TWO_EDITIONS)
def test_a_search_says_whose_rules_it_searched(name: str) -> None:
    """Whether they were asked for or not."""
    answer = call("check", name, "--max-states", "5")
    assert answer.out.splitlines()[1].startswith("configuration: edition documents, ")


def _about_the_server() -> dict[str, str]:
    """What scenarios of edition server say, by their names: those of models and those of files."""
    told = {
        f"{entry.name}/{one.name}": one.title
        for entry in entries().values()
        for one in entry.scenarios
        if edition_in(build(entry.name, one.parameters, one.off).parameters) == "server"
    }
    for name, path in files().items():
        text = read(str(path))
        if "\nedition server\n" in text:
            told[name] = " ".join(line for line in text.splitlines() if line[:1] == "#")
    return told


OF_THE_SERVER = _about_the_server()


@pytest.mark.parametrize("name", OF_THE_SERVER)
def test_a_scenario_of_the_server_says_why(name: str) -> None:
    """Its title, or the lines above a file, tell what the server does otherwise."""
    assert "server" in OF_THE_SERVER[name].lower()


@pytest.mark.parametrize("opens", OPERATORS_FILES, ids=lambda opens: opens.__name__)
def test_what_reads_files_of_a_cluster_begins_with_the_server(opens: Callable[..., Any]) -> None:
    """That is what runs there."""
    assert inspect.signature(opens).parameters["edition"].default == "server"


@pytest.mark.parametrize("asked", LESSONS, ids=lambda asked: asked.__name__)
def test_lessons_begin_with_the_documents(asked: Callable[..., Any]) -> None:
    """As the models do of which they speak."""
    assert inspect.signature(asked).parameters["edition"].default == "documents"


@pytest.mark.parametrize("name", ["topology", "join", "tablets", "resize", "balance"])
@pytest.mark.parametrize(("word", "today"), [("seed", "documents"), ("code", "server")])
def test_a_saved_run_keeps_the_edition_that_it_was_made_with(
    name: str, word: str, today: str
) -> None:
    """By its former word as well, whatever edition comes first today."""
    made = Timeline(build(name, {"edition": today})).save()
    text = (
        kit.engine.trace.dumps(made)
        .replace(f'"edition": "{today}"', f'"edition": "{word}"')
        .replace('"revision": ', '"revision": ')
    )
    again = Timeline.load(loads(text))
    assert edition_in(again.model.parameters) == today
    assert entry_of(name).former.editions
