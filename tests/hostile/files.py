"""Spoiled files of every format, given to the function that reads them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from kit import Timeline, read_ring
from kit.model import trace
from kit.model.scenario import open_file
from kit.operators.importers.cql import parse_keyspace
from kit.operators.importers.opening import open_ring
from kit.operators.importers.ringfile import parse_ring, read_stored
from kit.operators.importers.system_tables import read_requests, read_topology
from kit.operators.importers.topology_journals import read_journals
from kit.protocols.tablets.dry_run.opening import open_tablets
from kit.protocols.tablets.dry_run.report import resizes, tablets_report
from kit.protocols.tablets.dry_run.what_if import balance
from kit.protocols.tcm.dry_run.metadata_log import metadata_history
from kit.protocols.tcm.lessons.rehearsals import what_if
from kit.ring.placements import stable_placement
from kit.ring.replication import LocalStrategy
from tests.hostile.judging import answered
from tests.hostile.mutating import (
    EVIL,
    RING,
    SIZES,
    metadata_logs,
    outputs,
    rings,
    scenarios,
    spoiled,
    tablets,
    topologies,
    traces,
)
from tests.stories import rewritten

TABLETS = Path(__file__).parents[1] / "fixtures" / "tablets"
KEYSPACES = (
    'ks={"class": "SimpleStrategy", "replication_factor": 3}',
    "ks={'class': 'NetworkTopologyStrategy', 'dc0': '1', 'dc1': 2}",
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};",
)


def ring_file(chance: Random, folder: Path) -> None:
    """A ring file, alone or together with what a tool prints; its placements are made."""
    path = folder / "ring.json"
    path.write_bytes(spoiled(chance, rings()))
    given = answered(lambda: read_ring(path))
    for keyspace in given.keyspaces if given is not None else ():
        if not isinstance(keyspace.replication, LocalStrategy):
            answered(lambda one=keyspace: stable_placement(given.ring, one.replication).reads)


def tool_output(chance: Random, folder: Path) -> None:
    """The output of a tool or a dump, alone or beside another one."""
    path, other = folder / "a.txt", folder / "b.txt"
    path.write_bytes(spoiled(chance, outputs()))
    paths = [path]
    if chance.random() < 0.3:
        other.write_text(chance.choice(outputs()), "utf-8")
        paths.append(other)
    text = spoiled(chance, KEYSPACES).decode("utf-8", "surrogateescape")
    answered(lambda: open_ring(paths, [text] if chance.random() < 0.2 else []))


def topology_dump(chance: Random, folder: Path) -> None:
    """A dump of the topology or of its requests, or a coordinator's journal."""
    path = folder / "dump"
    path.write_bytes(spoiled(chance, topologies()))
    for read in (read_topology, read_requests, lambda one: read_journals([one])):
        answered(lambda read=read: read(path))


def metadata_log(chance: Random, folder: Path) -> None:
    """A log beside a directory, one of them spoiled: told, and gone on from."""
    path, other = folder / "log.txt", folder / "directory.txt"
    path.write_bytes(spoiled(chance, metadata_logs()))
    other.write_text(chance.choice(metadata_logs()), "utf-8")
    history = answered(lambda: metadata_history([path, other]))
    if history is not None:
        epoch = chance.choice(history.entries).epoch
        answered(lambda: what_if(history, epoch, KEYSPACES[0]))


def tablet_dump(chance: Random, folder: Path) -> None:
    """A dump of tablets with other files of the same cluster, one of them spoiled."""
    names = sorted(path.name for path in TABLETS.iterdir())
    for name in names:
        (folder / name).write_bytes((TABLETS / name).read_bytes())
    (folder / chance.choice(names)).write_bytes(spoiled(chance, tablets()))
    options = {name: folder / f"{name}.csv" for name in ("topology", "sizes", "loads")}
    options["schema"] = folder / "schema.cql"
    if chance.random() < 0.5:
        options["status"] = folder / "status.txt"
    some = {name: path for name, path in options.items() if chance.random() < 0.7}
    dump = folder / chance.choice(("tablets.csv", "tablets.txt"))
    opened = answered(lambda: open_tablets(dump, **some))
    if opened is not None:
        answered(lambda: (tablets_report(opened), balance(opened), resizes(opened)))


def keyspace(chance: Random, _folder: Path) -> None:
    """A keyspace and its replication as text."""
    text = spoiled(chance, KEYSPACES).decode("utf-8", "surrogateescape")
    answered(lambda: parse_keyspace(text))


def sizes_file(chance: Random, folder: Path) -> None:
    """A sizes file for a good ring."""
    path = folder / "sizes.json"
    path.write_bytes(spoiled(chance, (json.dumps(SIZES),)))
    answered(lambda: read_stored(path, parse_ring(json.dumps(RING))))


def trace_file(chance: Random, folder: Path) -> None:
    """A trace, replayed when it can be read."""
    path = folder / "trace.json"
    path.write_bytes(spoiled(chance, traces()))
    read = answered(lambda: trace.read(path))
    if read is not None:
        answered(lambda: Timeline.load(read))


def scenario_file(chance: Random, folder: Path) -> None:
    """A scenario file, run."""
    path = folder / "scenario.txt"
    path.write_bytes(spoiled(chance, scenarios()))
    answered(lambda: open_file(path) if chance.random() < 0.7 else rewritten(path))


def file_name(chance: Random, folder: Path) -> None:
    """A name that is none, or is too long, to read from and to write to."""
    name = "".join(chance.choice(EVIL) for _ in range(chance.randrange(4)))
    path = str(folder / name) if chance.random() < 0.5 else name
    if "/" in name:
        return
    answered(lambda: read_ring(path))
    answered(lambda: trace.read(path))
    answered(lambda: Timeline.load(trace.read(path)))
