"""State diagrams come from the models' own tables, and are current."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kit.errors import KitError
from kit.protocols.tcm.panels.operation import diagrams as all_diagrams
from kit.protocols.tcm.rules.steps import OPERATION_SPECS, VARIANTS, transitions
from kit.views import diagrams, images
from kit.views.diagrams import digest, digest_in, dot_source, draw, drawn
from tests.views.frames import classed

VARIANTS_DRAWN = {
    f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("polygon", "rect", "path", "circle")
}
TABLE = (("idle", "start", "busy"), ("busy", "cancel", "idle"))


@pytest.mark.spec("H-008")
def test_images_are_current() -> None:
    """Every committed picture is what the kit draws now, and none is there without a reason."""
    assert images.problems(diagrams.FOLDERS[0]) == []


@pytest.mark.spec("H-008")
def test_pictures_are_drawn_equal_each_time(tmp_path: Path) -> None:
    """Drawing again gives the same digests and, for the kit's own pictures, the same bytes."""
    assert dict(images.own_pictures()) == dict(images.own_pictures())
    for name, table in all_diagrams():
        committed = (diagrams.FOLDERS[0] / f"{name}.svg").read_text(encoding="utf-8")
        assert digest_in(committed) == digest(dot_source(table))
    assert images.problems(tmp_path)


@pytest.mark.spec("H-008")
def test_pictures_are_shown_and_have_a_ground() -> None:
    """The README leads to every committed picture; each can be read on a dark page too."""
    folder = diagrams.FOLDERS[0]
    readme = (folder.parent / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\(images/([\w-]+\.\w+)\)", readme))
    assert linked == {path.name for path in folder.iterdir()}
    for path in folder.glob("*.svg"):
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        first = next(one for one in root.iter() if one.tag in VARIANTS_DRAWN)
        white = first.get("fill") == "white" or first.get("class") == "paper"
        assert white, path.name


@pytest.mark.spec("H-007")
def test_every_operation_has_a_diagram_of_its_table() -> None:
    """States and events of the drawing are those of the transition table, no more and no less."""
    for variant in VARIANTS:
        for kind in OPERATION_SPECS:
            table = transitions(kind, variant)
            made = draw(f"state-{kind}-{variant}", table, at=table[0][0], prefix="d:", label=kind)
            states = {one.text() for one in classed(made, "state")}
            assert states == {state for one, _, two in table for state in (one, two)}
            assert len(classed(made, "edge")) == len({(one, two) for one, _, two in table})
            assert [one.text() for one in classed(made, "lit")] == [table[0][0]]


def test_labels_are_quoted_in_dot() -> None:
    """A label is only a label: quotes, backslashes and brackets are escaped twice over."""
    source = dot_source((('a"];x[', "\\N", "<b>"),))
    assert '"a\\"];x["' in source
    assert '"\\\\N"' in source
    made = draw("none", (('a"];x[', "\\N", "<b>"),), at="<b>", prefix="d:", label="nasty")
    assert "<b>" not in made.html()


@pytest.mark.spec("H-015")
def test_without_graphviz_a_diagram_is_text_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing was drawn and there is no dot, the table is written out, and it says so."""
    monkeypatch.setattr(diagrams.shutil, "which", lambda name: None)
    drawn.cache_clear()
    made = draw("never-drawn", TABLE, at="busy", prefix="d:", label="a diagram")
    assert "graphviz program is not here" in made.text()
    assert "idle → busy: start" in made.text()
    assert [one.text() for one in classed(made, "here")] == ["busy → idle: cancel"]
    drawn.cache_clear()


@pytest.mark.spec("H-015")
def test_committed_diagrams_need_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    """A committed drawing is shown with its state lit on a machine without dot."""
    monkeypatch.setattr(diagrams.shutil, "which", lambda name: None)
    drawn.cache_clear()
    table = transitions("bootstrap", "cep")
    made = draw("state-bootstrap-cep", table, at="split", prefix="d:", label="bootstrap")
    assert made.tag == "svg"
    drawn.cache_clear()


def test_a_dot_that_fails_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the program breaks, the diagram falls back to text instead of raising."""
    monkeypatch.setattr(diagrams.shutil, "which", lambda name: "/bin/false")
    assert diagrams.render(dot_source(TABLE)) is None


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
