"""Texts of nothing much: what reading them would take is known before they are read."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.operators.importers.dumps import parse_csv_rows, parse_json_rows


def test_too_many_values_are_counted_before_they_are_read() -> None:
    """Rows of nothing are refused by their number, in JSON and in CSV, not read for minutes."""
    with pytest.raises(BadInput, match="at most 2097152 values"):
        parse_csv_rows("peer,rack\n" + ",\n" * 2**20, "c")
    with pytest.raises(BadInput, match="at most 16777216 values"):
        parse_json_rows("[" + "{}," * 2**23 + "{}]", "j")
