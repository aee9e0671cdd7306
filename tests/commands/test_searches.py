"""``check`` and ``fuzz`` at the command line: options, shapes of JSON, statuses, what is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.model import registry
from kit.model.model import always
from kit.model.registry import Entry, register
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from tests.commands.calling import bad, call
from tests.saying import says
from tests.search.test_check import Rash

SCOPE = ["budgets", "configuration", "judged", "not_judged"]
CHECKED = [
    *("model", "states", "transitions", "depth", "complete", "violation", "seconds"),
    *("verdict", *SCOPE, "symmetry"),
]
FUZZED = [
    *("model", "seeds", "walks", "steps", "violation", "untaken", "unreached", "seconds"),
    *(*SCOPE, "within"),
]


class RashNamed(Rash):
    """A model with a bug, which may be named."""

    name = "rash"


class Stopped(TwoPhase):
    """Somebody presses Ctrl-C while the hundredth state is judged for the first time."""

    name = "stopped"

    def __init__(self, parameters: TwoPhaseParameters) -> None:
        super().__init__(parameters)
        self.judged: set[Any] = set()
        self.properties = (*self.properties, always("stop", "Stop", self._stop))

    def _stop(self, s: Any) -> None:
        self.judged.add(s)
        if len(self.judged) == 100:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def own_models() -> Iterator[None]:
    """Two models of one's own in the registry, for as long as a test runs."""
    before = dict(registry._ENTRIES)
    builds: dict[str, Any] = {
        "rash": lambda p, off: RashNamed(),
        "stopped": lambda p, off: Stopped(p),
    }
    for name, builds_it in builds.items():
        register(Entry(name=name, title=name, parameters=TwoPhaseParameters, build=builds_it))
    yield
    registry._ENTRIES.clear()
    registry._ENTRIES.update(before)


def test_symmetry() -> None:
    """With ``--symmetry`` one of all states that are alike is visited; the verdict stays."""
    whole, some = (
        call("check", "twophase", "--json"),
        call("check", "twophase", "--symmetry", "--json"),
    )
    assert (whole.status, some.status) == (0, 0)
    assert list(some.json) == CHECKED
    assert (whole.json["states"], some.json["states"]) == (288, 80)
    found = call("check", "rash", "--symmetry", "--json")
    assert found.status == 1
    assert len(found.json["violation"]["trace"]) == 5


def test_the_configuration_is_told() -> None:
    """A safeguard that is switched off brings its smallest configuration along, and says so; so do
    parameters that were given.
    """
    words = call("check", "dataplane", "--off", "S-01").out.splitlines()
    assert words[1] == "configuration: edition documents, rf=1; without S-01 progress-barrier"
    answer = call("check", "dataplane", "--off", "S-01", "--json").json
    assert answer["configuration"] == {"parameters": {"rf": 1}, "off": ["S-01 progress-barrier"]}
    assert answer["judged"]["monitor"] == ["visible"]
    assert answer["verdict"] == "violated"
    walked = call("fuzz", "twophase", "-p", "rms=2", "--seeds", "0:3", "--json").json
    assert walked["configuration"]["parameters"] == {"rms": 2}
    assert "configuration: rms=2" in call("check", "twophase", "-p", "rms=2").out


def test_what_is_less_than_complete_does_not_read_so() -> None:
    """A bound, a symmetry and a refinement each say what they leave open."""
    for words, verdict, said in (
        (("twophase",), "complete", "complete: no violation"),
        (
            ("twophase", "--max-states", "9"),
            "bounded",
            "bounded: no violation found so far, but noth",
        ),
        (("twophase", "--symmetry"), "up to symmetry", "no violation up to symmetry; of the symm"),
        (("tcm", "--refines"), "judged in part", "every state visited, judged in part: no viol"),
    ):
        assert call("check", *words, "--json").json["verdict"] == verdict
        lines = call("check", *words).out.splitlines()
        assert any(line.startswith(said) for line in lines), lines
        assert ("complete" in " ".join(lines)) is (verdict == "complete")
    left_out = call("check", "tcm", "--refines", "--json").json
    assert left_out["judged"]["step"] == ["refines"]
    assert {"quorums", "stable"} <= set(left_out["not_judged"])


def test_refines() -> None:
    """``--refines`` compares every step with the coarser model's, as it was configured."""
    answer = call("check", "tcm", "--refines", "--json")
    assert answer.status == 0
    assert list(answer.json) == CHECKED
    assert answer.json["complete"]
    bounded = call("check", "tcm", "--refines", "--max-states", "10", "--json")
    assert (bounded.status, bounded.json["complete"]) == (2, False)
    more = call("check", "tcm", "--refines", "-p", "rf=1", "-p", "nodes=2", "--json")
    assert more.status == 0
    assert more.json["states"] != answer.json["states"]


def test_an_interrupted_search_is_told() -> None:
    """Ctrl-C ends a search with what it found so far, on stdout, as JSON or in words; status 2."""
    answer = call("check", "stopped", "-p", "rms=5", "--json")
    assert (answer.status, answer.err) == (2, "")
    assert list(answer.json) == [*CHECKED, "unreached", "interrupted"]
    assert (answer.json["states"], answer.json["complete"]) == (100, False)
    words = call("check", "stopped", "-p", "rms=5").out
    assert "stopped: 100 states" in words
    assert "interrupted: no violation found so far" in words


# -- fuzz ------------------------------------------------------------------------------------------


def test_one_invariant_alone(tmp_path: Path) -> None:
    """``--breaks`` judges what watches over one invariant and says so; where the safeguard that is
    off has a case of its own, the run before it is told and written, too.
    """
    file = str(tmp_path / "run.json")
    words = ["check", "dataplane", "--off", "S-04", "--breaks", "INV-NORES"]
    status, out, _ = call(*words, "--json", "--trace", file)
    found = json.loads(out)
    assert (status, found["judged"]["monitor"]) == (1, ["no-resurrection"])
    assert found["verdict"] == "violated"
    assert len(found["violation"]["trace"]) == found["begins_behind"] + found["depth"]
    assert found["violation"]["trace"][0] == "write 1 at epoch 99"
    assert call("play", file)[0] == 0
    status, out, _ = call("check", "dataplane", "-p", "rf=1", "--breaks", "INV-OWN")
    assert status == 0
    assert "judged: step owners-store, owners-serve\n" in out
    assert "not judged: " in out
    for invariant, where in (("INV-QI", " rf=1;"), ("INV-RF", "every other parameter at")):
        status, out, _ = call("check", "tcm", "--off", "S-05", "--breaks", invariant)
        assert (status, where in out) == (1, True)


def test_fuzz_clean() -> None:
    """Walks that find nothing end with 0 and say what they covered."""
    answer = call("fuzz", "twophase", "--seeds", "0:200", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert list(answer.json) == FUZZED
    assert (answer.json["seeds"], answer.json["walks"]) == ("0:200", 200)
    assert (answer.json["violation"], answer.json["untaken"]) == (None, [])
    words = call("fuzz", "twophase", "--seeds", "0:200").out.splitlines()
    assert words[1:] == [
        "configuration: every parameter at its default",
        "judged: always consistent; sometimes all-commit, all-abort",
        "no violation found",
        "all 9 transitions in the tables were taken",
    ]


def test_fuzz_finds_shrinks_and_writes(tmp_path: Path) -> None:
    """A violation ends with 1, is told with its seed, shrunk, and its trace plays."""
    file = str(tmp_path / "run.json")
    answer = call("fuzz", "tcm", "--off", "S-06", "--seeds", "0:8", "--trace", file, "--json")
    assert answer.status == 1
    violation = answer.json["violation"]
    assert list(violation) == ["property", "witness", "seed", "trace"]
    played = call("play", file)
    assert played.status == 0
    assert f"\n{len(violation['trace']):4} " in played.out
    assert "BROKEN " in played.out
    words = call("fuzz", "tcm", "--off", "S-06", "--seeds", "0:8").out
    assert f"violated: {violation['property']}: " in words
    assert f"first found by seed {violation['seed']}, in " in words
    assert " shrunk from " in words


def test_an_interrupted_fuzz_is_told() -> None:
    """Ctrl-C ends the walks with what they found so far; status 2 when that is nothing."""
    answer = call("fuzz", "stopped", "--seeds", "0:500", "--json")
    assert answer.status == 2
    assert answer.json["interrupted"] is True
    assert 0 < answer.json["walks"] < 500
    assert (
        "no violation found before the interruption"
        in call("fuzz", "stopped", "--seeds", "0:500").out
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fuzz"], "MODEL | nothing | kit fuzz --help"),
        (["fuzz", "twofase"], "model | 'twofase' | twophase"),
        (["fuzz", "twophase", "-p", "rm=2"], "parameter | 'rm' | rms"),
        (["fuzz", "twophase", "-p", "rms=99"], "rms | 99 | 1 to 16"),
        (["check", "group0", "-p", "release=2025.9"], "release | 2025.9 | 2025.1"),
        (["fuzz", "tcm", "--off", "range-lock"], "safeguard | 'range-lock'"),
        (["fuzz", "twophase", "--seeds", "5"], "--seeds | '5' | FIRST:END | whole"),
        (["fuzz", "twophase", "--seeds", "5:5"], "--seeds | '5:5' | FIRST:END"),
        (["fuzz", "twophase", "--seeds", "-1:5"], "--seeds | nothing | FIRST:END"),
        (["fuzz", "twophase", "--seeds=-1:5"], "--seeds | '-1:5' | FIRST:END"),
        (["fuzz", "twophase", "--seeds", "0:99999999"], "seeds | 99999999 | most"),
        (["fuzz", "twophase", "--seeds", "٣:٩"], r"--seeds | '\u0663:\u0669'"),
        (["fuzz", "twophase", "--steps", "0"], "--steps | '0' | from 1"),
        (["fuzz", "twophase", "--steps", "x"], "--steps | 'x' | from 1"),
        (["fuzz", "twophase", "--steps", "200000"], "steps | 200000 | from 1"),
        (["fuzz", "rash", "--trace", "/nope/x"], "--trace | '/nope/x' | writable | place"),
        (["check", "rash", "--trace", "/nope/x"], "--trace | '/nope/x' | writable | place"),
        (["check", "tcm", "--symmetry"], "symmetry | 'tcm' | model"),
        (["check", "tcm", "--off", "S-5"], "safeguard | 'S-5' | S-55, S-5"),
        (["check", "twophase", "--refines"], "--refines | 'twophase' | model"),
        (["check", "tcm", "--refines", "--off", "S-05"], "--off | 'S-05' | no | safe"),
        (["check", "tcm", "--refines", "--symmetry"], "--symmetry | '--refines'"),
    ],
)  # fmt: skip
def test_bad_input(words: list[str], said: str) -> None:
    """Each wrong word is told in one line, with the nearest names."""
    assert says(bad(*words), said)


def test_the_first_line_and_the_data_name_each_budget_that_is_zero() -> None:
    """Nobody reads more into *complete* than it says: what could not happen is told at once."""
    found = call("check", "gossip_join", "-p", "crashes=1")
    first = found.out.splitlines()[0]
    assert "no cuts" in first
    assert "crashes: 1" in first
    found = call("check", "gossip_join", "-p", "crashes=1", "--json")
    assert found.json["budgets"] == {"writes": 1, "crashes": 1, "cuts": 0}
    walked = call("fuzz", "gossip_join", "--seeds", "0:2", "--json")
    assert walked.json["budgets"]["cuts"] == 0
