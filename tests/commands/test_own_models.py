"""A model of one's own stands in a file, which is given where a model's name is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kit.commands.own_models import entry_in
from kit.errors import BadInput
from kit.model import declared, registry
from kit.widgets import Player
from tests.commands.calling import call

LOCK = '''"""A lock."""
from typing import Annotated

from helping import LIMIT
from kit.model.declared import Declared, Each, State, action, always, parameter, refused


class Held(State, frozen=True):
    """Who has it, and how often somebody had it."""

    holder: int = -1
    tries: int = 0


Client = Annotated[int, Each(range(2))]


class Lock(Declared[Held]):
    """A lock."""

    name, title, State = "lock", "A lock", Held
    limit: int = parameter(LIMIT, "how often", ge=1, le=5)

    @action()
    def take(self, s: Held, client: Client) -> object:
        """{client} takes it."""
        return refused("it is held") if s.holder >= 0 else s.but(holder=client)

    @action()
    def release(self, s: Held, client: Client) -> object:
        """{client} releases it."""
        return s.but(holder=-1) if s.holder == client else None

    @always("INV-FEW")
    def few(self, s: Held) -> str | None:
        """It is taken by client 0 only."""
        return f"client {s.holder} has it" if s.holder >= self.limit else None
'''
TWO = f"{LOCK}\n\nclass Other(Lock):\n    name = 'other'\n"
BARE = re.sub(r"    limit: .*\n|    @always(.*\n)*", "", LOCK)
RUN = """{"format": 2, "kit": "0", "model": "lock", "revision": 1, "parameters": {"limit": 2},
"off": [], "steps": [], "at": 0, "tip": 0}"""
LOST = (
    LOCK.replace('@always("INV-FEW")', "@goal()")
    .replace(
        'return f"client {s.holder} has it" if s.holder >= self.limit else None',
        "return s.tries == 3",
    )
    .replace("always,", "goal,")
)
FILES = {
    "helping.py": "LIMIT = 2\n",
    "lock.py": LOCK,
    "two.py": TWO,
    "none.py": "from kit.model.declared import Declared\n",
    "raises.py": "LIMIT = 1\nLIMIT / 0\n",
    "ends.py": "raise SystemExit\n",
    "spelt.py": "def f(:\n",
    "declared.py": LOCK.replace("ge=1", "ge='x'"),
    "taken.py": LOCK.replace('"lock"', '"raft"'),
    "up.PY": LOCK,
    "run.json": RUN,
    "bare.py": BARE,
    "boo.py": LOCK.replace("s.but(holder=-1)", "{}['boo']"),
    "unknown.py": LOCK.replace("holder=-1)", "holds=-1)"),
    "options.py": "from kit.model.network import NetworkOptions\n"
    + LOCK.replace(
        "    @action()",
        "    def set_up(self):\n        NetworkOptions(copies=1)\n\n    @action()",
        1,
    ),
    "pair.py": LOCK.replace("parameter(LIMIT,", "parameter((3, 4),")
    .replace("limit: int", "limit: tuple[int, int]")
    .replace(", ge=1, le=5", ""),
    "lost.py": LOST,
    "stuck.py": LOCK.replace("s.but(holder=-1)", "refused('never')"),
    "rests.py": LOST.replace("s.but(holder=-1)", "refused('never')"),
    "dead.py": LOST.replace("s.but(holder=-1)", "refused('never')").replace(
        "    limit:", "    rests_at_goals = True\n    limit:"
    ),
    "endless.py": LOCK.replace("s.but(holder=-1)", "s.but(holder=-1, tries=s.tries + 1)"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models, in which the command is given."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder.py").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_ENTRIES", {**registry.entries()})
    return tmp_path


ANSWERS: dict[str, tuple[int, str]] = {
    "check lock.py": (0, "lock: 3 states, 4 steps"),
    "check two.py:Other": (0, "other: 3 states"),
    "check lock.py -p limit=1": (1, "violated: few: client 1 has it"),
    "check lock.py --breaks INV-FEW": (0, "judged: always few"),
    "fuzz lock.py --seeds 0:2": (0, "lock: 2 walks"),
    "show lock.py": (0, "limit  how often; a number from 1 to 5"),
    "play lock.py": (0, "1 0 takes it."),
    "export lock.py mermaid": (0, "Note over p1: 1. 0 takes it."),
    "play twophase": (0, "RM0 is prepared"),
    "check nowhere.py": (2, "model: got 'nowhere.py'; allowed: a Python file .* no such file"),
    "play nowhere.py": (2, "model: got 'nowhere.py'; allowed: a Python file .* no such file"),
    "check lock": (2, "model: got 'lock'; allowed: lock.py, which is a file here; or one of"),
    "play lock": (2, "got 'lock'; allowed: lock.py, which is a file here; or one of"),
    "check -": (
        2,
        r"model: got '-'; allowed: one of .*; or a Python file with a model \(lock.py\)",
    ),
    "check up.PY": (2, "model: got 'up.PY'; allowed: .* must end in .py, in small letters"),
    "check folder.py": (2, "model: got 'folder.py'; allowed: .*; this is a folder"),
    "check lock.py -p limit=1 --trace t.json": (
        1,
        "t.json: a trace of 1 step; .* play t.json --model lock.py",
    ),
    "check lock.py --trace t.json": (0, "t.json: not written, because no run that breaks"),
    "fuzz lock.py -p limit=1 --trace t.json": (
        1,
        "t.json: a trace of 1 step; .* play t.json --model lock.py",
    ),
    "play run.json": (
        2,
        (
            "model of the trace: got 'lock'; allowed: a model that is known here; one of "
            "your own is given as its file, with --model lock.py\n$"
        ),
    ),
    "play run.json --model lock.py": (0, "0 A lock: the start."),
    "export run.json mermaid --model lock.py": (0, "participant p1 as lock"),
    "play run.json --model two.py:Other": (2, "got 'two.py:Other'; allowed: the file of .* lock"),
    "play lock.py --model lock.py": (2, "lock.py: got .*; allowed: a trace in JSON"),
    "export lock.py node": (2, "form: got 'node'; allowed: one of itf, mermaid, shiviz, svg"),
    "show bare.py": (0, "parameters\n  none\n.*properties\n  none\n.*scenarios\n  none"),
    "check two.py": (2, "'two.py, which has 2'; allowed: one of two.py:Lock, two.py:Other"),
    "check lock.py:Lok": (2, r"model in lock.py: got 'Lok'.*Lock"),
    "check none.py": (2, "'none.py'; allowed: a file that defines a class below Declared"),
    "check none.py:Lock": (2, "model in none.py: got 'Lock'; allowed: a class below Declared"),
    "check raises.py": (2, r"line 2 of raises.py \(LIMIT / 0\): got 'ZeroDivisionError: division"),
    "check ends.py": (2, r"line 1 of ends.py \(raise SystemExit\): got 'SystemExit"),
    "check spelt.py": (2, r"model, line 1 of spelt.py \(def f\(:\): got 'invalid syntax'"),
    "check declared.py": (2, "^kit: parameter: got .*limits as msgspec.Meta has them"),
    "check taken.py": (2, "name of Lock: got 'raft'; allowed: a name that no model of the kit has"),
    "check lock.py -p limit=9": (2, "limit: got 9; allowed: a number from 1 to 5"),
    "check boo.py": (2, r"^kit: release, line \d+ of boo.py \(.*\): KeyError: 'boo'$"),
    "fuzz boo.py": (2, r"^kit: release, line \d+ of boo.py \(.*\): KeyError: 'boo'$"),
    "play boo.py": (2, r"^kit: release, line \d+ of boo.py \(.*\): KeyError: 'boo'$"),
    "check unknown.py": (2, r"^kit: release, line \d+ of unknown.py .* has no field 'holds'$"),
    "check options.py": (2, r"^kit: set_up, line \d+ of options.py .* argument 'copies'$"),
    "check pair.py -p limit=1,2": (2, r"limit: got '1,2'; .*, such as limit=\[3,4\] \(a list\)"),
    "fuzz lost.py --seeds 0:3": (1, r"few: .*out of reach\n.*; shrunk from 1,100 steps to 0"),
    "play stuck.py": (0, "1 0 takes it.\n.*nothing more can happen$"),
    "play rests.py": (0, "\nnothing more can happen\n$"),  # it may rest anywhere
    "play dead.py": (0, "\nnothing more can happen, and no goal is reached: a deadlock\n$"),
    "check lock.py --refines": (2, "--refines: got 'lock'; allowed: a model that refines"),
}


@pytest.mark.parametrize("line", ANSWERS)
def test_a_file_stands_for_its_model(line: str) -> None:
    """It is searched, walked, shown and played as any model; what is wrong is one line."""
    status, said = ANSWERS[line]
    answer = call(*line.split())
    assert answer.status == status, answer
    assert re.search(said, answer.err if status == 2 else answer.out, re.DOTALL), answer
    assert answer.err.count("\n") <= 1


def test_a_trace_of_a_model_that_is_not_known_says_how_it_is_opened() -> None:
    """What it says works, both ways; a list of the kit's models would be of no help."""
    with pytest.raises(BadInput) as wrong:
        Player().load("run.json")
    assert str(wrong.value) == (
        "model of the trace: got 'lock'; allowed: a model that is known here; one of "
        "your own is defined first, then Player(Lock()).load(path) opens its trace, or "
        "register(entry(Lock)) makes it known"
    )
    made = entry_in("lock.py")
    registry._ENTRIES.pop("lock")
    lock = made.build(made.parameters(), ())
    for player in (Player(lock), Player()):
        player.load("run.json")
        assert player.model.name == "lock"
        registry.register(declared.entry(type(lock)))
