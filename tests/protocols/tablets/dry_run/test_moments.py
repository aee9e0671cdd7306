"""What changed from one moment to the next, and how much of it is explained at once."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.moments import names_in, opened_moments
from tests.operators.test_snapshots import FILES, FIRST, SECOND, THIRD
from tests.saying import like

MOMENTS = opened_moments([FIRST, SECOND, THIRD], "server")
NAMES = names_in(MOMENTS)
A, B, C, D, E = NAMES  # 172.20.0.11 to 172.20.0.15


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
