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
def test_steps_of_every_operation(edition: str, text: str) -> None:
    """Each kind of operation, in each edition, commits its own steps in order, an epoch each."""
    drive, node = started(text, edition)
    names = committed(drive, node) or [drive.model.tcm.cluster.operations[0].kind]
    assert names == EDITIONS[edition][text]
    assert facts.epoch(drive.model, drive.state) == len(names)
    assert drive.stable()
    assert drive.dark() == []


@pytest.mark.spec("A-039")
@pytest.mark.parametrize(("edition", "text"), CASES)
def test_both_variants_end_alike(edition: str, text: str) -> None:
    """The last placements depend on the operation only: the future ring's, whatever the edition."""
    drive, node = started(text, edition)
    drive.finish(node)
    owners = {row.name: row.tokens for row in facts.nodes(drive.model, drive.state)}
    kind = text.split(maxsplit=1)[0]
    assert owners.get(node) == {
        "bootstrap": (150,), "move": (450,), "replace": (200,),
    }.get(kind, ())  # fmt: skip
    assert facts.stable(drive.model, drive.state)


@pytest.mark.spec("A-037")
def test_pending_steps_are_in_the_metadata() -> None:
    """The steps still to do, with their deltas, stand in every epoch's metadata until the last."""
    drive, _ = started("bootstrap X --tokens 150")
    for left in (3, 2, 1):
        (sequence,) = drive.metadata.sequences
        pending = sequence.steps[sequence.done :]
        assert [step.name for step in pending] == CEP["bootstrap X --tokens 150"][-left:]
        assert all(step.deltas for step in pending)
        drive.commit("X")
    assert drive.metadata.sequences == ()


@pytest.mark.parametrize(("edition", "text"), CASES)
def test_the_diagram_is_the_run(edition: str, text: str) -> None:
    """The transition table of the diagram names exactly the states and events that are run."""
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
def test_split_changes_no_owner(edition: str) -> None:
    """Cutting ranges leaves the groups of every single token as they were."""
    drive, _ = started("bootstrap X --tokens 150", edition)
    before = Drive(nodes=5)
    for token in range(1, 600):
        assert drive.groups(token) == before.groups(token)
    assert len(drive.table()) == len(before.table()) + 1


@pytest.mark.spec("A-035", "A-036")
def test_merging_changes_no_owner() -> None:
    """Skipping the merge leaves the same replicas to each token; only a bound is left over."""
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
    """In each range new writers come first, then reads switch in one epoch, then old writers go."""
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
            assert seen == [(old, old)]
            continue
        assert seen == [(old, old), (old, old | new), (new, old | new), (new, new)]


@pytest.mark.spec("A-039")
def test_assassinate_is_one_event_without_streams() -> None:
    """A dead node is taken out in one epoch; nothing is streamed and nothing waits."""
    drive, _ = started("assassinate B", rf=3)
    assert facts.operations(drive.model, drive.state) == ()
    assert facts.epoch(drive.model, drive.state) == 1
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
def test_the_text_refines_the_implementation(name: str) -> None:
    """Every reachable step of edition documents is its image in the other edition, if only a
    stutter.
    """
    found = check_refinement(refinement(TcmParameters(**CONFIGURATIONS[name])))
    assert found.violation is None, found.violation
    assert found.complete
    assert found.states > 4


def test_both_come_to_the_same_placements() -> None:
    """Wherever nothing is under way, both editions have equal tables, metadata and epochs' ends."""
    for name in ("bootstrap", "move", "cancel"):
        both = refinement(TcmParameters(**CONFIGURATIONS[name]))
        assert isinstance(both.fine, TcmCluster)
        assert isinstance(both.coarse, TcmCluster)
        for state in reachable(both.fine):
            fine = both.fine.snapshot(state)
            coarse = both.coarse.snapshot(both.project(state))
            assert fine.metadata.ring == coarse.metadata.ring
            if not fine.metadata.sequences:
                assert not coarse.metadata.sequences
                assert fine.placements == coarse.placements


def test_what_each_event_is() -> None:
    """A move's five events are the other's four: the drop is a stutter, the merge is finish."""
    both = refinement(TcmParameters(**CONFIGURATIONS["move"]))
    state, told = both.fine.start(), []
    while (action := both.fine.suggest(state)) is not None:
        after = both.fine.act(state, action)
        if len(after.tcm.events) > len(state.tcm.events):
            told.append([both.coarse.verb(a) for a in both.image(state, action, after)])
        state = after
    assert told == [["move B --tokens 350"], ["commit B"], ["commit B"], [], ["commit B"]]


def test_a_leave_begins_with_two() -> None:
    """A leave cuts nothing: its first event is prepare and start, the leaver knowing the first."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))
    state = both.fine.start()
    action = both.fine.suggest(state)
    after = both.fine.act(state, action)
    assert [both.coarse.verb(a) for a in both.image(state, action, after)] == [
        "decommission D", "apply D", "commit D",
    ]  # fmt: skip


def test_barriers_are_where_they_differ() -> None:
    """With barriers kept on both sides a join is still refined, a leave is not: its start waits."""
    join = refinement(TcmParameters(rf=3), barrier=True)
    assert check_refinement(join).violation is None
    leave = refinement(TcmParameters(**CONFIGURATIONS["decommission"]), barrier=True)
    found = check_refinement(leave).violation
    assert found is not None
    assert "waiting at the barrier" in found.witness


def test_a_wrong_map_is_found() -> None:
    """A map in which the drop of writes is already finish is told from the right one."""
    both = refinement(TcmParameters(**CONFIGURATIONS["decommission"]))

    def eager(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        image = both.image(before, action, after)
        return image or (action,)

    wrong = Refinement(both.fine, both.coarse, both.project, eager)
    assert check_refinement(wrong).violation is not None
