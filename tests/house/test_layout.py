"""What lies where, and what the two commands are."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest
from PIL import Image, ImageSequence

from tests.house.source import ROOT, project_files

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
    *(
        "LICENSE",
        "Makefile",
        "budget.toml",
        "environment.yml",
        "pyproject.toml",
        "requirements.lock",
    ),
}


@pytest.mark.spec("H-001")
def test_the_top_level_holds_what_the_card_names() -> None:
    """notebooks/, kit/, images/ and tests/ hold committed files; the two named files are there.
    ARCHITECTURE says what is where, the README has a tree of them.
    """
    top = {path.relative_to(ROOT).parts[0] for path in project_files()}
    named = {"notebooks", "kit", "images", "tests", "environment.yml", "README.md"}
    assert top >= named
    told = (
        (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## The storeys")[1].split("\n## ")[0]
    )
    said = re.findall(r"`([\w.]+)/?`", told)
    assert set(said) >= named - {"README.md"}
    readme = (ROOT / "README.md").read_text("utf-8")
    [tree] = re.findall(r"^```text\n(.+?)^```$", readme, re.MULTILINE | re.DOTALL)
    shown = {line.split()[0] for line in tree.splitlines()}
    assert shown == {f"{name}/" if (ROOT / name).is_dir() else name for name in named}
    assert not {name for name in top - TOP if not name.startswith(".")}


@pytest.mark.spec("H-001")
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
    """Apache-2.0 but for the typeface, and the changelog has an entry for the version in force."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0 AND OFL-1.1"
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
