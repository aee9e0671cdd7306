"""The placement simulator over many seeds on Spark: the same rows, open to anybody."""

from __future__ import annotations

from typing import Any

import nbformat
import pandas as pd
import pyarrow as pa
import pytest

from kit.errors import BadInput, KitError
from kit.protocols.tcm.simulators.columns import Columns
from kit.protocols.tcm.simulators.placements import simulate
from kit.protocols.tcm.spark.simulating import (
    SIMULATIONS,
    VIOLATIONS,
    replay,
    simulations,
    violations,
)
from kit.spark.rows import timeline as timeline_of
from kit.spark.sweeping import sweep
from tests.house.source import ROOT
from tests.saying import like

SMALL: dict[str, Any] = {"nodes": 7, "rf": 2}


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """The rows in the order of their seeds, as plain data."""
    rows = [row.asDict() for row in frame.collect()] if hasattr(frame, "collect") else None
    return sorted(rows if rows is not None else frame.to_pylist(), key=lambda row: row["seed"])


@pytest.mark.spec("H-017", "B-078")
def test_spark_simulates_the_same_rows_as_one_process(spark: Any) -> None:
    """Each row replays to the same result, and none is a violation."""
    seeds = range(2, 5)
    plain = simulations(None, seeds, **SMALL)
    assert plain.schema.equals(SIMULATIONS.arrow)
    expected = rows_of(plain)
    assert [row["seed"] for row in expected] == list(seeds)
    assert rows_of(simulations(spark, seeds, tasks=2, **SMALL)) == expected
    assert {row["verdict"] for row in expected} == {"clean"}
    for row in expected:
        found = replay(row)
        assert found == simulate(row["seed"], **SMALL)
        assert (row["events"], row["steps"]) == (len(found.turns), len(found.actions))
    empty = violations(simulations(spark, seeds, tasks=2, **SMALL))
    assert empty.count() == 0


@pytest.mark.spec("H-017", "B-079")
def test_violations_of_simulations_and_walks_are_gathered_in_one_table(spark: Any) -> None:
    """Each trace opens as it failed, and a simulation replays to the same witness."""
    off = ("merge-equality",)
    operations = ("decommission D",)
    walks: dict[str, Any] = {
        "parameters": {"nodes": 4, "operations": operations},
        "off": off,
        "steps": 60,
    }
    tables = [
        violations(
            simulations(engine, range(4), off=off, nodes=8, rf=2),
            sweep(engine, "tcm", range(4), **walks),
        )
        for engine in (spark, None)
    ]
    on_spark, plain = [row.asDict() for row in tables[0].collect()], tables[1].to_pylist()
    assert on_spark == plain
    assert [column.name for column in VIOLATIONS.columns] == list(plain[0])
    assert {row["source"] for row in plain} == {"simulation", "walk"}
    for row in plain:
        assert len(timeline_of(row).path()) == row["steps"] + 1
    for row in rows_of(simulations(None, range(4), off=off, nodes=8, rf=2)):
        assert replay(row).witness == row["witness"]
        assert len(timeline_of({**row, "trace": ""}).path()) == row["steps"] + 1


def test_the_run_of_a_violation_row_shrinks_and_keeps_its_failing_column() -> None:
    """A walk shrinks by the property that it breaks."""
    table = simulations(None, range(2), off=("merge-equality",), nodes=8, rf=2)
    (row, *_) = [row for row in table.to_pylist() if row["verdict"] != "clean"]
    among = [one for one in violations(table).to_pylist() if one["seed"] == row["seed"]]
    for given in (pd.Series(row), *among, {**row, "trace": ""}):
        small: Any = timeline_of(given, small=True)
        assert len(small.path()) < row["steps"] / 2, given
        looked = Columns(small.model).looked(small.state.tcm.events)
        assert looked.faults[row["verdict"]], given
    walks = sweep(None, "tcm", range(9), parameters={"nodes": 4}, off=("progress-barrier",))
    broken = next(one for one in walks.to_pylist() if one["verdict"] != "clean")
    small = timeline_of(broken, small=True)
    assert broken["verdict"] in [verdict.name for verdict in small.verdicts() if not verdict.ok]


def test_replay_refuses_a_row_that_is_none_or_ends_otherwise() -> None:
    """The error says how the run ends here."""
    row = rows_of(simulations(None, range(1), **SMALL))[0]
    with pytest.raises(BadInput, match=like("row |")):
        replay({"seed": 1})
    with pytest.raises(BadInput, match=like("size | 'node'")):
        replay({**row, "size": '{"node": 3}'})
    with pytest.raises(KitError, match="the simulation of seed 0 ends here as clean, not as"):
        replay({**row, "fingerprint": "0" * 16})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": [1, 2]}, "seeds | '[1, 2]' | range"),
        ({"seeds": range(-3, 3)}, "seeds | 'range(-3, 3)'"),
        ({"off": ("S-99",)}, "safeguard | 'S-99'"),
        ({"rf": 0}, "rf | 0"),
        ({"racs": 2}, "size | 'racs' | racks"),
    ],
    ids=str,
)
def test_simulations_refuse_wrong_arguments_before_any_task(
    given: dict[str, Any], said: str
) -> None:
    """The error names the argument, its value and what is allowed."""
    words: dict[str, Any] = {"seeds": range(3), **given}
    with pytest.raises(BadInput, match=like(said)):
        simulations(object(), words.pop("seeds"), **words)


def test_violations_refuse_an_empty_mixed_or_foreign_gathering() -> None:
    """Only tables of simulations or of a sweep fit."""
    table = simulations(None, range(1), **SMALL)
    for tables in ((), (table, object())):
        with pytest.raises(BadInput, match=like("tables |")):
            violations(*tables)
    with pytest.raises(BadInput, match="rows of simulations or of a sweep"):
        violations(pa.table({"seed": [1]}))


@pytest.mark.spec("H-017", "H-020")
def test_the_hunt_notebook_prints_the_same_without_spark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its cells on Spark run in one process, and print what is stored."""
    notebook = nbformat.read(ROOT / "notebooks" / "09-find-the-bug.ipynb", as_version=4)
    names: dict[str, Any] = {"spark": None}
    exec("from kit.protocols.tcm.spark.simulating import replay, simulations, violations", names)
    exec("from kit.spark.sweeping import sweep", names)
    exec("from kit import spark as ks", names)
    asked = [cell for cell in notebook.cells if "simulations(spark" in cell.source]
    asked += [cell for cell in notebook.cells if cell.source.startswith("again = replay(")]
    assert len(asked) == 2
    for cell in asked:
        exec(cell.source, names)
        assert capsys.readouterr().out == "".join(output.text for output in cell.outputs)
