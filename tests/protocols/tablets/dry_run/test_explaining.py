"""What changed from one moment to the next, and by what it may have happened."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from kit.edge.paths import HeldFile
from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.protocols.group0.rules.releases import NEWEST
from kit.protocols.tablets.dry_run.explaining import of_snapshots
from kit.protocols.tablets.dry_run.series import names_in, opened_moments, series_of
from kit.protocols.tablets.lessons.dumps import rehearse
from kit.protocols.topology.rules.machines import EDITIONS
from kit.ring.tokens import INT64_HIGH
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.operators.test_snapshots import FILES, FIRST, SECOND, THIRD
from tests.saying import like

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


REST = "a:0 b:0 c:0 d:0"
"""A tablet of another table, which rests, so that each node is in each dump."""

BEGUN = "a:0 b:0 > a:0 c:0 migration"
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
def test_a_transition_that_began_between_two_moments_is_explained(
    edition: Any, tablets: tuple[str, ...], begun: int
) -> None:
    """The model begins as many transitions as the moments need."""
    files = [dump(rows(1, each), rows(2, REST)) for each in tablets]
    [question], _ = of_snapshots(files, edition, False)
    [(model, _)] = question.ways
    assert (model.moves, question.answer(50_000).verdict) == (begun, "explained")


@pytest.mark.parametrize("release", ["2025.1", "2026.1.3", "2026.3", ""])
def test_moments_are_explained_and_rehearsed_by_the_rules_of_their_release(release: str) -> None:
    """Without a release it is the newest."""
    files = [dump(rows(1, each), rows(2, REST)) for each in (f"{BEGUN} streaming", ENDS)]
    [question], _ = of_snapshots(files, "server", False, release)
    [(model, _)] = question.ways
    assert model.parameters.release == (release[:6] or NEWEST)
    assert question.answer(50_000).verdict == "explained"
    begun = rehearse(files[0], release=release or NEWEST).timeline.model
    assert begun.parameters.release == model.parameters.release


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
def test_a_tablet_that_loses_a_replica_is_left_out_of_the_questions(
    tablets: tuple[str, ...], lost: bool
) -> None:
    """No step of the model does that, so "refuted" would be false."""
    files = [dump(rows(1, each), rows(2, REST)) for each in tablets]
    questions, about = of_snapshots(files, "server", False)
    assert (not questions, LOST in about) == (lost, lost)


def test_tables_that_were_split_or_are_missing_in_a_moment_are_left_out() -> None:
    """Each tablet of the others that moved is a question."""
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


MOMENTS = opened_moments([FIRST, SECOND, THIRD], "server")
NAMES = names_in(MOMENTS)
A, B, C, D, E = NAMES  # 172.20.0.11 to 172.20.0.15
DUMP = FIRST / FILES["dump"]


@pytest.mark.parametrize(("files", "told"), [([DUMP, DUMP], False), ([FIRST, SECOND], True)])
def test_dumps_without_a_topology_tell_of_no_version(files: list[Path], told: bool) -> None:
    """Snapshots do."""
    timeline = Timeline(series_of(files, "server", False))
    scene = scene_of(timeline, timeline.at)
    [badges] = [each for each in for_model(scene.model).panels if each.name == "badges"]
    assert ("Version" in badges.draw(scene).text()) is told


@pytest.mark.parametrize("files", [(FIRST, DUMP), (DUMP, FIRST)], ids=["last", "first"])
def test_snapshots_and_dumps_given_together_are_refused(files: tuple[Path, Path]) -> None:
    """It does not matter which comes first."""
    with pytest.raises(BadInput, match=like(f"files | {FIRST.name} | only snapshots | only dumps")):
        opened_moments(files, "server")


def test_moments_without_a_shared_host_are_refused(tmp_path: Path) -> None:
    """Hosts may be replaced one by one from moment to moment."""
    text, files = DUMP.read_text("utf-8"), []
    for at, host in enumerate((A, B, C, D, E)):
        text = text.replace(host, str(at) * 8 + host[8:])
        files.append(tmp_path / f"renamed-{at}.csv")
        files[-1].write_text(text, "utf-8")
    one, _, three, _, foreign = files
    alike = copyfile(DUMP, tmp_path / "alike.csv")
    for fine in ([DUMP, one, DUMP], [DUMP, three, foreign]):
        assert len(opened_moments(fine, "server")) == 3, fine
    for at, given in ((2, [DUMP, alike, foreign, one]), (1, [foreign, alike, DUMP, DUMP])):
        before, own = given[at - 1].name, given[at].name
        words = f"snapshot | {own} | same cluster as | {before} | no node in common"
        with pytest.raises(BadInput, match=like(words)):
            opened_moments(given, "server")
