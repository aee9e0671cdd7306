"""What changed from one moment to the next, and how much of it is explained at once."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.system_tables import TabletLine
from kit.protocols.tablets.dry_run.moments import Moment, changes, names_in, opened_moments
from tests.operators.test_snapshots import FILES, FIRST, SECOND, THIRD
from tests.saying import like

MOMENTS = opened_moments([FIRST, SECOND, THIRD], "server")
NAMES = names_in(MOMENTS)
A, B, C, D, E = NAMES  # 172.20.0.11 to 172.20.0.15
LAST, TABLE = 2**63 - 1, "bakery.loaves"


def line(last: int, *hosts: str, **more: str) -> TabletLine:
    """A tablet with a replica on the first shard of each host."""
    return TabletLine("", last, tuple((host, 0) for host in hosts), **more)


def moment(*lines: TabletLine) -> Moment:
    """The first moment with these tablets of one table."""
    return replace(MOMENTS[0], rows={TABLE: {each.last_token: each for each in lines}})


def said(before: Moment, after: Moment) -> list[tuple[str, str]]:
    """What changed, in words."""
    return [(each.what, each.words) for each in changes(before, after, NAMES)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ((A, B), (A, B), None),
        ((A, B), (B, A), None),
        ((A, B), (A, B, C), "one more → 172.20.0.13:0"),
        ((A, B, C), (A, C), "172.20.0.12:0 → gone"),
        ((A, B), (C, B), "172.20.0.11:0 → 172.20.0.13:0"),
        ((B, A), (D, C), "172.20.0.11:0, 172.20.0.12:0 → 172.20.0.13:0, 172.20.0.14:0"),
    ],
)
def test_where_replicas_went(old: tuple[str, ...], new: tuple[str, ...], words: str | None) -> None:
    """By name; those that come or go alone, too."""
    found = said(moment(line(LAST, *old)), moment(line(LAST, *new)))
    assert found == [(f"{TABLE} 0", words)] * (words is not None)


def test_stages_that_changed() -> None:
    """With the kind of the transition; a tablet that stands still is not there."""
    moves = line(LAST, A, transition="migration", stage="streaming")
    found = said(moment(line(0, A), line(LAST, A)), moment(moves, line(0, A)))
    assert found == [(f"{TABLE} 1", "no transition → migration streaming")]


DUMP = FIRST / FILES["dump"]


@pytest.mark.parametrize("files", [(FIRST, DUMP), (DUMP, FIRST)], ids=["last", "first"])
def test_snapshots_and_dumps_are_not_mixed(files: tuple[Path, Path]) -> None:
    """Whichever is the first one."""
    with pytest.raises(BadInput, match=like(f"files | {FIRST.name} | only snapshots | only dumps")):
        opened_moments(files, "server")


def test_moments_are_of_one_cluster(tmp_path: Path) -> None:
    """One has a node in common with the one before it, and others may be new."""
    text, files = DUMP.read_text("utf-8"), []
    for at, host in enumerate((A, B, C, D, E)):
        text = text.replace(host, str(at) * 8 + host[8:])
        files.append(tmp_path / f"renamed-{at}.csv")
        files[-1].write_text(text, "utf-8")
    one, _, three, _, foreign = files
    alike = copyfile(DUMP, tmp_path / "alike.csv")
    for fine in ([DUMP, one, DUMP], [DUMP, three, foreign]):
        assert len(opened_moments(fine, "server")) == 3
    for at, given in ((2, [DUMP, alike, foreign, one]), (1, [foreign, alike, DUMP, DUMP])):
        before, own = given[at - 1].name, given[at].name
        words = f"snapshot | {own} | same cluster as | {before} | no node in common"
        with pytest.raises(BadInput, match=like(words)):
            opened_moments(given, "server")
