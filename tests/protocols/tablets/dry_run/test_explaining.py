"""What is asked of moments: which tablets changed, in which cluster, by what may have happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.edge.paths import HeldFile
from kit.errors import BadInput
from kit.protocols.tablets.dry_run import explaining
from kit.protocols.tablets.dry_run.explaining import of_snapshots
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.tokens import INT64_HIGH

HEAD = "table_id;last_token;keyspace_name;table_name;tablet_count;replicas;new_replicas"
TOKENS = (-(2**62), 0, INT64_HIGH)


def host(name: str) -> str:
    """The host id of a node, that answers call by its letter, four times."""
    return f"{name * 8}-0000-4000-8000-000000000000"


def places(text: str) -> str:
    """Replicas as a dump has them: ``a:0 b:1``."""
    pairs = (word.split(":") for word in text.split())
    return f"[{', '.join(f'({host(name)}, {shard})' for name, shard in pairs)}]" if text else "null"


def rows(table: int, *tablets: str) -> list[str]:
    """A table's rows, of up to three tablets: ``a:0 b:1 > a:0 c:1 migration streaming``."""
    said = []
    for last, text in zip(TOKENS[-len(tablets) :], tablets, strict=True):
        old, _, way = text.partition(" > ")
        *new, kind, stage = way.split() or ("null", "null")
        own = f"a1b2c3d{table}-1c2d-11f1-8a00-0123456789ab;{last};ks;t{table};{len(tablets)}"
        said.append(f"{own};{places(old)};{places(' '.join(new))};{kind};{stage}")
    return said


def dump(*lines: list[str]) -> HeldFile:
    """A dump of these tables."""
    text = [f"{HEAD};transition;stage", *(line for each in lines for line in each)]
    return HeldFile("tablets.csv", "\n".join(text).encode())


def snapshot(folder: Path, tablet: str, **nodes: str) -> Path:
    """A snapshot of one tablet, with the nodes that its loads have: up, down, excluded, ..."""
    folder.mkdir()
    (folder / "system_tablets.csv").write_bytes(dump(rows(1, tablet)).content)
    lines = ["node;dc;rack;up;draining;excluded;storage_capacity"]
    lines += [
        f"{host(name)};dc;r;{what in ('up', 'draining')};{what == 'draining'};{what == 'excluded'};"
        for name, what in nodes.items()
    ]
    (folder / "system_load_per_node.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def asked(files: Any, edition: Any = "server") -> Any:
    """The model of the only question."""
    [question], _ = of_snapshots(files, edition, False)
    [(model, _)] = question.ways
    return model


GIVEN: dict[str, Any] = {
    "nodes": 4,
    "shards": 2,
    "kinds": ("intranode_migration", "migration"),
    "moves": 1,
    "operations": (),
    "down": (),
    "ignored": (),
    "exclusions": 0,
    "failures": 0,
    "crashes": 0,
}
REST = "a:0 b:0 c:0 d:0"
"""A tablet of another table, which rests, so that each node is in each dump."""
BEGUN = "a:0 b:0 > a:0 c:0 migration"
BACK = {"failures": 1, "moves": 2}
ADDED = {"kinds": ("intranode_migration", "migration", "add_tablet_replica")}


def given_of(model: Any) -> dict[str, Any]:
    """What a model was asked for."""
    return {name: getattr(model, name) for name in GIVEN}


@pytest.mark.parametrize(
    ("tablets", "given"),
    [
        # A replica came, or is on its way; the first transition counts, and each that came later.
        (("a:0 b:0", "a:0 c:0"), {}),
        (("a:0 b:0", "c:0 d:0"), {"moves": 2}),
        (("a:0 b:0", f"{BEGUN} streaming"), {}),
        ((f"{BEGUN} streaming", f"{BEGUN} use_new"), {}),
        ((f"{BEGUN} streaming", "a:0 c:0"), {}),
        ((f"{BEGUN} streaming", "a:0 c:0", "a:0 b:0"), {**BACK, "moves": 3}),
        ((f"{BEGUN} streaming", "a:0 d:0"), {"moves": 2}),
        (("a:0 b:0", "a:0 c:0 > a:0 d:0 migration use_new"), {"moves": 2}),
        ((f"{BEGUN} use_new", "a:0 c:0 > a:0 d:0 migration streaming"), {"moves": 2}),
        ((f"{BEGUN} streaming", "a:0 b:0 > a:0 d:0 migration streaming"), {"moves": 2}),
        ((f"{BEGUN} streaming", "a:0 d:0 > a:0 c:0 migration streaming"), {"moves": 3}),
        (("a:0", "b:0") * 4, {"moves": 7}),
        (("a:0", "b:0") * 5, {"moves": 9}),
        (("a:0", "b:0") * 6, {"moves": 9}),
        # Stages that only a way back has, or replicas that came back.
        ((f"{BEGUN} streaming", f"{BEGUN} write_both_read_new"), {}),
        ((f"{BEGUN} streaming", f"{BEGUN} end_migration"), {}),
        ((f"{BEGUN} streaming", f"{BEGUN} cleanup_target"), BACK),
        ((f"{BEGUN} streaming", f"{BEGUN} revert_migration"), BACK),
        ((f"{BEGUN} streaming", f"{BEGUN} write_both_read_old_fallback_cleanup"), BACK),
        ((f"{BEGUN} streaming", "a:0 b:0"), BACK),
        # As many shards as are named, and two at least.
        (("a:0", "a:1"), {}),
        (("a:2", "a:0"), {"shards": 3}),
        (("a:0 b:0", "a:0 b:0 > a:0 c:6 migration streaming"), {"shards": 7}),
        # A repair, and a replica that is rebuilt: in the place of another one, or as one more.
        (
            ("a:0 b:0 > a:0 b:0 repair repair", "a:0 b:0"),
            {"kinds": ("intranode_migration", "migration", "repair")},
        ),
        (("a:0 b:0 > a:0 c:0 rebuild_v2 streaming", "a:0 c:0"), {}),
        (("a:0 b:0 > a:0 b:0 c:0 rebuild_v2 streaming", "a:0 b:0 c:0"), ADDED),
        (("a:0 b:0 > a:0 b:0 c:0 rebuild streaming", "a:0 b:0 c:0"), ADDED),
        (("a:0 b:0", "a:0 b:0 c:0"), ADDED),
        (("a:0 b:0 c:0 > a:0 b:0 d:0 migration streaming", "a:0 b:0 d:0"), {}),
    ],
    ids=str,
)
def test_dumps_ask_for_a_cluster(tablets: tuple[str, ...], given: dict[str, Any]) -> None:
    """Of the nodes that they name, with as much in it as they show."""
    model = asked([dump(rows(1, each), rows(2, REST)) for each in tablets])
    assert given_of(model) == {**GIVEN, **given}
    assert model.edition == "server"
    assert model.names == tuple(name * 4 for name in "abcd")


REPAIR = "a:0 b:0 > repair repair"
ENDS = "a:0 b:0 > repair end_repair"


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("tablets", "begun"),
    [
        (("a:0 b:0", REPAIR), 1),
        (("a:0 b:0", "a:0 b:0 > a:0 b:0 repair repair"), 1),
        (("a:0 b:0", ENDS), 1),
        ((REPAIR, REPAIR), 1),
        ((REPAIR, ENDS), 1),
        ((ENDS, ENDS), 1),
        ((ENDS, REPAIR), 2),
        ((REPAIR, "a:0 b:0"), 1),
        ((REPAIR, "a:0 b:0", REPAIR), 2),
        ((f"{BEGUN} streaming", "a:0 c:0 > repair repair"), 2),
        ((REPAIR, f"{BEGUN} streaming"), 2),
        (("a:0 b:0", "a:0 b:0 c:0"), 1),
    ],
    ids=str,
)
def test_what_began_between_moments_is_explained(
    edition: Any, tablets: tuple[str, ...], begun: int
) -> None:
    """A repair begins though no replica comes, the same one again only once it has ended; one more
    replica may have been added.
    """
    files = [dump(rows(1, each), rows(2, REST)) for each in tablets]
    [question], _ = of_snapshots(files, edition, False)
    [(model, _)] = question.ways
    assert (model.moves, question.answer(50_000).verdict) == (begun, "explained")


LOST = "left out because it loses a replica, as with a lower RF, which no step here does: ks.t1 0"


@pytest.mark.parametrize(
    ("tablets", "lost"),
    [
        (("a:0 b:0 c:0", "a:0 b:0"), True),
        (("a:0 b:0 c:0", "a:0 b:0 c:0", "a:0 d:0"), True),
        (("a:0 b:0 c:0 > a:0 b:0 rebuild streaming", "a:0 b:0 c:0"), True),
        (("a:0 b:0", "a:0 b:0 > a:0 rebuild streaming"), True),
        (("a:0 b:0 > a:0 b:0 c:0 rebuild streaming", "a:0 b:0"), False),
        (("a:0 b:0", "a:0 b:0 c:0"), False),
        ((REPAIR, "a:0 b:0"), False),
    ],
    ids=str,
)
def test_nothing_is_asked_of_a_tablet_that_loses_a_replica(
    tablets: tuple[str, ...], lost: bool
) -> None:
    """No step of the model does that: to say that no rule explains it would be false."""
    files = [dump(rows(1, each), rows(2, REST)) for each in tablets]
    questions, about = of_snapshots(files, "server", False)
    assert (not questions, LOST in about) == (lost, lost)


def test_who_is_in_the_last_dump_no_more_has_left() -> None:
    """Each leaves by a request of its own, in the order of the names."""
    last = " ".join(f"{name}:0" for name in "a2345678")
    files = [dump(rows(1, "a:0 f:0 e:0 d:0 c:0 b:0 1:0 9:0")), dump(rows(1, last))]
    model = asked([*files[:1], *files], "documents")
    assert model.operations == tuple(f"decommission {name * 4}" for name in "19bcdef")
    assert (model.edition, model.nodes, model.moves) == ("documents", 15, 7)
    assert model.tablets == (" ".join(f"{name * 4}:0" for name in "afedcb19"),)


UP = {"a": "up", "b": "up"}
MANY = "23456789cdef"


@pytest.mark.parametrize(
    ("nodes", "given"),
    [
        (({**UP, "c": "up"}, {**UP, "c": "up"}), {}),
        # Who is down has died: each time, except who is removed while it is down.
        (({**UP, "c": "down"}, {**UP, "c": "down"}), {"crashes": 1}),
        (({**UP, "c": "down"}, {**UP, "c": "up"}), {"crashes": 1}),
        (({**UP, "c": "down"}, {**UP, "c": "up"}, {**UP, "c": "down"}), {"crashes": 2}),
        (({**UP, **dict.fromkeys(MANY[:9], "down")},) * 2, {"crashes": 9, "nodes": 11}),
        (({**UP, **dict.fromkeys(MANY[:10], "down")},) * 2, {"crashes": 9, "nodes": 12}),
        # Who is given up is so from the start, or it is later on.
        (({**UP, "c": "excluded"}, {**UP, "c": "excluded"}), {"crashes": 1, "ignored": ("cccc",)}),
        (({**UP, "c": "down"}, {**UP, "c": "excluded"}), {"crashes": 1, "exclusions": 1}),
        (({**UP, "c": "down"}, UP), {"crashes": 1, "exclusions": 1}),
        (({**UP, "c": "down"}, {**UP, "c": "up"}, UP), {"crashes": 1, "exclusions": 1}),
        (
            ({**UP, **dict.fromkeys(reversed(MANY), "excluded")},) * 2,
            {"crashes": 9, "ignored": tuple(name * 4 for name in MANY), "nodes": 14},
        ),
        (({**UP, "c": "excluded"}, UP), {"crashes": 1, "ignored": ("cccc",)}),
        (
            ({**UP, **dict.fromkeys(MANY, "down")}, {**UP, **dict.fromkeys(MANY, "excluded")}),
            {"crashes": 9, "exclusions": 9, "nodes": 14},
        ),
        # Who has the tablet and leaves does so by a request.
        (
            ({"a": "up", "b": "up"}, {"a": "up", "b": "draining"}),
            {"operations": ("decommission bbbb",)},
        ),
        (({**UP, "c": "up"}, {**UP, "c": "draining"}), {}),
    ],
    ids=str,
)
def test_snapshots_ask_for_a_cluster(
    nodes: tuple[dict[str, str], ...], given: dict[str, Any], tmp_path: Path
) -> None:
    """With the nodes that the loads name, and those that fell or were given up."""
    files = [
        snapshot(tmp_path / f"tablet_snap_260301_1015{at:02}", f"a:0 b:{at > 0:d}", **each)
        for at, each in enumerate(nodes)
    ]
    assert given_of(asked(files)) == {**GIVEN, "nodes": len(nodes[0]), **given}


def test_who_left_while_it_was_down_was_removed(tmp_path: Path) -> None:
    """So that it neither dies in the run nor is given up; what it had goes to C."""
    files = [
        snapshot(tmp_path / "tablet_snap_260301_101500", "a:0 b:0", a="up", b="down", c="up"),
        snapshot(tmp_path / "tablet_snap_260301_101501", "a:0 c:0", a="up", c="up"),
    ]
    removed = {"operations": ("removenode bbbb",), "down": ("bbbb",)}
    assert given_of(asked(files)) == {**GIVEN, "nodes": 3, **removed}
    lost, others = "2345678", dict.fromkeys("a01bcdef", "up")
    was, now = (" ".join(f"{name}:0" for name in names) for names in (f"a{lost}", others))
    dead = dict.fromkeys(lost, "down")
    files = [
        snapshot(tmp_path / "tablet_snap_260301_101502", was, **others, **dead),
        snapshot(tmp_path / "tablet_snap_260301_101503", now, **others),
    ]
    model = asked(files)
    assert model.down == tuple(name * 4 for name in lost)
    assert model.operations == tuple(f"removenode {name * 4}" for name in lost)


def test_what_was_split_or_is_not_always_there_is_left_out() -> None:
    """Wherever it stands; of the others each tablet that moved is a question."""
    was = rows(4, "a:0", "b:0", "a:0")
    files = [
        dump(rows(1, "a:0"), rows(2, "a:0"), rows(3, "a:0", "b:0"), was),
        dump(rows(2, "a:0", "b:0"), rows(3, "a:0", "b:1"), rows(4, "b:0", "b:0", "b:1")),
    ]
    questions, about = of_snapshots(files, "server", False)
    assert [each.name for each in questions] == ["ks.t3 1", "ks.t4 0", "ks.t4 2"]
    assert about[0] == "2 moments: 5 tablets, of which 3 changed or are in transition"
    assert [line for line in about if line.startswith("left out")] == [
        "left out because not every moment has it: ks.t1",
        "left out because it was split or merged in between: ks.t2",
    ]


def test_a_moment_shows_a_tablet_and_its_nodes(tmp_path: Path) -> None:
    """A repair has no new replicas of its own; outside a transition there are none."""
    files = [
        snapshot(tmp_path / "tablet_snap_260301_101500", f"{BEGUN} streaming", **UP, c="down"),
        snapshot(tmp_path / "tablet_snap_260301_101501", "a:0 c:0", **UP, c="excluded"),
        snapshot(tmp_path / "tablet_snap_260301_101502", "a:0 c:0 >  repair repair", **UP, c="up"),
    ]
    [question], _ = of_snapshots(files, "server", False)
    up = {"aaaa up": True, "bbbb up": True}
    moved = frozenset(("aaaa:0", "cccc:0"))
    none = {"new_replicas": frozenset(), "transition": "", "stage": ""}
    assert [each.values for each in question.seen] == [
        {**up, "cccc up": False, "cccc excluded": False,
         "replicas": frozenset(("aaaa:0", "bbbb:0")), "new_replicas": moved,
         "transition": "migration", "stage": "streaming"},
        {**up, "cccc up": False, "cccc excluded": True, "replicas": moved, **none},
        {**up, "cccc up": True, "replicas": moved, "new_replicas": moved,
         "transition": "repair", "stage": "repair"},
    ]  # fmt: skip
    names = [f"tablet_snap_26030{1}_10150{at}/system_tablets.csv line 2" for at in range(3)]
    assert [each.where for each in question.seen] == names


@pytest.mark.parametrize(
    ("health", "falls", "rises"),
    [
        (("up", "up"), [], []),
        (("up", "up", "down"), ["crash cccc"], []),
        (("down", "down"), ["crash cccc"], []),
        (("down", "up"), ["crash cccc"], ["restart cccc"]),
        (("up", "down", "up"), ["crash cccc"], ["restart cccc"]),
        (("down", ""), ["crash cccc"], []),
    ],
)
def test_nobody_dies_or_comes_back_unseen(
    health: tuple[str, ...], falls: list[str], rises: list[str], tmp_path: Path
) -> None:
    """Who falls is in some moment down, who rises is so in one and up in the next."""
    files = [
        snapshot(
            tmp_path / f"tablet_snap_260301_10150{at}",
            f"a:0 b:{at > 0:d}",
            **UP,
            **({"c": each} if each else {}),
        )
        for at, each in enumerate(health)
    ]
    [question], _ = of_snapshots(files, "server", False)
    [(model, sight)] = question.ways
    state, seen = model.start(), []
    for word in ("crash", "restart"):
        assert sight.steps is not None
        steps = {model.verb(action): after for action, after in sight.steps(model, state)}
        seen.append([verb for verb in steps if verb.startswith(word)])
        state = steps.get("crash cccc", state)
    assert seen == [falls, rises]


@pytest.mark.parametrize(
    ("later", "begins"),
    [
        ("a:0 c:0", ["migrate 0 aaaa:0 cccc:0", "migrate 0 bbbb:0 cccc:0"]),
        ("a:0 d:1", ["migrate 0 aaaa:0 dddd:1", "migrate 0 bbbb:0 dddd:1"]),
        ("a:1 b:0", ["migrate-within 0 aaaa:0 aaaa:1"]),
        ("a:0 b:0 > a:0 b:0 repair repair", ["repair-tablet 0"]),
    ],
)
def test_nothing_begins_that_goes_elsewhere(later: str, begins: list[str]) -> None:
    """Of four nodes with two shards only where a replica was seen may one come."""
    files = [dump(rows(1, each), rows(2, REST)) for each in ("a:0 b:0", later)]
    [question], _ = of_snapshots(files, "server", False)
    [(model, sight)] = question.ways
    state = model.act(model.start(), model.find(model.start(), "imbalance")[0])
    assert sight.steps is not None
    steps = [model.verb(action) for action, _ in sight.steps(model, state)]
    assert [verb for verb in steps if verb.startswith(("migrate", "repair"))] == begins


@pytest.mark.parametrize(("most", "refused"), [(1, True), (2, False), (3, False)])
def test_so_many_tablets_are_searched(
    most: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changed, the third one rests."""
    monkeypatch.setattr(explaining, "MOST_SEARCHED", most)
    files = [dump(rows(1, "a:0", "b:0", "a:0")), dump(rows(1, "b:0", "b:1", "a:0"))]
    if not refused:
        assert len(of_snapshots(files, "server", False)[0]) == 2
        return
    with pytest.raises(BadInput) as told:
        of_snapshots(files, "server", False)
    assert str(told.value) == (
        "snapshots: got '2 tablets'; allowed: at most 1 tablets that changed; "
        "try fewer snapshots, closer together"
    )


@pytest.mark.parametrize(("most", "refused"), [(2, True), (3, False), (4, False)])
def test_so_many_nodes_are_searched(
    most: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A, C, and B, which has left."""
    monkeypatch.setattr(explaining, "MOST_NODES", most)
    files = [dump(rows(1, "a:0 b:0")), dump(rows(1, "a:0 c:0"))]
    if not refused:
        assert len(of_snapshots(files, "server", False)[0]) == 1
        return
    with pytest.raises(BadInput) as told:
        of_snapshots(files, "server", False)
    assert str(told.value) == "nodes: got 3; allowed: at most 2"


def test_tablets_are_numbered_by_their_tokens() -> None:
    """However a file orders them; the order of replicas is no change. Who was split in the last
    moment of three is left out, too.
    """
    first, second = rows(1, "a:0", "b:0"), rows(1, "a:0", "a:1")
    files = [dump(first), dump([*reversed(second)])]
    [question], _ = of_snapshots(files, "server", False)
    assert question.name == "ks.t1 1"
    assert (
        of_snapshots([dump(rows(1, "a:0 b:0")), dump(rows(1, "b:0 a:0"))], "server", False)[0] == ()
    )
    files = [dump(rows(1, "a:0")), dump(rows(1, "b:0 a:0")), dump(rows(1, "a:0", "b:0"))]
    questions, about = of_snapshots(files, "server", False)
    assert questions == ()
    assert "left out because it was split or merged in between: ks.t1" in about


REPLICAS = {"replicas": frozenset(("aaaa:0", "bbbb:0"))}
NONE = {"new_replicas": frozenset(), "transition": "", "stage": ""}
MOVED = frozenset(("aaaa:0", "cccc:0"))


def moving(stage: str) -> dict[str, object]:
    """What is read of a tablet that moves to C."""
    return {**REPLICAS, "new_replicas": MOVED, "transition": "migration", "stage": stage}


def test_a_state_is_read_as_moments_show_it(tmp_path: Path) -> None:
    """Who is up and who is given up by name, the tablet's replicas as words."""
    nodes = {"a": "excluded", "b": "up", "c": "down"}
    files = [
        snapshot(tmp_path / f"tablet_snap_260301_10150{at}", f"{BEGUN} {stage}", **nodes)
        for at, stage in enumerate(("allow_write_both_read_old", "streaming"))
    ]
    [question], _ = of_snapshots(files, "server", False)
    [(model, sight)] = question.ways
    start = model.start()
    health = {
        **{f"{name * 4} up": True for name in "abc"},
        **{f"{name * 4} excluded": name == "a" for name in "abc"},
    }
    assert sight.reads(model, start) == {**health, **REPLICAS, **NONE}
    state = model.act(start, model.find(start, "crash cccc")[0])
    for verb in ("imbalance", "migrate 0 bbbb:0 cccc:0", "commit"):
        start = model.act(start, model.find(start, verb)[0])
    assert sight.reads(model, state) == {**health, "cccc up": False, **REPLICAS, **NONE}
    assert sight.reads(model, start) == {**health, **moving("allow_write_both_read_old")}


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "tablet",
    [
        ({**REPLICAS, **NONE}, {**REPLICAS, **NONE}, 0, 0),
        (moving("streaming"), moving("streaming"), 0, 0),
        (moving("streaming"), moving("use_new"), 0, 2),
        (moving("use_new"), moving("streaming"), 0, 2),
        # Two replicas elsewhere, and as many stages as there are less those that it is in.
        ({**REPLICAS, **NONE}, moving("streaming"), 3, -2),
        (moving("streaming"), {**REPLICAS, **NONE}, 3, -2),
        ({"replicas": MOVED, **NONE}, moving("allow_write_both_read_old"), 1, 0),
        ({"replicas": MOVED, **NONE}, {**REPLICAS, **NONE}, 2, 0),
    ],
)
@pytest.mark.parametrize(
    "nodes",
    [
        ({}, {}, 0, 0),
        ({"cccc up": True}, {}, 0, 0),
        ({"cccc up": True}, {"cccc up": True}, 0, 0),
        ({"cccc up": True}, {"cccc up": False}, 0, 1),
        ({"cccc up": False}, {"cccc up": True}, 0, 1),
        ({"cccc excluded": True}, {"cccc excluded": True}, 0, 0),
        ({"cccc excluded": False}, {"cccc excluded": True}, 0, 1),
        ({"cccc excluded": True}, {"cccc excluded": False}, 1, 1),
    ],
)
def test_a_state_is_so_far_away(
    edition: Edition,
    tablet: tuple[dict[str, Any], dict[str, Any], int, int],
    nodes: tuple[dict[str, bool], dict[str, bool], int, int],
) -> None:
    """In stages: a transition counts as its longest kind has, for each replica elsewhere and for
    each node that is given up too early; each other difference of nodes counts one.
    """
    values, wanted, transitions, stages = tablet
    health, sought, early, others = nodes
    longest = {"documents": 10, "server": 11}[edition]
    away = explaining.FAR[edition]({**values, **health}, {**wanted, **sought})
    assert away == longest * (transitions + early) + stages + others
