"""Snapshots of ``scylla-tablets`` by their published format: both spellings, nulls, no rows."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.operators.importers import system_tables
from kit.operators.importers.anonymous import HIDDEN
from kit.operators.importers.snapshots import (
    FILES,
    MARK,
    Snapshot,
    is_listing,
    read_snapshot,
    read_snapshots,
)

SNAPSHOTS = Path(__file__).parents[1] / "fixtures" / "snapshots"
FIRST, SECOND, THIRD = sorted(SNAPSHOTS.iterdir())
NAMES = {
    *(f"172.20.0.{number}" for number in range(11, 16)),
    *("oslo", "north", "south", "west", "bakery", "loaves", "cakes", "by_day"),
    *("5f1c0a4e", "7a2d1b5f", "c83e2c60", "d94f3d71", "ea504e82", "a1b2c3d0", "0123456789ab"),
}


def copied(folder: Path, to: Path, **files: str) -> Path:
    """A snapshot's folder with other texts in some files, by what readers call them."""
    shutil.copytree(folder, to)
    for kind, text in files.items():
        (to / FILES[kind]).write_text(text, "utf-8")
    return to


def text_of(folder: Path, kind: str) -> str:
    """A file of a snapshot."""
    return (folder / FILES[kind]).read_text("utf-8")


def tables(snapshot: Snapshot) -> system_tables.TabletsTable:
    """What the tablets' file of a snapshot says."""
    return system_tables.read_tablets(snapshot.files["dump"])


def test_both_spellings_of_replicas_are_read() -> None:
    """The tool writes them in braces, cqlsh in brackets; the second tablet is in both the same."""
    places = []
    for folder, sign in ((FIRST, ";{("), (SECOND, ";[(")):
        assert sign in text_of(folder, "dump").replace('"', "")
        rows = next(t for t in tables(read_snapshot(folder)).tables.values() if "loaves" in t.name)
        places.append(rows.tablets[1].replicas)
        assert len(rows.tablets[1].replicas) == 3
    assert places[0] == places[1]


def test_both_spellings_of_the_topology_are_read() -> None:
    """Sets as Python's driver shows them, moments without a zone, and CQL literals."""
    first, second = (
        system_tables.read_topology(read_snapshot(folder).file("topology"))
        for folder in (FIRST, SECOND)
    )
    assert [row["tokens"] for row in first.rows] == [row["tokens"] for row in second.rows]
    assert first.statics["committed_cdc_generations"] == second.statics["committed_cdc_generations"]
    assert first.statics["version"] == 41
    assert first.unknown == second.unknown == ()


def test_only_the_tablets_have_to_be_there(tmp_path: Path) -> None:
    """The other three may be missing; without the first it is no snapshot."""
    folder = copied(FIRST, tmp_path / "snap")
    for kind in ("topology", "loads", "sizes"):
        (folder / FILES[kind]).unlink()
    assert set(read_snapshot(folder).files) == {"dump"}
    (folder / FILES["dump"]).rename(folder / "tablets.csv")
    with pytest.raises(BadInput, match=r"got 'tablets\.csv'; allowed: system_tablets\.csv among"):
        read_snapshot(folder)
    assert not is_listing("a folder or archive that holds\ntablets.csv")


def test_pseudonyms_leave_nothing_of_the_names() -> None:
    """In no file of any snapshot of a call; one name has one pseudonym in all of them."""
    plain = read_snapshots([FIRST, SECOND, THIRD])
    renamed = read_snapshots([THIRD, SECOND, FIRST], anonymize=True)
    hosts = []
    for before, after in zip(plain, renamed, strict=True):
        assert MARK in after.warnings
        for kind, file in after.files.items():
            written = file.content.decode()
            assert not [name for name in NAMES if name in written + file.name]
            assert written.count("\n") == text_of(SNAPSHOTS / before.source, kind).count("\n")
        rows = zip(tables(before).tables.values(), tables(after).tables.values(), strict=True)
        for old, new in rows:
            assert [row.stage for row in old.tablets] == [row.stage for row in new.tablets]
            pairs = zip(old.tablets, new.tablets, strict=True)
            hosts += [
                (a[0], b[0]) for o, n in pairs for a, b in zip(o.replicas, n.replicas, strict=True)
            ]
    assert len(set(hosts)) == len({a for a, _ in hosts}) == len({b for _, b in hosts}) == 5


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("dump", "5f1c0a4e-8d3b-4c6a-9b1e-0a1f2e3d4c01, 0)", "oslo-1, 0)"),
        ("dump", ";disabled;", ";bakery"),
        ("topology", ";oslo;", ";oslo;oslo;"),
        ("topology", "host_id;", "bakery;"),
        ("loads", "True", "north"),
        ("sizes", ": 1073741824", ": bakery"),
    ],
)
def test_errors_leave_nothing_of_the_names(kind: str, old: str, new: str, tmp_path: Path) -> None:
    """Whatever is wrong in a file: the place is told, and what stands there is not."""
    from kit.protocols.tablets.dry_run.opening import open_tablets

    folder = copied(FIRST, tmp_path / "oslo", **{kind: text_of(FIRST, kind).replace(old, new, 1)})
    with pytest.raises(BadInput) as caught:
        open_tablets(folder, anonymize=True)
    assert HIDDEN in str(caught.value)
    assert re.search(r"snapshot-1/system_\w+\.csv", str(caught.value))
    assert not [name for name in NAMES if name in str(caught.value)]


def test_an_archive_is_read_as_its_folder_is(tmp_path: Path) -> None:
    """With one top entry, as ``--gz`` packs it."""
    path = tmp_path / f"{FIRST.name}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(FIRST, arcname=FIRST.name)
    packed, plain = read_snapshot(path), read_snapshot(FIRST)
    contents = ({kind: f.content for kind, f in each.files.items()} for each in (packed, plain))
    assert next(contents) == next(contents)
