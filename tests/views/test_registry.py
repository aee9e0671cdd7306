"""What a family says of its views fits together."""

from __future__ import annotations

import pytest

from kit.model.registry import build, entries
from kit.views.registry import for_model


@pytest.mark.parametrize("name", sorted(entries()))
def test_the_main_slots_are_filled_by_panels_of_the_model(name: str) -> None:
    """The picture, the table and the evidence of a model are among its panels; a table there is."""
    views = for_model(build(name))
    panels = {panel.name for panel in views.panels}
    assert {views.table, *views.evidence} <= panels
    assert views.picture in {"", *panels}
