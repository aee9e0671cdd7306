"""Files that contradict each other, or say what cannot be: each is told once, by name.

A case is a file of the fixtures in which a word stands for another, and what is then said: after
``refused`` by an error, after ``warns`` by one line; what ``agrees`` is not told.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.topology.dry_run.opening import open_topology
from tests.protocols.tablets.dry_run.test_command import FIXTURES

CASES = """
sizes.csv | : 1610612736} | : 9223372036854775806} | refused | no more than 2^60 on a host
sizes.csv | : 1610612736} | : 9223372036854775808} | refused | no more than 2^60 on a host
sizes.csv | : 1610612736} | : 1152921504606846976} | refused | no more than 2^60 on a host
sizes.csv | : 1610612736} | : -4} | refused | bytes, a number from 0 up
schema.cql | ID = 00000001- | ID = 00000009- | refused | id of shop.orders: got '00000009-0000
schema.cql | shop.orders ( | shop.others ( | refused | id of shop.orders: got 'shop.others'
loads.csv | 000001,dc1,r1,True | 000001,dc1,r1,False | warns | is down in loads.csv, but up in
status.txt | DN 10.0.0.5 | DN 10.0.0.5 | warns | 005 is up in loads.csv, but down in the status
status.txt | DN 10.0.0.5 | UN 10.0.0.5 | agrees | in the status
loads.csv | 000001,dc1,r1,True | 000001,dc1,r1, | agrees | 001 is
schema.cql | ID = 00000001- | ID = 00000001- | agrees | id of
status.txt | UN 10.0.0.4 | DN 10.0.0.4 | warns | 004 is up in loads.csv, but down in the status
status.txt | UN 10.0.0.4 | XN 10.0.0.4 | warns | 004 is up in loads.csv, but excluded in the status
"""

FILES = {"sizes": "sizes.csv", "loads": "loads.csv", "status": "status.txt"}
FILES |= {"schema": "schema.cql", "topology": "topology.csv"}


def opened(folder: Path) -> OpenedTablets:
    """All fixtures, but those that the folder has."""
    own = {each.name for each in folder.iterdir()}
    files: dict[str, Any] = {
        option: (folder if name in own else FIXTURES) / name for option, name in FILES.items()
    }
    return open_tablets(FIXTURES / "tablets.csv", **files)


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_files_that_contradict_each_other_are_refused_or_warned_of_once(
    case: str, tmp_path: Path
) -> None:
    """An edit that agrees with the other files gives no warning."""
    name, old, new, how, said = map(str.strip, case.split("|"))
    text = (FIXTURES / name).read_text("utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new), "utf-8")
    if how == "refused":
        with pytest.raises(BadInput, match=re.escape(said)):
            opened(tmp_path)
        return
    assert sum(said in line for line in opened(tmp_path).warnings) == (how == "warns")


NOT_MODELLED = """
tablets.csv|raft_group_id|00000001-0000-11f0-8000-0000000000bb|a Raft group for each
tablets.csv|snapshot_name|before|a restore of a tablet
tablets.csv|target_pow2_tablet_count|8|a way to a power of two
tablets.csv|selected_tablets_for_merge|[0]|a merge of some tablets
topology.csv|intended_storage_mode|tablets|from vnodes to tablets
topology.csv|ongoing_restore_requests|{00000001-0000-11f0-8000-0000000000cc}|a restore (
topology.csv|paused_rf_change_requests|{00000001-0000-11f0-8000-0000000000cc}|to racks, which
topology.csv|ongoing_rf_changes|{00000001-0000-11f0-8000-0000000000cc}|and its abort
"""


@pytest.mark.parametrize("case", NOT_MODELLED.strip().splitlines())
@pytest.mark.parametrize("is_set", [True, False])
def test_a_column_of_a_feature_without_a_model_gets_a_warning(
    case: str, is_set: bool, tmp_path: Path
) -> None:
    """A null in that column gets none."""
    name, column, value, said = map(str.strip, case.split("|"))
    first, *lines = (FIXTURES / name).read_text("utf-8").splitlines()
    everywhere = name == "topology.csv" or column.endswith(("_count", "_merge"))  # static
    more = [
        f'{line},"{value if is_set and (everywhere or not at) else ""}"'
        for at, line in enumerate(lines)
    ]
    file = tmp_path / name
    file.write_text("\n".join([f"{first},{column}", *more, ""]), "utf-8")
    given = {"topology": FIXTURES / "topology.csv"}
    if name == "topology.csv":
        given = {"topology": file}
        shown = open_topology(file).warnings
        assert any(said in line for line in shown) == is_set
    dump = file if name == "tablets.csv" else FIXTURES / "tablets.csv"
    found = [line for line in open_tablets(dump, **given).warnings if "not modelled" in line]
    assert [said in line and f"({column} of {name})" in line for line in found] == [True] * is_set
