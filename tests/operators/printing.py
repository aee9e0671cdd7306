"""Printing clusters as the tools of both databases do, in our own words, for tests to read back.

The layouts follow the sources of both tools: column widths, headings, the token repeated above the
rows, closing lines. Replicas come from the readable reference, not from the code under test.
"""

from __future__ import annotations

import json
from ipaddress import IPv6Address

from msgspec import Struct

from kit.ring.reference import replicas_reference
from kit.ring.replication import Replication
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Node, Ring

NOTE = (
    "Note: Non-system keyspaces don't have the same replication settings, effective ownership "
    "information is meaningless"
)
CLOSING = (
    '  Warning: "nodetool ring" is used to output all the tokens of a node.',
    '  To view status related info of a node use "nodetool status" instead.',
)


class Host(Struct, frozen=True):
    """A node as the tools see it."""

    address: str
    tokens: tuple[int, ...]
    dc: str = "dc1"
    rack: str = "rack1"
    health: str = "Up"
    state: str = "Normal"
    load: str = "1.5 GiB"
    host_id: str = ""


def host_id(number: int) -> str:
    """A UUID that is easy to tell from others."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def printed(address: str, scylla: bool = False) -> str:
    """An address as Java prints it: IPv6 in full."""
    if scylla or ":" not in address:
        return address
    packed = IPv6Address(address).packed
    return ":".join(f"{packed[i] << 8 | packed[i + 1]:x}" for i in range(0, 16, 2))


def ring_text(hosts: list[Host], *, scylla: bool = False, owns: str = "50.00%") -> str:
    """``nodetool ring``; ScyllaDB puts the empty line before each datacenter, not behind it.

    The tool goes through tokens, so that a datacenter without any does not come up.
    """
    lines = [] if scylla else [""]
    width = max(len(printed(host.address, scylla)) for host in hosts)

    def row(*cells: object) -> str:
        address, rack, health, state, load, own, token = map(str, cells)
        return f"{address:<{width}}  {rack:<12}{health:<7}{state:<8}{load:<16}{own:<20}{token:<44}"

    for dc in sorted({host.dc for host in hosts if host.tokens}):
        rows = sorted((t, host) for host in hosts if host.dc == dc for t in host.tokens)
        lines += [""] if scylla else []
        lines += [f"Datacenter: {dc}", "=========="]
        lines.append(row("Address", "Rack", "Status", "State", "Load", "Owns", "Token"))
        lines.append(row("", "", "", "", "", "", rows[-1][0]) if len(rows) > 1 else "")
        for token, host in rows:
            place = printed(host.address, scylla), host.rack, host.health, host.state
            lines.append(row(*place, host.load, owns, token))
        lines += [] if scylla else [""]
    if any(len(host.tokens) > 1 for host in hosts):
        lines += ["", *CLOSING, "", ""] if scylla else [*CLOSING, "", ""]
    return "\n".join([*lines, "  " + (NOTE + "\n" if owns == "?" else "")])


def status_text(
    hosts: list[Host], *, scylla: bool = False, owns: str = "50.0%", single: bool = False
) -> str:
    """``nodetool status``; ``single`` is the form with a token instead of a count."""
    own = "Owns" if owns == "?" else "Owns (effective)"
    if single:
        head = ["--", "Address", "Load", own, "Host ID", "Token", "Rack"]
    else:
        head = ["--", "Address", "Load", "Tokens", own, "Host ID", "Rack"]
    lines = []
    for dc in sorted({host.dc for host in hosts}):
        table = [head]
        for host in (host for host in hosts if host.dc == dc):
            state = host.health[0] + host.state[0]
            middle = [owns, host.host_id or "?", str(host.tokens[0])] if single else []
            middle = middle or [str(len(host.tokens)), owns, host.host_id or "?"]
            table.append([state, printed(host.address, scylla), host.load, *middle, host.rack])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += [f"Datacenter: {dc}", "=" * len(f"Datacenter: {dc}")]
        lines.append("Status=Up/Down/eXcluded" if scylla else "Status=Up/Down")
        lines.append("|/ State=Normal/Leaving/Joining/Moving")
        between = " " if scylla else "  "
        lines += [
            between.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            for cells in table
        ]
        lines += [] if scylla else [""]
    return "\n".join([*lines, "", NOTE, ""] if owns == "?" else [*lines, ""])


def ring_of(hosts: list[Host]) -> Ring:
    """The ring of the hosts that own their tokens."""
    owners = [host for host in hosts if host.state != "Joining" and host.tokens]
    return Ring.of(Node(host.address, host.tokens, host.dc, host.rack) for host in owners)


def describering_text(
    hosts: list[Host], replication: Replication, *, scylla: bool = False, unwrapped: bool = False
) -> str:
    """``nodetool describering``; with metadata in a log no range goes around (``unwrapped``)."""
    ring = ring_of(hosts)
    tokens = [int(token) for token in ring.tokens]
    bounds = list(zip([tokens[-1], *tokens[:-1]], tokens, strict=True))
    if unwrapped and tokens[0] != MURMUR3.low:
        bounds[:1] = [(tokens[-1], MURMUR3.low), (MURMUR3.low, tokens[0])]
    lines = ["Schema Version:5d3c8d3e-6e0b-3f55-9d2c-000000000001", "TokenRange: "]
    for left, right in sorted(bounds, key=hash):
        at = tokens[0] if right == MURMUR3.low and right not in tokens else right
        names = replicas_reference(ring.nodes, replication, at, MURMUR3)
        nodes = [ring.nodes[ring.code(name)] for name in names]
        listed = ", ".join(printed(node.name, scylla) for node in nodes)
        details = ", ".join(
            f"EndpointDetails(host:{printed(node.name, scylla)}, "
            f"datacenter:{node.dc}, rack:{node.rack})"
            for node in nodes
        )
        lines.append(
            f"\tTokenRange(start_token:{left}, end_token:{right}, endpoints:[{listed}], "
            f"rpc_endpoints:[{listed}], endpoint_details:[{details}])"
        )
    return "\n".join([*lines, ""])


def rows_of(hosts: list[Host]) -> list[dict[str, object]]:
    """The rows of ``system.local``, of the first host, and of ``system.peers``."""
    found: list[dict[str, object]] = []
    for at, host in enumerate(hosts):
        key = {"key": "local", "cluster_name": "Sample", "broadcast_address": host.address}
        found.append(
            {
                **({"peer": host.address} if at else key),
                "data_center": host.dc,
                "host_id": host.host_id or host_id(at),
                "rack": host.rack,
                "release_version": "5.0.2",
                "tokens": [str(token) for token in host.tokens],
            }
        )
    return found


def select_json(rows: list[dict[str, object]]) -> str:
    """What cqlsh shows for ``SELECT JSON * FROM …``."""
    lines = [json.dumps(row) for row in rows]
    rule = "-" * max(map(len, lines))
    return "\n".join(["", " [json]", rule, *(f" {line}" for line in lines), ""]) + (
        f"\n({len(rows)} rows)\n"
    )


def copy_csv(rows: list[dict[str, object]]) -> str:
    """What ``COPY … TO … WITH HEADER = TRUE`` writes: sets and maps as CQL, quoted."""
    names = list(rows[0])
    lines = [",".join(_cell(row.get(name)) for name in names) for row in rows]
    return "\n".join([",".join(names), *lines, ""])


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = "{" + ", ".join(f"'{one}'" for one in value) + "}"
    if isinstance(value, dict):
        value = "{" + ", ".join(f"'{key}': '{one}'" for key, one in value.items()) + "}"
    text = "" if value is None else str(value)
    return f'"{text}"' if "," in text else text
