"""A real metadata log as a history: to read, to step through, to go on from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit import metadata_history, rehearse, replay_log, what_if
from kit.console.drill import DrillMoment
from kit.errors import BadInput, Refused
from kit.model.scenario import file_named, open_file
from kit.operators.importers.metadata_log import parse_metadata
from kit.protocols.tcm.dry_run.metadata_log import Epoch, MetadataHistory, history_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.tools import SERVERS
from kit.protocols.tcm.rules.metadata import Cancel
from kit.widgets.controls import SearchBoard
from tests.commands.calling import bad, call
from tests.protocols.tcm.dry_run.samples import entry, startup
from tests.saying import says

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "metadata"
LOG, DIRECTORY, VIEW = (FIXTURES / f"{name}.txt" for name in ("log", "directory", "describe"))
KS = 'ks={"class": "SimpleStrategy", "replication_factor": 3}'


@pytest.fixture(name="history")
def _history() -> MetadataHistory:
    return metadata_history([LOG, DIRECTORY])


def test_a_metadata_log_in_the_player_cannot_be_searched(history: MetadataHistory) -> None:
    """Call and button answer in one line, and the record stays where it was."""
    rehearsal = replay_log(history)
    at = rehearsal.player.timeline.at
    with pytest.raises(Refused, match="There is nothing to search: this is a record"):
        rehearsal.player.search()
    board = SearchBoard(rehearsal.player)
    board.button.click()
    if (thread := board.work.thread) is not None:
        thread.join()
    assert "There is nothing to search: this is a record" in board.found.value
    assert rehearsal.player.timeline.at == at


def states(history: MetadataHistory, epoch: int) -> dict[str, str]:
    """Each node's state at an epoch, by its address."""
    return {member.name: member.state for member in history.at(epoch)[0]}


def test_a_metadata_log_gives_each_nodes_state_at_each_epoch(history: MetadataHistory) -> None:
    """A newcomer, a leave that is cancelled, and a move are followed."""
    newcomer = [states(history, epoch).get("10.0.0.5") for epoch in (31, 32, 33, 34, 36)]
    assert newcomer == [None, "REGISTERED", "REGISTERED", "BOOTSTRAPPING", "JOINED"]
    leaver = [states(history, epoch)["10.0.0.3"] for epoch in (37, 38, 39)]
    assert leaver == ["JOINED", "LEAVING", "JOINED"]
    mover = [states(history, epoch)["10.0.0.1"] for epoch in (40, 41, 42)]
    assert mover == ["JOINED", "MOVING", "MOVING"]


def test_each_epoch_of_a_log_shows_the_operation_under_way_and_its_last_step(
    history: MetadataHistory,
) -> None:
    """The bootstrap ends in epoch 36, the decommission is cancelled in 39, the move goes on."""
    steps = {
        epoch: [(flight.kind, flight.steps[-1]) for flight in history.at(epoch)[1]]
        for epoch in range(31, 43)
    }
    assert steps == {
        **{epoch: [] for epoch in (31, 32, 36, 39, 40)},
        33: [("bootstrap", "prepare")],
        34: [("bootstrap", "start")],
        35: [("bootstrap", "mid")],
        37: [("decommission", "prepare")],
        38: [("decommission", "start")],
        41: [("move", "prepare")],
        42: [("move", "start")],
    }


def test_a_log_without_a_directory_names_unknown_numbers_and_tokens() -> None:
    """Neither the newcomer's number nor the tokens of older nodes are known."""
    alone = metadata_history(LOG)
    (epoch,) = [epoch for epoch in alone.epochs if epoch.epoch == 32]
    assert epoch.standing == "not known"
    assert epoch.say.startswith("10.0.0.5 registers")
    assert "does not give" in epoch.say
    assert {member.tokens for member in alone.at(31)[0]} == {None, ()}
    with pytest.raises(BadInput) as raised:
        what_if(alone, 41, KS)
    assert says(raised.value, "epoch 41: tokens of node 1 | None | dumpdirectory")


def test_a_log_from_the_first_epoch_numbers_nodes_by_their_registrations() -> None:
    """So a whole log needs no directory."""
    texts = [("PRE_INITIALIZE_CMS", "x"), ("INITIALIZE_CMS", "Initialize{Directory{}}")]
    for node in (1, 2, 3):
        address = f"Register{{addresses=NodeAddresses{{broadcastAddress=/10.0.0.{node}:7000}}, "
        texts += [
            ("REGISTER", f"{address}location=dc1/r{node}, version=v}}"),
            ("UNSAFE_JOIN", f"UnsafeJoin{{id=NodeId{{id={node}}}, tokens=[{node * 100}]}}"),
        ]
    history = metadata_history_of(texts)
    assert [(m.node, m.name, m.tokens) for m in history.at(8)[0]] == [
        (1, "10.0.0.1", (100,)),
        (2, "10.0.0.2", (200,)),
        (3, "10.0.0.3", (300,)),
    ]
    assert history.warnings == ()


def metadata_history_of(texts: list[tuple[str, str]], first: int = 1) -> MetadataHistory:
    """A history of kinds with their texts, an epoch each."""
    rows = [
        {
            "epoch": first + at,
            "kind": kind,
            "transformation": text,
            "entry_id": at,
            "entry_time": "2026-11-23 10:00:00Z",
        }
        for at, (kind, text) in enumerate(texts)
    ]
    return history_of([("log", parse_metadata(json.dumps(rows), "log"))])


@pytest.mark.parametrize("name", ["tcm/bootstrap", "tcm/replace", "tcm/move"])
def test_a_log_dumped_by_the_kit_reads_back_with_its_operations_and_tokens(name: str) -> None:
    """Each epoch stands as expected."""
    timeline = open_file(file_named(name))
    run = tuple(timeline.moments[at] for at in timeline.path())
    now = DrillMoment(timeline.model, run, timeline.model.names[0])
    dumped = "\n".join(SERVERS.dumplog(now, {}).lines)
    history = history_of([("log", parse_metadata(dumped, "log"))])
    known = facts.log(timeline.model, run[-1].state)
    assert known
    for epoch, kept, told in zip(known, history.entries, history.epochs, strict=True):
        done, codes = epoch.operation, timeline.model.codes
        assert (told.epoch, told.standing) == (epoch.epoch, "as expected")
        assert told.operation is not None
        assert (told.operation.kind, kept.node) == (done.kind, codes[done.node] + 1)
        assert kept.replaced == (codes[done.target] + 1 if done.target else None)
        assert kept.tokens == (tuple(done.tokens) if kept.kind.startswith("PREPARE_") else ())


def test_a_node_has_its_new_address_from_its_startup_on() -> None:
    """An operation under way keeps its node. A directory with the old address gets a warning."""
    texts = [entry(f"REGISTER {node}") for node in (1, 2)]
    texts += [entry("UNSAFE_JOIN 1 tokens=[100]"), entry("PREPARE_JOIN 2 tokens=[7]")]
    history = metadata_history_of([*texts, startup(2, "10.0.0.99"), entry("START_JOIN 2")])
    assert [states(history, epoch) for epoch in (4, 5, 6)] == [
        {"10.0.0.1": "JOINED", "10.0.0.2": "REGISTERED"},
        {"10.0.0.1": "JOINED", "10.0.0.99": "REGISTERED"},
        {"10.0.0.1": "JOINED", "10.0.0.99": "BOOTSTRAPPING"},
    ]
    says_so = [each.say for each in history.epochs[3:]]
    assert says_so[1] == "startup: node 2 is at 10.0.0.99 (before: 10.0.0.2)"
    assert [each.split(",")[0] for each in says_so[::2]] == [
        "bootstrap 10.0.0.2 with 1 token",
        "bootstrap 10.0.0.99 with 1 token",
    ]
    moved = metadata_history([LOG, DIRECTORY])
    rows = [*moved.entries]
    again = MetadataHistory(
        [*rows, *metadata_history_of([startup(2, "10.0.0.99")], 43).entries],
        [*moved.directory.values()],
    )
    assert [each.name for each in again.at(42)[0] if each.node == 2] == ["node 2"]
    assert [each.name for each in again.at(43)[0] if each.node == 2] == ["10.0.0.99"]
    assert again.warnings[:-1] == moved.warnings
    assert says(again.warnings[-1], "node 2 is at 10.0.0.2 in the directory but at 10.0.0.99")


WHOLE = """
PRE_INITIALIZE_CMS; INITIALIZE_CMS; REGISTER 1; UNSAFE_JOIN 1 tokens=[100]; REGISTER 2
PREPARE_JOIN 2 tokens=[7, 8]; START_JOIN 2; CANCEL_SEQUENCE 2; CANCEL_SEQUENCE 2
PREPARE_JOIN 2 tokens=[7]; START_JOIN 2; MID_JOIN 2; FINISH_JOIN 2
PREPARE_MOVE 1 tokens=[50]; START_MOVE 1; MID_MOVE 1; FINISH_MOVE 1
REGISTER 3; PREPARE_REPLACE 3 replaced=NodeId{id=2}, replacement=NodeId{id=3}; CANCEL_SEQUENCE 3
PREPARE_LEAVE 1 force=true; START_LEAVE 1; CANCEL_SEQUENCE 1
PREPARE_LEAVE 2 force=false; START_LEAVE 2; MID_LEAVE 2; FINISH_LEAVE 2; UNREGISTER 2
ASSASSINATE 1; SCHEMA_CHANGE; TRIGGER_SNAPSHOT; SEAL_PERIOD; FORCE_SNAPSHOT
"""
"""An entry of each sort, in the order of a cluster's life: kind, node, what else its text says."""


def epoch_line(history: MetadataHistory, epoch: Epoch) -> str:
    """What an epoch says, how it stands where not as expected; who is there; what is under way."""
    members, flights = history.at(epoch.epoch)
    there = [f"{m.node} {m.state} {m.tokens}" for m in members]
    under_way = [f"{f.kind} {f.node}{' forced' * f.force}" for f in flights]
    odd = f" ({epoch.standing})" * (epoch.standing != "as expected")
    return f"{epoch.say}{odd} | {'; '.join(there)} | {'; '.join(under_way)}".rstrip()


def test_each_kind_of_entry_tells_its_sentence_members_and_operations() -> None:
    """The lines are those of every_sort.txt. An unknown kind gets a warning."""
    lines = WHOLE.replace("\n", ";").split(";")
    history = metadata_history_of([entry(line.strip()) for line in lines if line.strip()])
    found = [epoch_line(history, epoch) for epoch in history.epochs]
    assert found == (FIXTURES / "every_sort.txt").read_text("utf-8").splitlines()
    assert history.warnings == ("kinds unknown to this kit, kept as text: SEAL_PERIOD",)


@pytest.mark.parametrize(
    ("kinds", "odd"),
    [
        (["PREPARE_JOIN", "MID_JOIN"], "mid: switch reads; start was due next"),
        (["PREPARE_JOIN", "START_JOIN", "START_JOIN"], "mid was due next"),
        (["START_JOIN", "MID_JOIN", "FINISH_JOIN"], ""),
        (["FINISH_JOIN", "PREPARE_JOIN", "START_JOIN"], ""),
        (["PREPARE_JOIN", "PREPARE_JOIN"], "start was due next"),
        (["PREPARE_JOIN", "START_MOVE"], "move node 4, start: add write replicas; start of its"),
        (["PREPARE_JOIN", "PREPARE_MOVE"], "start of its bootstrap was due next"),
    ],
)
def test_a_step_out_of_order_is_marked_with_the_step_that_was_due(
    kinds: list[str], odd: str
) -> None:
    """A log may begin in the middle of an operation."""
    history = metadata_history_of([(kind, "Step{id=NodeId{id=4}}") for kind in kinds], first=9)
    found = [epoch.say for epoch in history.epochs if epoch.standing == "out of order"]
    assert len(found) == bool(odd)
    assert all(odd in say for say in found)
    assert len(history.warnings) == bool(odd)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([LOG, LOG], "log | 'log.txt' | one log and at most one directory"),
        ([DIRECTORY, LOG, DIRECTORY], "log | 'directory.txt' | at most one directory"),
        ([LOG, VIEW], "log | 'describe.txt' | one log and at most one directory"),
        ([DIRECTORY], "log | 'directory.txt' | at least one log among the files"),
    ],
)
def test_a_history_is_read_from_one_log_and_at_most_one_directory(
    files: list[Path], said: str
) -> None:
    """The error names the file that is too much."""
    with pytest.raises(BadInput) as raised:
        metadata_history(files)
    assert says(raised.value, said)


def test_a_gap_or_a_directory_of_another_moment_gets_a_warning(tmp_path: Path) -> None:
    """After the gap no order is judged."""
    blocks = LOG.read_text().split("Epoch: ")[1:]
    cut, other = tmp_path / "log.txt", tmp_path / "directory.txt"
    cut.write_text("".join(f"Epoch: {block}" for block in (*blocks[:3], *blocks[5:])))
    three = DIRECTORY.read_text().split("NodeId: 3\n")
    other.write_text("NodeId: 3\n".join([three[0], three[1].replace("JOINED", "LEAVING", 1)]))
    history = metadata_history([cut, other])
    gap, _, unlike = history.warnings
    assert gap == "epochs 34 to 35 are missing"
    assert unlike.startswith("10.0.0.3 is LEAVING in the directory but JOINED")
    assert {epoch.standing for epoch in history.epochs} == {"as expected", "not known"}


def test_the_player_steps_through_a_log_epoch_by_epoch(history: MetadataHistory) -> None:
    """The text shows each node's state, and how far the operation is."""
    shown = replay_log(history)
    model: Any = shown.timeline.model
    epochs = [model.newest_epoch(moment.state) for moment in shown.timeline.moments]
    assert epochs == list(range(30, 43))
    reached = [moment.milestone for moment in shown.timeline.moments if moment.milestone]
    assert [each.split(",")[0] for each in reached] == [
        "bootstrap 10.0.0.5 with 2 tokens",
        "cancel: decommission 10.0.0.3 is undone",
    ]
    shown.timeline.goto(5)
    text = shown.player.text()
    assert "epoch 35" in text
    assert "BOOTSTRAPPING" in text
    assert "10.0.0.5  bootstrap  mid" in " ".join(text.split("Under way")[1].split("\n")[2:3])
    assert shown.warnings == history.warnings
    assert rehearse([LOG, DIRECTORY]).text().startswith("warning: kinds")


def test_a_change_of_the_cms_is_under_way_as_far_as_the_log_tells() -> None:
    """What is prepared may change nothing; after missing epochs nobody knows where it stands."""
    kinds = "INITIALIZE_CMS", "PREPARE_SIMPLE_CMS_RECONFIGURATION"
    known = metadata_history_of([*map(entry, kinds)])
    later = metadata_history_of([entry("SCHEMA_CHANGE")], first=9)
    shown = replay_log(MetadataHistory([*known.entries, *later.entries], ()))
    for at, said in (
        (1, "No operation is in progress."),
        (2, "the CMS perhaps a change of its members prepared; which members change"),
        (3, "the CMS a change of its members where it stands is not known"),
    ):
        shown.timeline.goto(at)
        assert said in " ".join(shown.player.text().split()), at


def test_what_if_starts_at_the_logs_epoch_with_its_operation_under_way(
    history: MetadataHistory,
) -> None:
    """The same steps are done, and a cancel is possible."""
    for epoch in (33, 34, 35, 38, 42):
        timeline = what_if(history, epoch, KS).timeline
        m: Any = timeline.model
        assert m.newest_epoch(timeline.state) == epoch, epoch
        (flight,) = history.at(epoch)[1]
        (operation,) = facts.operations(m, timeline.state)
        done = [step.name for step in operation.steps if step.status == "done"]
        assert done == list(flight.steps), epoch
        name = history.name(flight.node, epoch)
        assert (m.parameters.crashes, m.parameters.cancels) == (1, 1), epoch
        assert m.refusal(timeline.state, m.wrap["tcm"](Cancel(name))) is None, epoch
        timeline.do(m.wrap["tcm"](Cancel(name)))
        assert m.newest_epoch(timeline.state) == epoch + 1, epoch


def test_what_if_can_begin_an_operation_that_the_log_lacks(history: MetadataHistory) -> None:
    """The decommission is among those that may begin at epoch 40."""
    timeline = what_if(history, 40, KS, "decommission 10.0.0.2").timeline
    m: Any = timeline.model
    assert "decommission 10.0.0.2" in map(m.verb, m.to_begin(timeline.state))


@pytest.mark.parametrize(
    ("epoch", "keyspaces", "message"),
    [
        (30, KS, "epoch | 30 | an epoch of the log: 31 to 42"),
        (34, (), "keyspaces | one or more"),
        (34, "ks=three", "keyspaces"),
    ],
)
def test_what_if_refuses_an_epoch_outside_the_log_and_wrong_keyspaces(
    history: MetadataHistory, epoch: int, keyspaces: Any, message: str
) -> None:
    """The error names the field."""
    with pytest.raises(BadInput) as raised:
        what_if(history, epoch, keyspaces)
    assert says(raised.value, message)


def test_what_if_refuses_a_log_in_which_locked_ranges_overlap() -> None:
    """The error names the second operation."""
    rows = [
        *(
            ("UNSAFE_JOIN", f"UnsafeJoin{{id=NodeId{{id={n}}}, tokens=[{n * 100}]}}")
            for n in range(1, 7)
        ),
        ("PREPARE_LEAVE", "PrepareLeave{id=NodeId{id=1}, force=false}"),
        ("PREPARE_LEAVE", "PrepareLeave{id=NodeId{id=2}, force=false}"),
    ]
    address = "Register{{addresses=NodeAddresses{{broadcastAddress=/10.0.0.{}:7000}}, location=a/b,"
    places = [("REGISTER", address.format(n)) for n in range(1, 7)]
    history = metadata_history_of([("INITIALIZE_CMS", "x"), *places, *rows])
    with pytest.raises(BadInput) as raised:
        what_if(history, 15, KS)
    assert says(raised.value, "operation in flight | decommission 10.0.0.2 | locked")


def test_what_if_refuses_a_joiner_whose_preparation_is_not_in_the_log() -> None:
    """Its tokens are not known. The history itself may begin in the middle."""
    texts = [entry("INITIALIZE_CMS"), entry("REGISTER 1"), entry("UNSAFE_JOIN 1 tokens=[100]")]
    history = metadata_history_of([*texts, entry("REGISTER 2"), entry("START_JOIN 2")])
    with pytest.raises(BadInput) as raised:
        what_if(history, 5, KS)
    assert says(raised.value, "tokens of 10.0.0.2 | None | preparation | in the log")


def test_the_metadata_command_shows_and_compares_logs_and_views(tmp_path: Path) -> None:
    """Epochs, one moment as JSON, a page, two logs or views compared, and wrong files refused."""
    told = call("metadata", str(LOG), str(DIRECTORY))
    assert told.status == 0
    assert "12 epochs, 31 to 42" in told.out
    moment = call("metadata", str(LOG), str(DIRECTORY), "--at", "34", "--json")
    assert json.loads(moment.out)["under_way"][0]["steps"] == ["prepare", "start"]
    page = tmp_path / "history.html"
    assert call("metadata", str(LOG), "--html", str(page)).status == 0
    assert page.stat().st_size > 10_000
    assert "have the same content" in call("metadata", str(VIEW), str(VIEW)).out
    start, end = tmp_path / "start.txt", tmp_path / "end.txt"
    entries = LOG.read_text().split("Epoch: 38")
    start.write_text(entries[0])
    end.write_text(f"Epoch: 38{entries[1]}")
    same = "have the same content in epochs 31 to 37: log.txt has 31 to 42, start.txt has 31 to 37"
    assert same in " ".join(call("metadata", str(LOG), str(start)).out.split())
    assert call("metadata", str(start), str(end)).status == 1
    other = tmp_path / "later.txt"
    other.write_text(VIEW.read_text().replace("Epoch: 42", "Epoch: 44"))
    differ = call("metadata", str(VIEW), str(other))
    assert (differ.status, "describe.txt: 42" in differ.out) == (1, True)
    assert "Epoch" in call("metadata", str(VIEW)).out
    assert says(bad("metadata", str(VIEW), str(VIEW), "--at", "3"), "--at | 3 | one log")
    assert says(bad("metadata", str(LOG), "--at", "99"), "epoch | 99 | 31 to 42")
    assert says(bad("metadata", str(DIRECTORY)), "log | at least one log among the files")
    assert says(bad("metadata", str(LOG), "--html", str(LOG)), "--html | a different file")


SERVICE = Path(__file__).with_name("members_down.txt").read_text("utf-8").split("\n")


@pytest.mark.parametrize("line", [line for line in SERVICE if line and line[0] != "#"])
def test_the_metadata_command_says_whether_the_cms_has_a_quorum(line: str, tmp_path: Path) -> None:
    """Each row of members_down.txt has the exit status, and what is said and not said."""
    members, down, status, says_, never = (cell.strip() for cell in line.split("|"))
    view = VIEW.read_text("utf-8")
    (tmp_path / "describe.txt").write_text(re.sub("(?<=Members: ).*", members, view), "utf-8")
    words = [word for name in down.split() for word in ("--down", name)]
    answer = call("metadata", str(tmp_path / "describe.txt"), *words)
    said = " ".join((answer.out + answer.err).split())
    assert answer.status == int(status)
    assert [each for each in says_.split("; ") if each not in said] == []
    assert never == "-" or never not in said
