"""What changed from one snapshot to the next, as far as it fits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.protocols.tablets.dry_run.moments import Change, Moment, changes
from kit.protocols.tablets.dry_run.series import VIEWS, _badges, changes_text, draw_changes


def scene(count: int, read: int = 1) -> Any:
    """One that shows so many changes, once the second snapshot is read."""
    changed = [Change(f"ks.t {at};", f"moves {at}", ()) for at in range(count)]
    return SimpleNamespace(
        model=SimpleNamespace(entries=[changed]), state=SimpleNamespace(read=read)
    )


@pytest.mark.parametrize("count", [1, 199, 200, 201, 1_200])
def test_the_first_200_changes_are_shown(count: int) -> None:
    """Of more, the picture says how many there are."""
    shown, picture = min(count, 200), draw_changes(scene(count)).html()
    assert picture.count("moves ") == shown == len(changes_text(scene(count)).splitlines())
    assert f"moves {shown - 1}<" in picture
    assert (f"and {count - 200:,} more" in picture) == (count > 200) == (" more" in picture)


@pytest.mark.parametrize(
    ("read", "words"), [(0, "This is the first snapshot."), (1, "Nothing changed.")]
)
def test_without_changes_that_is_said(read: int, words: str) -> None:
    """Whether there was nothing before, or all stayed as it was."""
    assert words in draw_changes(scene(0, read)).html()
    assert changes_text(scene(0, read)) == "  nothing changed so far"


def test_tables_are_in_the_order_of_their_names() -> None:
    """Those that are new and those that are gone together."""
    opened: Any = SimpleNamespace(nodes=())
    row: Any = object()
    gone: Moment = Moment(opened, {f"ks.{name}": {1: row, 2: row} for name in "hecag"})
    new = Moment(opened, {f"ks.{name}": {1: row} for name in "bdfi"})
    said = dict.fromkeys("acegh", "is gone, with 2 tablets")
    said |= dict.fromkeys("bdfi", "is new, with 1 tablet")
    assert [*changes(gone, new, {})] == [Change(f"ks.{name}", said[name]) for name in sorted(said)]


def test_the_cluster_needs_more_width_than_height() -> None:
    """All its nodes stand beside one another."""
    assert VIEWS.wide


def test_what_changed_stays_without_a_kernel() -> None:
    """A notebook that is only read has it beside the cluster."""
    assert [p.name for p in VIEWS.panels if p.still] == ["badges", "stage", "changes"]


@pytest.mark.parametrize(
    ("rows", "badge"),
    [
        ((), ("moving", "0 in transition", "")),
        (("", ""), ("moving", "0 in transition", "")),
        (("", "migration", "rebuild"), ("moving", "2 in transition", "busy")),
    ],
)
@pytest.mark.parametrize("version", [None, 1_041])
def test_badges_count_what_is_read_and_in_transition(
    version: int | None, rows: tuple[str, ...], badge: tuple[str, str, str]
) -> None:
    """The version is there where the topology of the snapshot tells it."""
    lines = {at: SimpleNamespace(transition=each) for at, each in enumerate(rows)}
    moment = SimpleNamespace(version=version, rows={"ks.t": lines, "ks.u": {}})
    model = SimpleNamespace(moments=[moment, moment, moment])
    given: Any = SimpleNamespace(model=model, state=SimpleNamespace(read=1))
    told = [("version", "version 1,041", "plain")] * (version is not None)
    assert [*_badges(given)] == [("read", "2 of 3", "plain"), *told, badge]
