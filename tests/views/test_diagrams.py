"""State diagrams come from the models' own tables, are current, legible, and show the way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kit.errors import KitError
from kit.model.registry import build
from kit.protocols.tcm.panels.operation import diagram as operation_diagram
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS, transitions
from kit.views import diagrams as dot
from kit.views.diagrams import (
    END,
    START,
    Cell,
    Standing,
    StateDiagram,
    diagram_text,
    digest,
    digest_in,
    dot_source,
    draw_diagram,
    drawn,
    measures,
    state_panel,
    table_source,
)
from kit.views.fragment import Frag
from kit.views.palette import LIGHT
from kit.views.panel import Scene
from tests.keyed import check_keys
from tests.views.frames import classed
from tests.views.tabled import drawn_rows
from tools import images

VARIANTS_DRAWN = {
    f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("polygon", "rect", "path", "circle")
}
ROOM = (380, 298)
"""What a drawing has in the picture's slot of the smallest board, with two lines below it."""
TABLE = StateDiagram(
    "never-drawn",
    "a diagram",
    ((START, "", "idle"), ("idle", "start", "busy"), ("busy", "cancel", "idle"), ("busy", "", END)),
    frozenset({"cancel"}),
)


def at(*path: str, diagram: StateDiagram = TABLE) -> Standing:
    """A machine that went through some states."""
    return Standing(diagram, path)


def keyed(drawing: Frag, key: str) -> Frag:
    """The part with a key."""
    return next(part for part in drawing.walk() if part.key == key)


@pytest.mark.spec("H-008")
def test_images_are_current() -> None:
    """Every committed picture is what the kit draws now, and none is there without a reason."""
    assert images.problems(dot.FOLDERS[0]) == []


@pytest.mark.spec("H-008")
def test_pictures_are_drawn_equal_each_time(tmp_path: Path) -> None:
    """Drawing again gives the same digests and, for the kit's own pictures, the same bytes."""
    assert dict(images.own_pictures()) == dict(images.own_pictures())
    for diagram in images.diagrams():
        committed = (dot.FOLDERS[0] / f"{diagram.name}.svg").read_text(encoding="utf-8")
        assert digest_in(committed) == digest(dot_source(diagram))
    assert images.problems(tmp_path)


@pytest.mark.spec("H-008")
def test_pictures_are_shown_and_have_a_ground() -> None:
    """The list of drawings leads to every committed picture, to be read on a dark page too."""
    folder = dot.FOLDERS[0]
    listed = (folder / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\(([\w-]+\.\w+)\)", listed))
    here = {path.name for path in folder.iterdir() if path.is_file()}  # the gallery has its page
    assert linked == here - {"README.md"}
    for path in folder.glob("*.svg"):
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        first = next(one for one in root.iter() if one.tag in VARIANTS_DRAWN)
        white = first.get("fill") == LIGHT["raised"] or first.get("class") == "paper"
        assert white, path.name


def test_every_diagram_is_legible_in_the_smallest_board() -> None:
    """Drawn so that its letters have 11 pixels, each machine fits into the picture's slot."""
    sizes = {
        one.name: measures((dot.FOLDERS[0] / f"{one.name}.svg").read_text(encoding="utf-8"))[2:]
        for one in images.diagrams()
    }
    assert sizes
    large = {name: size for name, size in sizes.items() if size[0] > ROOM[0] or size[1] > ROOM[1]}
    assert not large, f"too large: {large}; allowed {ROOM}: shorter names, or labelled=False"


@pytest.mark.parametrize("diagram", list(images.diagrams()), ids=lambda one: one.name)
def test_every_event_is_printed(diagram: StateDiagram) -> None:
    """Those that lead back as well; of a long one in a tight drawing the number, and a note."""
    svg = ElementTree.parse(dot.FOLDERS[0] / f"{diagram.name}.svg").getroot()
    for i, (_, event, after) in enumerate(diagram.transitions):
        [edge] = [one for one in svg.iter() if one.get("id") == f"way{i}"]
        said = " ".join(one.text.strip() for one in edge.iter() if one.text and one.text.strip())
        words = said.partition("->")[2].split(" ")[1:]
        if event in diagram.notes:
            number = diagram.notes.index(event) + 1
            assert words[-1:] == [str(number)]
            assert any(f"{number} {event}" in (one.text or "") for one in svg.iter())
        elif event not in ("", after):
            assert "".join(words).endswith(event.replace(" ", ""))


def test_the_notes_of_a_drawing_are_on_the_board() -> None:
    """What a number in the picture means is below it, in the Player as well."""
    diagram = next(one for one in images.diagrams() if one.name == "state-topology-node")
    made = draw_diagram(at("none", diagram=diagram), "d:", fits=True)
    assert "1 operation failed" in [one.text() for one in made.walk() if one.tag == "text"]


@pytest.mark.spec("H-007")
def test_every_operation_has_a_diagram_of_its_table() -> None:
    """States and events of the drawing are those of the transition table, no more and no less."""
    for edition in EDITIONS:
        for kind in OPERATION_SPECS:
            table = transitions(kind, edition)
            diagram = operation_diagram(kind, edition)
            assert diagram.transitions == table
            made = draw_diagram(at(table[0][0], diagram=diagram), "d:", fits=True)
            states = {state for one, _, two in table for state in (one, two)}
            drawn_states = classed(made, "state")
            assert {one.key for one in drawn_states} == {f"d:state:{state}" for state in states}
            titles = {one.kids[0].text() for one in classed(made, "edge") if one.kids}
            assert titles == {f"{one} → {two}: {event}" for one, event, two in table}
            assert [one.key for one in classed(made, "lit")] == [f"d:state:{table[0][0]}"]


def test_the_way_that_was_taken_is_marked() -> None:
    """The state of now is lit, those before it are passed; only the edges between them are taken,
    and those that lead back are told apart.
    """
    made = draw_diagram(at(START, "idle", "busy"), "d:")
    check_keys(made)
    assert [one.key for one in classed(made, "lit")] == ["d:state:busy"]
    assert [one.key for one in classed(made, "passed")] == [f"d:state:{START}", "d:state:idle"]
    assert [one.key for one in classed(made, "taken")] == ["d:way:0", "d:way:1"]
    assert [one.key for one in classed(made, "back")] == ["d:way:2"]
    assert made.get("aria-label") == "a diagram; now: busy; passed: ● → idle → busy"
    assert "cancel" in "".join(one.text() for one in made.walk() if one.tag == "text")


@pytest.mark.parametrize(("failures", "taken"), [((), ["w:way:0"]), ((0,), ["w:way:1"])])
def test_a_failure_that_leads_where_the_work_leads_is_told_apart(
    failures: tuple[int, ...], taken: list[str]
) -> None:
    """Of two events between the same states the path names the one that it took."""
    both = StateDiagram(
        "never-drawn-either", "both", (("a", "", "b"), ("a", "error", "b")), frozenset({"error"})
    )
    made = draw_diagram(Standing(both, ("a", "b"), frozenset(failures)), "w:")
    assert [one.key for one in classed(made, "taken")] == taken


def test_a_machine_keeps_its_keys_and_its_size_from_step_to_step() -> None:
    """Between two moments nothing but classes and words differs, so that nothing moves."""
    before, after = (draw_diagram(at(*way), "d:", fits=True) for way in (("idle",), ("busy",)))
    assert [one.key for one in before.walk()] == [one.key for one in after.walk()]
    assert before.get("viewBox") == after.get("viewBox")
    assert before.get("width") is None


def test_the_panel_says_what_may_follow() -> None:
    """Below the picture stand the ways from the state of now; without a machine it says so."""
    places: dict[str, Standing | None] = {"here": at("idle", "busy")}
    panel = state_panel("machine", "Machine", lambda scene: places["here"])
    scene: Any = Scene(build("twophase"), None)
    said = [part.text() for part in panel.draw(scene).walk() if part.tag == "p"]
    assert said == ["busy : cancel → idle; on → ◎ (hollow arrowhead: back)"]
    assert panel.text(scene).splitlines()[0] == "  idle → busy"
    places["here"] = None
    assert panel.draw(scene).text() == "No operation is in progress."
    assert panel.text(scene) == "  No operation is in progress."


def test_a_machine_in_words() -> None:
    """The way comes first, then a line for each transition; those from here are marked."""
    lines = diagram_text(at("idle", "busy")).splitlines()
    assert [line for line in lines if line.startswith(">")] == [
        "> busy --cancel--> idle",
        "> busy ----> ◎",
    ]


def test_labels_are_quoted_in_dot() -> None:
    """A label is only a label: quotes, backslashes and brackets are escaped twice over."""
    nasty = StateDiagram("none", "nasty", (('a"];x[', "\\N", "<b>"),))
    source = dot_source(nasty)
    assert '"a\\"];x["' in source
    assert '" \\\\N "' in source
    made = draw_diagram(at("<b>", diagram=nasty), "d:")
    assert made.tag == "svg"
    assert "<b>" not in made.html()


@pytest.mark.spec("H-015")
def test_without_graphviz_a_diagram_is_text_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was drawn and there is no dot, the table is written out, and it says so."""
    monkeypatch.setattr(dot.shutil, "which", lambda name: None)
    drawn.cache_clear()
    made = draw_diagram(at("busy"), "d:")
    assert "because Graphviz is not installed" in made.text()
    assert "idle → busy: start" in made.text()
    assert [one.text() for one in classed(made, "here")] == ["busy → idle: cancel", "busy → ◎"]
    drawn.cache_clear()


@pytest.mark.spec("H-015")
def test_committed_diagrams_need_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """A committed drawing is shown with its state lit on a machine without dot."""
    monkeypatch.setattr(dot.shutil, "which", lambda name: None)
    drawn.cache_clear()
    made = draw_diagram(at("split", diagram=operation_diagram("bootstrap", "documents")), "d:")
    assert made.tag == "svg"
    drawn.cache_clear()


def test_a_dot_that_fails_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the program breaks, the diagram falls back to text instead of raising."""
    monkeypatch.setattr(dot.shutil, "which", lambda name: "/bin/false")
    assert dot.render(dot_source(TABLE)) is None


def test_writing_without_graphviz_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command names the program that it needs."""
    monkeypatch.setattr(images, "render", lambda source: None)
    with pytest.raises(KitError, match="graphviz"):
        images.write(tmp_path)


def test_the_command_checks(capsys: pytest.CaptureFixture[str]) -> None:
    """``--check`` says that all is current and exits with 0."""
    assert images.main(["--check"]) == 0
    assert "images are current" in capsys.readouterr().out


def test_a_drawn_table_escapes_its_words_and_boxes_what_is_filled() -> None:
    """Words have no meaning for DOT; a gap has no box; a ruler row gives columns their widths."""
    source = table_source([[Cell("<b>&"), Cell("x", 2, "added"), Cell()]], [20, 30])
    assert drawn_rows(source) == [[(1, "", "&lt;b&gt;&amp;"), (2, "#dde1e6", "x"), (1, "", "")]]
    assert 'WIDTH="30"' in source
    assert dot.render(source) is not None
