"""A metadata log, explained by the model: runs of the model are, and what no rule gives is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import kit
from kit.errors import BadInput
from kit.operators.explain import Answers, Question
from kit.operators.importers.data_placements import parse_placements
from kit.protocols.tcm.cluster import Driver, TcmCluster
from kit.protocols.tcm.dry_run.explaining import of_log
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.tools import directory, kind_of
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.ring.topology import Node
from tests.commands.calling import bad, call
from tests.examples import examples
from tests.protocols.tcm.dry_run.samples import entry

DATA = Path(__file__).resolve().parents[4] / "notebooks" / "data"
FILES = [str(DATA / name) for name in ("metadata-log.txt", "metadata-directory.txt")]
KEYSPACES = {"class": "SimpleStrategy", "replication_factor": "2"}


def cluster(nodes: int, operations: Sequence[str], **more: Any) -> TcmCluster:
    """Nodes 10.0.0.1, … at 1000, 2000, …, and operations on them."""
    return TcmCluster(
        TcmParameters(
            members=tuple(
                Node(f"10.0.0.{at}", (1000 * at,), "dc1", f"r{at % 2 + 1}")
                for at in range(1, nodes + 1)
            ),
            keyspaces=(Keyspace("ks", SimpleStrategy(2)),),
            operations=tuple(operations),
            edition="server",
            **more,
        )
    )


def event(m: TcmCluster, each: Any) -> tuple[str, str]:
    """The kind and the text of an entry, as the published server renders it."""
    operation, kind = each.operation, kind_of(each.operation.kind, each.step)
    number = m.codes[operation.node] + 1
    text = f"id=NodeId{{id={number}}}, tokens=[{', '.join(map(str, operation.tokens))}]"
    if operation.target is not None:
        target = m.codes[operation.target] + 1
        text = f"replaced=NodeId{{id={target}}}, replacement=NodeId{{id={number}}}"
    return kind, f"Entry{{{text}, force={str(operation.force).lower()}}}"


def entries(m: TcmCluster, s: Any) -> list[tuple[str, str]]:
    """All that is committed, from the registration of every machine on."""
    nodes = m.tcm.cluster.ring.nodes
    address = "addresses=NodeAddresses{{broadcastAddress=/{}:7000}}, location={}/{}"
    came = [
        ("REGISTER", f"Register{{{address.format(node.name, node.dc, node.rack)}, version=v}}")
        for node in nodes
    ]
    joined = [
        ("UNSAFE_JOIN", f"UnsafeJoin{{id=NodeId{{id={at}}}, tokens=[{node.tokens[0]}]}}")
        for at, node in enumerate(nodes, 1)
        if node.tokens
    ]
    return [*came, *joined, *(event(m, each) for each in facts.log(m, s))]


Row = dict[str, Any]


def rows(texts: Sequence[tuple[str, str]], first: int = 1) -> list[Row]:
    """An epoch for each text."""
    return [
        {
            "epoch": first + at,
            "kind": kind,
            "transformation": text,
            "entry_id": at,
            "entry_time": "2026-11-23 10:00:00Z",
        }
        for at, (kind, text) in enumerate(texts)
    ]


def listed(m: TcmCluster, s: Any) -> list[Row]:
    """The directory, as the newest epoch left it."""
    metadata = m.snapshot(s).metadata
    nodes = directory(m.tcm.cluster, metadata)
    places = {node.name: node for node in metadata.ring.nodes}
    return [
        {
            "node_id": m.codes[name] + 1,
            "host_id": f"00000000-0000-0000-0000-{m.codes[name]:012}",
            "state": node.state,
            "cassandra_version": "6.0.0",
            "serialization_version": 8,
            "rack": places[name].rack,
            "dc": places[name].dc,
            **{f"{kind}_port": 7000 for kind in ("broadcast", "local", "native")},
            **{f"{kind}_address": name for kind in ("broadcast", "local", "native")},
            "tokens": list(node.tokens or ()),
        }
        for name, node in nodes.items()
    ]


def placed(m: TcmCluster, s: Any) -> list[Row]:
    """The placements, as the newest epoch left them."""
    return [
        {
            "keyspace_name": "ks",
            "range_start": str(row.left),
            "range_end": str(row.right),
            "read_replicas": [m.codes[name] + 1 for name in row.reads],
            "write_replicas": [m.codes[name] + 1 for name in row.writes],
        }
        for row in facts.rows(m, s, "ks")
    ]


def explained(folder: Path, log: list[Row], bound: int = 20_000, **others: Any) -> Answers:
    """What becomes of a log, and of other files beside it."""
    keyspaces = [{"keyspace_name": "ks", "durable_writes": True, "replication": KEYSPACES}]
    files = {"log": log, "keyspaces": keyspaces, **others}
    for name, each in files.items():
        (folder / f"{name}.json").write_text(json.dumps(each), "utf-8")
    return kit.explain([folder / f"{name}.json" for name in files], bound=bound)


OPERATIONS = (
    "bootstrap 10.0.0.11 --tokens 1500", "bootstrap 10.0.0.12 --tokens 4500",
    "decommission 10.0.0.2", "move 10.0.0.3 --tokens 3300", "replace 10.0.0.4 10.0.0.13",
    "assassinate 10.0.0.5",
)  # fmt: skip


def walked(random: Random, steps: int) -> Driver:
    """A run of the model: operations begin beside each other, go on, and are cancelled."""
    drive = Driver(cluster(8, random.sample(OPERATIONS, 3), cancels=2))
    for _ in range(steps):
        under_way = [each.node for each in drive.metadata.sequences]
        begins = [Begin(each) for each in drive.model.tcm.sensible(drive.state.tcm.events)]
        every = [*begins, *map(Advance, under_way * 3)]
        cancellable = drive.model.tcm.cancellable(drive.state.tcm)
        every += [Cancel(each) for each in cancellable if random.random() < 0.2]
        if every:
            drive.bring_about(random.choice(every))
    return drive


def between(random: Random, events: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same with entries about something else in between."""
    other = ("SCHEMA_CHANGE", "AlterSchema{ALTER TABLE a.b}")
    return [each for one in events for each in [other] * (random.random() < 0.2) + [one]]


@examples(25)
@given(random=st.randoms(use_true_random=False), steps=st.integers(4, 24))
def test_a_log_of_a_run_of_the_model_is_explained(
    random: Random, steps: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The whole log is tried with its placements, and a log that ends at any moment."""
    drive = walked(random, steps)
    m, s = drive.model, drive.state
    log = rows(between(random, entries(m, s)))
    folder, nodes = tmp_path_factory.mktemp("log"), listed(m, s)
    whole = explained(folder, log, directory=nodes, placements=placed(m, s))
    assert whole.verdict == "explained"
    if s.tcm.events:
        ways = [part.model.parameters.keyspaces[0].name for part in whole.parts.values()]
        assert ways[-1] == "ks"
    judged = [at for at, row in enumerate(log, 1) if "JOIN" in row["kind"]]
    cut = log[: random.randrange(judged[0], len(log)) + 1]
    told = any(row["kind"].startswith(("PREPARE", "ASSASSINATE")) for row in cut)
    if told:
        assert explained(folder, cut, directory=nodes).verdict == "explained", cut


@examples(25)
@given(random=st.randoms(use_true_random=False), steps=st.integers(6, 24))
def test_a_log_without_its_beginning_is_explained_or_asks_for_the_directory(
    random: Random, steps: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without the ring of its first epoch nothing can be judged."""
    drive = walked(random, steps)
    m, s = drive.model, drive.state
    log = rows(entries(m, s))
    cut = log[random.randrange(len(log)) :]
    folder = tmp_path_factory.mktemp("log")
    try:
        verdict = explained(folder, cut, directory=listed(m, s)).verdict
    except BadInput as error:
        verdict = str(error)
    assert verdict == "explained" or "also give dumpdirectory --tokens" in verdict


@examples(12)
@given(random=st.randoms(use_true_random=False))
def test_a_spoiled_log_gets_the_verdict_of_a_search_of_every_step(
    random: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Taking steps in one order only changes neither the verdict nor the line."""
    drive = Driver(cluster(2, ("bootstrap 10.0.0.11 --tokens 1500",), cancels=1))
    events = [*drive.model.to_begin(drive.state)][:1]
    drive.bring_about(events[0].action)
    for _ in range(random.randrange(4)):
        drive.bring_about(Cancel("10.0.0.11") if random.random() < 0.2 else Advance("10.0.0.11"))
    texts = entries(drive.model, drive.state)
    first = next(at for at, (kind, _) in enumerate(texts) if kind == "PREPARE_JOIN")
    at, other = (random.randrange(first, len(texts)) for _ in range(2))
    spoil = random.choice(["swap", "drop", "double", "nothing"])
    if spoil == "swap":
        texts[at], texts[other] = texts[other], texts[at]
    elif spoil == "double":
        texts.insert(other, texts[at])
    elif spoil == "drop":
        del texts[at]
    folder = tmp_path_factory.mktemp("log")
    try:
        found = explained(folder, rows(texts), directory=listed(drive.model, drive.state))
    except BadInput:
        assert spoil == "drop"
        assert len(texts) == first
        return
    files = [folder / f"{name}.json" for name in ("log", "keyspaces", "directory")]
    for question in of_log(files, "server", False)[0]:
        ways = tuple((way, replace(sight, steps=None)) for way, sight in question.ways)
        whole = Question(question.name, question.seen, ways).answer(200_000)
        part = found.parts[question.name]
        assert (part.verdict, part.where, part.explained) == (
            whole.verdict,
            whole.where,
            whole.explained,
        )


JOINS = ("bootstrap 10.0.0.11 --tokens 1500", "bootstrap 10.0.0.12 --tokens 4500")


def two_joins() -> Driver:
    """Two newcomers come beside each other: the second one has not finished."""
    drive = Driver(cluster(6, (*JOINS, "bootstrap 10.0.0.13 --tokens 1600")))
    first, second, _ = (action.action for action in drive.model.to_begin(drive.state))
    a, b = Advance("10.0.0.11"), Advance("10.0.0.12")
    for each in (first, a, second, a, a, b, b):
        assert drive.bring_about(each)
    return drive


def edits(texts: list[tuple[str, str]], edit: str) -> list[tuple[str, str]]:
    """A log with something in it that no rule gives."""
    at = next(at for at, (kind, _) in enumerate(texts) if kind == "PREPARE_JOIN")
    head, (prepare, start, other, mid, finish, *rest) = texts[:at], texts[at:]
    return {
        "out of order": [*head, prepare, start, other, finish, mid, *rest],
        "finish before start": [*head, prepare, finish, start, other, mid, *rest],
        "finish before all": [*head, finish, prepare, start, other, mid, *rest],
        "overlap": [*head, prepare, ("PREPARE_JOIN", JOIN_13), start, other, mid, finish, *rest],
        "claimed": [*head, prepare, other, ("PREPARE_JOIN", JOIN_13.replace("16", "45")), *rest],
        "twice": [*head, prepare, start, start, other, mid, finish, *rest],
        "cancelled late": [*head, prepare, start, other, mid, finish, CANCEL, *rest],
        "no member": [*head, ("PREPARE_LEAVE", LEAVE_13), prepare, start, other, mid, *rest],
        "no member at last": [*texts, ("PREPARE_LEAVE", LEAVE_13)],
        "owned": [*head, ("PREPARE_JOIN", JOIN_13.replace("16", "20")), prepare, start, *rest],
    }[edit]


JOIN_13 = "PrepareJoin{id=NodeId{id=9}, tokens=[1600]}"
LEAVE_13 = "PrepareLeave{id=NodeId{id=9}, force=false}"
CANCEL = ("CANCEL_SEQUENCE", "CancelInProgressSequence{nodeId=NodeId{id=7}}")
LOCKED = (
    '"bootstrap 10.0.0.13 --tokens 1600 --dc dc1 --rack r2: range (min, 1000] is locked by an '
    "operation in flight, bootstrap 10.0.0.11 at 1500 (3 more ranges are locked): "
    '10.0.0.11" (S-09 range-locks)'
)


@pytest.mark.parametrize(
    ("edit", "further", "said"),
    [
        ("out of order", 3, "10.0.0.11 continues with MID_JOIN"),
        ("finish before start", 1, "10.0.0.11 continues with START_JOIN"),
        ("finish before all", 0, "10.0.0.11 has no operation under way"),
        ("overlap", 1, LOCKED),
        ("claimed", 2, "token 4500 will belong to 10.0.0.12"),
        ("twice", 2, "10.0.0.11 continues with MID_JOIN"),
        ("cancelled late", 5, "10.0.0.11 has no operation under way"),
        ("no member", 0, "node: got '10.0.0.13'; allowed: one of 10.0.0.1, 10.0.0.2"),
        (
            "no member at last",
            7,
            "one of 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, 10.0.0.6\n",
        ),
        ("owned", 0, "got 2000; allowed: a token that no node owns; this one belongs to 10.0.0.2"),
    ],
)
def test_an_entry_that_no_rule_allows_is_refuted_at_its_line(
    edit: str, further: int, said: str, tmp_path: Path
) -> None:
    """The sentence has the model's nearest refusal, or the entry that was due."""
    drive = two_joins()
    texts = entries(drive.model, drive.state)
    first = next(at for at, (kind, _) in enumerate(texts, 1) if kind == "PREPARE_JOIN")
    nodes = listed(drive.model, drive.state)
    answers = explained(tmp_path, rows(edits(texts, edit)), directory=nodes)
    assert answers.verdict == "refuted"
    assert answers.first is not None
    assert f"no rule explains log.json row {first + further}; " in answers.first.sentence
    assert said in f"{answers.first.sentence}\n"


def test_a_placement_that_no_rule_allows_is_refuted_at_its_line(tmp_path: Path) -> None:
    """The sentence names the right replicas. A row may be part of a range, not several."""
    drive = two_joins()
    m, s = drive.model, drive.state
    log, nodes, right = rows(entries(m, s)), listed(m, s), placed(m, s)
    wrong = [row | {"write_replicas": [1]} if at == 2 else row for at, row in enumerate(right)]
    answers = explained(tmp_path, log, directory=nodes, placements=wrong)
    assert answers.first is not None
    assert answers.first.sentence == (
        "no rule explains placements.json row 3; by the rules, ks (1500, 2000] is read by "
        "10.0.0.2, 10.0.0.3 and written by 10.0.0.2, 10.0.0.3"
    )
    part = [right[2] | {"range_end": "1700"}]
    assert explained(tmp_path, log, directory=nodes, placements=part).verdict == "explained"
    several = [right[2] | {"range_end": "7000"}]
    assert explained(tmp_path, log, directory=nodes, placements=several).verdict == "refuted"


def test_a_cancel_after_the_read_switch_is_explained_without_two_event_cancel(
    tmp_path: Path,
) -> None:
    """The published server cancels in one event."""
    drive = two_joins()
    texts = entries(drive.model, drive.state)
    at = next(at for at, (kind, _) in enumerate(texts) if kind == "FINISH_JOIN")
    again = next(each for each in texts if each[0] == "PREPARE_JOIN")
    answers = explained(tmp_path, rows([*texts[:at], CANCEL, *texts[at + 1 :], again]))
    assert answers.first is not None
    assert (
        "steps of tcm without two-event-cancel can lead to what was seen" in answers.first.sentence
    )


def test_the_log_of_the_lesson_is_explained(tmp_path: Path) -> None:
    """Its run opens as a trace, and assumptions are said. With too small a bound it is unknown."""
    path = tmp_path / "run.json"
    answer = call("explain", *FILES, "--save", str(path))
    assert answer.status == 0
    said = " ".join(answer.out.split())
    assert "43 epochs: 25 events of operations are judged" in said
    assert "no file names them; assumed: each range has one copy" in said
    assert "epochs 6 to 43: explained: " in said
    assert "replace 10.0.0.3 with 10.0.0.7" in call("play", str(path)).out
    assert kit.explain(FILES, bound=20).verdict == "unknown"


def test_a_refuted_nodetool_log_names_line_and_epoch(tmp_path: Path) -> None:
    """The sentence has the entry that was due."""
    text = Path(FILES[0]).read_text("utf-8")
    spoiled = tmp_path / "log.txt"
    spoiled.write_text(text.replace("FINISH_REPLACE", "START_REPLACE"), "utf-8")
    number = text.splitlines().index("Epoch: 41") + 1
    answer = call("explain", str(spoiled), FILES[1])
    assert answer.status == 1
    said = (
        f"no rule explains log.txt line {number} Epoch 41; 10.0.0.7 continues with FINISH_REPLACE"
    )
    assert said in " ".join(answer.out.split())


def spoiled_row(name: str, value: Any) -> list[Row]:
    """A row of placements with one wrong value."""
    drive = two_joins()
    return [placed(drive.model, drive.state)[0] | {name: value}]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("range_start", "x"), "row 1 range_start: got 'x'; allowed: a token"),
        (("range_start", "5000"), "row 1 range_end: got '1000'; allowed: a token above 5000"),
        (("read_replicas", ["10.0.0.1"]), "row 1 read_replicas"),
        (("write_replicas", "[1"), "row 1 write_replicas"),
        (("keyspace_name", 7), "row 1 keyspace_name: got 7; allowed: a string"),
    ],
)
def test_a_malformed_placement_is_refused_in_one_line(row: tuple[str, Any], said: str) -> None:
    """The line has the row, the column, the value and what is allowed."""
    with pytest.raises(BadInput) as raised:
        parse_placements(json.dumps(spoiled_row(*row)), "placements.json")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_explain_refuses_files_that_do_not_tell_enough(tmp_path: Path) -> None:
    """A gap, no log, another tool's file, a missing directory, and an option for snapshots."""
    lines = Path(FILES[0]).read_text("utf-8").splitlines()
    gap = tmp_path / "gap.txt"
    ends = lines.index("Epoch: 33"), lines.index("Epoch: 34")
    gap.write_text("\n".join(lines[: ends[0]] + lines[ends[1] :]), "utf-8")
    assert f"line {ends[0] + 1} Epoch 34: got 34; allowed: epoch 33" in bad("explain", str(gap))
    assert "allowed: at least one log among the files" in bad("explain", FILES[1])
    assert "nodetool cms dumplog" in bad("explain", FILES[0], str(DATA / "nodetool-status.txt"))
    assert "snapshots only" in bad("explain", FILES[0], "--anonymize")
    cut = tmp_path / "cut.txt"
    cut.write_text("\n".join(lines[lines.index("Epoch: 42") :]), "utf-8")
    assert "also give dumpdirectory --tokens" in bad("explain", str(cut))
    assert call("explain", str(cut), FILES[1]).status == 0


def test_a_log_in_which_the_first_node_of_a_datacenter_joins_is_explained(tmp_path: Path) -> None:
    """No keyspace names the datacenter yet."""
    drive = Driver(cluster(3, ("bootstrap 10.0.0.11 --tokens 1500 --dc dc2 --rack r1",)))
    [begin] = (action.action for action in drive.model.to_begin(drive.state))
    for each in (begin, *[Advance("10.0.0.11")] * 3):
        assert drive.bring_about(each), each
    m, s = drive.model, drive.state
    answers = explained(tmp_path, rows(entries(m, s)), directory=listed(m, s))
    assert answers.verdict == "explained"


@pytest.mark.parametrize("before", [[], ["TRIGGER_SNAPSHOT"]])
@pytest.mark.parametrize(("first", "verdict"), [(1, "refuted"), (2, "explained")])
def test_only_a_log_that_lacks_its_beginning_may_begin_in_an_operation(
    first: int, verdict: str, before: list[str], tmp_path: Path
) -> None:
    """A log from the first epoch on that begins with START_LEAVE is refuted."""
    m = cluster(3, ("decommission 10.0.0.2",))
    log = rows([entry(line) for line in (*before, "START_LEAVE 1")], first)
    answers = explained(tmp_path, log, directory=listed(m, m.start()))
    assert answers.verdict == verdict


@pytest.mark.parametrize("first", ["CANCEL_SEQUENCE 1", "FINISH_JOIN 4"])
def test_an_operation_whose_end_alone_is_known_is_not_judged(first: str, tmp_path: Path) -> None:
    """The epochs after it are."""
    m = cluster(4, ("decommission 10.0.0.2",))
    log = rows([entry(first), entry("PREPARE_LEAVE 2")], 5)
    answers = explained(tmp_path, log, directory=listed(m, m.start()))
    assert {name: part.verdict for name, part in answers.parts.items()} == {
        "epochs 6 to 6": "explained"
    }


FREED = """
PREPARE_LEAVE 2 force=false; START_LEAVE 2; MID_LEAVE 2; FINISH_LEAVE 2
REGISTER 5; PREPARE_JOIN 5 tokens=[2000]; START_JOIN 5; MID_JOIN 5; FINISH_JOIN 5
"""
AT_ONCE = """
REGISTER 5; PREPARE_JOIN 5 tokens=[1500]; START_JOIN 5
REGISTER 6; UNSAFE_JOIN 6 tokens=[9000]; CANCEL_SEQUENCE 5
"""


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (FREED, ["epochs 9 to 12", "epochs 14 to 17"]),
        (AT_ONCE, ["epochs 10 to 11", "epochs 14 to 14"]),
    ],
)
def test_a_log_has_a_part_for_each_ring_that_the_model_can_begin_with(
    lines: str, parts: list[str], tmp_path: Path
) -> None:
    """A token that is taken again, and a node that is there at once, end a part."""
    m = cluster(4, ("decommission 10.0.0.2",))
    more = [entry(line.strip()) for line in lines.strip().replace("\n", ";").split(";")]
    answers = explained(tmp_path, rows([*entries(m, m.start()), *more]))
    assert {name: part.verdict for name, part in answers.parts.items()} == dict.fromkeys(
        parts, "explained"
    )
