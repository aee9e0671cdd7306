"""Every operation is a sequence of steps, run by one runner, in two editions."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.rules.operations import transitions
from tests.protocols.tcm.driving import Drive

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
