"""What ``kit.rehearse`` opens: the Player, and the one screen with its four answers."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

import kit
from kit.model.timeline import Timeline
from kit.operators.importers.opening import import_texts, open_ring
from kit.protocols.tcm.dry_run.opening import opened
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons.rehearsals import DryRun
from kit.protocols.tcm.panels.dry_run import MOST_CHANGED, MOST_LOADS, draw_rehearsal
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.views.export import export_html
from kit.views.frame import frame
from kit.views.panel import Scene, scene_at
from kit.views.registry import for_model
from kit.widgets import Player
from tests.keyed import check_keys
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import (
    FILES,
    JOIN,
    KS,
    SHOP,
    cluster,
    hosts,
    played,
    printed,
)
from tools.notebooks import LIVE

FRIDAY = f"decommission 10.20.0.2\n{JOIN}\n\ndecommission 10.20.0.4\n"
PANELS = ("planned", "deaths", "traffic")


@pytest.fixture(scope="module")
def friday() -> DryRun:
    """Three operations on the lesson's cluster."""
    return kit.rehearse(cluster(), FRIDAY)


def scenes(rehearsed: DryRun) -> list[Scene]:
    """Every moment of the branch that is shown."""
    return [rehearsed.player.rendered.scene(moment) for moment in rehearsed.timeline.path()]


def drawn(scene: Scene, name: str) -> str:
    """The words of one panel's picture."""
    panel = next(one for one in for_model(scene.model).panels if one.name == name)
    return panel.draw(scene).text()


def written(scene: Scene, name: str) -> str:
    """The same panel as text."""
    panel = next(one for one in for_model(scene.model).panels if one.name == name)
    return panel.text(scene)


def test_files_texts_and_imported_rings_open_as_the_same_ring() -> None:
    """Loads and nodes that are down are the same as well."""
    texts = [path.read_text(encoding="utf-8") for path in FILES]
    wanted = open_ring(FILES, [SHOP])
    for given in (FILES, [str(path) for path in FILES], tuple(texts), [FILES[0], texts[1]]):
        found = opened(given, SHOP)
        parts = (found.ring, found.keyspaces, found.loads, found.down)
        assert parts == (wanted.ring, wanted.keyspaces, wanted.loads, wanted.down), given
    assert opened(wanted) is wanted
    keyspace = Keyspace("ks", SimpleStrategy(2))
    assert opened(FILES[0], keyspace) == import_texts([(FILES[0].name, texts[0])], [keyspace])


def test_a_rehearsal_takes_its_operations_as_text_lines_or_values(friday: DryRun) -> None:
    """All three give the same steps."""
    lines = [line for line in FRIDAY.splitlines() if line]
    several = kit.rehearse(cluster(), lines)
    parsed = kit.rehearse(cluster(), map(parse_operation, lines))
    assert several.steps == parsed.steps == friday.steps


def test_the_figures_of_a_rehearsal_agree_with_each_other(friday: DryRun) -> None:
    """Steps, operations, loads, pairs and warnings of three operations."""
    assert [one.epoch for one in friday.steps] == list(range(1, 13))
    assert [one.status for one in friday.operations] == ["done"] * 3
    assert [one.refusal is None for one in friday.pairs] == [True, False, False]
    assert sum(one.sends for one in friday.loads) == 14
    assert friday.steps[0].busiest == "10.20.0.2"
    assert "10.20.0.5" in friday.steps[0].fragile
    assert friday.warnings == (
        "10.20.0.6 is down: no data and no acknowledgements come from there",
    )


def test_every_step_of_a_rehearsal_shows_traffic_fragile_nodes_and_plans(friday: DryRun) -> None:
    """Bytes and streams of a node, what a death breaks, and which operation must wait for which."""
    for scene in scenes(friday):
        views = for_model(scene.model)
        check_keys(frame(scene, views.panels, views.macros))
        shown = {panel.name for panel in views.panels if panel.shown is None or panel.shown(scene)}
        assert set(PANELS) <= shown
        for name in PANELS:
            assert drawn(scene, name), name
            assert written(scene, name).strip(), name
    now = scenes(friday)[friday.timeline.path().index(friday.timeline.at)]
    traffic = drawn(now, "traffic")
    assert "Most loaded source: 10.20.0.2, 464.1 GiB in 6 streams." in traffic
    assert "10.20.0.10 – 382.8 GiB in 4 0 of 4" in traffic
    assert "LOCAL_QUORUM east shop: reads and writes ! 10.20.0.5 (3 ranges)" in drawn(now, "deaths")
    assert "QUORUM shop: reads and writes ✓ no single node" in drawn(now, "deaths")
    third = written(now, "planned").splitlines()[2]
    assert third.startswith("  … decommission 10.20.0.4 must wait: shop (-8400832415006769670, ")
    assert "is locked by decommission 10.20.0.2" in third


def test_the_opening_of_a_rehearsal_says_which_operations_may_run_together(friday: DryRun) -> None:
    """A refused pair names the range that the first one locks."""
    words = written(scenes(friday)[1], "planned")
    assert "decommission 10.20.0.2 and bootstrap 10.20.0.10 at 3000000000000000000: yes" in words
    assert (
        "decommission 10.20.0.2 and decommission 10.20.0.4: no; once the first one has begun, shop"
        in words
    )
    assert "bootstrap 10.20.0.10 at 3000000000000000000 and decommission 10.20.0.4: no" in words


def test_a_rehearsal_says_that_its_cluster_survives_any_one_death() -> None:
    """In no step a node is fragile or a range broken."""
    found = kit.rehearse(cluster_of_nine(), "decommission n5")
    assert all(one.fragile == () and one.broken == 0 for one in found.steps)
    assert "survives any one death" in found.player.rendered.html(found.timeline.at)


def cluster_of_nine() -> Any:
    """Nine nodes, three replicas."""
    return printed(hosts(9))


@pytest.mark.spec("H-014")
def test_a_rehearsal_is_stored_as_text_tables_and_pictures_without_scripts(friday: DryRun) -> None:
    """A notebook shows it untrusted."""
    bundle, kept = friday._repr_mimebundle_()
    assert kept
    assert LIVE in bundle
    assert bundle["text/plain"].startswith("DryRun(decommission 10.20.0.2: done; ")
    assert "\n" not in bundle["text/plain"]
    html = bundle["text/html"]
    assert not re.search(r"<(svg|style|script|details|button)\b|\sdata-|\son\w+=", html)
    pictures = re.findall(
        r'<img style="[^"]*" src="data:image/svg\+xml;base64,([^"]+)" alt="[^"]+"', html
    )
    assert pictures
    assert all(base64.b64decode(one).startswith(b"<svg") for one in pictures)
    for words in ("10.20.0.6 is down", "most loaded source", "must not die", "Bytes by node"):
        assert words in html, words


def test_the_text_of_a_rehearsal_has_warnings_epochs_and_panels(friday: DryRun) -> None:
    """Warnings come first, then a line for each epoch, then the panels of the moment."""
    text = friday.text()
    assert text.startswith("warning: 10.20.0.6 is down")
    assert (
        len(re.findall(r"^\d+ +[a-z:, ]+ \((?:decommission|bootstrap) ", text, re.MULTILINE)) == 12
    )
    assert "12 epochs (edition server)" in text
    assert text.index("If one more node dies") < text.index("Bytes and streams\n")


def test_a_crash_in_the_past_of_a_rehearsal_begins_a_branch(friday: DryRun) -> None:
    """Only the branch shows ranges without a quorum."""
    player = kit.rehearse(cluster(), "decommission 10.20.0.2").player
    tip = player.timeline.tip
    player.act("crash 10.20.0.5")
    assert len(player.timeline.branches()) == 2
    assert "3 ranges without a quorum" in player.rendered.html(player.timeline.at)
    player.goto(tip)
    assert "without a quorum" not in player.rendered.html(tip)


def test_the_player_of_a_worked_example_has_no_rehearsal_panels() -> None:
    """Planned operations, deaths and traffic belong to imported rings."""
    player = Player("tcm/bootstrap")
    shown = {
        p.name
        for p in player.rendered.panels
        if p.shown is None or p.shown(player.rendered.scene(0))
    }
    assert not shown & set(PANELS)


@pytest.mark.parametrize("plan", [JOIN, pytest.param(FRIDAY, marks=pytest.mark.deep)])
def test_an_exported_rehearsal_has_its_panels_and_stays_within_its_limit(
    plan: str, tmp_path: Path
) -> None:
    """The limit is 500,000 bytes."""
    made = export_html(kit.rehearse(cluster(), plan).timeline, tmp_path / "plan.html")
    page = made.path.read_text(encoding="utf-8")
    assert made.size <= 500_000
    assert "Planned operations" in page


def test_a_node_named_like_markup_is_escaped_in_every_view() -> None:
    """The stored HTML, the frame and the widget are looked at."""
    odd = "<img src=x onerror=alert(1)>"
    text = (
        f'{{"nodes": [{{"name": "{odd}", "tokens": [1]}}, {{"name": "b", "tokens": [9]}}], '
        '"keyspaces": [{"name": "<b>", "replication": {"class": "SimpleStrategy", '
        '"replication_factor": 1}}]}'
    )
    found = kit.rehearse(text, "decommission b")
    assert odd not in found.static()
    assert odd not in found.player.rendered.html(found.timeline.at)
    assert odd not in found.box.children[0].value


def test_a_large_rehearsal_shows_sums_and_draws_moments_on_demand() -> None:
    """Of 725 ranges the changed ones are listed, and a search finds the others."""
    rows = [
        {"name": f"n{i}", "tokens": [1000 * i + 10 * j for j in range(6)], "rack": f"r{i % 3}"}
        for i in range(120)
    ]
    tokens = ",".join(str(20_000 * j + 5) for j in range(1, 6))
    found = kit.rehearse(ring_of(rows), f"bootstrap x --tokens {tokens}", keyspaces=KS)
    words = drawn(found.player.rendered.scene(found.timeline.at), "placements")
    assert "725 ranges" in words
    assert "find a token, range or node" in words
    assert found.player.rendered.undrawn > 100
    inner = next(i for i, node in enumerate(found.player.rendered.moments) if node.root is None)
    assert "applies epoch" in found.player.rendered.html(inner)


def ring_of(rows: list[dict[str, Any]]) -> str:
    """A ring file without keyspaces."""
    return json.dumps({"partitioner": {"low": 0, "high": 200_000}, "nodes": rows, "keyspaces": []})


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["{0}", "{x}", "a{", "}b", "{0.__class__}", "{name!r}", "%s"])
def test_braces_in_the_names_of_a_cluster_are_shown_unchanged(name: str) -> None:
    """Keyspaces, nodes, datacenters and racks are named so, in every frame."""
    nodes = [
        {"name": f"{name}{at}", "tokens": [100 * at], "dc": name, "rack": name}
        for at in range(1, 5)
    ]
    how = {"class": "SimpleStrategy", "replication_factor": 2}
    ring = {"nodes": nodes, "keyspaces": [{"name": name, "replication": how}]}
    rehearsed = kit.rehearse(json.dumps(ring), f"decommission {name}1")
    for moment in rehearsed.timeline.path():
        drawn = frame(rehearsed.player.rendered.scene(moment), rehearsed.player.rendered.panels)
        assert name in drawn.text()


NODES, TOKENS = 12, 16


@pytest.fixture(scope="module")
def history() -> Timeline:
    """Twelve nodes of sixteen tokens each, two of which shall leave."""
    hosts = [
        Host(
            f"10.20.0.{i}",
            tuple(1000 * (t * NODES + i) for t in range(TOKENS)),
            load=f"{i}.00 GiB",
            host_id=host_id(i),
        )
        for i in range(1, NODES + 1)
    ]
    return played(printed(hosts), "decommission 10.20.0.2", "decommission 10.20.0.7")


def test_each_frame_of_a_rehearsal_shows_the_figures_of_the_facts(history: Timeline) -> None:
    """Operations, fragile nodes, loads and changed ranges, by name and number."""
    changed_somewhere = 0
    for moment in history.path():
        scene = scene_at(history, moment)
        model, state = scene.model, scene.state
        drawn = draw_rehearsal(scene)
        check_keys(drawn)
        words = drawn.text()
        for planned in facts.planned(model, state):
            assert planned.operation.title in words
        loads = facts.traffic(model, state)
        assert len(re.findall(r"rehearsed load:", drawn.html())) == min(len(loads), MOST_LOADS)
        for loss in facts.losses(model, state):
            assert all(f'data-of="{name}"' in drawn.html() for name, _ in loss.nodes)
        now = facts.rows(model, state, "ks")
        then = now if scene.before is None else facts.rows(model, scene.before, "ks")
        changed = [
            row
            for row in now
            if any(
                (set(row.reads), set(row.writes)) != (set(was.reads), set(was.writes))
                for was in then
                if was.left < row.right and row.left < was.right
            )
        ]
        told = re.search(r"(\d+) ranges? changed", words)
        assert (int(told[1]) if told else 0) == len(changed)
        assert drawn.html().count("rehearsed row:") == min(len(changed), MOST_CHANGED)
        changed_somewhere += bool(changed)
    assert changed_somewhere > 4


def test_the_rehearsal_is_the_table_of_an_imported_ring_alone(history: Timeline) -> None:
    """A worked example has its placements there."""
    for timeline, first in (
        (history, "rehearsal"),
        (kit.Player("bootstrap").timeline, "placements"),
    ):
        views = for_model(timeline.model)
        drawn = frame(scene_at(timeline, 0), views.panels, views.macros, views).html()
        _, table, *_ = re.findall(r'data-tab="(\w+)"', drawn)
        assert table == first
