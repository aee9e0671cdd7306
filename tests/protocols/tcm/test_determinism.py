"""The same on every machine: searches, fingerprints and words do not depend on hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.model.model import fingerprint
from kit.model.registry import build
from tests.protocols.tcm.exploring import reachable

ROOT = Path(__file__).resolve().parents[3]
TELL = """
from kit.search.check import check
from kit.model.model import fingerprint, verdicts
from kit.model.registry import build
from tests.protocols.tcm.exploring import reachable
MENU = {"nodes": 6, "strategy": "network", "dcs": 2, "racks": 2, "menu": True, "barrier": False}
TWO = {"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")}
for parameters, off, most in (
    ({"rf": 3, "cancels": 1}, (), 1500),
    (MENU, (), 100),
    (TWO, ("range-locks",), 1500),
):
    model = build("tcm", parameters, off)
    found = check(model, max_states=most)
    print(found.states, found.transitions, found.depth, found.complete, found.unreached)
    if found.violation:
        print(found.violation.property, found.violation.witness)
        print([model.verb(action) for action in found.violation.actions])
    for number, state in zip(range(most // 4), reachable(model)):
        print(fingerprint(state), [model.verb(action) for action in model.actions(state)])
        print([(model.verb(a), r.reason, r.evidence, r.missing) for a, r in model.waiting(state)])
        print([verdict.witness for verdict in verdicts(model, state)], model.suggest(state))
"""


def told(seed: str) -> bytes:
    """All that the searches say, in a process with this hash seed."""
    variables = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", TELL], cwd=ROOT, env=variables, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


@pytest.mark.deep
def test_two_hash_seeds_tell_the_same() -> None:
    """Counts, counterexamples, fingerprints, verbs and reasons agree byte for byte."""
    one = told("1")
    assert len(one) > 100_000
    assert told("2") == one


def test_a_fingerprint_tells_states_apart() -> None:
    """Every reachable state of a model has a digest of its own, the same in two models alike."""
    parameters = {"cancels": 1}
    states = list(reachable(build("tcm", parameters)))
    digests = [fingerprint(state) for state in states]
    assert len(set(digests)) == len(states)
    assert digests == [fingerprint(state) for state in reachable(build("tcm", parameters))]


def test_known_fingerprints() -> None:
    """Digests do not change between versions by accident: saved traces hold them."""
    model = build("tcm", {})
    state = model.start()
    found = [fingerprint(state)]
    for verb in (
        "bootstrap X --tokens 150",
        "apply A",
        "apply B",
        "apply C",
        "apply X",
        "commit X",
    ):
        action = next(a for a in model.actions(state) if model.verb(a) == verb)
        state = model.act(state, action)
    found.append(fingerprint(state))
    assert found == ["a2c31aed7a5fb6c3", "11356d958a464df9"]
