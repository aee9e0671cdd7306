"""Every step of the family's scenarios is drawn whole."""

from __future__ import annotations

import pytest

from kit.model.family import families
from kit.model.registry import entries
from kit.model.scenario import files, open_file
from tests.views.frames import check_frame, scenes, walk

[FAMILY] = [family for family in families() if family.name == "upgrade"]
SCENARIOS = [f"{name}/{each.name}" for name in FAMILY.models for each in entries()[name].scenarios]
FILES = [name for name in files() if name.startswith("upgrade/")]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_of_a_scenario_is_drawn_whole(name: str) -> None:
    """Keys are unique, and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.parametrize("name", FILES)
def test_every_step_of_a_file_is_drawn_whole(name: str) -> None:
    """The same for the family's scenario files."""
    for scene in scenes(open_file(files()[name])):
        check_frame(scene)
