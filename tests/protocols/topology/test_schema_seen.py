"""The tab *Schema*: which keyspaces there are, and what an RF change makes of them."""

from __future__ import annotations

import pytest

from kit.views.registry import for_model
from tests.protocols.topology.test_seen import ended, in_state, press, seen, starting, until

WORDS = "keyspace_rf_change ks dc1=3"


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_an_rf_change_is_seen_in_the_schema(edition: str) -> None:
    """It is asked for first; the command that begins it alters the keyspace and no other one."""
    timeline = starting(WORDS, edition=edition, keyspaces=("ks dc1=2", "other dc1=1"))
    other = "  other: replicas dc1=1; requested: nothing"
    assert seen(timeline)["Schema"][1:3] == ["  ks: replicas dc1=2; requested: nothing", other]
    press(timeline, WORDS)
    assert seen(timeline)["Schema"][1] == "  ks: replicas dc1=2; requested: dc1=3"
    until(timeline, in_state("tablet_migration"))
    altered = ["  ks: replicas dc1=3; requested: nothing", other]
    assert seen(timeline)["Schema"][1:3] == altered
    assert seen(ended(timeline))["Schema"][1:3] == altered


def test_a_keyspace_that_nothing_tells_of() -> None:
    """Its replicas are not known before the request; a row of the picture is marked as it moves."""
    timeline = starting(WORDS)
    assert seen(timeline)["Schema"][1] == "  There is no keyspace."
    press(timeline, WORDS)
    assert seen(timeline)["Schema"][1] == "  ks: replicas unknown; requested: dc1=3"
    until(timeline, in_state("tablet_migration"))
    assert seen(timeline)["Schema"][1] == "  ks: replicas dc1=3; requested: nothing"


def test_a_change_that_is_refused_leaves_the_keyspace() -> None:
    """Two replicas more are refused in edition ``server``: nothing is asked for any more."""
    timeline = starting("keyspace_rf_change ks dc1=3", edition="server", keyspaces=("ks dc1=1",))
    assert seen(ended(timeline))["Schema"][1] == "  ks: replicas dc1=1; requested: nothing"


def test_without_a_keyspace_there_is_no_tab() -> None:
    """Clusters whose keyspaces nobody names have as many tabs as before."""
    assert "Schema" not in seen(starting("join D"))
    assert "schema" in [panel.name for panel in for_model(starting(WORDS).model).panels]
