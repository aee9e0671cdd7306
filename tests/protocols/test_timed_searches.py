"""The searches that families give ``make bench`` to time."""

from __future__ import annotations

import pytest

from kit.model.family import TimedSearch, families
from kit.model.registry import build
from kit.search.check import check

SEARCHES = [search for family in families() for search in family.searches]


@pytest.mark.deep
@pytest.mark.parametrize("search", SEARCHES, ids=lambda each: f"{each.model}: {each.about}")
def test_each_timed_search_is_complete_and_breaks_no_promise(search: TimedSearch) -> None:
    """A search that ended early would time something else."""
    found = check(build(search.model, search.parameters), symmetry=search.symmetry)
    assert found.violation is None, found
    assert found.complete, found
