"""What lies where, and what the two commands are."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest
from PIL import Image, ImageSequence

from tests.house.source import ROOT, project_files

NOTEBOOKS = (
    "00-start-here.ipynb",
    "01-bootstrap-epoch-by-epoch.ipynb",
    "02-decommission-and-other-moves.ipynb",
    "03-large-clusters-on-spark.ipynb",
    "04-rehearse-your-own-cluster.ipynb",
    "05-why-the-barrier.ipynb",
    "06-reads-and-writes-during-change.ipynb",
    "07-find-the-bug.ipynb",
    "09-one-log-for-all-metadata.ipynb",
    "10-the-coordinator.ipynb",
    "11-when-things-fail-halfway.ipynb",
    "12-one-tablet-moves.ipynb",
    "13-the-row-that-came-back.ipynb",
    "14-balance-split-merge.ipynb",
    "15-tablets-of-a-real-cluster.ipynb",
    "16-into-raft.ipynb",
    "17-with-and-without-a-majority.ipynb",
    "18-recovery-drill.ipynb",
    "19-read-a-real-log.ipynb",
    "08-write-your-own-model.ipynb",
)


TOP = {
    *("benchmarks", "docs", "images", "kit", "notebooks", "tests", "tools"),
    *(
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "OPERATORS.md",
        "README.md",
        "TEACHING.md",
    ),
    *("LICENSE", "Makefile", "environment.yml", "pyproject.toml", "requirements.lock"),
}


@pytest.mark.spec("H-001")
def test_the_top_level_holds_what_the_card_names() -> None:
    """notebooks/, kit/, images/ and tests/ hold committed files; the two named files are there.
    ARCHITECTURE says what is where.
    """
    top = {path.relative_to(ROOT).parts[0] for path in project_files()}
    named = {"notebooks", "kit", "images", "tests", "environment.yml", "README.md"}
    assert top >= named
    told = (
        (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## The storeys")[1].split("\n## ")[0]
    )
    said = re.findall(r"`([\w.]+)/?`", told)
    assert set(said) >= named - {"README.md"}
    assert not {name for name in top - TOP if not name.startswith(".")}


@pytest.mark.spec("H-001")
def test_the_notebooks_are_there() -> None:
    """The notebooks that there have to be exist."""
    assert not [name for name in NOTEBOOKS if not (ROOT / "notebooks" / name).is_file()]


@pytest.mark.spec("H-022")
def test_the_readme_tells_a_teacher_what_to_do() -> None:
    """The README has how to install, start and test; its table has a row a notebook, in order, with
    its minutes and what the class does. TEACHING has a plan and questions for each, in that order.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(word in readme for word in ("make lab", "make test", "pip install", "conda", "WSL"))
    row = r"^\| [\w ]+ \| \[([\w-]+)\]\(notebooks/\1.ipynb\) \| \d+ \| \w.{20,} \|$"
    rows = tuple(f"{name}.ipynb" for name in re.findall(row, readme, re.M))
    assert tuple(name for name in rows if name in NOTEBOOKS) == NOTEBOOKS
    assert sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb")) == sorted(rows)
    lessons = (ROOT / "TEACHING.md").read_text(encoding="utf-8").split("\n## ")
    planned = {part[:2]: part for part in lessons if part[:2].isdecimal()}
    assert list(planned) == [name[:2] for name in rows]
    assert not [
        name
        for name in rows
        if not re.search(r"(?s)\*\*Ask\*\*.*\?.*goes wrong", planned[name[:2]])
    ]


def test_the_plans_of_lessons_take_the_time_that_they_say() -> None:
    """TEACHING has each lesson once; its plan takes as long as its notebook says, and it asks."""
    text = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
    plans = re.findall(r"^## (\d\d) .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    parts = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part[:2].isdecimal()]
    assert len(plans) == len(parts)
    for part in parts:
        [notebook] = (ROOT / "notebooks").glob(f"{part[:2]}-*.ipynb")
        minutes = sum(map(int, re.findall(r"^\| (\d+) \|", part, re.MULTILINE)))
        said = re.search(r"\*\*Time\.\*\*\s+(\w+) minutes", notebook.read_text("utf-8"))
        assert said, notebook.name
        assert str(minutes) == said[1].replace("Ten", "10"), notebook.name
        assert f"notebooks/{notebook.name}" in part
        assert "**Ask**" in part
        assert "usually goes wrong" in part


def test_the_readme_begins_with_a_short_clip() -> None:
    """Its first picture moves for 20 seconds, in less than 1.5 MB; a still one is named too."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [said, path] = next(iter(re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", readme)))
    assert said
    assert path == "images/bootstrap.webp"
    assert (ROOT / path).stat().st_size < 1_500_000
    assert "images/player.png" in readme
    with Image.open(ROOT / path) as clip:
        frames = ImageSequence.Iterator(clip)
        assert (
            sum(frame.load() is not None and frame.info["duration"] for frame in frames) == 20_000
        )


def test_the_licence_and_the_version_are_told_once() -> None:
    """Apache-2.0 everywhere, and the changelog has an entry for the version in force."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {project['version']}" in changes or "## Unreleased" in changes


def test_help_lists_every_target() -> None:
    """``make help`` lists all targets, each with what it does."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = re.findall(r"^  make ([a-z-]+) +\S", shown.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


def test_ci_calls_the_command_that_people_use() -> None:
    """``.ci/run`` can be run, forbids skips, and ends in ``make test``."""
    script = ROOT / ".ci" / "run"
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert "KIT_FORBID_SKIPS=1" in text
    assert text.rstrip().endswith("make test")
