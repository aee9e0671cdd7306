"""``python -m kit topology``: words, JSON, exit codes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.commands.calling import bad, call
from tests.operators.topology_printing import timeuuid, uuid
from tests.protocols.topology.dry_run.dumps import FIXTURES
from tests.protocols.topology.dry_run.test_report import STATUS
from tests.saying import says

ROOT = Path(__file__).resolve().parents[4]
DUMP, REQUESTS = str(FIXTURES / "topology.csv"), str(FIXTURES / "requests.csv")
LOGS = [str(FIXTURES / name) for name in ("journal-a.log", "journal-b.log")]


def test_words_of_a_dump() -> None:
    """State, diagram, each case, the queue with why, the nodes, the columns nobody knows."""
    answer = call("topology", DUMP, "--requests", REQUESTS)
    assert (answer.status, answer.err) == (0, "")
    for words in (
        "bootstrapping of 00000004, write_both_read_old; version 14, fence version 13",
        "▶ write_both_read_old    reads old, writes both  then → write_both_read_new",
        "nothing says which nodes are up",
        "barrier, then stream; then write_both_read_new",
        "one of 00000001, 00000002, 00000003, 00000004 down",
        "barrier needs that node; otherwise: rollback: left_token_ring",
        "another operation is under way (bootstrapping): 00000004",
        "intended_storage_mode",
    ):
        assert words in answer.out


def test_both_spellings_and_both_forms_say_the_same() -> None:
    """CSV and what ``SELECT JSON`` shows; stored words with blanks or underscores."""
    csv = call("topology", DUMP, "--json").json
    shown = call("topology", str(FIXTURES / "topology.txt"), "--json").json
    assert {**csv, "source": ""} == {**shown, "source": ""}
    assert csv["transition_state"] == "write_both_read_old"


def test_the_exit_code_says_whether_it_goes_on() -> None:
    """0: it goes on; 1: it waits for a node that is down; 2: bad input."""
    assert call("topology", DUMP).status == 0
    answer = call("topology", DUMP, "--down", "00000002", "--json")
    assert answer.status == 1
    assert answer.json["cases"][0]["waits_for"] == ["00000002-0000-4000-8000-000000000002"]
    assert says(bad("topology", DUMP, "--down", "x"), "--down | 'x' | one of")
    assert call("topology", DUMP, "--rf", "3").status == 0
    assert says(bad("topology", DUMP, "--rf", "-1"), "rf | -1 | from 0 to 1000")
    assert says(bad("topology", *LOGS, "--rf", "3"), "--rf | 3 | nothing besides journals")


def test_journals() -> None:
    """Logs of several hosts become one history, in words and as JSON."""
    answer = call("topology", *LOGS)
    assert answer.status == 0
    assert "another coordinator: node-b" in answer.out
    assert "write_both_read_old (again), 4.0 s" in answer.out
    passages = call("topology", *reversed(LOGS), "--json").json["passages"]
    assert [p["state"] for p in passages][-1] == "write_both_read_new"


def test_a_state_that_is_entered_again_and_again_is_told_once(tmp_path: Path) -> None:
    """How often, until when and how long in all; what else was said is counted."""
    line = "2026-02-01T10:{:02}:{:02}Z n1 scylla[1]:  [shard 0: gms] raft_topology - {}\n"
    said = ("entered `tablet migration` transition state", "updating topology state: a plan")
    rows = [
        line.format(at, 10 * part, words) for at in range(50) for part, words in enumerate(said)
    ]
    (log := tmp_path / "n1.log").write_text("".join(rows), "utf-8")
    again = "tablet_migration (again)"
    assert call("topology", str(log)).out.splitlines() == [
        "coordinator: n1",
        "  2026-02-01 10:00:00Z  tablet_migration, 60.0 s",
        "      a plan",
        f"  2026-02-01 10:01:00Z  {again}, 49 times until 2026-02-01 10:49:00Z, 2880.0 s",
        "      a plan (49 times)",
    ]
    assert len(call("topology", str(log), "--json").json["passages"]) == 50


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "got 'nothing'; allowed: a dump, a snapshot or journals"),
        (["nope"], "DUMP|LOG: got 'nope'; allowed: a readable file"),
        ([DUMP, DUMP], "| one dump, or only journals"),
        ([DUMP, LOGS[0]], "| one dump, or only journals"),
        ([LOGS[0], "--down", "x"], "--down | nothing besides journals"),
        ([DUMP, "--edition", "sever"], "edition | 'sever' | nearest: server"),
        ([DUMP, "--jsn"], "arguments | --jsn | nearest: --json"),
        (["/dev/null"], "a readable file (this is a device)"),
    ],
)
def test_bad_words(words: list[str], said: str) -> None:
    """Each is one line."""
    line = bad("topology", *words)
    assert line == said or said in line or says(line, said)


def test_what_a_terminal_would_obey_is_made_plain(tmp_path: Path) -> None:
    """A column that nobody knows may hold anything."""
    rows = json.loads(
        "[" + ",".join(re.findall(r"\{.*\}", (FIXTURES / "topology.txt").read_text("utf-8"))) + "]"
    )
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([{**row, "later": "\x1b[2J"} for row in rows]), "utf-8")
    answer = call("topology", str(path))
    assert answer.status == 0
    assert answer.out.replace("\n", "").isprintable()


PUBLISHED = Path(__file__).parents[1] / "published" / "contradictions.txt"
CASES = [each.splitlines() for each in PUBLISHED.read_text("utf-8").split("== ")[1:]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_what_contradicts_is_said(
    case: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files of one cluster; and what of them no model plays."""
    monkeypatch.chdir(tmp_path)
    for name in ("topology.csv", "requests.csv"):
        shutil.copy(FIXTURES / name, name)
    shutil.copytree(FIXTURES.parent / "snapshots" / "tablet_snap_260301_102000", "snapshot")
    given = [line.split(": ", 1) for line in case[1:] if line]
    words = dict(given)
    if "status" in words:
        rows = (row.split() for row in words["status"].split("; "))
        lines = [f"{what} 10.0.0.{n} 1.50 GB 2 ? {uuid(int(n))} {rack}" for what, n, rack in rows]
        Path("status.txt").write_text(STATUS + "\n".join([*lines, ""]), "utf-8")
        words["status"] = "status.txt"
    for what in (value for word, value in given if word == "change"):
        name, old, new = what.split(" | ")
        text = Path(name).read_text("utf-8")
        assert old in text
        Path(name).write_text(text.replace(old, new), "utf-8")
    options = [
        [f"--{name}", words[name]] for name in ("status", "requests", "down") if name in words
    ]
    answer = call("topology", words["dump"], *(each for option in options for each in option))
    said = " ".join((answer.out + answer.err).split())
    assert [line for word, line in given if word == "says" and line not in said] == []


@pytest.mark.parametrize(
    ("down", "said"),
    [
        ("3", "What is ignored is banned: first replace or remove it (see recover)."),
        ("2 3", "Start 00000002 again; for a node that is lost, see recover."),
    ],
)
def test_what_is_ignored_is_not_started_again(down: str, said: str, tmp_path: Path) -> None:
    """A join waits for nodes that are down, ignored ones too: these are banned."""
    head = "host_id,node_state,ignore_nodes,topology_request,request_id,tokens"
    rows = [f"{head},transition_state,version,fence_version"]
    rows += [f"{uuid(n)},normal,\"{{'{uuid(3)}'}}\",,,\"{{'{n}'}}\",,5,5" for n in (1, 2, 3)]
    rows += [f"{uuid(4)},none,\"{{'{uuid(3)}'}}\",join,{timeuuid(9)},,,5,5"]
    (tmp_path / "topology.csv").write_text("\n".join(rows) + "\n", "utf-8")
    words = [word for n in down.split() for word in ("--down", uuid(int(n)))]
    answer = call("topology", str(tmp_path / "topology.csv"), *words, "--release", "2026.2")
    assert said in answer.out
