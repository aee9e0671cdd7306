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


def test_loads_without_a_topology_tell_down_excluded_and_leaving_apart(tmp_path: Path) -> None:
    """By the columns "up", "draining" and "excluded"."""
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
        assert {n.host[:8]: n.role for n in opened.nodes}[host] == role, (folder, host)
        assert {each[:8] for each in opened.down} == {host}, (folder, host)
    drained = tmp_path / "drained"
    shutil.copytree(THIRD, drained)
    (drained / "system_topology.csv").unlink()
    (drained / "system_tablet_sizes.csv").unlink()
    assert roles(str(drained))["d94f3d71"] == "leaving"


def test_a_nodes_capacity_is_its_effective_one_where_the_loads_give_it(tmp_path: Path) -> None:
    """The answer says where it is missing or not used. A negative one is refused."""
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


def test_the_answer_names_the_down_node_that_barriers_wait_for() -> None:
    """An excluded node is not named."""
    assert "ea504e82: down, not excluded. Barriers wait for it" in words_of(FIRST)
    assert "not excluded" not in words_of(SECOND)
    answer = " ".join(call("tablets", FIRST, "drain", "ea50").out.split())
    assert "it is down, so this is a removenode" in answer


def test_under_pseudonyms_a_refused_archive_is_named_by_its_place(tmp_path: Path) -> None:
    """Otherwise by its file name."""
    path = tmp_path / "customer.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(f"{FIRST}/{TABLETS}", f"../{TABLETS}")
    assert "customer" in bad("tablets", str(path))
    assert "snapshot snapshot-1: got" in bad("tablets", str(path), "--anonymize")


def test_a_node_said_to_be_down_counts_beside_those_of_the_loads() -> None:
    """Pseudonyms are for snapshots alone, so other files beside them are refused."""
    answer = call("topology", SECOND, "--down", "5f1c0a4e")
    lines = [line.split() for line in answer.out.splitlines()]
    down = [words[0] for words in lines if words[1:2] == ["normal"] and words[-1] == "down"]
    assert down == ["5f1c0a4e", "ea504e82"]
    for option in ("--requests", "--status"):
        refused = bad("topology", SECOND, "--anonymize", option, "other.csv")
        assert refused.startswith("anonymize: got"), option


def test_files_read_at_different_times_get_a_warning(tmp_path: Path) -> None:
    """Four ways in which a snapshot shows it."""
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
def test_a_snapshot_can_be_rehearsed_also_under_pseudonyms(path: str) -> None:
    """No name of the cluster is left then."""
    assert "6 tablets on 5 nodes" in repr(kit.rehearse(path, "decommission 7a2d"))
    hidden = kit.rehearse(path, "decommission 00000002", anonymize=True)
    said = hidden.text() + hidden.static()
    assert MARK.split(":")[0] in said.replace("&#x27;", "'")
    assert not [name for name in (*HOSTS, "bakery", "172.20", "oslo") if name in said]


def test_a_rehearsal_of_several_tables_names_the_table_of_every_tablet() -> None:
    """In texts, tables and buttons."""
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


def test_a_rehearsal_continues_the_operation_that_the_files_have_under_way(tmp_path: Path) -> None:
    """A second one of that node is refused, and a write_both state names the topology command."""
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
def test_an_anonymized_answer_has_no_name_of_the_cluster(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """In words, as JSON and as a page. The answer is marked."""
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


def test_anonymize_is_refused_for_files_other_than_snapshots() -> None:
    """They would keep their names."""
    dump = f"{FIRST}/{TABLETS}"
    for words in (("tablets", dump), ("tablets", FIRST, "--schema", dump), ("topology", dump)):
        assert "only snapshots" in bad(*words, "--anonymize"), words


def test_snapshots_open_as_a_player_in_order_of_time() -> None:
    """Each step says what changed, and an arrow shows the move."""
    player = kit.replay_snapshots(THIRD, FIRST, SECOND)
    steps = []
    for at in range(3):
        player.timeline.goto(at)
        steps.append(player.text())
    assert "nothing changed so far" in steps[0]
    for words in ("172.20.0.15: down → excluded", "172.20.0.11:0 → 172.20.0.14:1"):
        assert words in steps[1], words
    for words in ("172.20.0.15: has left", "split: 2 tablets → 4", "normal → leaving"):
        assert words in steps[2], words
    scene = player.timeline.model.flow_table
    (travels,) = scene.values()
    first, moment, last = player.timeline.moments
    start, model = first.state, player.timeline.model
    assert model.milestone(start, moment.action, moment.state) == Path(SECOND).name
    assert model.milestone(moment.state, last.action, last.state) == Path(THIRD).name
    flows = travels(player.timeline.model, start, moment.action, moment.state)
    assert [(flow.from_key, flow.to_key) for flow in flows] == [("n:172.20.0.11", "n:172.20.0.14")]


def test_snapshots_without_a_shared_node_are_refused_in_one_line(tmp_path: Path) -> None:
    """So is a single one, where several are needed."""
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


def test_the_changes_between_snapshots_are_explained_with_a_run_each(tmp_path: Path) -> None:
    """The runs are written as a page and as a trace."""
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
def test_a_stage_that_did_not_wait_for_a_down_node_is_refuted(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    """The barrier should have waited, and the sentence names the node."""
    stays = edited(
        SECOND, tmp_path / "s", LOADS, ("False;900000000000;True", "False;900000000000;False")
    )
    answer = call("explain", FIRST, stays, *more)
    said = " ".join(answer.out.split())
    assert answer.status == 1
    assert "no rule explains s/system_tablets.csv line 2; the nearest refusal is" in said
    assert '"barrier: a node does not receive the barrier: 172.20.0.15"' in said


def test_a_node_that_came_back_between_snapshots_restarts_in_the_run(tmp_path: Path) -> None:
    """No other node does."""
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
def test_tablets_of_a_node_that_left_while_down_are_explained(row: bool, tmp_path: Path) -> None:
    """No moment shows the node as excluded."""
    topology = Path(THIRD, "system_topology.csv").read_text("utf-8").splitlines(keepends=True)
    (own,) = (line for line in topology if HOSTS[-1] in line)
    gone = () if row else ((own, ""),)
    last = edited(THIRD, tmp_path / "s", "system_topology.csv", *gone)
    parts = call("explain", FIRST, last, "--json").json["parts"]
    assert {part["verdict"] for part in parts.values()} == {"explained"}
    assert set(parts) == {f"bakery.loaves {number}" for number in (0, 1, 3)}


def test_a_stage_that_comes_again_is_refuted_at_its_line(tmp_path: Path) -> None:
    """In the right order the two dumps are explained."""
    late = edited(FIRST, tmp_path / "s", TABLETS, (";streaming;", ";write_both_read_new;"))
    dumps = [f"{FIRST}/{TABLETS}", f"{late}/{TABLETS}"]
    assert call("explain", *dumps).status == 0
    answer = call("explain", *reversed(dumps), "--json")
    part = answer.json["parts"]["bakery.loaves 0"]
    assert (answer.status, part["verdict"], part["explained"]) == (1, "refuted", 1)
    assert part["where"] == "system_tablets.csv line 2"


def test_two_equal_dumps_are_explained_by_no_step(tmp_path: Path) -> None:
    """A snapshot and a dump together are refused."""
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
def test_a_walk_of_the_model_is_never_refuted(random: Random, steps: int) -> None:
    """Some of its states are seen. Within the bound it may stay unknown."""
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
    assert found.verdict != "refuted"


def test_a_migration_that_starts_again_after_an_unseen_return_is_explained(tmp_path: Path) -> None:
    """The first dump has it done, and the second has it under way."""
    header, *rows = (Path(FIRST) / TABLETS).read_text("utf-8").splitlines()
    row = next(row for row in rows if ";streaming;" in row)
    cells = dict(zip(header.split(";"), row.split(";"), strict=True))
    over = {**cells, "replicas": cells["new_replicas"]}
    over |= dict.fromkeys(("new_replicas", "session", "stage", "transition"), "")
    done = ";".join(over.values())
    moved = edited(FIRST, tmp_path / "s", TABLETS, (row, done))
    answers = kit.explain([f"{moved}/{TABLETS}", f"{FIRST}/{TABLETS}"])
    assert answers.verdict == "explained", answers
