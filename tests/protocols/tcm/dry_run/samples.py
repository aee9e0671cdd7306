"""The sample outputs of the lesson on dry runs, and rings for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.model.timeline import Timeline
from kit.operators.importers.opening import Imported, import_texts, open_ring
from kit.protocols.tcm.dry_run.history import dry_run_of
from kit.protocols.tcm.parameters import parse_operation
from tests.operators.printing import Host, host_id, ring_text, status_text

DATA = Path(__file__).resolve().parents[4] / "notebooks" / "data"
FILES = [DATA / "nodetool-ring.txt", DATA / "nodetool-status.txt"]
SHOP = 'shop={"class": "NetworkTopologyStrategy", "east": 3, "west": 2}'
KS = 'ks={"class": "SimpleStrategy", "replication_factor": 3}'
JOIN = "bootstrap 10.20.0.10 --tokens 3000000000000000000 --dc east --rack r1"


def cluster() -> Imported:
    """The lesson's cluster: nine nodes and four, one of them down."""
    return open_ring(FILES, [SHOP])


def printed(hosts: list[Host], keyspace: str = KS) -> Imported:
    """A cluster from what the tools print of these hosts."""
    texts = [("ring.txt", ring_text(hosts)), ("status.txt", status_text(hosts))]
    return import_texts(texts, [keyspace])


def hosts(count: int, **states: str) -> list[Host]:
    """Nodes n1, n2, … at 100, 200, …; ``n3="Down"`` says how one is."""
    return [
        Host(
            f"n{i}",
            (100 * i,),
            health=states.get(f"n{i}", "Up"),
            load=f"{i}.00 KiB",
            host_id=host_id(i),
        )
        for i in range(1, count + 1)
    ]


def played(given: Imported, *lines: str, **options: Any) -> Timeline:
    """A dry run of these lines, to the end."""
    return dry_run_of(given, tuple(map(parse_operation, lines)), **options)


def entry(line: str) -> tuple[str, str]:
    """The kind and the text of an entry of a metadata log: kind, node, what else it says."""
    kind, _, rest = line.partition(" ")
    node, _, more = rest.partition(" ")
    if kind == "REGISTER":
        address = f"addresses=NodeAddresses{{broadcastAddress=/10.0.0.{node}:7000}}"
        return kind, f"Register{{{address}, location=dc1/r{node}, version=v}}"
    if kind == "CANCEL_SEQUENCE":
        return kind, f"CancelInProgressSequence{{nodeId=NodeId{{id={node}}}}}"
    return kind, f"Entry{{id=NodeId{{id={node}}}, {more}}}" if node else "Entry{}"


def startup(node: int, address: str) -> tuple[str, str]:
    """A node starts with an address."""
    addresses = f"addresses=NodeAddresses{{broadcastAddress=/{address}:7000}}"
    return "STARTUP", f"Startup{{nodeId=NodeId{{id={node}}}, nodeVersion=v, {addresses}}}"
