"""Which lines ``grep`` and ``journalctl`` print by their options, as those of GNU and systemd."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit.console.drill import open_drill
from kit.console.forms import Form, Grammar, Slot
from kit.console.logs import GREP, JOURNAL, TIMELESS, grep, journal, options_in
from kit.errors import BadInput
from kit.model.flows import ServerLine

TEXTS = ["a barrier", "Barrier b+c", "needs 2", "needs 22 barriers", "done", "", "in the end"]
LINES = [ServerLine("A", "log", text) for text in TEXTS]
GRAMMAR = Grammar(
    [
        Form("grep {options} {pattern} log", "", lambda now, given: None),
        Form("journalctl {lines}", "", lambda now, given: None),
    ],
    {
        "options": Slot("an option", options=GREP),
        "lines": Slot("an option", options=JOURNAL),
        "pattern": Slot("a pattern"),
    },
)


def given_in(line: str) -> Any:
    """What stands in the slots of a line."""
    return GRAMMAR.read(line, None)[1]


ALIKE = [
    *("grep barrier log", "grep -c barrier log", "grep -v barrier log", "grep -w barrier log"),
    *("grep -n needs log", "grep -in BARRIER log", "grep -o 'n[a-z]*s' log", "grep -on ne log"),
    *("grep -E 'needs|done' log", "grep -E 'b\\+c' log", "grep -E '(2|22) b' log"),
    *("grep -E 'ne{2}ds?' log", "grep -F b+c log", "grep -F 'b.c' log", "grep -Fw 2 log"),
    *(
        "grep -A1 Barrier log",
        "grep -B 1 done log",
        "grep -C 1 -n needs log",
        "grep -A1 barrier log",
    ),
    *(
        "grep -nA 1 barrier log",
        "grep -A 0 barrier log",
        "grep -m1 needs log",
        "grep -m 1 -A2 a log",
    ),
    *("grep -vc needs log", "grep -vo needs log", "grep -cm 1 needs log", "grep -nv a log"),
    *("grep -o 'n*' log", "grep -no 'e*' log"),  # a part that is empty is none
    *("grep -w 2 log", "grep -iE 'BARRIER|DONE' log", "grep -c zzz log", "grep -m 0 a log"),
]


@pytest.mark.parametrize("line", ALIKE)
def test_grep_prints_what_that_of_gnu_prints(line: str, tmp_path: Path) -> None:
    """The same lines, counts, parts, numbers and groups."""
    (tmp_path / "log").write_text("".join(f"{each}\n" for each in LINES))
    real = subprocess.run(
        shlex.split(line), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert not real.stderr
    given = given_in(line)
    assert [
        *grep(LINES, given["pattern"], options_in(given, "options"))
    ] == real.stdout.splitlines()


# the options -> the places of the lines that are printed
SHOWN = {
    "-u scylla-server": [0, 1, 2, 3, 4, 5, 6],
    "-u scylla-server.service --no-pager -o cat -n 2": [5, 6],
    "--unit=scylla-server --lines=1 --output=cat": [6],
    "-ru scylla-server -n3": [6, 5, 4],
    "-g needs --reverse": [3, 2],
    "-n 0": [],
    '--since "1 hour ago" --until now -p err -n 9': [0, 1, 2, 3, 4, 5, 6],
}


@pytest.mark.parametrize("line", SHOWN)
def test_journalctl_prints_the_lines_of_its_unit(line: str) -> None:
    """In any order of the options; time and priority choose none, as no line has them."""
    options = options_in(given_in(f"journalctl {line}"), "lines")
    assert [LINES.index(each) for each in journal(LINES, options, "scylla-server")] == SHOWN[line]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("grep -z a log", "^grep: got '-z'; allowed: an option: one of "),
        ("grep -iz a log", "^grep: got '-iz'"),
        ("grep -A", "^grep -A: got 'nothing'"),
        ("journalctl -f", "^journalctl: got '-f'; allowed: an option"),
        ("journalctl --follow", "^journalctl: got '--follow'"),
    ],
)
def test_another_option_is_refused_by_its_name(line: str, said: str) -> None:
    """And what there is, is named."""
    with pytest.raises(BadInput, match=said):
        given_in(line)


@pytest.mark.parametrize(
    ("tool", "options", "said"),
    [
        (grep, {"-A": "x"}, "^-A: got 'x'; allowed: a number"),
        (grep, {"-m": "-1"}, "^-m: got '-1'"),
        (journal, {"-u": "sshd"}, "^-u: got 'sshd'; allowed: scylla-server"),
        (journal, {"-o": "json"}, "^-o: got 'json'; allowed: cat"),
        (journal, {"-n": "all"}, "^-n: got 'all'"),
    ],
)
def test_a_wrong_value_is_refused_by_its_option(tool: Any, options: Any, said: str) -> None:
    """One line each."""
    with pytest.raises(BadInput, match=said):
        [*(grep(LINES, "a", options) if tool is grep else journal(LINES, options, "scylla-server"))]


def test_a_drill_understands_both_and_a_count_is_not_read() -> None:
    """Who counts lines has not read whom a barrier waits for."""
    drill, log = open_drill("tcm/stuck-operation"), "/var/log/cassandra/system.log"
    drill.enter("on X")
    ticked = [step.done for step in drill.checklist()]
    assert drill.enter(f"grep -c needs {log}").lines == ("3",)
    assert [step.done for step in drill.checklist()] == ticked
    told = drill.enter("journalctl -u cassandra --since today | grep -n needs").lines
    assert told[0] == TIMELESS.format(names="--since")
    assert told[1].startswith("1:")
    assert [step.done for step in drill.checklist()] != ticked
    for line in (f"cat {log} | grep -vi NEEDS", "journalctl -u cassandra -n 1 -g needs"):
        assert not drill.enter(line).error
    assert drill.enter("journalctl -u scylla-server").error.startswith("-u: got 'scylla-server'")
