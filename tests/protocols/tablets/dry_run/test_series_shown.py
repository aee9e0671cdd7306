"""What changed from one snapshot to the next, as far as it fits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.engine.flows import Flow, spot
from kit.engine.record import ReadOn
from kit.errors import BadInput
from kit.protocols.tablets.dry_run import series
from kit.protocols.tablets.dry_run.moments import Change, Moment, changes
from kit.protocols.tablets.dry_run.series import (
    VIEWS,
    Series,
    _badges,
    _stage,
    _travels,
    changes_text,
    draw_changes,
    series_of,
)
from kit.views.stage import Character, Stage


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


def test_of_several_steps_the_last_one_is_shown() -> None:
    """What the snapshot changed that was read last."""
    entries = [[Change(f"ks.t {at}", f"moves {at}")] for at in range(3)]
    for read in (1, 2, 3):
        state = SimpleNamespace(read=read)
        given: Any = SimpleNamespace(model=SimpleNamespace(entries=entries), state=state)
        assert changes_text(given) == f"  ks.t {read - 1}: moves {read - 1}"


def moment(source: str, version: int | None) -> Any:
    """A snapshot by its name and its version."""
    return SimpleNamespace(opened=SimpleNamespace(source=source), version=version)


def played(monkeypatch: pytest.MonkeyPatch) -> Series:
    """Three snapshots: two changes, of which one moves a replica, and one."""
    moved = [
        [Change("ks.t 0", "moves", (("A", "B"), ("C", "C"))), Change("ks.t 1", "is other")],
        [Change("ks.t 2", "is other")],
    ]
    moments = [moment("1.json/dump", 7), moment("2.json/dump/x", 1_008), moment("3", None)]
    names = {"host": "A"}
    monkeypatch.setattr(series, "names_in", lambda given: names if given is moments else None)
    steps = {(id(moments[at]), id(moments[at + 1])): moved[at] for at in range(2)}
    monkeypatch.setattr(
        series, "changes",
        lambda old, new, known: steps[id(old), id(new)] if known is names else (),
    )  # fmt: skip
    found = Series(moments)
    assert found.moments == tuple(moments)
    assert found.names is names
    assert found.entries == tuple(map(tuple, moved))
    return found


def test_each_step_reads_the_next_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a milestone by its file's name; its version is told where it is known."""
    found = played(monkeypatch)
    states = [found.start()]
    for _ in range(2):
        [(action, after)] = found.successors(states[-1])
        states.append(after)
    steps = [(states[at], action, states[at + 1]) for at in range(2)]
    assert [found.milestone(*step) for step in steps] == ["2.json", "3"]
    assert [found.describe(*step) for step in steps] == [
        "2.json/dump/x, version 1,008: 2 changes.",
        "3: 1 change.",
    ]
    wanted = Flow("data", spot("A"), spot("B"), "ks.t 0", "ks.t 0: moves")
    assert [_travels(found, *step) for step in steps] == [(wanted,), ()]
    assert found.flow_table.moving == {ReadOn: _travels}


ROLES = [
    ("normal", "up", ""),
    ("left", "gone", ""),
    ("joining", "joining", ""),
    ("excluded", "down", "ban"),
    ("down", "down", ""),
]


def test_who_stands_on_the_stage() -> None:
    """Each node with how it is, how many replicas it has, its rack; all of it in words."""
    nodes = [
        SimpleNamespace(host=f"h{at}", role=role, rack=f"r{at}", datacenter="dc")
        for at, (role, *_) in enumerate(ROLES)
    ]
    opened = SimpleNamespace(nodes=nodes, down={"h1", "h2", "h3", "h4"})
    held = {f"h{at}": at for at in range(5)}
    shown = SimpleNamespace(opened=opened, held=held)
    names = {f"h{at}": f"N{at}" for at in range(6)}
    model = SimpleNamespace(names=names, moments=[None, shown])
    given: Any = SimpleNamespace(model=model, state=SimpleNamespace(read=1))
    assert _stage(given) == Stage(
        tuple(f"N{at}" for at in range(6)),
        tuple(
            Character(
                f"N{at}", spot(f"N{at}"), health, sign=sign,  # type: ignore[arg-type]  # of the table
                tag=f"{at} tablet{'s' * (at != 1)}", holds=(f"r{at}",),
                title=f"h{at}, dc/r{at}, {role}",
            )
            for at, (role, health, sign) in enumerate(ROLES)
        ),
        lines=1,
    )  # fmt: skip


@pytest.mark.parametrize("count", [0, 1])
def test_one_snapshot_is_no_series(count: int) -> None:
    """Nothing can have changed."""
    with pytest.raises(BadInput) as caught:
        series_of(["x"] * count)
    wanted = BadInput("snapshots", str(count), "two or more, to see what changed")
    assert str(caught.value) == str(wanted)


def test_names_are_kept_unless_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two snapshots are enough; a Player of them has nothing to press."""
    asked: list[Any] = []

    def opened(*given: Any) -> tuple[Any, ...]:
        asked.append(given)
        return ()

    monkeypatch.setattr(series, "opened_moments", opened)
    monkeypatch.setattr(
        series, "Series", lambda moments: SimpleNamespace(read_through=lambda: moments)
    )
    monkeypatch.setattr(series, "Player", lambda timeline, **options: (timeline, options))
    series_of(["x", "y"])
    assert series.replay_snapshots("x", "y") == ((), {"controls": False})
    series.replay_snapshots("x", "y", anonymize=True, edition="documents")
    assert asked == [
        (["x", "y"], "server", False),
        (("x", "y"), "server", False),
        (("x", "y"), "documents", True),
    ]
