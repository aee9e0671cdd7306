"""Models, pictures and lessons need msgspec alone; what they show is what they show with numpy."""

from __future__ import annotations

from typing import Any

import pytest

from kit.lessons.tasks import tasks
from kit.model.family import families
from kit.model.registry import entries
from kit.model.scenario import files
from tests.bare.searches import STATES, counts, walks
from tests.bare.without import told
from tests.house.source import imports, module_name, python_files
from tools.site import kit_files

PLACES = """
from kit.model.family import families
from kit.model.registry import entries
from kit.lessons.tasks import tasks
from kit.ring.columns import PLAIN
from kit.views.registry import for_model

assert PLAIN
for family in families():
    places = [*family.models.values(), *family.scenario_output.values()]
    places += [*family.drills.values(), *family.servers.values(), *family.zooms.values()]
    for place in (*places, *family.tasks):
        family.load(place)
for entry in entries().values():
    for_model(entry.build(entry.parameters(), ()))
print(json.dumps([sorted(entries()), sorted(tasks())]))
"""
JUDGES = """
from kit.model.family import families

class LeftOut:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "kit" and name not in CARRIED:
            raise ImportError(f"{name} is not on the site", name=name)

sys.meta_path.insert(0, LeftOut())
print(json.dumps(sum([*map(family.load, family.tasks)] != [] for family in families())))
"""
ONE_EACH = {family: name for name in reversed(files()) for family in [name.partition("/")[0]]}
STORIES = [f"{e.name}/{scenario.name}" for e in entries().values() for scenario in e.scenarios]
FIRST = {name.partition("/")[0]: name for name in reversed(STORIES)}


def in_both(function: str, names: list[str]) -> tuple[Any, Any]:
    """What a function of ``tests.bare.stories`` gives for each name, without numpy and with it."""
    program = f"from tests.bare.stories import {function} as act\n"
    program += f"print(json.dumps([act(name) for name in {names!r}]))"
    return told(program), told(program, bare=False)


def test_all_that_families_have_loads_with_msgspec_alone() -> None:
    """Every model, panel, scenario output, drill, tool and exercise is there without the rest."""
    models, exercises = told(PLACES)
    assert models == sorted(entries())
    assert exercises == sorted(tasks())


def test_searches_count_the_same_without_numpy() -> None:
    """Seven complete searches have the counts that they have here."""
    bare = told("from tests.bare.searches import counts\nprint(json.dumps(counts()))")
    assert bare == counts()
    assert {name: states for name, states, *_ in bare} == STATES


def test_walks_go_the_same_way_without_numpy() -> None:
    """From the same seeds, walks with all faults take as many steps and find as much."""
    assert told("from tests.bare.searches import walks\nprint(json.dumps(walks()))") == walks()


def test_a_file_of_each_family_tells_the_same() -> None:
    """One scenario file a family shows the same texts at each step."""
    bare, usual = in_both("shown", [*ONE_EACH.values()])
    assert bare == usual
    assert any(map(any, usual))


def test_a_story_of_each_model_is_drawn_the_same() -> None:
    """The first steps of one story of each family's first model: trace and frames are equal."""
    names = [FIRST[name] for name in ("twophase", "tcm", "dataplane", "vnodes", "tablets")]
    bare, usual = in_both("digest", names)
    assert bare == usual


@pytest.mark.deep
@pytest.mark.parametrize(("function", "names"), [("digest", STORIES), ("shown", [*files()])])
def test_every_story_is_the_same_without_numpy(function: str, names: list[str]) -> None:
    """Each registered scenario, frame by frame, and each scenario file, text by text."""
    bare, usual = in_both(function, names)
    assert dict(zip(names, bare, strict=True)) == dict(zip(names, usual, strict=True))


def test_only_what_works_on_tables_of_runs_imports_numpy_itself() -> None:
    """All others take columns from ``kit.ring.columns``, which chooses what they are."""
    heavy = {"numpy", "pandas", "pyarrow", "pyspark"}
    may = ("kit.spark", "kit.ring.columns", "kit.lessons.tables", "kit.widgets.magics")
    found = {
        module_name(path)
        for path in python_files("kit")
        if {name.partition(".")[0] for name in imports(path)} & heavy
    }
    assert "kit.ring.columns" in found
    assert [each for each in found if not each.startswith(may) and ".spark" not in each] == []


def test_resource_is_asked_in_one_place() -> None:
    """What the system allows ``kit.edge.limits`` knows, and what begins a process."""
    own = {"kit.edge.limits", "kit.__main__", "kit.lessons.solo"}
    assert {module_name(p) for p in python_files("kit") if "resource" in {*imports(p)}} == own


def test_the_site_has_all_that_judges_answers() -> None:
    """What asks and judges in lessons loads with those modules of the kit that a page carries."""
    carried = sorted(map(module_name, kit_files()))
    assert told(f"CARRIED = set({carried!r})\n{JUDGES}") == sum(bool(f.tasks) for f in families())
