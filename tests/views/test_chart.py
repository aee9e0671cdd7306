"""Charts side by side in a figure of one's own, in the look of the kit."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import kit
from kit.errors import BadInput
from kit.lessons import digest_costs, group_sizes, schema_costs, service_level_delays, step_table
from kit.views.chart import Chart
from kit.views.palette import LIGHT
from tests.lessons.answers import scripted_run

CHARTS = {
    "groups": lambda ax: group_sizes(scripted_run("rf3"), 120, ax=ax),
    "steps": lambda ax: step_table(scripted_run("rf3"), ax=ax),
    "digests": lambda ax: digest_costs(ax=ax),
    "delays": lambda ax: service_level_delays(ax=ax),
    "schema": lambda ax: schema_costs(ax=ax),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_drawn_on_axes_of_ones_own(name: str) -> None:
    """On those and no others, with the same words; its picture is the whole figure."""
    mine, other = Figure(figsize=(9, 3)).subplots(1, 2)
    chart = CHARTS[name](mine)
    assert mine.has_data()
    assert not other.has_data()
    assert chart.words == CHARTS[name](None).words
    assert chart.png != CHARTS[name](None).png


@pytest.mark.parametrize("name", CHARTS)
def test_what_is_no_axes_is_refused(name: str) -> None:
    """By its name, with what is allowed."""
    with pytest.raises(BadInput, match=r"ax: got 'left'.*axes of Matplotlib"):
        CHARTS[name]("left")


def test_every_chart_takes_axes() -> None:
    """Each function of the kit that gives a chart has ``ax``, None where it makes a figure."""
    told = [
        f"{path.name}: {node.name}"
        for path in Path(kit.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id == Chart.__name__
        and "ax" not in [each.arg for each in node.args.kwonlyargs]
    ]
    assert told == ["chart.py: chart"]


def test_the_look_is_matplotlibs_too() -> None:
    """Whoever draws by themselves has ground and ink as charts have them."""
    with matplotlib.rc_context(kit.style()):
        axes = Figure().subplots()
        [line] = axes.plot([0, 1])
    assert to_hex(axes.get_facecolor()) == LIGHT["bg"]
    assert to_hex(line.get_color()) == to_hex(axes.spines["left"].get_edgecolor()) == LIGHT["ink"]
    assert not axes.spines["top"].get_visible()
