"""What a student sees of a truncate: phases, rows of each node, sessions, an RPC that is late."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.flows import flows
from kit.engine.registry import build, entries
from kit.engine.timeline import Timeline
from kit.protocols.tablets.hosts import NETWORK, host_spot
from kit.views.fragment import Frag
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.views.frames import check_frame, classed, part, scenes, walk

SCENARIOS = [f"truncate/{one.name}" for one in entries()["truncate"].scenarios]
LATE = (
    *("truncate", "open session", "apply A", "apply B", "barrier", "delay A", "send A", "send B"),
    *("close session", "apply A", "apply B", "barrier", "write"),
)


def played(model: Any, *verbs: str) -> Scene:
    """The moment after these verbs."""
    before, action, s = None, None, model.start()
    for verb in verbs:
        option = model.find(s, verb)
        assert option is not None, verb
        before, action = s, option[0]
        s = model.act(s, action)
    return Scene(model, s, before, action)


def drawn(scene: Scene, name: str) -> Frag:
    """A panel's picture."""
    [panel] = [each for each in for_model(scene.model).panels if each.name == name]
    return panel.draw(scene)


def text(scene: Scene, name: str) -> str:
    """A panel's words."""
    [panel] = [each for each in for_model(scene.model).panels if each.name == name]
    return panel.text(scene)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """Keys are unique, each panel has words, and what travels has both ends in the picture."""
    for scene in scenes(walk(name)):
        check_frame(scene)
        if scene.action is None:
            continue
        keys = {
            one.key
            for moment in (scene, Scene(scene.model, scene.before))
            for one in drawn(moment, "nodes").walk()
        }
        for flow in scene.flows():
            assert {flow.from_key, flow.to_key} <= keys


def now(scene: Scene) -> str:
    """The phase that is lit on the strip."""
    [lit] = [each for each in classed(drawn(scene, "nodes"), "now") if each.tag == "text"]
    return lit.text()


def test_the_phase_is_lit_and_rows_go() -> None:
    """One phase is lit; a node that has answered has no rows and stands behind the gate."""
    model = build("truncate", {"nodes": 3})
    scene = played(model, *_verbs(), "send A")
    assert now(scene) == "sending"
    nodes = {name: part(drawn(scene, "nodes"), host_spot(name)) for name in "ABC"}
    said = [str(nodes[name] and nodes[name].text()) for name in "ABC"]
    assert [words.rpartition("session 1 ")[2] for words in said] == [
        *("no rows", "old rows", "no replica")
    ]
    assert "A: no rows, session 1, has answered" in text(scene, "nodes")
    assert "B: old rows, session 1" in text(scene, "nodes")
    assert "C: no replica, session 1" in text(scene, "nodes")
    assert "1 of 2 has answered" in text(scene, "nodes")


def _verbs() -> tuple[str, ...]:
    return ("truncate", "open session", "apply A", "apply B", "apply C", "barrier")


def test_a_node_that_is_behind_has_no_key_and_stands_before_the_gate() -> None:
    """Until it applies what group 0 says, and the words say so."""
    model = build("truncate", {"nodes": 2})
    scene = played(model, "truncate", "open session", "apply A")
    for name, behind in (("A", False), ("B", True)):
        node = part(drawn(scene, "nodes"), host_spot(name))
        assert node is not None
        assert bool(classed(node, "key")) != behind
        before = part(drawn(scene, "nodes"), f"gate:{host_spot('group0')}:{name}")
        assert before is not None
        assert bool(classed(before, "missing")) == behind
    assert "B: old rows, no session (not up to date)" in text(scene, "nodes")


@pytest.mark.spec("F-014")
def test_arrows_lead_to_the_replicas_alone() -> None:
    """B has no replica: of all RPCs of the one phase in which they are sent none leads there."""
    found: dict[str, list[tuple[str, str]]] = {}
    timeline = Timeline(build("truncate", {"replicas": "A C", "nodes": 3}))
    for scene in scenes(timeline):
        phase = now(scene)
        ends = [(f.from_key, f.to_key) for f in scene.flows() if f.label == "truncate"]
        found.setdefault(phase, []).extend(ends)
    log = host_spot("group0")
    assert {phase: ends for phase, ends in found.items() if ends} == {
        "sending": [(log, host_spot("A")), (log, host_spot("C"))]
    }


@pytest.mark.spec("F-015")
@pytest.mark.parametrize("off", [(), ("truncate-session",)])
def test_a_late_rpc_is_refused_by_its_session(off: tuple[str, ...]) -> None:
    """The tab says what would become of it, then it travels there: turned away, and new rows stay;
    without the safeguard it is let in, and they go.
    """
    model: Any = build("truncate", {"nodes": 2, "replicas": "A B"}, off)
    scene = played(model, *LATE)
    assert part(drawn(scene, "nodes"), NETWORK) is not None
    row = part(drawn(scene, "session"), "session:A")
    assert row is not None
    assert row.text().endswith("carried out" if off else "refused")
    action = model.find(scene.state, "arrive A")[0]
    after = model.act(scene.state, action)
    [flow] = flows(model, scene.state, action, after)
    assert (flow.kind, flow.from_key, flow.to_key) == (
        ("data" if off else "refusal"),
        host_spot("group0"),
        host_spot("A"),
    )
    kept = "A: new rows" in text(Scene(model, after), "nodes")
    assert kept != bool(off)
