"""What changed from one moment to the next, and how much of it is explained at once."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.system_tables import TabletLine
from kit.protocols.tablets.dry_run import explaining
from kit.protocols.tablets.dry_run.moments import Moment, changes, names_in, opened_moments
from kit.protocols.tablets.dry_run.series import Series
from tests.operators.test_snapshots import FILES, FIRST, SECOND, THIRD, copied, text_of
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


def test_tablets_are_those_of_the_same_last_token() -> None:
    """Of others nothing is said, though there are as many."""
    before, after = moment(line(0, A), line(LAST, A)), moment(line(7, B), line(LAST, C))
    assert said(before, after) == [(f"{TABLE} 1", "172.20.0.11:0 → 172.20.0.13:0")]


def test_tables_that_only_one_moment_has() -> None:
    """With how many tablets."""
    without, own = replace(MOMENTS[0], rows={}), moment(line(0, A), line(LAST, A))
    assert said(without, own) == [(TABLE, "is new, with 2 tablets")]
    assert said(own, without) == [(TABLE, "is gone, with 2 tablets")]


def test_nodes_that_changed() -> None:
    """Who is new, who has left, whose role or health is another one, where both are told."""
    nothing = {"rows": {}}
    first, _, last = (replace(each, **nothing) for each in MOMENTS)
    assert ("172.20.0.15", "has left") in said(first, last)
    assert ("172.20.0.15", "is new") in said(last, first)
    up, down, untold = ({**MOMENTS[0].up, A: True}, {**MOMENTS[0].up, A: False}, {})
    for was, now, words in (
        (up, down, ["is down"]),
        (down, up, ["is up"]),
        (up, up, []),
        (untold, down, []),
        (down, untold, []),
    ):
        pair = replace(first, up=was), replace(first, up=now)
        assert [words for what, words in said(*pair) if what == "172.20.0.11"] == words


TOLD = (
    f"{B};oslo;False;900000000000;False;172.20.0.12;south;1000;0.01;1000000000000;1000;0.01;4;2.0;"
)


@pytest.mark.parametrize(
    ("old", "new", "up"),
    [
        ("", "", {A: True, B: True, C: True, D: True, E: False}),
        (f"{TOLD}True", TOLD, {A: True, C: True, D: True, E: False}),
        (A, f"{A[:-1]}9", {B: True, C: True, D: True, E: False}),
    ],
)
def test_who_is_up_as_far_as_it_is_told(
    old: str, new: str, up: dict[str, bool], tmp_path: Path
) -> None:
    """A null tells nothing, nor does a row of a node that the topology lacks."""
    loads = text_of(FIRST, "loads")
    assert old in loads
    folder = copied(FIRST, tmp_path / FIRST.name, loads=loads.replace(old, new) if old else loads)
    assert opened_moments([folder], "server")[0].up == up


@pytest.mark.parametrize(
    ("limit", "most", "refused"),
    [
        ("MOST_SEARCHED", 3, ""),
        ("MOST_SEARCHED", 2, "at most 2 tablets that changed"),
        ("MOST_NODES", 5, ""),
        ("MOST_NODES", 4, "at most 4"),
    ],
)
def test_so_much_is_explained_at_once(
    limit: str, most: int, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three tablets of five nodes changed."""
    monkeypatch.setattr(explaining, limit, most)
    files = [FIRST, SECOND, THIRD]
    if not refused:
        assert len(explaining.of_snapshots(files, "server", False)[0]) == 3
        return
    with pytest.raises(BadInput, match=refused):
        explaining.of_snapshots(files, "server", False)


def places(hosts: str) -> tuple[tuple[str, int], ...]:
    """The first shard of each host."""
    return tuple((host, 0) for host in hosts)


def ways(*written: str) -> list[TabletLine]:
    """One tablet at each moment: ``AB`` at rest, ``AB CB`` on its way."""
    pairs = [each.partition(" ") for each in written]
    return [TabletLine("", LAST, places(old), places(new), "", sep) for old, sep, new in pairs]


@pytest.mark.parametrize(
    ("lines", "begun", "returned"),
    [
        (["AB", "AB"], 0, False),
        (["AB", "BA"], 0, False),
        (["AB", "CB"], 1, False),
        (["AB", "AB CB"], 1, False),
        (["AB CB", "CB"], 1, False),
        (["AB CB", "AB CB"], 1, False),
        (["AB CB", "CB DB"], 2, False),
        (["AB", "CB CD"], 2, False),
        (["ABC", "AB ABC"], 1, False),  # what has gone comes again
        (["AB CB", "AB"], 1, True),
        (["AB CB", "BA"], 1, True),
        (["AB CB", "CB", "AB"], 2, True),
        (["AB", "AB CB", "AB"], 1, True),
    ],
)
def test_moves_that_there_were_at_least(lines: list[str], begun: int, returned: bool) -> None:
    """Those that came, those on their way; whether one went back."""
    assert explaining._begun(ways(*lines)) == begun
    assert explaining._returned(ways(*lines)) is returned


@pytest.mark.parametrize(
    ("lines", "still"),
    [
        (["AB"], True),
        (["AB", "BA"], True),
        (["AB", "AB", "CB"], False),
        (["AB", "CB", "AB"], False),
        (["CB", "AB", "AB"], False),
        (["AB", "AB CB", "AB"], False),
    ],
)
def test_a_tablet_stands_still_with_the_same_replicas(lines: list[str], still: bool) -> None:
    """At every moment, and in no transition at any."""
    assert explaining._still(ways(*lines)) is still


AT_REST = {"A up": True, "A excluded": False, "replicas": frozenset("AB")}
AT_REST |= {"new_replicas": frozenset(), "transition": "", "stage": ""}
GOES = {"new_replicas": frozenset("CB"), "transition": "migration"}


@pytest.mark.parametrize(
    ("values", "wanted", "server", "documents"),
    [
        ({}, {}, 0, 0),
        ({}, {**GOES, "stage": "streaming"}, 2 * 11 + 11 - 2, 2 * 10 + 10 - 2),
        ({**GOES, "stage": "streaming"}, {**GOES, "stage": "use_new"}, 2, 2),
        ({**GOES, "stage": "use_new"}, {**GOES, "stage": "streaming"}, 2, 2),
        ({**GOES, "stage": "end_migration"}, {"replicas": frozenset("BC")}, 11 - 6, 10 - 6),
        ({"replicas": frozenset("A")}, {}, 11, 10),
        ({}, {"A up": False}, 1, 1),
        ({"A up": False}, {}, 1, 1),
        ({}, {"A excluded": True}, 1, 1),
        ({"A excluded": True}, {}, 11 + 1, 10 + 1),
    ],
)
def test_how_far_away_a_state_is(
    values: dict[str, object], wanted: dict[str, object], server: int, documents: int
) -> None:
    """In stages; each replica elsewhere, and who is given up too early, count as a transition."""
    pair = {**AT_REST, **values}, {**AT_REST, **wanted}
    assert explaining.FAR["server"](*pair) == server
    assert explaining.FAR["documents"](*pair) == documents


def test_each_node_that_changed_is_told() -> None:
    """Also after one that has left."""
    opened = MOMENTS[0].opened
    before = replace(MOMENTS[0], rows={}, up={A: True, B: True})
    rest = replace(opened, nodes=opened.nodes[1:])
    after = replace(before, opened=rest, up={B: False})
    assert said(before, after) == [("172.20.0.11", "has left"), ("172.20.0.12", "is down")]


def test_only_what_goes_to_another_node_travels() -> None:
    """A replica on another shard of its node is told, and goes nowhere."""
    shard = TabletLine("", LAST, ((A, 1),))
    for last, travels in ((shard, []), (line(LAST, B), [("n:172.20.0.11", "n:172.20.0.12")])):
        series = Series([moment(line(LAST, A)), moment(last)])
        before = series.start()
        action = series.suggest(before)
        assert action is not None
        flows = series.flow_table.moving[type(action)](
            series, before, action, series.act(before, action)
        )
        assert [(flow.from_key, flow.to_key) for flow in flows] == travels
        [[change]] = series.entries
        assert change.what == f"{TABLE} 0"


DUMP = FIRST / FILES["dump"]


def test_moments_have_the_versions_of_their_topologies_and_the_tables_with_tablets() -> None:
    """A dump alone tells of no version; a table that is co-located has no rows of its own."""
    assert [each.version for each in MOMENTS] == [41, 44, 52]
    dumps = opened_moments([DUMP, DUMP], "server")
    assert [each.version for each in dumps] == [None, None]
    for each in (*MOMENTS, *dumps):
        assert [*each.rows] == [TABLE, "bakery.cakes"]


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


def test_who_is_given_up_as_far_as_it_is_told(tmp_path: Path) -> None:
    """Of nodes that are down alone, and not where the loads have a null."""
    loads = text_of(FIRST, "loads")
    told = f"{E};oslo;False;900000000000;False;"
    assert told in loads
    for number, (says, excluded) in enumerate((("False", {E: False}), ("", {}))):
        text = loads.replace(told, f"{E};oslo;False;900000000000;{says};")
        folder = copied(FIRST, tmp_path / str(number) / FIRST.name, loads=text)
        assert opened_moments([folder], "server")[0].excluded == excluded


def test_hosts_are_named_in_the_order_of_their_ids() -> None:
    """By the addresses that any moment tells, also of one moment alone."""
    for moments in (MOMENTS, MOMENTS[::-1], MOMENTS[:1]):
        assert list(names_in(moments).items()) == [
            (host, f"172.20.0.{number}") for number, host in enumerate((A, B, C, D, E), 11)
        ]


def test_a_table_that_is_split_or_merged_or_to_be() -> None:
    """How many tablets there were and are; what is decided on them, with its number."""
    one, two = moment(line(LAST, A)), moment(line(0, A), line(LAST, A))
    assert said(one, two) == [(TABLE, "split: 1 tablet → 2")]
    assert said(two, one) == [(TABLE, "merged: 2 tablets → 1")]
    maps = two.opened.maps
    for kind, number in (("split", 1), ("none", 2), ("merge", 2)):
        table = replace(maps[TABLE], resize_type=kind, resize_seq_number=number)
        decided = replace(two, opened=replace(two.opened, maps={**maps, TABLE: table}))
        words = f"resize none, number 1 → {kind}, number {number}"
        assert said(two, decided) == [(TABLE, words)]
        assert said(one, decided) == [(TABLE, f"split: 1 tablet → 2; {words}")]
    empty, without = moment(), replace(MOMENTS[0], rows={})
    assert said(without, empty) == [(TABLE, "is new, with 0 tablets")]
    assert said(empty, without) == [(TABLE, "is gone, with 0 tablets")]


def test_a_node_in_another_role() -> None:
    """What it was and is; with its health, if that is another one, too."""
    before = replace(MOMENTS[0], rows={}, up={A: True})
    first, *others = before.opened.nodes
    assert (first.host, first.role) == (A, "normal")
    leaving = replace(before.opened, nodes=(replace(first, role="leaving"), *others))
    for up, health in ((True, ""), (False, ", is down")):
        after = replace(before, opened=leaving, up={A: up})
        assert said(before, after) == [("172.20.0.11", f"normal → leaving{health}")]
