"""The metadata log: how long a commit takes, catching up, applying it, opening a dumped one.

A commit is counted in message delays, not in time: what goes to several nodes at once is one. Each
of the others stands beside a plain program that does as little as there is to do: dicts and lists,
no state that stays, no deltas, no checks.
"""

from __future__ import annotations

import tempfile
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, alternating, seconds, show, spoken
from kit import replay_log
from kit.model.flows import flows
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.cms.rules.events import Metadata, machine_of
from kit.protocols.cms.rules.log import Entry, NodeLog, Snapshot, caught_up, metadata, slice_since
from kit.protocols.tcm.parameters import TcmParameters, resolve
from kit.protocols.tcm.rules.metadata import Advance, enact, initial
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.tcm import Tcm

SIZES, LAGS, EVERY, TABLES = (1, 3, 5), (100, 1000, 10_000), 100, 50
ROUNDS = ("submit", "prepare", "accept", "answer")
EPOCHS, NODES, RF, STEP, MOVE = 10_000, 1000, 3, 25, 5
AIM_APPLIED, AIM_OPENED = 10.0, 2.0  # seconds


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    yield from map(commit, SIZES)
    for lag in LAGS:
        yield from catching_up(lag)
    yield applying()
    yield opening()


def commit(size: int) -> Figure:
    """The delays from a submission at a node that is no member to its answer, as a run has them.

    What the node and its client tell each other is left out: both are in one place.
    """
    events = (f"drop table t at {'ABCDEF'[size]} to A",)
    model = build("commit", {"nodes": size + 1, "members": size, "events": events})
    timeline = played_out(Timeline(model))
    legs, messages = defaultdict[str, int](int), 0
    for moment in timeline.moments[1:]:
        if (kind := model.kind(moment.action)) in ROUNDS:
            before = timeline.moments[moment.parent].state
            told = flows(model, before, moment.action, moment.state)
            sent = sum(
                each.from_key.startswith("n:") and each.to_key.startswith("n:") for each in told
            )
            legs[kind], messages = max(legs[kind], sent), messages + sent
    ours, plain = sum(legs.values()), 2 if size == 1 else 6
    name = f"a commit in message delays, CMS of {size} ({messages} messages)"
    return Figure(name, f"{ours}", f"counted by hand: {plain}", ours / plain, "1", ours == plain)


def catching_up(lag: int) -> Iterator[Figure]:
    """An empty node learns so many epochs, entry by entry or from the newest snapshot on."""
    machine, state = machine_of(Metadata()), Metadata()
    entries, snapshots, ids = list[Entry](), list[Snapshot](), list[tuple[str, int]]()
    for epoch in range(1, lag + 1):
        verb = "drop" if epoch // TABLES % 2 else "create"
        entries.append(Entry(epoch, f"{verb} table t{epoch % TABLES}", f"r{epoch}"))
        state = machine.enact(state, entries[-1])
        ids.append((f"r{epoch}", epoch))
        if epoch % EVERY == EVERY // 2:
            snapshots.append(Snapshot(epoch, state, tuple(ids)))

    def learned(log: NodeLog) -> Metadata:
        made: Metadata = metadata.__wrapped__(
            caught_up(NodeLog(), slice_since(log, 0), machine), machine
        )
        return made

    def plainly() -> dict[str, tuple[str, int]]:
        tables = {}
        for each in entries:
            verb, _, name = each.event.split()
            tables[name] = verb, each.epoch
        return tables

    whole = NodeLog(tuple(entries))
    cut = NodeLog(tuple(entries), tuple(snapshots))
    assert learned(whole) == learned(cut) == state
    with_them, without, plain = alternating(
        3, partial(learned, cut), partial(learned, whole), plainly
    )
    name = f"catch-up over {lag:,} epochs"
    yield Figure(name, spoken(without), f"a plain loop {spoken(plain)}", without / plain)
    if len(snapshots) > 1:
        beside = f"without snapshots {spoken(without)}"
        yield Figure(f"{name}, a snapshot each {EVERY}", spoken(with_them), beside,
                     with_them / without)  # fmt: skip


def applying() -> Figure:
    """Moves one after the other: each epoch makes the metadata and the placements of a cluster."""
    model = Tcm(TcmParameters(nodes=NODES, rf=RF))
    names, first = model.names[:NODES], initial(model.cluster.ring, model.cluster.keyspaces, 0)
    tokens = {node.name: node.tokens[0] for node in first.metadata.ring.nodes[:NODES]}
    moves = [(names[7 * at % NODES], STEP * (at // NODES + 1)) for at in range(EPOCHS // MOVE)]

    def apply_all() -> None:
        now = first
        for name, by in moves:
            operation = Operation("move", name, (tokens[name] + by,))
            now = enact(now, resolve(now.metadata.ring, operation), model.switches)
            while now.metadata.sequence(name):
                now = enact(now, Advance(name), model.switches)
        assert now.metadata.epoch == EPOCHS

    def plainly() -> None:
        ring = sorted((token, name) for name, token in tokens.items())
        groups = {token: natural(ring, at) for at, (token, _) in enumerate(ring)}
        where = dict(tokens)
        for name, by in moves:
            for _ in range(MOVE):  # an epoch: the rows around the former token and the new one
                for token in (where[name], tokens[name] + by):
                    at = bisect(ring, (token, ""))
                    for row in range(at - RF, at + 1):
                        groups[ring[row % NODES][0]] = natural(ring, row % NODES)
            ring.remove((where[name], name))
            where[name] = tokens[name] + by
            ring.insert(bisect(ring, (where[name], name)), (where[name], name))

    ours, plain = seconds(apply_all), seconds(plainly)
    return Figure(
        f"{EPOCHS:,} epochs at {NODES:,} nodes applied",
        spoken(ours),
        f"dicts and lists {spoken(plain)}",
        ours / plain,
        f"< {AIM_APPLIED:.0f} s",
        ours < AIM_APPLIED,
    )


def natural(ring: list[tuple[int, str]], at: int) -> tuple[str, ...]:
    """The nodes that replicate the range that ends at a token."""
    return tuple(ring[(at + step) % len(ring)][1] for step in range(RF))


KINDS = {
    "REGISTER": "Register{{addresses=NodeAddresses{{broadcastAddress=/10.0.{0}.{1}:7000}}, "
    "location=dc1/r1, version=NodeVersion{{cassandraVersion=6.0.0}}}}",
    "PREPARE_JOIN": "PrepareJoin{{id=NodeId{{id={2}}}, tokens=[{3}]}}",
    "START_JOIN": "StartJoin{{id=NodeId{{id={2}}}, kind=START_JOIN, delta=PlacementDeltas{{}}}}",
    "MID_JOIN": "MidJoin{{id=NodeId{{id={2}}}, kind=MID_JOIN, delta=PlacementDeltas{{}}}}",
    "FINISH_JOIN": "FinishJoin{{id=NodeId{{id={2}}}, kind=FINISH_JOIN, delta=PlacementDeltas{{}}}}",
}
"""What a node's way into the cluster leaves in the log."""


def dumped() -> str:
    """The log of a cluster of 1,000 nodes, as ``nodetool cms dumplog`` prints it."""
    changes = EPOCHS - NODES * len(KINDS)
    told = [(kind, text, node) for node in range(1, NODES + 1) for kind, text in KINDS.items()]
    alter = "SchemaChange{{schemaTransformation=ALTER TABLE ks.t ADD c{2} int}}"
    told += [("SCHEMA_CHANGE", alter, number) for number in range(changes)]
    return "".join(
        f"Epoch: {epoch}\n"
        f"  entry_id       {epoch}\n"
        f"  entry_time     Mon Nov 23 10:{epoch // 60 % 60:02}:{epoch % 60:02} UTC 2026\n"
        f"  kind           {kind}\n"
        f"  transformation {text.format(n // 250, n % 250 + 1, n, n * STEP)}\n"
        for epoch, (kind, text, n) in enumerate(told, start=1)
    )


def opening() -> Figure:
    """From the file to a Player on it, against only taking the lines apart."""
    text = dumped()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        path.write_text(text, "utf-8")
        ours, plain = alternating(3, lambda: replay_log(path), partial(fields, text))
    return Figure(
        f"a dumped log of {EPOCHS:,} epochs opened, {len(text) / 1e6:.1f} MB",
        spoken(ours),
        f"lines taken apart {spoken(plain)}",
        ours / plain,
        f"< {AIM_OPENED:.0f} s",
        ours < AIM_OPENED,
    )


def fields(text: str) -> list[tuple[str, str]]:
    """Each line's name and value."""
    parts = (line.strip().partition(" ") for line in text.splitlines())
    return [(name, value) for name, _, value in parts]


if __name__ == "__main__":
    show(figures())
