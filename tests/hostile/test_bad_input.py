"""Bad input that was once read as something else, or ended in a traceback: one row a case."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import kit
from kit import Player, lessons
from kit.commands.answer import Answer
from kit.edge.limits import MOST_TASKS, most_cores
from kit.errors import BadInput, BadType, KitError
from kit.lessons.judge import results_of
from kit.model import patience
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.operators.importers.schema import read_schema
from kit.operators.importers.system_tables import read_loads, read_tablets, read_topology
from kit.operators.importers.topology_journals import read_journals
from kit.protocols.tablets.rules.balance.cluster import balancer_input
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.resize import TableSize, target_counts, thresholds
from kit.search.check import check
from kit.spark.cluster import start
from kit.spark.sessions import session
from kit.spark.workers import seeded
from tests.commands.calling import bad, call
from tests.hostile.meaning import piped
from tests.hostile.mutating import ROOT
from tests.hostile.slots import HABITS, SHORT, spoiled

FIXTURES = ROOT / "tests" / "fixtures"
TOPOLOGY = FIXTURES / "topology" / "topology.csv"
TABLETS = FIXTURES / "tablets"
NODES = FIXTURES / "nodetool" / "dumps" / "nodes.json"
KEYSPACE = 'ks={"class": "SimpleStrategy", "replication_factor": 2}'
RING = {
    "nodes": [{"name": "n1", "tokens": [1]}, {"name": "n2", "tokens": [2]}],
    "keyspaces": [{"name": "ks", "replication": {"class": "LocalStrategy"}}],
}
LOG = "host-a scylla[1]: raft_topology - entered `write both read old` transition state\n"
COMMANDS: dict[str, tuple[Path, tuple[str, ...]]] = {
    "topology": (TOPOLOGY, ()),
    "tablets": (TABLETS / "tablets.csv", ("--topology", str(TABLETS / "topology.csv"))),
    "recover": (TOPOLOGY, ()),
    "ring": (NODES, ("--keyspace", KEYSPACE)),
    "survive": (NODES, ("--keyspace", KEYSPACE)),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("way", ["substitution", "named pipe"])
def test_a_pipe_is_read_as_the_file_is(command: str, way: str, tmp_path: Path) -> None:
    """A process substitution and a FIFO give the very answer of the file, however often asked."""
    path, more = COMMANDS[command]
    expected = call(command, str(path), *more)
    assert expected.out
    if way == "substitution":
        with piped(path.read_bytes()) as pipe:
            found = call(command, pipe, *more)
        name = pipe  # with its folder: a number alone would say nothing
    else:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        writer = threading.Thread(target=fifo.write_bytes, args=[path.read_bytes()])
        writer.start()
        found = call(command, str(fifo), *more)
        writer.join()
        name = fifo.name
    assert found.status == expected.status
    assert len(found.out.split()) == len(expected.out.split())
    assert name in found.out or path.name not in expected.out


@pytest.mark.parametrize("word", ["-", "/dev/stdin"])
def test_standard_input_is_a_file_as_any_other(word: str) -> None:
    """As other tools, the command takes ``-``."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kit", "topology", word, "--json"],
        input=TOPOLOGY.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == call("topology", str(TOPOLOGY)).status
    assert json.loads(done.stdout)["transition_state"] == "write_both_read_old"


@pytest.mark.parametrize("keyspace", [(), ("--keyspace", KEYSPACE)])
@pytest.mark.parametrize(
    "words", [("ring",), ("survive",), ("plan", "decommission", "10.5.0.1")], ids=lambda w: w[0]
)
def test_rows_of_json_are_a_ring(words: tuple[str, ...], keyspace: tuple[str, ...]) -> None:
    """Rows of system.local and system.peers in a file that ends in .json."""
    answer = call(words[0], str(NODES), *words[1:], *keyspace)
    assert "unknown key" not in answer.err
    assert answer.out or "--keyspace" in answer.err


def spoil(old: str, new: str, path: Path = TOPOLOGY) -> Callable[[Path], Path]:
    """A copy of a dump with one word changed."""

    def made(folder: Path) -> Path:
        text = path.read_text("utf-8")
        assert old in text
        (folder / path.name).write_text(text.replace(old, new, 1), "utf-8")
        return folder / path.name

    return made


def text(content: str, name: str = "given") -> Callable[[Path], Path]:
    """A file of that content."""

    def made(folder: Path) -> Path:
        (folder / name).write_text(content, "utf-8")
        return folder / name

    return made


FIRST = "00000001-0000-4000-8000-000000000001,dc1"
HEAD = (TABLETS / "loads.csv").read_text("utf-8").partition("\n")[0]
ROW = '{"keyspace_name": "ks", "durable_writes": true, "replication": {"class": "LocalStrategy"}}'
TABLE = '{"keyspace_name": "ks", "table_name": "t", "bloom_filter_fp_chance": 1}'
REFUSED: list[tuple[Callable[[Path], Path], Callable[[Path], Any], str]] = [
    (spoil(FIRST, f'"{FIRST[:18]}\n{FIRST[18:36]}",dc1'), read_topology, "host_id"),
    (spoil(FIRST, f'"{FIRST[:18]}\\{FIRST[18:36]}",dc1'), read_topology, "backslash"),
    (spoil(",14,13,", ',"1\n4",13,'), read_topology, "version"),
    (spoil(",14,13,", ',"1\\4",13,'), read_topology, "backslash"),
    (spoil("'1000', ", "'10\n00', "), read_topology, "on one line"),
    (spoil("'1000', ", "'1000',\n "), read_topology, "on one line"),
    (text(f"Jan 32 10:00:00 {LOG}"), lambda p: read_journals([p]), "that day does not exist"),
    (text(f"Feb 30 10:00:00 {LOG}"), lambda p: read_journals([p]), "that day does not exist"),
    (
        text(f"2026-02-30T10:00:00+0000 h x\nJan 01 10:00:00 {LOG}"),
        lambda p: read_journals([p]),
        "line 1",
    ),
    (text(f"Jan 01 10:00:00 {LOG}Apr 31 10:00:00 h x\n"), lambda p: read_journals([p]), "line 2"),
    (text(""), read_loads, "no row"),
    (text(HEAD + "\n"), read_loads, "no row"),
    (text(f"[{ROW},\n{ROW}]"), read_schema, "each row once|each keyspace once"),
    (text(f"[{ROW}, {TABLE}, {TABLE}]"), read_schema, "each row once"),
    (
        text("table_id,last_token,replicas\n00000001-0000-11f0-8000-000000000001,1,[]\n"),
        read_tablets,
        "one or more replicas",
    ),
    (
        spoil(",-4611686018427387905,", ",,", TABLETS / "tablets.csv"),
        read_tablets,
        "line 2 last_token",
    ),
    (spoil("datacenter", "Datacenter"), read_topology, "as system.topology has them: datacenter"),
    (spoil("storage_capacity", "STORAGE_CAPACITY", TABLETS / "loads.csv"), read_loads, "line 1"),
    (text("table_id,last_token\r1,2\r"), read_tablets, "line 1"),
    (text(f"Jan 01 10:00:00 {LOG}"), lambda p: read_journals([p, p]), "each journal once"),
    (text(""), lambda p: read_journals([]), "journal: got 'no file'"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_was_accepted_in_silence(case: int, tmp_path: Path) -> None:
    """One line that names the place, and what may stand there."""
    made, read, said = REFUSED[case]
    with pytest.raises(BadInput, match=said):
        read(made(tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("topology", str(TOPOLOGY), "--rf", "1000000000"), "rf: got 1000000000"),
        (("topology", str(TOPOLOGY), "--rf", "-1"), "rf: got -1"),
        (
            (
                *("tablets", str(TABLETS / "tablets.csv"), "--topology"),
                *(str(TABLETS / "topology.csv"), "rf", "shop", "dc9=3"),
            ),
            "one of dc1",
        ),
        (("plan", "RING", "bootstrap", "   ", "--tokens", "5"), "printable"),
        (("plan", "RING", "bootstrap", "\N{NO-BREAK SPACE}", "--tokens", "5"), "printable"),
    ],
)
def test_what_no_cluster_has(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Numbers and names out of their limits are bad input, not a verdict."""
    ring = tmp_path / "ring.json"
    ring.write_text(json.dumps(RING), "utf-8")
    assert said in bad(*(str(ring) if word == "RING" else word for word in words))


ANY_TABLE: dict[str, Any] = {"options": {}, "shards": {}, "limits": thresholds("server")}


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (
            lambda: plan(balancer_input((), {}, None), "cassandra"),  # type: ignore[arg-type]  # wrong
            "edition: got 'cassandra'; allowed: one of documents, server",
        ),
        (
            lambda: target_counts({"t": TableSize("t", 1, 1, 0)}, factors={}, **ANY_TABLE),
            "factors: got []; allowed: those of each table, as of t",
        ),
        (
            lambda: kit.explain(TABLETS / "tablets.csv", release="6.0"),
            "release: got '6.0'; allowed: one that models play: 2025.1, 2025.2",
        ),
        (
            lambda: kit.rehearse(str(TABLETS / "tablets.csv"), release="2026.9"),
            "release: got '2026.9'; allowed: one of 5.2, 5.4",
        ),
    ],
)
def test_functions_that_answer_say_what_is_allowed(called: Callable[[], Any], said: str) -> None:
    """What an edition, a release or a table is not called is told by its field, in one line."""
    with pytest.raises(BadInput, match=re.escape(said)):
        called()


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("ring", "RING"), "--with"),
        (("survive", "RING"), "--keyspace"),
        (("check", "twophase"), "-p"),
        (("check", "twophase"), "--max-states"),
        (("topology", str(TOPOLOGY)), "--edition"),
        (("explain", str(TOPOLOGY)), "--html"),
    ],
)
def test_an_option_may_have_two_dashes_for_its_value(
    words: tuple[str, ...], option: str, tmp_path: Path
) -> None:
    """What no file, parameter or edition is called is told as any other value."""
    ring = tmp_path / "ring.json"
    ring.write_text(json.dumps(RING), "utf-8")
    called = [str(ring) if word == "RING" else word for word in words]
    if option == "--html":
        with chdir(tmp_path):
            assert call(*called, f"{option}=--").status == 0
            assert Path("--").read_text("utf-8").startswith("<!DOCTYPE html>")
    else:
        assert "'--'" in bad(*called, f"{option}=--")


def test_two_outputs_have_two_places(tmp_path: Path) -> None:
    """A page and a trace in one file: the second would be all that is left."""
    place, dump = str(tmp_path / "out"), str(FIXTURES / "topology" / "journal-a.log")
    said = bad(
        "explain", dump, "--html", place, "--save", str(tmp_path / ".." / tmp_path.name / "out")
    )
    assert "a different file" in said
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_says_another_verb_is_refused() -> None:
    """A saved step is named as its action is, or the trace is of something else."""
    timeline = Timeline(build("twophase"))
    timeline.forward()
    text_of = dumps(timeline.save())
    assert Timeline.load(loads(text_of)).at == 1
    wrong = text_of.replace('"verb": "prepare RM0"', '"verb": "frobnicate"')
    assert wrong != text_of
    with pytest.raises(BadInput, match=r"steps\[0\].verb: got 'frobnicate'"):
        Timeline.load(loads(wrong))


@pytest.mark.parametrize(
    "value", ["\ud800", "a\udcff.csv", {"\udc00": 1}, ["é", "\ud83d"], {"k": {"\ud800": [1]}}]
)
@pytest.mark.parametrize("compact", [True, False])
def test_json_says_what_utf_8_cannot(value: Any, compact: bool) -> None:
    """In ASCII, and the same when it is read again."""
    said = Answer({"given": value}, compact=compact).json()
    assert said.isascii()
    assert json.loads(said) == {"given": value}


@pytest.mark.parametrize("command", ["topology", "recover", "tablets"])
def test_a_file_name_that_is_no_utf_8(command: str, tmp_path: Path) -> None:
    """Its odd byte is an escape in JSON and in words."""
    path, more = COMMANDS[command]
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.csv")
    Path(odd).write_bytes(path.read_bytes())
    for words in (("--json",), ()):
        answer = call(command, odd, *more, *words)
        assert answer.status in (0, 1), answer
        answer.out.encode()


MODULES = ("json", "csv", "random", "queue", "numpy", "msgspec", "argparse", "signal", "_winapi")


@pytest.mark.parametrize("words", [("models",), ("check", "twophase", "--json")])
def test_modules_of_the_working_folder_are_not_taken_for_others(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """``python -m kit`` looks for no module in the folder where it is typed."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('SHADOWED')\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kit", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # a relative one would name the folder itself
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "SHADOWED" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "master",
    ["local[1000000]", "local[0]", "local[]", "local4", "local[4", "local[٣]", f"local[{10**30}]"],
)
def test_a_master_has_as_many_threads_as_a_machine_can(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is out of the limit is refused before anything starts."""
    monkeypatch.setattr("kit.spark.sessions._Running.spark", None)
    with pytest.raises(BadInput, match="master"):
        session(environment={"KIT_SPARK_MASTER": master})


@pytest.mark.parametrize(
    ("call_", "said"),
    [
        (
            lambda: session(config={"spark.sql.shuffle.partitions": "1000000000"}),
            "shuffle.partitions",
        ),
        (lambda: session(config={"spark.default.parallelism": "many"}), "parallelism"),
        (lambda: session(config={"spark.cores.max": str(most_cores() + 1)}), "cores.max"),
        (lambda: start(workers=10**6), "workers"),
        (lambda: start(workers=0), "workers"),
        (lambda: seeded(None, range(3), iter, None, MOST_TASKS + 1), "tasks"),  # type: ignore[arg-type]  # never asked
    ],
)
def test_numbers_of_sparks_have_limits(
    call_: Callable[[], Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions, cores, workers and tasks: one line that names the limit."""
    monkeypatch.setattr("kit.spark.sessions._Running.spark", None)
    with pytest.raises(BadInput, match=said):
        call_()


@pytest.mark.parametrize(
    ("call_", "error"),
    [
        (lambda: Player("twophase").after(3), BadType),  # type: ignore[arg-type]  # the fault
        (lambda: Player("twophase").after(None), BadType),  # type: ignore[arg-type]  # the fault
        (lambda: Player("twophase").after(lambda moment: None), BadType),  # type: ignore[arg-type, misc]  # the fault
        (lambda: lessons.terminal("models\0", "/tmp"), BadInput),
        (lambda: lessons.terminal("models \ud800", "/tmp"), BadInput),
        (lambda: lessons.terminal("models '", "/tmp"), BadInput),
        (lambda: lessons.terminal("models", "/nowhere at all"), BadInput),
        (lambda: lessons.terminal("models", __file__), BadInput),
        (lambda: lessons.machine_table("x"), KitError),
        (lambda: lessons.walks_graded("x", {}), KitError),
    ],
)
def test_public_functions_say_what_is_allowed(
    call_: Callable[[], Any], error: type[KitError]
) -> None:
    """A line of the kit's own, before anything is done."""
    with pytest.raises(error, match="allowed"):
        call_()


STOPPED = [
    ("effect", "spins"),
    ("effect", "sleeps"),
    ("effect", "is stubborn"),
    ("candidates", "spins"),
    ("candidates", "is endless"),
    ("condition", "sleeps"),
    ("start", "spins"),
    ("always", "spins"),
    ("goal", "sleeps"),
    ("remember", "spins"),
    ("enter", "spins"),
    ("each", "sleeps"),
]
NAMED = [
    ("effect", "takes nothing"),
    ("effect", "takes nine"),
    ("effect", "gives None"),
    ("effect", "gives 7"),
    ("effect", "stops"),
    ("effect", "leaves"),
    ("effect", "is wide"),
    ("candidates", "takes nine"),
    ("candidates", "gives ([],)"),
    ("candidates", "gives (Up(by=[]),)"),
    ("condition", "gives 7"),
    ("start", "takes nine"),
    ("start", "is wide"),
    ("always", "takes nothing"),
    ("step", "takes nothing"),
    ("begin", "takes nine"),
    ("enter", "gives 7"),
    ("each", "takes nothing"),
    ("each", "gives ('up',)"),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("slot", "habit"), [*STOPPED, *NAMED])
def test_a_students_fault_is_named(slot: str, habit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function that does not come back, its signature or its answer, with its line."""
    for name, value in SHORT.items():
        monkeypatch.setattr(patience, name, value)
    with pytest.raises(BadInput) as caught:
        check(spoiled(slot, HABITS[habit]), max_states=300)
    said = str(caught.value)
    assert "line " in said or "each of action" in said
    if (slot, habit) in STOPPED and habit != "is endless":
        assert "no answer after" in said


GAINS_NOTHING = {
    "prints": "print('{\"value\": 2}')\n    return 7",
    "leaves": "import os\n    os._exit(0)",
    "exits": "raise SystemExit(0)",
    "reads the grader": f"return len(open({str(ROOT / 'kit/lessons/judge.py')!r}).read())",
    "reads itself": "import sys\n    return len(open(sys.argv[0]).read())",
    "writes results": "import sys\n    open(sys.argv[2], 'a').write('{\"value\": 2}')",
    "imports the kit": f"import sys\n    sys.path = [{str(ROOT)!r}]\n    import kit\n    return 2",
    "starts a program": "import os\n    return os.system('true')",
    "divides itself": "import os\n    return os.fork()",
    "goes behind": "import _posixsubprocess\n    return 2",
    "is foreign": "import ctypes\n    return 2",
    "patches": (
        "import builtins, os\n    builtins.type = lambda v: str\n    os.O_WRONLY = 0\n"
        "    os.path.dirname = lambda p: '/'\n    return len(open('/etc/hostname').read())"
    ),
    "looks around": "import os\n    return len(os.listdir('/'))",
    "takes all memory": "return len([0] * 10**10)",
}


@pytest.mark.parametrize("habit", GAINS_NOTHING)
def test_an_answer_that_is_none_gains_nothing(habit: str) -> None:
    """No result of such a function is the right one, which is 2."""
    source = f"def right(x):\n    {GAINS_NOTHING[habit]}\n"
    outcomes = results_of({"name": "right", "source": source}, [[1], [1]])
    assert [outcome.value == 2 for outcome in outcomes] == [False, False]


def test_an_answer_may_use_pythons_own_modules() -> None:
    """What is shut off is not Python itself."""
    body = "import math, statistics, decimal, bisect\n    return math.floor(x) + 1"
    source = f"def right(x):\n    {body}\n"
    outcomes = results_of({"name": "right", "source": source}, [[1], [1.5]])
    assert [outcome.value for outcome in outcomes] == [2, 2]
