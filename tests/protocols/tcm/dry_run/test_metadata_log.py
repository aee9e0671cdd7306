"""A real metadata log as a history: to read, to step through, to go on from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kit import metadata_history, rehearse, replay_log, what_if
from kit.console.drill import DrillMoment
from kit.errors import BadInput, Refused
from kit.model.scenario import file_named, open_file
from kit.operators.importers.metadata_log import DirectoryNode, parse_metadata
from kit.protocols.tcm.dry_run import time_machine
from kit.protocols.tcm.dry_run.metadata_log import (
    Epoch,
    Flight,
    Member,
    MetadataHistory,
    history_of,
)
from kit.protocols.tcm.dry_run.time_machine import (
    EPOCHS,
    NODES,
    _badges,
    _flights,
    operation_of,
    ring_of,
    standing,
)
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.tools import SERVERS
from kit.protocols.tcm.lessons.real_log import under_way_at
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.rules.metadata import Cancel
from kit.protocols.tcm.rules.operations import Kind
from kit.views.panel import scene_at
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


def test_a_record_has_nothing_to_search(history: MetadataHistory) -> None:
    """By call and by the button one true line is the answer, and the record stays as it was."""
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


def test_states_as_the_log_goes_on(history: MetadataHistory) -> None:
    """A newcomer from its registration on, a leaver who is called back, a node that moves."""
    newcomer = [states(history, epoch).get("10.0.0.5") for epoch in (31, 32, 33, 34, 36)]
    assert newcomer == [None, "REGISTERED", "REGISTERED", "BOOTSTRAPPING", "JOINED"]
    leaver = [states(history, epoch)["10.0.0.3"] for epoch in (37, 38, 39)]
    assert leaver == ["JOINED", "LEAVING", "JOINED"]
    mover = [states(history, epoch)["10.0.0.1"] for epoch in (40, 41, 42)]
    assert mover == ["JOINED", "MOVING", "MOVING"]


def test_what_was_under_way(history: MetadataHistory) -> None:
    """An operation from its preparation to its end, or its cancel."""
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


def test_without_a_directory_what_is_not_known_is_said() -> None:
    """The log alone knows neither the newcomer's number nor the tokens of those who were there."""
    alone = metadata_history(LOG)
    (epoch,) = [epoch for epoch in alone.epochs if epoch.epoch == 32]
    assert epoch.standing == "not known"
    assert epoch.say.startswith("10.0.0.5 registers")
    assert "does not give" in epoch.say
    assert {member.tokens for member in alone.at(31)[0]} == {None, ()}
    with pytest.raises(BadInput) as raised:
        what_if(alone, 41, KS)
    assert says(raised.value, "epoch 41: tokens of node 1 | None | dumpdirectory")


def test_a_log_from_the_first_epoch_counts_registrations() -> None:
    """Numbers are given in turn, so a whole log needs no directory."""
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


def advance(current: str, additions: str, removals: str, active: str = "null") -> tuple[str, str]:
    """A step of a change of the CMS, as published nodes print it."""
    nodes = (", ".join(f"NodeId{{id={n}}}" for n in each.split()) for each in (additions, removals))
    diff = "Diff{{additions=[{}], removals=[{}]}}".format(*nodes)
    text = f"idx=0, current={current}, diff={diff}, activeTransition={active}"
    return "ADVANCE_CMS_RECONFIGURATION", f"AdvanceCMSReconfiguration{{{text}}}"


def test_a_change_of_the_cms_is_under_way_until_its_end() -> None:
    """What each step does, and what is left after it, or that a text does not tell."""
    prepared = "prepared; which members change, if any, the log tells only at the next step"
    active = "ActiveTransition{nodeId=NodeId{id=2}, streamCandidates=[/10.0.0.1:7000]}"
    steps = [
        (("TRIGGER_SNAPSHOT", "x"), "every node stores a snapshot", ""),
        (
            ("PREPARE_COMPLEX_CMS_RECONFIGURATION", "PrepareCMSReconfiguration#Complex{}"),
            "a change of the CMS is prepared, if it needs one",
            prepared,
        ),
        (
            advance("StartAddToCMS(NodeId{id=2})", "2 3", "1 4"),
            "node 2 joins the CMS: it is written to, and copies the log",
            "adding node 2; to add node 3; to remove node 1, node 4",
        ),
        (
            advance("FinishCMSReconfiguration()", "3", "1 4", active),
            "node 2 is a member of the CMS",
            "to add node 3; to remove node 1, node 4",
        ),
        (
            advance("RemoveFromCMS(NodeId{id=1})", "", "1 4"),
            "node 1 leaves the CMS",
            "to remove node 4",
        ),
        (
            advance("RemoveFromCMS(NodeId{id=4})", "", "4"),
            "node 4 leaves the CMS",
            "nothing is left to do but to end it",
        ),
        (advance("FinishReconfiguration()", "", ""), "the change of the CMS is complete", ""),
        (
            (
                "PREPARE_SIMPLE_CMS_RECONFIGURATION",
                "X#Simple{toReplace=NodeId{id=2}, downNodes=[]}",
            ),
            "another node is to take the place of a CMS member: node 2",
            prepared,
        ),
        (
            ("ADVANCE_CMS_RECONFIGURATION", "of a later release"),
            "the change of the CMS goes on",
            "where it stands is not known",
        ),
        (
            advance("OfALaterRelease(NodeId{id=1})", "", ""),
            "the change of the CMS goes on",
            "where it stands is not known",
        ),
        (
            ("CANCEL_CMS_RECONFIGURATION", "CancelCMSReconfiguration{}"),
            "the change of the CMS is given up",
            "",
        ),
    ]
    history = metadata_history_of([step for step, _, _ in steps], first=9)
    assert [(e.say, history.reconfiguration(e.epoch)) for e in history.epochs] == [
        (say, left) for _, say, left in steps
    ]
    assert history.reconfiguration(8) == ""


def test_after_a_gap_nobody_knows_where_a_change_of_the_cms_stands() -> None:
    """It may have ended in the epochs that are missing."""
    rows = [
        {
            "epoch": epoch,
            "kind": kind,
            "transformation": "x",
            "entry_id": 1,
            "entry_time": "2026-11-23 10:00:00Z",
        }
        for epoch, kind in ((4, "PREPARE_COMPLEX_CMS_RECONFIGURATION"), (7, "TRIGGER_SNAPSHOT"))
    ]
    history = history_of([("log", parse_metadata(json.dumps(rows), "log"))])
    assert history.reconfiguration(7) == "where it stands is not known"


def test_racks_are_those_of_their_epoch() -> None:
    """A node is moved to another rack: where it was before, the log tells if it registered in it,
    and else nobody.
    """
    texts = [
        entry(line)
        for line in ("REGISTER 1", "UNSAFE_JOIN 1 tokens=[100]", "UNSAFE_JOIN 2 tokens=[7]")
    ]
    updates = "NodeId{id=1}=dc1/r9, NodeId{id=2}=dc2/r3"
    texts.append(("ALTER_TOPOLOGY", f"AlterTopology{{updates={{{updates}}}}}"))
    history = metadata_history_of(texts)
    places = {at: {m.node: (m.dc, m.rack) for m in history.at(at)[0]} for at in (3, 4)}
    assert places == {
        3: {1: ("dc1", "r1"), 2: (None, None)},
        4: {1: ("dc1", "r9"), 2: ("dc2", "r3")},
    }
    assert history.epochs[-1].say.endswith("10.0.0.1 to dc1, r9; node 2 to dc2, r3")


@pytest.mark.parametrize("name", ["tcm/bootstrap", "tcm/replace", "tcm/move"])
def test_what_the_kit_dumps_itself_tells_nodes_and_tokens(name: str) -> None:
    """The log of a model of the kit is read as one of a real cluster: nothing is out of order."""
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


def test_a_question_names_also_who_registers_later() -> None:
    """Of an operation that begins after the epoch that is asked for, its node has its address."""
    texts = [entry(f"REGISTER {node}") for node in (1, 2)]
    texts += [entry("UNSAFE_JOIN 1 tokens=[100]"), entry("PREPARE_JOIN 2 tokens=[7]")]
    question = under_way_at(metadata_history_of(texts), 1)
    assert question.question.choices[0] == "bootstrap 10.0.0.2 with 1 token"


def test_a_node_may_start_with_a_new_address() -> None:
    """From that epoch on it is there; an operation under way keeps its node."""
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


def test_a_log_with_every_sort_of_entry() -> None:
    """What each says, who is there after it in which state with which tokens, what is under way."""
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
def test_steps_out_of_order_are_named(kinds: list[str], odd: str) -> None:
    """A log may begin in the middle of an operation; from then on its steps have an order."""
    history = metadata_history_of([(kind, "Step{id=NodeId{id=4}}") for kind in kinds], first=9)
    found = [epoch.say for epoch in history.epochs if epoch.standing == "out of order"]
    assert len(found) == bool(odd)
    assert all(odd in say for say in found)
    assert len(history.warnings) == bool(odd)


@pytest.mark.parametrize(
    ("before", "after", "fits"),
    [
        ("PREPARE_JOIN", "START_JOIN", True),
        ("PREPARE_JOIN", "PREPARE_JOIN", True),  # cancelled and begun anew in between
        ("START_JOIN", "FINISH_JOIN", True),
        ("MID_JOIN", "START_JOIN", False),
        ("START_JOIN", "START_MOVE", True),  # the join ended in between
    ],
)
def test_after_missing_epochs_a_step_fits_that_may_have_come(
    before: str, after: str, fits: bool
) -> None:
    """The operation has at least the steps that it had before them, unless another has begun."""
    rows = metadata_history_of([(kind, "Step{id=NodeId{id=4}}") for kind in (before, after)], 9)
    late = replace(rows.entries[1], epoch=14)
    history = MetadataHistory([rows.entries[0], late])
    assert history.epochs[1].standing == ("as expected" if fits else "out of order")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # A text that does not name its node; a kind of older releases that is no step.
        ("PREPARE_JOIN", "prepare join"),
        ("START_ADD_TO_CMS 1", "start add to cms: 10.0.0.1"),
        ("STARTUP 1", "startup: 10.0.0.1"),
    ],
)
def test_what_is_no_step_of_an_operation_changes_nobody(line: str, said: str) -> None:
    """Everybody is as before, and nothing is under way."""
    texts = [entry("REGISTER 1"), entry("UNSAFE_JOIN 1 tokens=[100]")]
    history = metadata_history_of([*texts, entry(line)])
    assert history.epochs[-1].say == said
    assert history.at(3) == history.at(2)
    assert history.at(3)[1] == ()


def test_a_start_names_the_former_address_only_where_it_was_another() -> None:
    """Nobody is known before who had left the cluster."""
    texts = [entry("REGISTER 1"), startup(1, "10.0.0.1"), entry("UNREGISTER 1")]
    history = metadata_history_of([*texts, startup(1, "10.0.0.9")])
    assert [history.epochs[at].say for at in (1, 3)] == [
        "startup: node 1 is at 10.0.0.1",
        "startup: node 1 is at 10.0.0.9",
    ]
    assert [states(history, epoch) for epoch in (2, 3, 4)] == [
        {"10.0.0.1": "REGISTERED"},
        {},
        {"10.0.0.9": "JOINED"},
    ]


def known(node: int, *tokens: int, state: str = "JOINED") -> DirectoryNode:
    """A node of a directory, in dc1 and r1."""
    return DirectoryNode(node, f"h{node}", state, "dc1", "r1", f"10.0.0.{node}", (), tokens)


MOVE = ["PREPARE_MOVE 4 tokens=[9]", "START_MOVE 4", "MID_MOVE 4", "FINISH_MOVE 4"]
LEAVE = [f"{step}_LEAVE 4" for step in ("PREPARE", "START", "MID", "FINISH")]


@pytest.mark.parametrize(
    ("more", "listed", "tokens"),
    [
        ([], known(4, 7), (7,)),
        (["STARTUP 4"], known(4, 7), (7,)),
        (MOVE, known(4, 9), None),
        (LEAVE, known(4, state="LEFT"), None),
        ([], known(3, 7), None),
    ],
)
def test_the_directory_tells_tokens_from_their_last_change_on(
    more: list[str], listed: DirectoryNode, tokens: tuple[int, ...] | None
) -> None:
    """What a newcomer got whose preparation is gone: if it owns other ones by now, nobody knows."""
    lines = ["START_JOIN 4", "MID_JOIN 4", "FINISH_JOIN 4", *more]
    texts = metadata_history_of([entry(line) for line in lines], first=9).entries
    history = MetadataHistory(texts, [listed])
    (member,) = [each for each in history.at(11)[0] if each.node == 4]
    assert (member.state, member.tokens) == ("JOINED", tokens)


def test_tokens_that_the_log_tells_need_no_directory() -> None:
    """The directory of an older moment has none of them yet."""
    steps = [f"{step}_JOIN 4" for step in ("START", "MID", "FINISH")]
    texts = [entry(line) for line in ("PREPARE_JOIN 4 tokens=[7]", *steps)]
    history = MetadataHistory(metadata_history_of(texts, first=9).entries, [known(4)])
    assert [each.tokens for each in history.at(12)[0]] == [(7,)]


def test_racks_of_the_directory_are_those_of_its_moment() -> None:
    """Of who is moved in the log it does not tell the place before; of who is unknown, nothing."""
    updates = "NodeId{id=1}=dc1/r9, NodeId{id=3}=dc2/r3"
    texts = [("ALTER_TOPOLOGY", f"AlterTopology{{updates={{{updates}}}}}"), entry("STARTUP 8")]
    history = MetadataHistory(
        metadata_history_of(texts, first=9).entries, [known(1, 100), known(2, 200)]
    )
    places = [{m.node: (m.dc, m.rack) for m in history.at(at)[0]} for at in (8, 9)]
    assert [*places[0]] == [1, 2, 8]
    assert places == [
        {1: (None, None), 2: ("dc1", "r1"), 8: (None, None)},
        {1: ("dc1", "r9"), 2: ("dc1", "r1"), 8: (None, None)},
    ]
    assert history.at(8)[0][0].tokens == (100,)


def test_places_in_the_text_of_another_kind_move_nobody() -> None:
    """A state that is forced on the cluster has every node's place in it."""
    state = "ForceSnapshot{locations={NodeId{id=1}=dc9/r9}}"
    texts = metadata_history_of([("FORCE_SNAPSHOT", state), entry("STARTUP 1")], first=9).entries
    history = MetadataHistory(texts, [known(1, 100)])
    assert [(m.dc, m.rack) for at in (8, 9, 10) for m in history.at(at)[0]] == [("dc1", "r1")] * 3


def test_a_registration_is_numbered_though_its_node_starts_later() -> None:
    """By the directory; of two registrations of one address the later one."""
    texts = [entry("REGISTER 1"), entry("REGISTER 1"), startup(1, "10.0.0.1")]
    history = MetadataHistory(metadata_history_of(texts, first=9).entries, [known(1, 100)])
    assert [each.node for each in history.entries] == [None, 1, 1]


def test_unknown_kinds_are_listed_in_order() -> None:
    """One line for all, each once."""
    kinds = [f"OF_A_LATER_RELEASE_{letter}" for letter in "HGFEDCBAA"]
    names = ", ".join(f"OF_A_LATER_RELEASE_{letter}" for letter in "ABCDEFGH")
    warnings = metadata_history_of([(kind, "x") for kind in kinds]).warnings
    assert warnings == (f"kinds unknown to this kit, kept as text: {names}",)


@pytest.mark.parametrize(
    ("first", "base", "number"),
    [
        (1, "Initialize{Directory{}}", 1),
        (1, "Initialize{Directory{NodeId{id=1}}}", None),
        (2, "Initialize{Directory{}}", None),
    ],
)
def test_registrations_are_counted_only_from_an_empty_cluster(
    first: int, base: str, number: int | None
) -> None:
    """Those who were there before have numbers too."""
    texts = [("INITIALIZE_CMS", base), entry("REGISTER 1")]
    assert metadata_history_of(texts, first).entries[1].node == number


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([LOG, LOG], "log | 'log.txt' | one log and at most one directory"),
        ([DIRECTORY, LOG, DIRECTORY], "log | 'directory.txt' | at most one directory"),
        ([LOG, VIEW], "log | 'describe.txt' | one log and at most one directory"),
        ([DIRECTORY], "log | 'directory.txt' | at least one log among the files"),
    ],
)
def test_a_history_is_of_one_log(files: list[Path], said: str) -> None:
    """With at most one directory; the file that is too much is named."""
    with pytest.raises(BadInput) as raised:
        metadata_history(files)
    assert says(raised.value, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Entry{id=NodeId{id=4}}", "replace a node with node 4"),
        ("Entry{replaced=NodeId{id=2}, replacement=NodeId{id=4}}", "replace node 2 with node 4"),
    ],
)
def test_whom_a_text_does_not_name_is_a_node(text: str, said: str) -> None:
    """The operation is told as far as it is known."""
    [epoch] = metadata_history_of([("PREPARE_REPLACE", text)], first=9).epochs
    assert said in epoch.say


def test_a_replacement_takes_tokens_over() -> None:
    """The replaced node is gone at the end, its tokens are the replacement's."""
    both = "replaced=NodeId{id=1}, replacement=NodeId{id=2}}"
    history = metadata_history_of(
        [
            ("UNSAFE_JOIN", "UnsafeJoin{id=NodeId{id=1}, tokens=[7]}"),
            ("PREPARE_REPLACE", f"PrepareReplace{{{both}"),
            *((f"{step}_REPLACE", f"Step{{, {both}") for step in ("START", "MID", "FINISH")),
        ],
        first=20,
    )
    assert [(m.node, m.state, m.tokens) for m in history.at(24)[0]] == [(2, "JOINED", (7,))]
    assert history.at(22)[1][0].replaced == 1


def test_gaps_and_other_moments_are_said(tmp_path: Path) -> None:
    """Epochs that are missing, so that no order is judged; a directory that is not of the end."""
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


def test_a_player_reads_on(history: MetadataHistory) -> None:
    """Each epoch is a step; the table shows who was there, the diagram how far it is."""
    shown = replay_log(history)
    model: Any = shown.timeline.model
    epochs = [model.epoch(moment.state) for moment in shown.timeline.moments]
    assert epochs == list(range(30, 43))
    shown.timeline.goto(5)
    text = shown.player.text()
    assert "epoch 35" in text
    assert "BOOTSTRAPPING" in text
    assert "10.0.0.5  bootstrap  mid" in " ".join(text.split("Under way")[1].split("\n")[2:3])
    assert shown.warnings == history.warnings
    assert rehearse([LOG, DIRECTORY]).text().startswith("warning: kinds")


def test_milestones_of_a_log_are_the_ends_of_operations(history: MetadataHistory) -> None:
    """A bootstrap that finishes, and a decommission that is cancelled; the move is not over."""
    moments = replay_log(history).timeline.moments
    milestones = {30 + at: m.milestone for at, m in enumerate(moments) if m.milestone is not None}
    drops = "finish: drop old write replicas, merge if possible"
    assert milestones == {
        36: f"bootstrap 10.0.0.5 with 2 tokens, {drops}",
        39: "cancel: decommission 10.0.0.3 is undone",
    }


def test_only_operations_that_were_under_way_have_milestones() -> None:
    """A cancel of nothing, and what ends without being an operation's end, is none."""
    lines = ("REGISTER 1", "CANCEL_SEQUENCE 1", "FINISH_ADD_TO_CMS 1", "CANCEL_CMS_RECONFIGURATION")
    moments = replay_log(metadata_history_of([entry(line) for line in lines])).timeline.moments
    assert [moment.milestone for moment in moments] == [None] * 5


def test_a_ring_has_its_nodes_in_the_order_of_addresses() -> None:
    """Whatever their numbers are; who owns nothing is not in it."""
    members = [
        Member(1, "10.0.0.10", "JOINED", "dc1", "r1", (100,)),
        Member(2, "10.0.0.9", "MOVING", "dc1", "r2", (200,)),
        Member(3, "10.0.0.1", "BOOTSTRAPPING"),
    ]
    ring = ring_of(members, 7, ()).ring
    assert [(n.name, n.rack, n.tokens) for n in ring.nodes] == [
        ("10.0.0.9", "r2", (200,)),
        ("10.0.0.10", "r1", (100,)),
    ]


def test_a_newcomer_at_a_former_address_is_in_its_own_rack() -> None:
    """Who left is still known by its address; a leaver's place is that of the ring."""
    former = Member(2, "10.0.0.2", "LEFT", "dc1", "r1", ())
    members = (former, Member(5, "10.0.0.2", "BOOTSTRAPPING", "dc1", "r2", ()))
    joins = operation_of(Flight("bootstrap", 5, ("prepare",), (7,)), members)
    assert joins.text == "bootstrap 10.0.0.2 --tokens 7 --dc dc1 --rack r2"
    leaves = operation_of(Flight("decommission", 2, ("prepare",)), members)
    assert leaves.text == "decommission 10.0.0.2"


def test_a_change_of_the_cms_is_listed_under_way() -> None:
    """Perhaps, until a step tells whether any member changes; then it counts as an operation."""
    steps = [
        ("PREPARE_COMPLEX_CMS_RECONFIGURATION", "PrepareCMSReconfiguration#Complex{}"),
        advance("StartAddToCMS(NodeId{id=2})", "2", ""),
        advance("FinishReconfiguration()", "", ""),
    ]
    timeline = replay_log(metadata_history_of(steps, first=9)).timeline
    prepared = "prepared; which members change, if any, the log tells only at the next step"
    shown = []
    for at in range(4):
        scene = scene_at(timeline, at)
        [flights] = [badge for name, badge, _ in _badges(scene) if name == "flights"]
        shown.append((flights, list(_flights(scene))))
    assert shown == [
        ("0 operations under way", []),
        ("0 operations under way", [("the CMS", "perhaps a change of its members", prepared)]),
        ("1 operation under way", [("the CMS", "a change of its members", "adding node 2")]),
        ("0 operations under way", []),
    ]


def test_what_a_record_shows_of_a_moment(history: MetadataHistory) -> None:
    """How far it is, in badges; the epochs that were read, the last one first."""
    timeline = replay_log(history).timeline
    flights = [0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1]
    for at, count in enumerate(flights):
        scene = scene_at(timeline, at)
        assert list(_badges(scene)) == [
            ("epoch", f"epoch {30 + at}", "plain"),
            ("read", f"{at} of 12 read", "plain"),
            ("flights", f"{count} operation{'s' * (count != 1)} under way",
             "busy" if count else "plain"),
        ]  # fmt: skip
        assert EPOCHS.rows(scene) == list(history.epochs[:at])[::-1]
    assert (
        [EPOCHS.of(each) for each in history.epochs[:2]]
        == [  # type: ignore[operator]  # a function
            each.node or "" for each in history.epochs[:2]
        ]
    )
    assert EPOCHS.of(replace(history.epochs[0], node=None)) == ""  # type: ignore[operator]  # a function
    assert EPOCHS.of(replace(history.epochs[0], node="x")) == "x"  # type: ignore[operator]  # a function
    member = Member(1, "10.0.0.1", "JOINED", "dc1", "r1", (100, 200))
    tokens = NODES.columns[-1].cell  # type: ignore[index, union-attr]  # a row of columns
    cells = [tokens(replace(member, tokens=each)) for each in ((100, 200), (), None)]
    assert cells == ["2", "0", "not known"]


def test_a_step_that_the_model_cannot_take_is_named(
    history: MetadataHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has it, and the published rules do not."""
    monkeypatch.setattr(time_machine, "turn", lambda timeline, node: False)
    with pytest.raises(BadInput) as raised:
        what_if(history, 35, KS)
    step = "bootstrap 10.0.0.5: start"
    wanted = BadInput("epoch 35", step, "a step that the published rules allow")
    assert str(raised.value) == str(wanted)
    assert what_if(history, 33, KS).player.controls is not None
    assert replay_log(history).player.controls is None


@pytest.mark.parametrize("lacks", ["dc", "rack", "tokens"])
def test_a_ring_needs_tokens_and_place_of_each_node(lacks: str) -> None:
    """The first node that lacks one is named."""
    node = Member(1, "10.0.0.10", "JOINED", "dc1", "r1", (100,))
    with pytest.raises(BadInput) as raised:
        ring_of([node, replace(node, name="10.0.0.9", **{lacks: None})], 7, ())
    assert says(raised.value, "epoch 7: tokens of 10.0.0.9 | None | dumpdirectory --tokens as well")


def test_what_if_begins_where_the_log_was(history: MetadataHistory) -> None:
    """The model stands at the same epoch; its next step is the log's next, and a cancel goes."""
    for epoch in (33, 34, 35, 38, 42):
        timeline = what_if(history, epoch, KS).timeline
        m: Any = timeline.model
        assert facts.epoch(m, timeline.state) == epoch
        (flight,) = history.at(epoch)[1]
        (operation,) = facts.operations(m, timeline.state)
        done = [step.name for step in operation.steps if step.status == "done"]
        assert done == list(flight.steps)
        name = history.name(flight.node, epoch)
        assert (m.parameters.crashes, m.parameters.cancels) == (1, 1)
        assert m.refusal(timeline.state, m.wrap["tcm"](Cancel(name))) is None
        timeline.do(m.wrap["tcm"](Cancel(name)))
        assert facts.epoch(m, timeline.state) == epoch + 1


LEAVES = Flight("decommission", 1, ("prepare", "start"))
JOINS = Flight("bootstrap", 2, ("prepare", "start", "mid", "finish"), (7,))


@pytest.mark.parametrize(
    ("entries", "read", "kind", "path"),
    [
        ([("START_LEAVE", LEAVES), ("OTHER", None)], 0, "", ()),
        ([("OTHER", None), ("START_LEAVE", LEAVES)], 1, "", ()),
        ([("START_LEAVE", LEAVES)], 1, "decommission", ("joined", "prepare", "start")),
        ([("START_LEAVE", LEAVES), ("OTHER", None)], 2, "decommission",
         ("joined", "prepare", "start")),
        ([("START_LEAVE", LEAVES), ("FINISH_JOIN", JOINS)], 1, "decommission",
         ("joined", "prepare", "start")),
        ([("START_LEAVE", LEAVES), ("FINISH_JOIN", JOINS)], 2, "bootstrap",
         ("registered", "prepare", "start", "mid", "joined")),
        ([("CANCEL_SEQUENCE", LEAVES)], 1, "decommission",
         ("joined", "prepare", "start", "joined")),
    ],
)  # fmt: skip
def test_the_diagram_is_of_the_operation_that_was_heard_of_last(
    entries: list[tuple[str, Flight | None]], read: int, kind: str, path: tuple[str, ...]
) -> None:
    """With its way so far: its end is the node's state after it, a cancel leads back."""
    rows = [SimpleNamespace(kind=what, operation=flight) for what, flight in entries]
    model = SimpleNamespace(entries=rows)
    found = standing(SimpleNamespace(model=model, state=SimpleNamespace(read=read)))  # type: ignore[arg-type]  # what is read of a scene
    assert (found.path if found else ()) == path
    assert found is None or found.diagram == diagram(kind, "server")  # type: ignore[arg-type]  # of the table


def test_what_if_an_operation_is_older_than_its_log() -> None:
    """The steps that it must have had before do not lead to an epoch below 0."""
    rows = [{
        "epoch": 1, "kind": "START_LEAVE", "entry_id": 0, "entry_time": "2026-11-23 10:00:00Z",
        "transformation": entry("START_LEAVE 1")[1],
    }]  # fmt: skip
    nodes = [
        DirectoryNode(n, f"h{n}", "LEAVING" if n == 1 else "JOINED", "a", "b", f"10.0.0.{n}", (),
                      (n * 100,))
        for n in range(1, 7)
    ]  # fmt: skip
    dumped: Any = parse_metadata(json.dumps(rows), "log")
    timeline = what_if(MetadataHistory(dumped.rows, nodes), 1, KS).timeline
    m: Any = timeline.model
    assert m.parameters.epoch == 0
    assert facts.epoch(m, timeline.state) == 2


def test_what_if_with_another_operation(history: MetadataHistory) -> None:
    """What nobody did then can be tried, or is refused with the published reason."""
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
def test_bad_input_of_what_if(
    history: MetadataHistory, epoch: int, keyspaces: Any, message: str
) -> None:
    """One line that names the field."""
    with pytest.raises(BadInput) as raised:
        what_if(history, epoch, keyspaces)
    assert says(raised.value, message)


def test_what_the_rules_forbid_is_not_replayed() -> None:
    """A log in which two operations overlap cannot be gone on from: the rules say why."""
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


@pytest.mark.parametrize(
    ("kind", "tokens", "named"),
    [
        ("bootstrap", None, "tokens of x"),
        ("bootstrap", (), "tokens of x"),
        ("bootstrap", (7,), ""),
        ("move", None, "tokens of x"),
        ("move", (-7, 0), ""),
        ("replace", None, ""),
        ("decommission", None, ""),
        ("removenode", None, ""),
    ],
)
def test_an_operation_is_known_with_the_tokens_it_takes(
    kind: Kind, tokens: tuple[int, ...] | None, named: str
) -> None:
    """Only its preparation tells those of a newcomer or a move; without them nobody can go on."""
    flight = Flight(kind, 1, ("prepare", "start"), tokens, 2 if kind == "replace" else None)
    members = (Member(1, "x", "REGISTERED", "dc1", "r1", ()),)
    if named:
        with pytest.raises(BadInput) as raised:
            operation_of(flight, members)
        assert says(raised.value, f"{named} | None | preparation | in the log")
        return
    operation = operation_of(flight, members)
    assert (operation.kind, operation.node, operation.tokens) == (kind, "x", tokens or ())
    assert operation.target == ("node 2" if kind == "replace" else None)


def test_a_newcomer_whose_preparation_is_not_in_the_log() -> None:
    """What-if names the node; the history itself may begin in the middle."""
    texts = [entry("INITIALIZE_CMS"), entry("REGISTER 1"), entry("UNSAFE_JOIN 1 tokens=[100]")]
    history = metadata_history_of([*texts, entry("REGISTER 2"), entry("START_JOIN 2")])
    with pytest.raises(BadInput) as raised:
        what_if(history, 5, KS)
    assert says(raised.value, "tokens of 10.0.0.2 | None | preparation | in the log")


def test_the_command(tmp_path: Path) -> None:
    """Epochs, one moment, a page; two of a kind compared; a view as it is."""
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
def test_whether_the_cms_has_a_quorum(line: str, tmp_path: Path) -> None:
    """With members down: how many are up and needed, what to do, and what not yet."""
    members, down, status, says_, never = (cell.strip() for cell in line.split("|"))
    view = VIEW.read_text("utf-8")
    (tmp_path / "describe.txt").write_text(re.sub("(?<=Members: ).*", members, view), "utf-8")
    words = [word for name in down.split() for word in ("--down", name)]
    answer = call("metadata", str(tmp_path / "describe.txt"), *words)
    said = " ".join((answer.out + answer.err).split())
    assert answer.status == int(status)
    assert [each for each in says_.split("; ") if each not in said] == []
    assert never == "-" or never not in said
