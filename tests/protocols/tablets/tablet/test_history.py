"""A tablet's history is its table of stages, row by row; a spoiled row loses a write."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage.rules.conditions import AllKnow, HaveCleaned, MoreLost, NothingBelow
from kit.protocols.storage.rules.history import RangeHistory, ShardedReplica
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of, without
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Machine
from tests.protocols.tablets.answers import in_session
from tests.protocols.tablets.tablet.runs import ONE, SERVER, built, search

Spoils = Callable[[Machine], Machine]
WAY = [
    ("no transition", "ABC", "ABC"),
    ("allow_write_both_read_old", "ABC", "ABC"),
    ("write_both_read_old", "ABC", "ABCD"),
    ("streaming", "ABC", "ABCD"),
    ("write_both_read_new", "BCD", "ABCD"),
    ("use_new", "BCD", "BCD"),
    ("cleanup", "BCD", "BCD"),
    ("end_migration", "BCD", "BCD"),
    ("no transition", "BCD", "BCD"),
]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_migration_is_told_stage_by_stage(edition: Edition) -> None:
    """Each stage has a version of its own, and the selectors of its row."""
    history = built({"edition": edition}).history
    epoch, told = history.epochs[0], []
    while True:
        groups = (epoch.view.reads, epoch.view.writes)
        told.append((stage_of(epoch), *("".join(history.names(group)) for group in groups)))
        onward = [edge for edge in epoch.edges if not edge.aside]
        if not onward:
            break
        assert len(onward) == 1
        epoch = history.epochs[onward[0].to]
        assert epoch.epoch == 10 + len(told)
    assert told == WAY


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_is_that_of_its_table(kind: TransitionKind, edition: Edition) -> None:
    """Selectors, sessions and copies of each epoch are those of its row, ways back included."""
    table = TRANSITIONS[edition][kind]
    history = built({"kind": kind, "edition": edition}).history
    old = (TabletReplica("A"), TabletReplica("B"), TabletReplica("C"))
    target = TabletReplica("A", 1) if kind == "intranode_migration" else TabletReplica("D")
    new = old if kind == "repair" else (target, *old[1:])
    sets = ReplicaSets(old, new)
    met = {stage_of(epoch) for epoch in history.epochs}
    assert met == {row.name for row in table.states} | {NO_TRANSITION}
    for epoch in history.epochs:
        if stage_of(epoch) == NO_TRANSITION:
            continue
        row = table.state(stage_of(epoch))
        view = epoch.view
        for group, selector in ((view.reads, row.reads), (view.writes, row.writes)):
            assert set(history.names(group)) == {each.host for each in sets.chosen(selector)}
        for group, selector in ((view.read_at, row.reads), (view.written_at, row.writes)):
            placed = {_place(kind, each) for each in sets.chosen(selector)}
            assert set(history.names(group)) == placed
        assert bool(epoch.session) == (row.name in in_session(table))
        assert bool(epoch.copies) == any(w.name in ("stream", "repair") for w in row.work)


def _place(kind: TransitionKind, replica: TabletReplica) -> str:
    """Where data lie: within a node the shard is named, too."""
    within = kind == "intranode_migration" and replica.host == "A"
    return str(replica) if within else replica.host


PLAN, ONWARD = "plan migration of A to D", ("write_both_read_old", "streaming")
REVERTED = ("roll back to cleanup_target", "commit fence_version", "commit revert_migration")
# the way -> at each epoch on it, its version and the oldest one of which requests are admitted
FENCED = [
    ({}, (PLAN, *(f"commit {name}" for name, _, _ in WAY[2:])),
     "10-10 11-10 12-11 13-12 14-12 15-14 16-15 17-15 18-17"),
    ({}, (PLAN, *(f"commit {name}" for name in ONWARD), *REVERTED, "commit no transition"),
     "10-10 11-10 12-11 13-12 14-12 14-14 15-14 16-15"),
    ({**SERVER, "excluded": "D"}, (PLAN, *(f"commit {name}" for name in ONWARD), "exclude D",
     *REVERTED, "commit no transition"),
     "10-10 11-10 12-11 13-12 13-12 14-12 14-14 15-14 16-15"),
    ({**SERVER, "excluded": "D"}, (PLAN, "exclude D", *REVERTED, "commit no transition"),
     "10-10 11-10 11-10 12-10 12-12 13-12 14-13"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "way", "fences"), FENCED)
def test_the_fence_follows_the_barriers(
    given: dict[str, object], way: tuple[str, ...], fences: str
) -> None:
    """It is the version of the last stage whose barrier was met. Streaming and the cleanups of old
    replicas have none, a way back meets none, and to exclude a node raises no version.
    """
    history = built(given).history
    epoch, passed, said = history.epochs[0], list[int](), list[str]()
    for verb in (*way, ""):
        passed.append(epoch.epoch)
        assert epoch.view.fence is not None
        said.append(f"{epoch.epoch}-{passed[-1 - epoch.view.fence]}")
        if verb:
            [epoch] = [history.epochs[edge.to] for edge in epoch.edges if edge.verb == verb]
    assert " ".join(said) == fences


def test_what_each_edge_waits_for() -> None:
    """A barrier with its drain, an empty replica, a lost replica; nothing else."""
    history = built({}).history
    waits = {
        (stage_of(epoch), edge.verb): [type(wait) for wait in edge.conditions]
        for epoch in history.epochs
        for edge in epoch.edges
    }
    barrier = [AllKnow, NothingBelow]
    assert waits["write_both_read_old", "commit streaming"] == barrier
    assert waits["write_both_read_old", "roll back to cleanup_target"] == []
    assert waits["streaming", "commit write_both_read_new"] == []
    assert waits["write_both_read_new", "roll back to cleanup_target"] == [MoreLost]
    assert waits["cleanup", "commit end_migration"] == [HaveCleaned]
    assert waits["cleanup_target", "commit fence_version"] == barrier
    assert waits["cleanup_target", "commit revert_migration"] == [HaveCleaned]


def row(stage: str, **changed: str) -> Spoils:
    """The table with another selector in one row."""
    return lambda table: replace(
        table,
        states=tuple(
            replace(each, **changed) if each.name == stage else each for each in table.states
        ),
    )


def undrained(stage: str) -> Spoils:
    """The table without the barrier of a stage."""
    return lambda table: replace(
        table,
        states=tuple(
            replace(each, work=tuple(work for work in each.work if not work.barrier))
            if each.name == stage
            else each
            for each in table.states
        ),
    )


def less(stage: str) -> Spoils:
    """The table without a stage."""
    return lambda table: without(table, stage)


# what is changed -> whether a client loses a write, and the first promise that breaks
SPOILED: dict[str, tuple[Spoils, bool, str]] = {
    "reads first": (row("write_both_read_old", reads="new", writes="old"), True, "streamed"),
    "one set too early": (row("write_both_read_old", writes="old"), True, "stage-asks"),
    "one set in streaming": (row("streaming", writes="old"), True, "stage-asks"),
    "new set too early": (row("write_both_read_new", writes="new"), True, "one-stage-apart"),
    "old set too late": (row("write_both_read_new", writes="old"), True, "one-stage-apart"),
    "reads go back": (row("use_new", reads="old"), True, "stage-asks"),
    "writes go back": (row("use_new", writes="old"), True, "stage-asks"),
    "reads go back at the end": (row("end_migration", reads="old"), True, "streamed"),
    "reads of the target": (row("cleanup_target", reads="new"), True, "found-there"),
    "no allow": (less("allow_write_both_read_old"), False, "stage-asks"),
    "no double write": (less("write_both_read_old"), True, "stage-asks"),
    "no streaming": (less("streaming"), True, "streamed"),
    "no read switch": (less("write_both_read_new"), True, "stage-asks"),
    "no use_new": (less("use_new"), False, "stage-asks"),
    "no cleanup": (less("cleanup"), False, "replicas-hold"),
    "no end": (less("end_migration"), True, "replicas-hold"),
    "no cleanup of the target": (less("cleanup_target"), False, "replicas-hold"),
    "no barrier before the double write": (
        undrained("allow_write_both_read_old"),
        False,
        "stage-asks",
    ),
    "no barrier before streaming": (undrained("write_both_read_old"), True, "stage-asks"),
    "no barrier before use_new": (undrained("write_both_read_new"), True, "stage-asks"),
    "no barrier before cleanup": (undrained("use_new"), False, "stage-asks"),
    "no barrier before the target's": (undrained("cleanup_target"), False, "replicas-hold"),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_table_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another selector, a stage or a barrier less: a promise breaks, and mostly a write is lost."""
    spoil, loses, first = SPOILED[name]
    tables = TRANSITIONS["documents"]
    monkeypatch.setitem(tables, "migration", spoil(tables["migration"]))
    given = {**ONE, "second": "again"}
    lost, _ = search(given, lost=True)
    assert (lost.violation is not None) == loses
    assert lost.violation is None or lost.violation.property == "visible"
    found, _ = search(given)
    assert found.violation is not None
    assert found.violation.property == first


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"kind": "rebuild", "rf": 1}, "rf"),
        ({"kind": "restore"}, "kind"),
        ({"kind": "intranode_migration", "excluded": "A:1"}, "excluded"),
        ({"excluded": "Q"}, "excluded"),
        ({"rf": 4}, "rf"),
        ({"requests": ("D write QUORUM",)}, "requests"),
    ],
)
def test_bad_input_is_named(parameters: dict[str, object], named: str) -> None:
    """What makes no sense is refused in one line that names the field."""
    with pytest.raises(BadInput, match=named):
        built(parameters)


def test_a_second_plan_follows_the_replicas_of_then() -> None:
    """It begins once nothing is in transition: after the end on new replicas, after a way back on
    the old ones; the same plan again only where it has failed.
    """
    for second, expected in (
        ("other", {("D", "D to E"), ("A", "A to E")}),
        ("again", {("A", "A to D")}),
    ):
        history = built({**ONE, **SERVER, "second": second}).history
        begun = {
            ("".join(history.names(epoch.view.reads)), edge.verb.removeprefix("plan migration of "))
            for epoch in history.epochs[1:]
            for edge in epoch.edges
            if edge.verb.startswith("plan ")
        }
        assert begun == expected


ON = ("allow_write_both_read_old", "write_both_read_old", "streaming", "write_both_read_new")
BACK = "roll back to cleanup_target"
LAST = {
    "use_new": ["commit cleanup"],
    "cleanup": ["commit end_migration"],
    "end_migration": ["commit no transition"],
    "cleanup_target": ["commit fence_version", "commit revert_migration"],
    "revert_migration": ["commit no transition"],
}
MOVES = {
    "no transition": [PLAN],
    **{stage: [f"commit {onto}", BACK] for stage, onto in pairwise((*ON, "use_new"))},
    **LAST,
}
FALLBACK = "write_both_read_old_fallback_cleanup"
FALLS = {
    **MOVES,
    ON[-1]: ["commit use_new", f"roll back to {FALLBACK}"],
    FALLBACK: ["commit cleanup_target"],
}
REPAIRS = {
    "no transition": ["plan repair"],
    "repair": ["commit end_repair", "give up to end_repair"],
    "end_repair": ["commit no transition"],
}


@pytest.mark.parametrize(
    ("given", "off", "verbs"),
    [
        ({}, (), MOVES),
        (SERVER, (), FALLS),
        (SERVER, ("fallback-stage",), MOVES),
        ({}, ("allow-stage",), {name: MOVES[name] for name in MOVES if name != ON[0]}),
        ({"kind": "repair"}, (), REPAIRS),
        ({"kind": "repair", **SERVER}, (), REPAIRS),
    ],
    ids=str,
)
def test_each_stage_has_its_own_events(
    given: dict[str, object], off: tuple[str, ...], verbs: dict[str, list[str]]
) -> None:
    """None twice; a safeguard that is off takes its stage away."""
    said: dict[str, set[str]] = {}
    for epoch in built(given, off).history.epochs:
        own = [edge.verb for edge in epoch.edges]
        assert len(own) == len(set(own))
        said.setdefault(stage_of(epoch), set()).update(own)
    assert {stage: sorted(own) for stage, own in said.items()} == verbs


def _conditions(history: RangeHistory, stage: str, verb: str, *, excluding: bool) -> list[object]:
    """What an event waits for where a node is excluded, or where none is."""
    [waits] = {
        edge.conditions
        for epoch in history.epochs
        for edge in epoch.edges
        if (stage_of(epoch), edge.verb) == (stage, verb)
        and ("is excluded" in epoch.title) == excluding
    }
    return [*waits]


@pytest.mark.parametrize(
    ("kind", "off", "excluding", "kept"),
    [
        ("migration", (), False, "ABCD"),
        ("migration", (), True, "ABC"),
        ("migration", ("barrier-drains",), True, "ABC"),
        ("rebuild", (), False, "BCD"),
        ("rebuild", (), True, "BC"),
        ("rebuild", ("barrier-drains",), False, "BCD"),
    ],
)
def test_a_barrier_passes_over_the_dead_and_the_excluded(
    kind: TransitionKind, off: tuple[str, ...], excluding: bool, kept: str
) -> None:
    """A is rebuilt, for it is dead; D is excluded, or not yet."""
    history = built({**SERVER, "kind": kind, "excluded": "D"}, off).history
    mask = sum(1 << history.replicas.index(name) for name in kept)
    waits = _conditions(history, "use_new", "commit cleanup", excluding=excluding)
    drains = [NothingBelow(replicas=mask)] * (not off)
    assert waits == [AllKnow(mask, but_down=True), *drains]


@pytest.mark.parametrize(
    ("given", "off", "said"),
    [
        ({}, (), ("ABCD", True, "fence", "joint")),
        (SERVER, (), ("ABCD", True, "fence", "quorum-plus-pending")),
        ({}, ("sessions",), ("ABCD", False, "fence", "joint")),
        ({}, ("fencing",), ("ABCD", True, "all", "joint")),
        (SERVER, ("level-in-both-sets",), ("ABCD", True, "fence", "either")),
        ({"kind": "repair"}, (), ("ABC", True, "fence", "joint")),
    ],
    ids=str,
)
def test_a_history_is_that_of_one_tablet(
    given: dict[str, object], off: tuple[str, ...], said: tuple[str, bool, str, str]
) -> None:
    """In one datacenter, told in versions; what replicas admit and await is as its options say."""
    history = built(given, off).history
    names, sessions, admission, acknowledgement = said
    assert replace(history, epochs=()) == RangeHistory(
        *("tablet 0", 0, 1, tuple(names), ("dc1",) * len(names), ()),
        unit="version",
        sessions=sessions,
        admission=admission,
        acknowledgement=acknowledgement,
    )


def test_a_history_within_a_node_has_its_shards() -> None:
    """Behind the node they are listed, too."""
    history = built({"kind": "intranode_migration"}).history
    assert history.replicas == ("A", "A:0", "A:1", "B", "C")
    assert history.sharded == ShardedReplica(0, 0b00110)
