"""What the loss of nodes means: every set of dead nodes of a cluster, and advice on a large one.

The sets are those of twelve nodes in three datacenters, in both editions, at three replication
factors and every consistency level: on Spark, embedded, and in this process alone. Memory is that
of Python, Java and workers together.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, seconds, show, spoken
from kit import spark as ks
from kit.protocols.recovery.dry_run import RecoveryAdvice, advise, open_cluster
from kit.spark.progress import Peak

TWELVE = {"least": 12, "most": 12, "datacenters": 3, "largest": 4}
SETS, NODES, KEYSPACES = 4096, 1000, 20
AIM_SETS, AIM_BYTES, AIM_ADVICE = 60.0, 2e9, 1.0
ROUNDS = 3


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    yield from of_sets()
    yield of_advice()


def of_sets() -> Iterator[Figure]:
    """The time of a session's first table, its start left out, and the memory meanwhile."""
    counts: list[int] = []
    with Peak() as memory:
        spark = ks.session("local[2]")
        try:
            ours = seconds(lambda: counts.append(ks.dead_nodes(spark, **TWELVE).toArrow().num_rows))
        finally:
            ks.stop(spark)
    alone = seconds(lambda: counts.append(ks.dead_nodes(None, **TWELVE).num_rows))
    assert counts[0] == counts[1]
    name = f"Spark: {SETS:,} sets of dead nodes, {counts[0]:,} rows"
    beside = f"{spoken(alone)} in one process"
    yield Figure(name, spoken(ours), beside, alone / ours, f"< {AIM_SETS:.0f} s", ours < AIM_SETS)
    size, aim = f"{memory.peak / 1e6:.0f} MB", f"< {AIM_BYTES / 1e9:.0f} GB"
    yield Figure("Spark: memory of that", size, "", None, aim, memory.peak < AIM_BYTES)


def of_advice() -> Figure:
    """From the file to the advice, in edition ``server``: two in five nodes died one by one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(described(), "utf-8")
        best = min(seconds(lambda: advised(path)) for _ in range(ROUNDS))
        parsed = min(seconds(lambda: json.loads(path.read_text("utf-8"))) for _ in range(ROUNDS))
    name = f"recover FILE, {NODES:,} nodes, {KEYSPACES} keyspaces"
    aim = f"< {AIM_ADVICE:.0f} s"
    return Figure(
        name, spoken(best), f"its JSON {spoken(parsed)}", best / parsed, aim, best < AIM_ADVICE
    )


def described() -> str:
    """A cluster of three datacenters with five racks each; who died, and in which order."""
    chance = random.Random(5)
    nodes = [
        {
            "name": f"n{at}",
            "dc": f"dc{at % 3}",
            "rack": f"r{at // 3 % 5}",
            "commit_index": chance.randint(900, 999),
        }
        for at in range(NODES)
    ]
    dead = chance.sample(nodes, 2 * NODES // 5)
    for node in dead:
        node["status"] = chance.choice(("down", "lost"))
    factors = {f"dc{dc}": 3 for dc in range(3)}
    keyspaces = dict.fromkeys((f"ks{at}" for at in range(KEYSPACES)), factors)
    deaths = [[node["name"]] for node in dead]
    return json.dumps({"nodes": nodes, "keyspaces": keyspaces, "deaths": deaths})


def advised(path: Path) -> RecoveryAdvice:
    """What ``recover`` says of a file."""
    cluster, warnings = open_cluster(path)
    return advise(cluster, path.name, warnings=warnings)


if __name__ == "__main__":
    show(figures())
