"""Snapshots that lack a file, a column or a table: what is assumed in its place is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import kit
from kit.operators.importers.snapshots import FILES
from kit.operators.importers.system_tables import read_tablets
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.topology.dry_run.opening import open_topology
from tests.operators.test_snapshots import FIRST, SECOND, copied, text_of


def test_tablets_without_sizes_count_alike(tmp_path: Path) -> None:
    """Where capacities are known and sizes are not, a warning says how large each counts."""
    folder = copied(FIRST, tmp_path / "snap")
    (folder / "system_tablet_sizes.csv").unlink()
    told = [each for each in open_tablets(folder).warnings if "sizes" in each]
    assert told == ["no file gives the sizes of tablets: each counts as 5.0 GiB"]
    assert not any("counts as" in each for each in open_tablets(FIRST).warnings)


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("-9999;", "-9999;", ["bakery.cakes", "bakery.loaves"]),
        ("a1b2c3d0-", "a1b2c3df-", ["bakery.cakes"]),  # an unknown table
        (";4611686018427387903;", ";7;", ["bakery.cakes"]),  # other tablets
        ("a1b2c3d2-", "a1b2c3df-", ["bakery.loaves"]),
    ],
)
def test_sizes_of_other_tables_count(old: str, new: str, known: list[str], tmp_path: Path) -> None:
    """Those behind one that the dump lacks, or has other tablets of, as well."""
    sizes = text_of(FIRST, "sizes").replace(old, new)
    opened = open_tablets(copied(FIRST, tmp_path / FIRST.name, sizes=sizes))
    assert sorted(opened.sizes or ()) == known


def test_loads_that_do_not_say_who_is_up(tmp_path: Path) -> None:
    """A column of another name is none of theirs, so nobody is known to be down."""
    loads = text_of(FIRST, "loads")
    head, rows = loads.split("\n", 1)
    other = copied(FIRST, tmp_path / "snap", loads=f"{head.removesuffix('up')}upp\n{rows}")
    told = [each for each in open_tablets(other).warnings if "who is up" in each]
    assert len(told) == 1
    assert told[0].endswith("does not say who is up: each counts as up")


def test_a_table_that_only_one_moment_has_is_named(tmp_path: Path) -> None:
    """It is left out, and the others are explained."""
    dump = text_of(SECOND, "dump")
    kept = "\n".join(line for line in dump.split("\n") if "cakes" not in line)
    assert kept != dump
    fewer = copied(SECOND, tmp_path / SECOND.name, dump=kept)
    (fewer / "system_tablet_sizes.csv").unlink()
    said = kit.explain([FIRST, fewer])
    assert any("not every moment has it" in line and "cakes" in line for line in said.about)


def test_the_topology_knows_the_tablets_of_its_snapshot(tmp_path: Path) -> None:
    """How many are in transition, and which hosts hold replicas."""
    opened = open_topology(FIRST)
    held = {host for lines in read_tablets(FIRST / FILES["dump"]).tables.values()
            for tablet in lines.tablets for host, _ in tablet.replicas}  # fmt: skip
    assert opened.tablets is not None
    assert {*opened.tablets} == held
    assert any(line.startswith("in transition: ") for line in opened.warnings)
    leaver = min(held)
    lines = text_of(FIRST, "topology").split("\n")
    at, number = map(lines[0].split(";").index, ("topology_request", "request_id"))
    asks = []
    for line in lines:
        cells = line.split(";")
        if leaver in cells:
            cells[at], cells[number] = "leave", "5d3cc3c0-1c2d-11f1-8a00-0123456789ab"
        asks.append(";".join(cells))
    leaving = copied(FIRST, tmp_path / "snap", topology="\n".join(asks))
    told = [each for each in kit.coordinator(leaving).warnings if leaver in each]
    assert any("of tablets: while it has any, its leave is paused" in each for each in told)
