"""Whose rules are played: which edition comes first, and where a reader sees it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import kit
import kit.spark as ks
from kit import Player
from kit.commands.editions import Compared, compared
from kit.model.parameters import edition_in
from kit.model.registry import build, entries
from kit.model.scenario import files, read
from kit.protocols.recovery.dry_run import advise
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.lessons.balancing import decisions
from kit.protocols.tablets.lessons.questions import stage_table
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS
from kit.protocols.tablets.spark.sizes import TabletCluster
from kit.protocols.tcm.dry_run.history import dry_run_of
from kit.protocols.tcm.dry_run.plan import dry_run
from kit.protocols.tcm.lessons.rehearsals import rehearse
from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.opening import open_topology
from kit.protocols.topology.lessons.coordinator import machine_table
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Machine
from tests.commands.calling import bad, call
from tests.house.source import ROOT

TWO_EDITIONS = [name for name, entry in entries().items() if edition_in(entry.parameters())]
OPERATORS_FILES = (
    *(open_topology, open_tablets, topology_history, advise, kit.coordinator),
    *(rehearse, dry_run, dry_run_of),
)
DRAWN = (
    *(ks.balancing, ks.size_histogram, ks.history),
    *(TabletCluster.resizes, TabletCluster.thresholds, TabletCluster.histogram),
)
LESSONS = (machine_table, stage_table, decisions)


def test_the_models_of_topology_tablets_and_recovery_have_two_editions() -> None:
    """Other models may have two as well."""
    assert {"tcm", "group0", "topology", "join", "vnodes", "tablets", "tablet"} < set(TWO_EDITIONS)
    assert {"resize", "balance", "recovery", "recovery_mode", "failures"} < set(TWO_EDITIONS)


@pytest.mark.parametrize("name", TWO_EDITIONS)
def test_a_model_of_two_editions_begins_with_documents_and_says_so(name: str) -> None:
    """In the first sentence, in what a notebook keeps, and in what ``show`` prints first."""
    player = Player(name, controls=False)
    said = "edition documents"
    assert edition_in(player.model.parameters) == "documents"
    assert said in player.timeline.now.say
    assert said in player.static()
    assert said in call("show", name).out.splitlines()[0]


@pytest.mark.parametrize("name", TWO_EDITIONS)
def test_a_search_prints_the_edition_searched(name: str) -> None:
    """In its configuration, even if no edition was asked for."""
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
def test_a_scenario_of_edition_server_mentions_the_server(name: str) -> None:
    """In its title, or in the lines above a file."""
    assert "server" in OF_THE_SERVER[name].lower()


@pytest.mark.parametrize("opens", OPERATORS_FILES, ids=lambda opens: opens.__name__)
def test_readers_of_cluster_files_default_to_edition_server(opens: Callable[..., Any]) -> None:
    """Operators' clusters run the server."""
    assert inspect.signature(opens).parameters["edition"].default == "server"


@pytest.mark.parametrize("asked", DRAWN, ids=lambda asked: asked.__qualname__)
def test_drawn_clusters_default_to_edition_documents(asked: Callable[..., Any]) -> None:
    """Nobody operates a drawn cluster."""
    assert inspect.signature(asked).parameters["edition"].default == "documents"


@pytest.mark.parametrize("asked", LESSONS, ids=lambda asked: asked.__name__)
def test_lessons_default_to_edition_documents(asked: Callable[..., Any]) -> None:
    """As models do."""
    assert inspect.signature(asked).parameters["edition"].default == "documents"


# -- the tables side by side -----------------------------------------------------------------------

TABLES = {each.table: each for each in compared()}
WHOLE: dict[str, Callable[[Edition], Machine]] = {
    **{name: lambda edition, name=name: MACHINES[edition][name] for name in MACHINES["server"]},
    **{kind: lambda edition, kind=kind: TRANSITIONS[edition][kind] for kind in KINDS},
}


def row_of(table: str, state: str, edge: str = "") -> Compared:
    """The one row of a state, or of an edge out of it."""
    [row] = [row for row in TABLES[table].rows if (row.state, row.edge) == (state, edge)]
    return row


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_table_has_a_row_for_each_state_and_edge(name: str, edition: Edition) -> None:
    """With its selectors, its work, its label, and whether it has a new version."""
    machine = WHOLE[name](edition)
    rows = [row for row in TABLES[name].rows if getattr(row, edition)]
    assert len(rows) == len(machine.states) + len(machine.edges)
    for state in machine.states:
        said = getattr(row_of(name, state.name or "null"), edition)
        assert said.startswith(f"reads {state.reads}, writes {state.writes}"), state.name
        told = [part.split(" ")[0] for part in said.split("; ")[1:]]
        assert told == [w.name for w in state.work], state.name
    for edge in machine.edges:
        source = "(start)" if edge.source == "*" else edge.source or "null"
        target = "(end)" if edge.target == "*" else edge.target or "null"
        kind = "" if edge.kind == "happy" else f" ({edge.kind})"
        said = getattr(row_of(name, source, f"{target}{kind}"), edition)
        assert said.startswith(edge.label), f"{source} → {target}{kind}"
        assert ("version + 1" in said) == edge.version, f"{source} → {target}{kind}"


@pytest.mark.parametrize("name", WHOLE)
def test_a_row_is_marked_if_and_only_if_the_editions_differ(name: str) -> None:
    """Unmarked rows are as many as states and edges that the two editions share."""
    documents, server = (WHOLE[name](edition) for edition in EDITIONS)
    same = {*documents.states, *documents.edges} & {*server.states, *server.edges}
    assert sum(not row.differs for row in TABLES[name].rows) == len(same)


@pytest.mark.parametrize(
    ("table", "state", "edge", "documents", "server"),
    [
        ("decommissioning", "tablet_draining", "", "drain_tablets", ""),
        ("decommissioning", "(start)", "write_both_read_old", "", "opens session"),
        ("removing", "left_token_ring", "", "", "mark_done"),
        ("replacing", "join_group0", "tablet_draining", "copies tokens", ""),
        ("bootstrapping", "write_both_read_new", "", "barrier (fails: retry)",
         "barrier (fails: proceed)"),
        ("truncate_table", "truncate_table", "", "", "truncate (fails: rollback)"),
        ("migration", "write_both_read_old_fallback_cleanup", "", "", "reads old, writes both"),
        ("migration", "write_both_read_new", "cleanup_target (rollback)", "more old replicas", ""),
        ("repair", "end_repair", "", "barrier (fails: retry)", "compaction_control"),
        ("bootstrap", "prepare", "start", "", "add write replicas"),
        ("bootstrap", "add-writes", "switch-reads", "switch reads", ""),
    ],
)  # fmt: skip
def test_the_table_of_editions_has_the_known_differences(
    table: str, state: str, edge: str, documents: str, server: str
) -> None:
    """Those that the published diagrams and the server's code have."""
    row = row_of(table, state, edge)
    assert row.differs
    assert (documents in row.documents, server in row.server) == (True, True)
    assert (bool(row.documents), bool(row.server)) == (bool(documents), bool(server))


def test_command_notebook_and_page_compare_the_same_editions() -> None:
    """As text, as JSON, as HTML; an unknown table is refused."""
    answer, words = call("editions", "removing", "--differences"), kit.editions("removing")
    assert answer.status == 0
    assert "tablet_draining" in answer.out
    assert "both  " not in answer.out
    [table] = call("editions", "removing", "--json").json["tables"]
    assert len(table["rows"]) == len(TABLES["removing"].rows)
    assert "<table" in words._repr_mimebundle_()["text/html"]
    page = (ROOT / "docs/reference/editions.md").read_text("utf-8")
    assert all(f"## {each.table} (" in page for each in TABLES.values())
    assert bad("editions", "nobody").startswith("table: got 'nobody'; allowed: one of")
