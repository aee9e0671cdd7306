"""Snapshots where dumps are read, one after the other as a Player, and explained by the model."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kit
from kit.errors import BadInput
from kit.operators.explain import Question, Seen
from kit.operators.importers.snapshots import MARK
from kit.protocols.tablets.dry_run.explaining import of_snapshots
from kit.protocols.tablets.dry_run.opening import open_tablets
from tests.commands.calling import bad, call
from tests.examples import examples

SNAPSHOTS = Path(__file__).parents[3] / "fixtures" / "snapshots"
FIRST, SECOND, THIRD = (str(path) for path in sorted(SNAPSHOTS.iterdir()))
HOSTS = ("5f1c0a4e", "7a2d1b5f", "c83e2c60", "d94f3d71", "ea504e82")
TABLETS, LOADS = "system_tablets.csv", "system_load_per_node.csv"


def roles(path: str) -> dict[str, str]:
    """What each node is to the balancer, by the beginning of its host id."""
    return {node.host[:8]: node.role for node in open_tablets(path).nodes}


def edited(folder: str, to: Path, name: str, *changes: tuple[str, str]) -> str:
    """A snapshot with other words in one of its files."""
    shutil.copytree(folder, to)
    text = (to / name).read_text("utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (to / name).write_text(text, "utf-8")
    return str(to)


def words_of(path: str) -> str:
    """What ``tablets`` says of a snapshot, on one line."""
    return " ".join(call("tablets", path).out.split())


def test_down_drained_and_given_up_are_told_apart(tmp_path: Path) -> None:
    """Without a topology the loads alone tell: by ``up``, ``draining`` and ``excluded``."""
    assert roles(FIRST)["ea504e82"] == "down"
    assert roles(SECOND)["ea504e82"] == "excluded"
    assert roles(THIRD)["d94f3d71"] == "leaving"
    for folder, host, role in ((FIRST, "ea504e82", "down"), (SECOND, "ea504e82", "excluded")):
        alone = tmp_path / role
        shutil.copytree(folder, alone)
        (alone / "system_topology.csv").unlink()
        text = (alone / LOADS).read_text("utf-8").replace("null", "")
        line = "5f1c0a4e-8d3b-4c6a-9b1e-0a1f2e3d4c01;oslo;False;1;False;;north;;;;;;;;True\n"
        (alone / LOADS).write_text(text if "5f1c" in text else text + line, "utf-8")
        opened = open_tablets(alone)
        assert {n.host[:8]: n.role for n in opened.nodes}[host] == role
        assert {each[:8] for each in opened.down} == {host}
    drained = tmp_path / "drained"
    shutil.copytree(THIRD, drained)
    (drained / "system_topology.csv").unlink()
    (drained / "system_tablet_sizes.csv").unlink()
    assert roles(str(drained))["d94f3d71"] == "leaving"


def test_a_node_is_full_by_its_effective_capacity(tmp_path: Path) -> None:
    """Balancing by size takes free space and tablets; what no file says of that is told."""
    opened = open_tablets(FIRST)
    assert {node.capacity for node in opened.nodes} == {900_000_000_000}
    assert "is set to use storage_capacity" in words_of(FIRST)
    assert "1.0 GiB of 838.2 GiB, 0.1%" in call("tablets", FIRST, "--anonymize").out
    old = edited(FIRST, tmp_path / "old", LOADS, ("effective_capacity", "another"))
    assert {node.capacity for node in open_tablets(old).nodes} == {1_000_000_000_000}
    assert "effective" not in words_of(old)
    some = edited(FIRST, tmp_path / "some", LOADS, ("03;oslo;False;900000000000", "03;oslo;False;"))
    assert sorted(node.capacity for node in open_tablets(some).nodes)[-1] == 1_000_000_000_000
    assert "does not give the effective_capacity of c83e2c60-" in words_of(some)
    bad_one = edited(FIRST, tmp_path / "b", LOADS, ("03;oslo;False;9", "03;oslo;False;-9"))
    assert "effective_capacity: got -900000000000; allowed: bytes" in bad("tablets", bad_one)
    assert "effective" not in call("tablets", FIRST, "--edition", "documents").out


def test_who_keeps_a_transition_waiting_is_said() -> None:
    """With the dump itself, to which the topology's answer points."""
    assert "ea504e82: down, not excluded. Barriers wait for it" in words_of(FIRST)
    assert "not excluded" not in words_of(SECOND)
    answer = " ".join(call("tablets", FIRST, "drain", "ea50").out.split())
    assert "it is down, so this is a removenode" in answer


def test_the_name_of_an_archive_is_not_shown(tmp_path: Path) -> None:
    """Under pseudonyms an archive that is refused is named by its place."""
    path = tmp_path / "customer.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(f"{FIRST}/{TABLETS}", f"../{TABLETS}")
    assert "customer" in bad("tablets", str(path))
    assert "snapshot snapshot-1: got" in bad("tablets", str(path), "--anonymize")


def test_who_is_said_to_be_down_is_so_beside_the_loads() -> None:
    """One by its host id, another by the loads; names of a snapshot alone can be replaced."""
    answer = call("topology", SECOND, "--down", "5f1c0a4e")
    lines = [line.split() for line in answer.out.splitlines()]
    down = [words[0] for words in lines if words[1:2] == ["normal"] and words[-1] == "down"]
    assert down == ["5f1c0a4e", "ea504e82"]
    for option in ("--requests", "--status"):
        refused = bad("topology", SECOND, "--anonymize", option, "other.csv")
        assert refused.startswith("anonymize: got")


def test_files_of_two_instants_are_said_so(tmp_path: Path) -> None:
    """What could not be at one instant is a warning in a snapshot, not an error."""
    moved = edited(FIRST, tmp_path / "a", "system_topology.csv", ("tablet migration", ""))
    assert "1 tablet in transition, but none at topology version 41" in " ".join(
        call("tablets", moved).out.split()
    )
    drains = edited(FIRST, tmp_path / "b", LOADS, ("oslo;False", "oslo;True"))
    assert "the two dumps were read at different times" in words_of(drains)
    sizes = tmp_path / "c"
    shutil.copytree(FIRST, sizes)
    shutil.copy(f"{THIRD}/system_tablet_sizes.csv", sizes)
    assert "bakery.cakes has other tablets in c/system_tablet_sizes.csv" in words_of(str(sizes))
    joined = edited(FIRST, tmp_path / "d", LOADS, ("7a2d1b5f-", "7a2d1b5e-"))
    assert "it joined after the other table was read" in " ".join(
        call("tablets", joined).out.split()
    )


@pytest.mark.parametrize("path", [FIRST, SECOND])
def test_a_snapshot_is_rehearsed(path: str) -> None:
    """As a dump is; under pseudonyms where asked."""
    assert "6 tablets on 5 nodes" in repr(kit.rehearse(path, "decommission 7a2d"))
    hidden = kit.rehearse(path, "decommission 00000002", anonymize=True)
    said = hidden.text() + hidden.static()
    assert MARK.split(":")[0] in said.replace("&#x27;", "'")
    assert not [name for name in (*HOSTS, "bakery", "172.20", "oslo") if name in said]


def test_a_rehearsal_names_the_table_of_a_tablet() -> None:
    """Several tables have a tablet 1: wherever one is named, so is its table."""
    player = kit.rehearse(SECOND, "lose 7a2d")
    timeline = player.timeline
    said = [player.text(), player.static()]
    for _ in range(12):
        action = timeline.suggest()
        if action is None:
            break
        timeline.do(action)
        said += [player.text(), player.static()]
    alone = {each[0] for text in said for each in re.finditer(r"[Tt]ablet \d+\b(?! of\b)", text)}
    assert not alone
    model, state = timeline.model, timeline.state
    labels = [model.label(state, action) for action, _ in model.options(state)]
    assert not [each for each in labels if re.search(r"work on \d|disk for \d", each)]


def test_an_operation_that_is_under_way_is_followed(tmp_path: Path) -> None:
    """It is not asked for twice: the line says that the files have it, and what to do."""
    for line in ("decommission d94f", "removenode d94f", "lose d94f"):
        with pytest.raises(BadInput, match="already have decommission of this one under way"):
            kit.rehearse(THIRD, line)
    first = kit.rehearse(THIRD).timeline.moments[1]
    assert "leave" in kit.rehearse(THIRD).timeline.model.verb(first.action)
    moved = edited(
        THIRD, tmp_path / "s", "system_topology.csv", (";leave;", ";;"),
        ("tablet migration", "write both read old"),
    )  # fmt: skip
    topology = Path(moved, "system_topology.csv")
    rows = topology.read_text("utf-8").splitlines()
    text = "\n".join(
        row.replace(";normal;", ";decommissioning;") if "d94f" in row else row for row in rows
    )
    topology.write_text(text + "\n", "utf-8")
    with pytest.raises(BadInput, match="python -m kit topology s says what comes next"):
        kit.rehearse(moved, "balance")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "words",
    [("tablets", FIRST), ("tablets", SECOND, "balance"), ("tablets", FIRST, SECOND, THIRD),
     ("topology", THIRD), ("explain", FIRST, SECOND, THIRD)],
)  # fmt: skip
def test_anonymize_leaves_nothing_of_the_names(words: tuple[str, ...], tmp_path: Path) -> None:
    """In words, as JSON and as a page; the answer is marked."""
    page = tmp_path / "page.html"
    html = ("--html", str(page)) if words[0] == "explain" or len(words) > 3 else ()
    plain = call(*words)
    for form in ((), ("--json",)):
        answer = call(*words, "--anonymize", *form, *html)
        assert answer.status == plain.status
        assert "made by this kit (--anonymize)" in " ".join(answer.out.split())
        said = answer.out + answer.err + (page.read_text("utf-8") if html else "")
        names = (*HOSTS, "bakery", "loaves", "cakes", "172.20", "oslo", "north", "tablet_snap")
        assert not [name for name in names if name in said]


def test_anonymize_is_for_snapshots_alone() -> None:
    """Other files would keep their names, so that they are refused beside it."""
    dump = f"{FIRST}/{TABLETS}"
    for words in (("tablets", dump), ("tablets", FIRST, "--schema", dump), ("topology", dump)):
        assert "only snapshots" in bad(*words, "--anonymize")


def test_snapshots_are_a_player_with_the_moves_between_them() -> None:
    """In the order of time, however they are given; each step says and shows what changed."""
    player = kit.replay_snapshots(THIRD, FIRST, SECOND)
    steps = []
    for at in range(3):
        player.timeline.goto(at)
        steps.append(player.text())
    assert "nothing changed so far" in steps[0]
    for words in ("172.20.0.15: down → excluded", "172.20.0.11:0 → 172.20.0.14:1"):
        assert words in steps[1]
    for words in ("172.20.0.15: has left", "split: 2 tablets → 4", "normal → leaving"):
        assert words in steps[2]
    scene = player.timeline.model.flow_table
    (travels,) = scene.values()
    first, moment, last = player.timeline.moments
    start, model = first.state, player.timeline.model
    assert model.milestone(start, moment.action, moment.state) == Path(SECOND).name
    assert model.milestone(moment.state, last.action, last.state) == Path(THIRD).name
    flows = travels(player.timeline.model, start, moment.action, moment.state)
    assert [(flow.from_key, flow.to_key) for flow in flows] == [("n:172.20.0.11", "n:172.20.0.14")]


def test_a_snapshot_of_another_cluster_is_one_line(tmp_path: Path) -> None:
    """No node is in both; nor can one snapshot alone be stepped through."""
    other = tmp_path / "other"
    shutil.copytree(SECOND, other)
    for path in other.iterdir():
        text = path.read_text("utf-8")
        for host in HOSTS:
            text = text.replace(host, f"{int(host, 16) ^ 1:08x}")
        path.write_text(text, "utf-8")
    assert "the two have no node in common" in bad("tablets", FIRST, str(other))
    assert "the two have no node in common" in bad("explain", FIRST, str(other))
    assert "one that differs from" in bad("tablets", FIRST, FIRST)
    with pytest.raises(BadInput, match="two or more"):
        kit.replay_snapshots(FIRST)
    assert "several snapshots" in bad("tablets", FIRST, "--html", "out.html")


def test_what_the_snapshots_show_is_explained(tmp_path: Path) -> None:
    """With a run for each tablet that changed; it is written as a page and as a trace."""
    page, run = tmp_path / "run.html", tmp_path / "run.json"
    answer = call(
        "explain", FIRST, SECOND, THIRD, "--html", str(page), "--save", str(run), "--json"
    )
    assert answer.status == 0
    assert {part["verdict"] for part in answer.json["parts"].values()} == {"explained"}
    assert set(answer.json["parts"]) == {f"bakery.loaves {n}" for n in (0, 1, 3)}
    assert call("play", str(run)).status == 0
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize("more", [(), (THIRD,)], ids=("it stays", "it leaves later"))
def test_a_stage_that_passed_a_node_that_was_down_is_refuted(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    """Nobody gave it up, so that the barrier should have waited: the model says for whom."""
    stays = edited(
        SECOND, tmp_path / "s", LOADS, ("False;900000000000;True", "False;900000000000;False")
    )
    answer = call("explain", FIRST, stays, *more)
    said = " ".join(answer.out.split())
    assert answer.status == 1
    assert "no rule explains s/system_tablets.csv line 2; the nearest refusal is" in said
    assert '"barrier: a node does not receive the barrier: 172.20.0.15"' in said


def test_a_node_that_came_back_was_restarted(tmp_path: Path) -> None:
    """The barrier waited for it; in the run of a tablet it restarts, and no other node does."""
    back = edited(
        SECOND, tmp_path / "s", LOADS,
        ("900000000000;True;172.20.0.15", "900000000000;False;172.20.0.15"),
        ("2.0;False", "2.0;True"),
    )  # fmt: skip
    parts = call("explain", FIRST, back, "--json").json["parts"]
    assert {part["verdict"] for part in parts.values()} == {"explained"}
    for question in of_snapshots([FIRST, back], "server", False)[0]:
        ((model, sight),) = question.ways
        found = Question("", tuple(question.seen), ((model, sight),)).answer(50_000)
        verbs = {model.verb(action) for action in found.run}
        assert {verb for verb in verbs if verb.startswith("restart")} == {"restart 172.20.0.15"}


@pytest.mark.parametrize("row", [True, False], ids=("left", "no row"))
def test_a_node_that_was_down_and_has_left_was_given_up(row: bool, tmp_path: Path) -> None:
    """When is not shown: no moment has it as excluded. It held one of the three tablets."""
    topology = Path(THIRD, "system_topology.csv").read_text("utf-8").splitlines(keepends=True)
    (own,) = (line for line in topology if HOSTS[-1] in line)
    gone = () if row else ((own, ""),)
    last = edited(THIRD, tmp_path / "s", "system_topology.csv", *gone)
    parts = call("explain", FIRST, last, "--json").json["parts"]
    assert {part["verdict"] for part in parts.values()} == {"explained"}
    assert set(parts) == {f"bakery.loaves {number}" for number in (0, 1, 3)}


def test_a_stage_does_not_come_twice(tmp_path: Path) -> None:
    """A migration that reads the new replicas streams no more; the other way round it is right."""
    late = edited(FIRST, tmp_path / "s", TABLETS, (";streaming;", ";write_both_read_new;"))
    dumps = [f"{FIRST}/{TABLETS}", f"{late}/{TABLETS}"]
    assert call("explain", *dumps).status == 0
    answer = call("explain", *reversed(dumps), "--json")
    part = answer.json["parts"]["bakery.loaves 0"]
    assert (answer.status, part["verdict"], part["explained"]) == (1, "refuted", 1)
    assert part["where"] == "system_tablets.csv line 2"


def test_what_stands_still_needs_no_explanation(tmp_path: Path) -> None:
    """Two dumps of the same tablets, as files of their own, are explained without a step."""
    one, other = (str(tmp_path / name) for name in ("a.csv", "b.csv"))
    text = Path(THIRD, TABLETS).read_text("utf-8")
    for path in (one, other):
        Path(path).write_text(text, "utf-8")
    answer = call("explain", one, other)
    assert answer.status == 0
    assert "nothing changes" in answer.out
    assert "or only dumps of system.tablets" in bad("explain", one, FIRST)


@examples(25)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 40))
def test_what_the_model_does_is_explained(random: Random, steps: int) -> None:
    """A walk of the tablet's own model, of which some states are seen."""
    question = of_snapshots([FIRST, SECOND, THIRD], "server", False)[0][random.randrange(3)]
    ((model, sight),) = question.ways
    states = [model.start()]
    for _ in range(steps):
        allowed = [after for _, after in sight.steps(model, states[-1])] if sight.steps else []
        if not allowed:
            break
        states.append(random.choice(allowed))
    seen = tuple(
        Seen(f"line {at}", sight.reads(model, state))
        for at, state in enumerate(states)
        if at == len(states) - 1 or random.random() < 0.2
    )
    found = Question("", tuple(seen), ((model, sight),)).answer(50_000)
    assert found.verdict in ("explained", "unknown")


def test_a_tablet_that_came_back_unseen_may_leave_again(tmp_path: Path) -> None:
    """A migration is over in the first dump and under way in the second: it moved back between."""
    header, *rows = (Path(FIRST) / TABLETS).read_text("utf-8").splitlines()
    row = next(row for row in rows if ";streaming;" in row)
    cells = dict(zip(header.split(";"), row.split(";"), strict=True))
    over = {**cells, "replicas": cells["new_replicas"]}
    over |= dict.fromkeys(("new_replicas", "session", "stage", "transition"), "")
    done = ";".join(over.values())
    moved = edited(FIRST, tmp_path / "s", TABLETS, (row, done))
    answers = kit.explain([f"{moved}/{TABLETS}", f"{FIRST}/{TABLETS}"])
    assert answers.verdict == "explained", answers
