"""Every operation is a sequence of steps, in two editions, the same on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.model.model import Refinement, fingerprint
from kit.model.registry import build
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.examples import refinement
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.operations import transitions
from kit.ring.replication import EverywhereStrategy, Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from kit.search.check import check_refinement
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.exploring import reachable

CEP = {
    "bootstrap X --tokens 150": ["split", "add-writes", "switch-reads", "drop-writes"],
    "decommission B": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "move B --tokens 450": ["split", "add-writes", "switch-reads", "drop-writes", "merge"],
    "replace B Z": ["add-writes", "switch-reads", "drop-writes"],
    "removenode B": ["add-writes", "switch-reads", "drop-writes", "merge"],
    "assassinate B": ["assassinate"],
}

IMPLEMENTATION = {
    text: ["prepare", "start", "mid", "finish"] if steps[1:] else steps
    for text, steps in CEP.items()
}

EDITIONS = {"documents": CEP, "server": IMPLEMENTATION}
CASES = [(edition, text) for edition, steps in EDITIONS.items() for text in steps]

STATUS = {
    "bootstrap": ("joining", "joined"),
    "decommission": ("leaving", "left"),
    "move": ("moving", "joined"),
    "replace": ("replacing", "joined"),
    "removenode": ("leaving", "left"),
    "assassinate": ("leaving", "left"),
}


def started(text: str, edition: str = "documents", **parameters: Any) -> tuple[Drive, str]:
    """Five nodes, RF 2, with the operation's first event committed; and the node it names."""
    drive = Drive(**{"nodes": 5, "operations": (text,), "edition": edition, **parameters})
    operation = drive.model.tcm.cluster.operations[0]
    return drive.act(text), operation.node


def committed(drive: Drive, node: str) -> list[str]:
    """The names of the steps as they are committed, one after the other, to the end."""
    names: list[str] = []
    while (sequence := drive.metadata.sequence(node)) is not None:
        if not names:
            names.append(sequence.steps[0].name)
        names.append(sequence.next.name)
        drive.commit(node)
    return names


@pytest.mark.spec("A-017", "A-028", "A-039")
@pytest.mark.parametrize(("edition", "text"), CASES)
def test_each_operation_commits_the_steps_of_its_edition_in_order(edition: str, text: str) -> None:
    """Each step is an epoch."""
    drive, node = started(text, edition)
    names = committed(drive, node) or [drive.model.tcm.cluster.operations[0].kind]
    assert names == EDITIONS[edition][text]
    assert drive.model.newest_epoch(drive.state) == len(names)
    assert drive.stable()
    assert drive.dark() == []


@pytest.mark.spec("A-039")
@pytest.mark.parametrize(("edition", "text"), CASES)
def test_each_operation_ends_at_the_same_tokens_in_either_edition(edition: str, text: str) -> None:
    """The placements are those of the future ring."""
    drive, node = started(text, edition)
    drive.finish(node)
    owners = {row.name: row.tokens for row in facts.nodes(drive.model, drive.state)}
    kind = text.split(maxsplit=1)[0]
    assert owners.get(node) == {
        "bootstrap": (150,), "move": (450,), "replace": (200,),
    }.get(kind, ())  # fmt: skip
    assert facts.stable(drive.model, drive.state)


@pytest.mark.spec("A-037")
def test_the_metadata_has_the_pending_steps_with_their_deltas() -> None:
    """Until the last one is committed."""
    drive, _ = started("bootstrap X --tokens 150")
    for left in (3, 2, 1):
        (sequence,) = drive.metadata.sequences
        pending = sequence.steps[sequence.done :]
        assert [step.name for step in pending] == CEP["bootstrap X --tokens 150"][-left:], left
        assert all(step.deltas for step in pending), left
        drive.commit("X")
    assert drive.metadata.sequences == ()


@pytest.mark.parametrize(("edition", "text"), CASES)
def test_the_diagram_of_an_operation_has_the_states_and_events_of_its_run(
    edition: str, text: str
) -> None:
    """No event of the edition is missing."""
    kind = text.split(maxsplit=1)[0]
    table = transitions(kind, edition)  # type: ignore[arg-type]  # plain texts of the parameters
    drive = Drive(nodes=5, operations=(text,), edition=edition)
    node = drive.model.tcm.cluster.operations[0].node
    state = {name: start for start, name, _ in table}
    at = table[0][0]
    walked: list[tuple[str, str, str]] = []
    drive.act(text)
    while True:
        now = drive.metadata.sequence(node)
        name = EDITIONS[edition][text][len(walked)]
        after = next(end for start, event, end in table if (start, event) == (at, name))
        walked.append((at, name, after))
        at = after
        if now is None:
            break
        assert at == drive.operation(node).state
        drive.commit(node)
    assert at == STATUS[kind][1]
    assert set(walked) <= set(table)
    assert [name for _, name, _ in walked] == EDITIONS[edition][text]
    assert set(EDITIONS[edition][text]) <= set(state)


@pytest.mark.spec("A-021")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_split_changes_no_tokens_replicas(edition: str) -> None:
    """There is one row more."""
    drive, _ = started("bootstrap X --tokens 150", edition)
    before = Drive(nodes=5)
    for token in range(1, 600):
        assert drive.groups(token) == before.groups(token), token
    assert len(drive.table()) == len(before.table()) + 1


@pytest.mark.spec("A-035", "A-036")
def test_a_merge_changes_no_tokens_replicas() -> None:
    """Only the bound of the node that left goes."""
    drive, _ = started("decommission B")
    drive.commit("B", 2)
    unmerged = drive.table()
    groups = {token: drive.groups(token) for token in range(1, 600)}
    drive.commit("B")
    assert {token: drive.groups(token) for token in range(1, 600)} == groups
    bounds = {right for _, right, _, _ in unmerged}
    assert bounds - {right for _, right, _, _ in drive.table()} == {200}


@pytest.mark.spec("A-018", "A-019")
@pytest.mark.parametrize(
    ("edition", "text"), [case for case in CASES if "assassinate" not in case[1]]
)
def test_write_groups_grow_before_reads_switch_and_shrink_after(edition: str, text: str) -> None:
    """So in each range old and new replicas overlap at every epoch."""
    drive, node = started(text, edition)
    while drive.metadata.sequence(node) is not None:
        drive.commit(node)
    snapshots = [
        {token: drive.groups_at(state, token) for token in range(10, 600, 10)}
        for state in (drive.states[0], *drive.states)
    ]
    for token in range(10, 600, 10):
        seen = list(
            dict.fromkeys((frozenset(r), frozenset(w)) for r, w in (s[token] for s in snapshots))
        )
        old, new = seen[0][0], seen[-1][0]
        if old == new:
            assert seen == [(old, old)], token
            continue
        wanted = [(old, old), (old, old | new), (new, old | new), (new, new)]
        assert seen == wanted, token


@pytest.mark.spec("A-039")
def test_an_assassination_is_one_event_without_streams() -> None:
    """The dead node is in no group afterwards."""
    drive, _ = started("assassinate B", rf=3)
    assert facts.operations(drive.model, drive.state) == ()
    assert drive.model.newest_epoch(drive.state) == 1
    assert not [verb for verb in drive.verbs() if verb.startswith("stream")]
    assert all("B" not in reads + writes for _, _, reads, writes in drive.table())
    assert drive.dark() == []


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
def test_searches_tell_the_same_under_two_hash_seeds() -> None:
    """Counts, counterexamples, fingerprints, verbs and reasons agree byte for byte."""
    one = told("1")
    assert len(one) > 100_000
    assert told("2") == one


def test_every_reachable_state_has_a_fingerprint_of_its_own() -> None:
    """A second model gives the same ones."""
    parameters = {"cancels": 1}
    states = list(reachable(build("tcm", parameters)))
    digests = [fingerprint(state) for state in states]
    assert len(set(digests)) == len(states)
    assert digests == [fingerprint(state) for state in reachable(build("tcm", parameters))]


def test_the_fingerprints_of_known_states_do_not_change() -> None:
    """Saved traces hold them."""
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


EVERYWHERE = (Keyspace("all", EverywhereStrategy()),)

ELSEWHERE = {
    "members": (Node("a", (100,), "dc1"), Node("b", (200,), "dc1"), Node("c", (300,), "dc2")),
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 1),))),),
    "low": 0,
    "high": 400,
}

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bootstrap": {},
    "join, RF 3": {"rf": 3},
    "join, RF above the nodes": {"nodes": 2, "rf": 3},
    "bootstrap without change": {**ELSEWHERE, "operations": ("bootstrap X --tokens 50 --dc dc2",)},
    "decommission": {"nodes": 4, "operations": ("decommission D",)},
    "leave where all replicate": {"keyspaces": EVERYWHERE, "operations": ("decommission B",)},
    "move": {"nodes": 4, "operations": ("move B --tokens 350",)},
    "move where all replicate": {
        "keyspaces": EVERYWHERE, "operations": ("move B --tokens 350",), "cancels": 1,
    },
    "replace": {"nodes": 4, "rf": 3, "operations": ("replace B Z",)},
    "removenode": {"nodes": 4, "rf": 3, "operations": ("removenode B",)},
    "assassinate": {"nodes": 4, "rf": 3, "operations": ("assassinate B",)},
    "two joins": {"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")},
    "join and leave": {"nodes": 4, "operations": ("decommission D", "bootstrap X --tokens 150")},
    "crash": {"crashes": 1},
    "crash of a leaver": {"nodes": 4, "crashes": 1, "operations": ("decommission D",)},
    "cancel": {"cancels": 1},
    "cancel of a leave": {"nodes": 4, "cancels": 1, "operations": ("decommission D",)},
    "without barriers": {"nodes": 2, "rf": 1, "barrier": False},
    "later epoch": {"epoch": 99},
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_step_by_the_documents_is_a_step_or_stutter_of_the_server(name: str) -> None:
    """The refinement is checked in every reachable state."""
    found = check_refinement(refinement(TcmParameters(**CONFIGURATIONS[name])))
    assert found.violation is None, found.violation
    assert found.complete, found
    assert found.states > 4


def test_documents_and_server_rest_at_the_same_placements() -> None:
    """Their rings are equal in every state."""
    for name in ("bootstrap", "move", "cancel"):
        both = refinement(TcmParameters(**CONFIGURATIONS[name]))
        assert isinstance(both.fine, TcmCluster), name
        assert isinstance(both.coarse, TcmCluster), name
        for state in reachable(both.fine):
            fine = both.fine.snapshot(state)
            coarse = both.coarse.snapshot(both.project(state))
            assert fine.metadata.ring == coarse.metadata.ring, name
            if not fine.metadata.sequences:
                assert not coarse.metadata.sequences, name
                assert fine.placements == coarse.placements, name


def test_a_move_by_the_documents_maps_five_events_to_the_servers_four() -> None:
    """The drop is a stutter, and the merge is finish."""
    both = refinement(TcmParameters(**CONFIGURATIONS["move"]))
    state, told = both.fine.start(), []
    while (action := both.fine.suggest(state)) is not None:
        after = both.fine.act(state, action)
        if len(after.tcm.events) > len(state.tcm.events):
            told.append([both.coarse.verb(a) for a in both.image(state, action, after)])
        state = after
    assert told == [["move B --tokens 350"], ["commit B"], ["commit B"], [], ["commit B"]]


def test_the_first_event_of_a_leave_maps_to_prepare_and_start() -> None:
    """In between the leaver applies the first."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))
    state = both.fine.start()
    action = both.fine.suggest(state)
    after = both.fine.act(state, action)
    assert [both.coarse.verb(a) for a in both.image(state, action, after)] == [
        "decommission D", "apply D", "commit D",
    ]  # fmt: skip


def test_with_barriers_a_join_is_refined_and_a_leave_is_not() -> None:
    """In the server the start of a leave waits."""
    join = refinement(TcmParameters(rf=3), barrier=True)
    assert check_refinement(join).violation is None
    leave = refinement(TcmParameters(**CONFIGURATIONS["decommission"]), barrier=True)
    found = check_refinement(leave).violation
    assert found is not None
    assert "waiting at the barrier" in found.witness


def test_a_refinement_that_maps_the_drop_to_finish_is_refuted() -> None:
    """So the check does tell maps apart."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))

    def eager(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        image = both.image(before, action, after)
        return image or (action,)

    wrong = Refinement(both.fine, both.coarse, both.project, eager)
    assert check_refinement(wrong).violation is not None
