"""Snapshots that lack a file, a column or a table: what is assumed in its place is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import kit
from kit.protocols.tablets.dry_run.opening import open_tablets
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


def test_a_table_that_only_one_moment_has_is_named(tmp_path: Path) -> None:
    """It is left out, and the others are explained."""
    dump = text_of(SECOND, "dump")
    kept = "\n".join(line for line in dump.split("\n") if "cakes" not in line)
    assert kept != dump
    fewer = copied(SECOND, tmp_path / SECOND.name, dump=kept)
    (fewer / "system_tablet_sizes.csv").unlink()
    said = kit.explain([FIRST, fewer])
    assert any("not every moment has it" in line and "cakes" in line for line in said.about)
