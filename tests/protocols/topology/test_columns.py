"""Every column of ``system.topology`` and its requests, live in the Player, with their types."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.console.drill import DrillMoment
from kit.errors import BadInput
from kit.model.flows import as_timeuuid
from kit.model.registry import entries
from kit.model.timeline import played_out
from kit.operators.importers.system_tables import TOPOLOGY, parse_topology
from kit.playing.opening import open_source
from kit.protocols.topology.dry_run.opening import system_topology
from kit.protocols.topology.facts import SERVERS, run_ids
from kit.protocols.topology.panels.tables import REQUESTS, TABLE, texts
from kit.protocols.topology.rules.columns import impossible
from kit.protocols.topology.rules.decide import decide
from kit.views.fragment import Frag
from kit.views.panel import Scene, scene_of
from tests.protocols.topology.test_seen import press, starting

BASE = "SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES"

MODELS = "topology", "tablets"


def tables(scene: Scene, panel: Any) -> list[Frag]:
    """The tables of a panel."""
    return [each for each in panel.draw(scene).walk() if each.tag == "table"]


def body(table: Frag) -> list[tuple[str, ...]]:
    """The texts of a table's cells, by rows, without its head."""
    rows = [each for each in table.walk() if each.tag == "tr"]
    cells = [[cell for cell in row.kids if isinstance(cell, Frag)] for row in rows]
    return [tuple(cell.text() for cell in row) for row in cells if row[-1].tag == "td"]


LIVE = [
    # what is asked for; other parameters; the cells (host, column, text) that some step shows
    ("rebuild C --source-dc=dc1", {}, ("C", "rebuild_option", "dc1")),
    ("join D --initial-token=-150", {}, ("D", "tokens_string", "-150")),
    ("join D --initial-token=-150", {}, ("D", "tokens", "{-150}")),
    ("join D --zero-token", {}, ("D", "num_tokens", "0")),
    ("replace D C", {"ignored": ("C",)}, ("", "ignore_nodes", "{C}")),
    ("replace D C", {}, ("D", "replaced_id", "C")),
    ("join D", {}, ("D", "datacenter", "dc1")),
    ("join D", {}, ("D", "rack", "r1")),
    ("join D", {"racks": ("dc1/r1", "dc1/r2", "dc2/r1", "dc2/r9")}, ("D", "rack", "r9")),
    ("join D", {}, ("A", "ignore_msb", "12")),
    ("join D", {}, ("A", "shard_count", "1")),
    ("join D", {}, ("A", "release_version", "3.0.8")),
    ("join D", {}, ("D", "supported_features", f"{{{BASE}}}")),
    ("join D", {"newer": ("D",)}, ("D", "supported_features", f"{{{BASE}, TABLETS}}")),
    ("leave C", {"newer": ("A", "B")}, ("", "enabled_features", f"{{{BASE}}}")),
    ("leave C", {"newer": ("A", "B")}, ("", "enabled_features", f"{{{BASE}, TABLETS}}")),
    ("balancing off", {}, ("", "tablet_balancing_enabled", "False")),
    ("balancing on", {}, ("", "tablet_balancing_enabled", "True")),
    ("join D", {}, ("", "new_cdc_generation_data_uuid", "2")),
    ("new_cdc_generation", {}, ("", "global_requests", f"{{{as_timeuuid(2)}}}")),
    ("new_cdc_generation", {}, ("", "global_topology_request", "new_cdc_generation")),
    ("keyspace_rf_change ks dc1=2", {}, ("", "new_keyspace_rf_change_ks_name", "ks")),
    ("keyspace_rf_change ks dc1=2", {}, ("", "new_keyspace_rf_change_data", "{(dc1, 2)}")),
]


@pytest.mark.spec("D-038")
@pytest.mark.parametrize(("words", "given", "cell"), LIVE, ids=str)
def test_a_column_shows_its_live_cell(
    words: str, given: dict[str, Any], cell: tuple[str, str, str]
) -> None:
    """At some step of the run, the column has what a node or a request says."""
    timeline = starting(words, **given)
    shown = set[tuple[str, str, str]]()
    while True:
        ids = run_ids(scene_of(timeline, timeline.at).way())
        model: Any = timeline.model
        now = texts(timeline.state.topology, model.names, ids, model.edition)
        shown |= {(host, name, text) for (host, name), text in now.items()}
        if timeline.forward() is None:
            break
    assert cell in shown


def test_balancing_that_is_off_moves_no_tablet() -> None:
    """An uneven load begins no track while balancing is off, and does once it is on again."""
    off = starting("balancing off", "balancing on", tablets=1, on_tablets=("A",))
    press(press(off, "balancing off"), "imbalance")
    model: Any = off.model
    assert decide(off.state.topology, off.state.up, model.setting).kind == "rest"
    press(off, "balancing on")
    begun = decide(off.state.topology, off.state.up, model.setting)
    assert (begun.kind, begun.reason) == ("begin", "the balancer has a plan")


@pytest.mark.parametrize(
    "words",
    [
        "rebuild C --source-dc=dc9",
        "rebuild C --source-dc",
        "rebuild C --initial-token=5",
        "join D --initial-token=five",
        "join D --initial-token=5 --zero-token",
        "leave C --source-dc=dc1",
        "balancing",
        "balancing maybe",
        "cleanup --zero-token",
        "cleanup A",
        "truncate_table ks.t --zero-token",
        "keyspace_rf_change ks dc1=2 --zero-token",
    ],
)
def test_an_option_that_does_not_fit_its_request_is_refused(words: str) -> None:
    """An option of another request, or an impossible value."""
    with pytest.raises(BadInput, match="operations"):
        starting(words)


@pytest.mark.spec("D-038")
@pytest.mark.parametrize(("edition", "kind"), [("documents", "set<uuid>"), ("server", "set<text>")])
def test_the_table_shows_types_and_shades_static_columns(edition: str, kind: str) -> None:
    """All 33 columns with their types; the 16 static ones are in a shaded table."""
    timeline = starting("join D", edition=edition)
    scene = scene_of(timeline, timeline.at)
    static, _, rows = tables(scene, TABLE)
    shown = {row[0]: row[1] for row in (*body(static), *body(rows))}
    types = {name: column.type for name, column in TOPOLOGY.items()}
    types["supported_features"] = kind
    assert shown == types
    assert len(shown) == 33
    assert len(body(static)) == 16
    assert static.get("class") == "raised"


ASKED = [
    # what is asked for; the rows of the join while it waits, and while it is under way
    ("cleanup", [("global_requests", as_timeuuid(2), "cleanup", "–")], []),
    (
        "new_cdc_generation",
        [("global_requests", as_timeuuid(2), "new_cdc_generation", "–")],
        [("global_topology_request_id", as_timeuuid(2), "new_cdc_generation", "–")],
    ),
    (
        "keyspace_rf_change ks dc1=2",
        [("global_requests", as_timeuuid(2), "keyspace_rf_change", "ks dc1=2")],
        [],
    ),
    (
        "truncate_table ks.t",
        [("global_requests", as_timeuuid(2), "truncate_table", "ks.t")],
        [("global_topology_request_id", as_timeuuid(2), "truncate_table", "ks.t")],
    ),
    ("join D", [], []),
]


SAID_BY = {
    "keyspace_rf_change ks dc1=2": (
        "new_keyspace_rf_change_ks_name ks; new_keyspace_rf_change_data {(dc1, 2)}"
    ),
    "truncate_table ks.t": "truncate_table_id ks.t",
}
"""The columns of ``system.topology_requests`` that say more of what is asked for."""


@pytest.mark.spec("D-040")
@pytest.mark.parametrize(("words", "waiting", "running"), ASKED)
def test_the_panel_joins_a_request_with_the_topology_by_its_id(
    words: str, waiting: list[tuple[str, ...]], running: list[tuple[str, ...]]
) -> None:
    """Id, type and parameters are shown while the request waits and while it runs."""
    timeline = press(starting(words, on_tablets=("A",)), words)
    seen = []
    while True:
        requests, *joined = tables(scene_of(timeline, timeline.at), REQUESTS)
        seen += [rows for table in joined if (rows := body(table)) and rows not in seen]
        row = body(requests)[0]
        node = "D" if words == "join D" else "null"
        assert row[:3] == (as_timeuuid(2), words.split(maxsplit=1)[0], node)
        if timeline.forward() is None:
            break
    assert seen == [rows for rows in (waiting, running) if rows]
    number = timeline.state.state_id
    assert (row[3], row[4], row[6]) == ("t2", "null", "True")
    assert 2 < int(row[5].removeprefix("t")) <= number
    assert row[7] == SAID_BY.get(words, "null")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "name", [f"{model}/{each.name}" for model in MODELS for each in entries()[model].scenarios]
)
def test_a_server_answers_with_possible_cells_only(name: str) -> None:
    """At each moment, with tokens, datacenter and rack as the model has them."""
    timeline = played_out(open_source(name).timeline)
    for moment in timeline.path():
        timeline.goto(moment)
        model = timeline.here
        now = DrillMoment(model, (timeline.now,), model.names[0], frozenset())
        rows = [*SERVERS.rows(now, 0)]
        if not rows:
            continue
        table = system_topology(parse_topology(json.dumps(rows), name))
        edition = getattr(model, "edition", "server")
        assert not [*impossible(table, edition)], moment
        state = SERVERS.control(now).topology.transition
        stored = state if edition == "documents" else state.replace("_", " ")
        assert {row["transition_state"] for row in rows} == {stored or None}, moment
        nodes = SERVERS.control(now).topology.nodes
        there = {(bool(row["tokens"]), f"{row['datacenter']}/{row['rack']}") for row in rows}
        had = {(node.tokens, node.rack or "dc1/r1") for node in nodes if node.state}
        assert there == had, moment
