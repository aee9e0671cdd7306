"""Runs in the forms of other tools: each is read back by what such a tool does with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kit
from kit.errors import BadInput
from kit.formats.itf import ItfTrace
from kit.formats.recorded import RecordedRun
from kit.model.actors import NetworkModel
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.search.fuzz import Walker
from kit.views.default import rows_of as leaves
from kit.views.lanes import escaped, seen
from kit.views.panel import scene_at
from kit.views.runs import export_run, own_states, seen_by
from tests.examples import share_of
from tests.model.test_actors import ping_pong
from tests.model.toys import Graph
from tests.saying import like

FIXTURES = Path(__file__).parents[1] / "fixtures" / "itf"
SVG = "{http://www.w3.org/2000/svg}"
EVIL = 'a;b # "end" <script>alert(1)</script> & %%\n'


def walked(name: str, seed: int, steps: int = 20) -> Timeline:
    """A random walk of a model."""
    model = build(name)
    timeline = Timeline(model)
    timeline.run(Walker(model, steps=steps, properties=(), monitors=()).walk(seed).actions)
    return timeline


def evil() -> Timeline:
    """A recorded run whose names are made to break out."""
    states = ({"x": {"#map": [[EVIL, 1]]}}, {"x": {"#map": [[EVIL, 2]]}})
    return RecordedRun(ItfTrace(states, ("", EVIL.strip()), source="<title>")).read_through()


# -- golden files, by hand -------------------------------------------------------------------------


def rally() -> Timeline:
    """Three turns of a ball between A and B, of which the first was on its way at the start."""
    timeline = Timeline(ping_pong(5))
    for _ in range(3):
        timeline.forward()
    return timeline


SHIVIZ = r"""(?<event>.*)\n(?<host>\S*) (?<clock>{.*})

step 0: begins
A {"A": 1}
step 1: B receives ball 0 from A and sends ball 0 to A.
B {"A": 1, "B": 1}
step 2: A receives ball 0 from B and sends ball 1 to B.
A {"A": 2, "B": 1}
step 3: B receives ball 1 from A and sends ball 1 to A.
B {"A": 2, "B": 2}
"""
MERMAID = """sequenceDiagram
    participant p1 as A
    participant p2 as B
    p1->>p2: 1. ball 0
    p2->>p1: 2. ball 0
    p1->>p2: 3. ball 1
"""
NODE = """\
    1  receives  B receives ball 0 from A and sends ball 0 to A. [value: 1]
    2  hears of  A receives ball 0 from B and sends ball 1 to B.
    3  receives  B receives ball 1 from A and sends ball 1 to A. [value: 2]
"""


@pytest.mark.parametrize(("form", "text"), [("shiviz", SHIVIZ), ("mermaid", MERMAID)])
def test_a_run_on_a_network_to_the_letter(form: str, text: str) -> None:
    """As worked out by hand: clocks join where a message arrives, not where it was sent."""
    assert export_run(rally(), form) == text


def test_what_a_node_has_seen_to_the_letter() -> None:
    """Its own steps, and what it heard of with a message; other forms leave out the rest."""
    timeline = rally()
    assert export_run(timeline, "node", node="B") == NODE
    assert export_run(timeline, "mermaid", node="B") == MERMAID
    alone = export_run(timeline, "mermaid", node="A")
    assert "2. ball 0" in alone
    assert "3. ball 1" not in alone
    assert seen_by(scene_at(timeline, 3), "A")[0][1] == "hears of"


PARTS = {
    ("twophase/commit", "RM0"): {1: "does", 4: "is heard", 8: "receives"},
    ("twophase/commit", "TM"): {4: "receives", 7: "does", 8: "is heard"},
    ("commit", "A"): {2: "does", 3: "receives", 7: "sends"},
}


@pytest.mark.parametrize(("name", "node"), PARTS)
def test_the_part_of_a_node_in_a_step(name: str, node: str) -> None:
    """Its own steps are there although nothing travels; who is heard has sent before."""
    timeline = open_named(name).timeline
    while timeline.forward() is not None:
        pass
    parts = {step: part for step, part, _ in seen_by(scene_at(timeline, timeline.at), node)}
    assert {step: parts[step] for step in PARTS[name, node]} == PARTS[name, node]


@pytest.mark.parametrize("name", entries())
def test_on_a_network_a_node_does_only_its_own_steps(name: str) -> None:
    """A node that another one's message names has no part in it."""
    timeline = walked(name, 2, steps=60)
    scene = scene_at(timeline, timeline.tip)
    for node in seen(scene) if isinstance(scene.model, NetworkModel) else ():
        for step, part, _ in seen_by(scene, node):
            passed = scene.way()[step - 1]
            own = scene.model.actor_of(passed.before, passed.action)
            assert part == "hears of" or own == node, (node, step, part)


def test_a_step_says_what_a_node_has_learnt() -> None:
    """Behind what happened stand the cells of its row that are others now."""
    timeline = Timeline(build("commit"))
    for _ in range(6):
        timeline.forward()
    [*_, last] = seen_by(scene_at(timeline, timeline.at), "A")
    assert last[2].endswith(" [epoch: 1; entries: 1 r1; to replay: 1 of 1]")


@pytest.mark.parametrize("name", entries())
def test_what_a_node_has_learnt_are_words_of_its_table(name: str) -> None:
    """No line shows how a state is built: neither a list in a list nor the name of a field."""
    timeline = walked(name, 1)
    scene = scene_at(timeline, timeline.tip)
    states = own_states(scene.model, scene.state).values()
    fields = {path for state in states for path, _ in leaves(state) if "." in path}
    for node in seen(scene):
        for _, _, said in seen_by(scene, node):
            learnt = said.rpartition(" [")[2] if said.endswith("]") else ""
            assert not fields & {cell.partition(":")[0] for cell in learnt.split("; ")}


def test_a_drawing_has_a_lifeline_each_and_a_line_for_each_message() -> None:
    """Two names, three arrows with their words, one under the other."""
    root = ElementTree.fromstring(export_run(rally(), "svg"))  # our own
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert words == ["A", "B", "1. ball 0", "2. ball 0", "3. ball 1"]
    kinds = [each.get("class") for each in root.iter(f"{SVG}path")]
    assert (kinds.count("life"), kinds.count("message")) == (2, 3)
    heights = [float(each.get("y", 0)) for each in root.iter(f"{SVG}text")]
    assert heights[2:] == sorted(set(heights[2:]))


# -- runs of every model ---------------------------------------------------------------------------


def events(text: str) -> Iterator[tuple[str, str, dict[str, int]]]:
    """What ShiViz makes of a log: its first line is the expression, its second the delimiter."""
    expression, delimiter, log = text.split("\n", 2)
    assert delimiter == ""
    pattern = re.compile(re.sub(r"\(\?<(\w)", r"(?P<\1", expression))
    matches = [*pattern.finditer(log)]
    assert sum(len(match[0]) + 1 for match in matches) == len(log)  # nothing is left over
    for match in matches:
        yield match["host"], match["event"], json.loads(match["clock"])


@pytest.mark.parametrize("name", entries())
def test_the_clocks_of_a_log_are_those_of_lamport_and_fidge(name: str) -> None:
    """Each host counts its own events by one; it knows of others no more than they have done."""
    for seed in range(share_of(4)):
        timeline = walked(name, seed)
        known: dict[str, dict[str, int]] = {}
        told = set()
        for host, said, clock in events(export_run(timeline, "shiviz")):
            before = known.get(host, {})
            assert clock[host] == before.get(host, 0) + 1
            assert all(clock[each] >= before[each] for each in before)
            assert all(clock[each] <= known[each][each] for each in clock if each != host)
            known[host] = clock
            told.add(int(said.split()[1].rstrip(":")))
        assert told - {0} == set(range(1, len(timeline.moments)))


def test_every_form_tells_what_one_node_has_seen() -> None:
    """The same steps in all forms, with the clocks of the whole run; ITF has whole states only."""
    timeline = Timeline(build("raft"))
    while len(timeline.moments) < 8:
        timeline.forward()
    timeline.do(timeline.model.find(timeline.state, "tick C election")[0])
    whole, known = ([*events(export_run(timeline, "shiviz", node=node))] for node in ("", "B"))
    seen_steps = {step for step, *_ in seen_by(scene_at(timeline, timeline.at), "B")}
    assert {int(said.split()[1].rstrip(":")) for _, said, _ in known} == seen_steps
    assert len(known) < len(whole)
    assert all(each in whole for each in known)
    text = export_run(timeline, "mermaid", node="B")
    assert {int(number) for number in re.findall(r": (\d+)\. ", text)} == seen_steps
    with pytest.raises(BadInput, match="no node with itf"):
        export_run(timeline, "itf", node="B")


@pytest.mark.parametrize("name", entries())
def test_every_form_tells_every_step(name: str) -> None:
    """Each step is in the Mermaid text and in the drawing, which is XML without any script."""
    timeline = walked(name, 0)
    steps = set(range(1, len(timeline.moments)))
    text = export_run(timeline, "mermaid")
    assert {int(number) for number in re.findall(r": (\d+)\. ", text)} == steps
    root = ElementTree.fromstring(export_run(timeline, "svg"))  # our own
    words = "\n".join(each.text or "" for each in root.iter(f"{SVG}text"))
    assert {int(number) for number in re.findall(r"^(\d+)\. ", words, re.MULTILINE)} == steps
    scene = scene_at(timeline, timeline.tip)
    for node, numbers in seen(scene).items():
        assert [step - 1 for step, *_ in seen_by(scene, node)] == sorted(numbers)


def test_a_host_is_named_without_blanks() -> None:
    """ShiViz knows a host by a word; a step that looks like a host is none."""
    for host, _, clock in events(export_run(evil(), "shiviz")):
        assert host in clock
    timeline = Timeline(Graph({0: (1,)}))
    timeline.model.name = "a graph / of mine"
    timeline.forward()
    assert [host for host, *_ in events(export_run(timeline, "shiviz"))] == ["a_graph_/_of_mine"]


# -- names that are made to break out --------------------------------------------------------------


def test_names_do_not_break_out_of_mermaid() -> None:
    """Semicolons, number signs, quotes, line ends, percent signs and the word end are numbers."""
    text = export_run(evil(), "mermaid")
    assert len(text.splitlines()) == 3
    assert escaped(EVIL.strip()) in text
    for letter in '"<>%':
        assert letter not in text.partition("\n")[2]
    assert not re.search(r"#(?!\w+;)|(?<!#\d\d)(?<!#\d\d\d)(?<!#lt)(?<!#gt)(?<!#quot);", text)


def test_names_do_not_break_out_of_a_drawing() -> None:
    """They are text in it, as they stand; there is no element but those of a drawing."""
    timeline = evil()
    root = ElementTree.fromstring(export_run(timeline, "svg"))  # our own
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "style", "text", "path", "rect", "g")
    }
    assert any("<script>" in (each.text or "") for each in root.iter(f"{SVG}text"))
    assert root.get("aria-label") == "<title>"
    html = kit.Player(timeline).rendered.html(1)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


# -- what is asked for -----------------------------------------------------------------------------


def test_what_is_not_there_is_refused() -> None:
    """Another form, with the nearest one; an unknown node; none where one is needed."""
    timeline = rally()
    for form, node, words in (
        ("svgg", "", "form | 'svgg' | itf, mermaid, node, shiviz, svg | nearest: svg"),
        ("node", "Z", "node | 'Z' | A, B"),
        ("node", "", "node | 'nothing' | A, B"),
        ("mermaid", "Z", "node | 'Z' | A, B"),
    ):
        with pytest.raises(BadInput, match=like(words)):
            kit.export_run(timeline, form, node=node)
    with pytest.raises(BadInput, match=like("form | 'node' | itf, mermaid, shiviz, svg")):
        export_run(Timeline(Graph({})), "node")
    with pytest.raises(BadInput, match=like("node | 'A' | has no lanes")):
        export_run(RecordedRun(ItfTrace(({"x": 1},), ("",))).read_through(), "node", node="A")


def test_a_recorded_run_has_a_lane_for_each_node() -> None:
    """A step is in the lanes of the nodes that it changes; each is a host."""
    timeline = kit.read_itf(FIXTURES / "quint.itf.json")
    timeline.goto(timeline.tip)
    drawn = export_run(timeline, "mermaid")
    assert re.findall(r"participant \w+ as (\w+)", drawn) == ["alice", "bob"]
    hosts = re.findall(r"^(\w+) {", export_run(timeline, "shiviz"), re.MULTILINE)
    touched = [
        name
        for step in timeline.passed(timeline.tip)
        for name in timeline.model.changed(step.before, step.after) or ["recorded"]
    ]
    assert [name for name in hosts if name != "recorded"] == [n for n in touched if n != "recorded"]
    rows = export_run(timeline, "node", node="bob").splitlines()
    assert len(rows) == touched.count("bob") > 0
    assert all(" changes " in row and "[" in row for row in rows)
    assert "balances" in rows[0]


def test_a_recorded_run_has_pictures_of_its_nodes() -> None:
    """A row for each node, a column for each variable; what changed is marked, and what it was."""
    player = kit.Player(kit.read_itf(FIXTURES / "quint.itf.json"))
    player.goto(2)
    html = player.rendered.html(2)
    assert [*re.findall(r'data-k="n:(\w+)"', html)] == ["alice", "bob"]
    [row] = re.findall(r'<tr data-k="n:bob".*?</tr>', html)
    assert re.findall(r'class="changed">([^<]*)<', row) == ["-3"]
    assert "was 0" in row
    heads = re.findall(r"<th scope=\"col\">(.*?)</th>", html.replace("<wbr>", ""))
    assert heads[:4] == ["node", "balances", "epochs.epoch", "epochs.peers"]
    alone = RecordedRun(ItfTrace(({"x": 1}, {"x": 2}), ("", ""))).read_through()
    assert 'data-k="picture"' not in kit.Player(alone).rendered.html(1)
    assert "x" in kit.Player(alone).text()
