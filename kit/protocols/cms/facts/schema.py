"""One moment of a schema in the log, or by gossip, as rows; and what scenario files show."""

from __future__ import annotations

from msgspec import Struct

from kit.errors import counted
from kit.protocols.cms.rules.schema import JOIN, LEAVE, MOVE
from kit.protocols.cms.schema import JOINER, Schema, SchemaNode, SchemaState
from kit.protocols.gossip.facts import schemas_shown
from kit.protocols.gossip.rules import BOOT, EndpointState, version_of

NONE = "nobody"
PHASES = {
    "out": "not there",
    "asked": "asked a seed",
    "boot": "joining",
    "streamed": "has streamed",
    "member": "member",
    LEAVE: "leaving",
    MOVE: "moving",
}


class KnownRow(Struct, frozen=True):
    """A node: how far it is, what it has applied, whom it writes to, its list of the CMS."""

    name: str
    phase: str
    applied: str
    owners: tuple[str, ...]
    joining: tuple[str, ...]
    members: tuple[str, ...]
    holds: tuple[int, ...]
    missing: int  # acknowledged writes that a joiner does not have


class ChangeRow(Struct, frozen=True):
    """A client's change, and its outcome."""

    text: str
    became: str


def progress(m: Schema, node: SchemaNode) -> str:
    """How far a node is: its epoch, or by gossip the version of its schema."""
    if m.ordered:
        return f"epoch {node.epoch}" if node.epoch else "no epoch"
    return version_of(node.cells)


def known_rows(m: Schema, s: SchemaState) -> tuple[KnownRow, ...]:
    """A row for each node."""
    doing = {m.names[at]: what for at, what in m.under_way(s).items() if what != JOIN}
    rows = []
    for node in s.nodes:
        phase = PHASES[doing.get(node.name, node.phase)] if node.health == "up" else node.health
        knows = progress(m, node), m.status(s, node), m.status(s, node, BOOT)
        data = tuple(at + 1 for at in range(len(s.written)) if node.data >> at & 1)
        lacks = m.missing(s).bit_count() if node.name == JOINER and node.is_there else 0
        members = node.members if m.ordered else ()
        rows.append(KnownRow(node.name, phase, *knows, members, data, lacks))
    return tuple(rows)


def changes(m: Schema, s: SchemaState) -> tuple[ChangeRow, ...]:
    """The changes that clients asked for, and their outcomes."""
    became = dict.fromkeys(s.sent, "on its way to the CMS")
    became |= {number: f"! rejected: lost to epoch {epoch}" for number, epoch in s.rejected}
    epochs = {entry.event: f"✓ epoch {entry.epoch}" for entry in s.log}
    done = "✓ done, according to its node"
    became |= {each: epochs.get(m.planned[each].text, done) for each in s.done}
    texts = enumerate(planned.text for planned in m.planned)
    return tuple(ChangeRow(text, became.get(at, "not asked yet")) for at, text in texts)


def gossip(m: Schema, s: SchemaState) -> tuple[tuple[str, EndpointState], ...]:
    """The gossipinfo of each node that is up, about all endpoints."""
    return tuple((node.name, each) for node in s.nodes if node.is_up for each in node.view)


def states_of(endpoint: EndpointState) -> list[str]:
    """The states of an endpoint, a text for each."""
    return [f"{each.name}:{each.version}:{each.value}" for each in endpoint.states]


def known_line(row: KnownRow) -> str:
    """A row as a line."""
    members = f"; its CMS: {', '.join(row.members)}" if row.members else ""
    joins = f" and {', '.join(row.joining)}, which is joining" if row.joining else ""
    lacks = f"; {counted(row.missing, 'write')} missing" if row.missing else ""
    owners = f"writes to {', '.join(row.owners) or NONE}{joins}"
    return f"{row.name}: {row.phase}, {row.applied}; {owners}{members}{lacks}"


# -- what scenario files show ----------------------------------------------------------------------


def _gossipinfo_of(m: Schema, s: SchemaState, node: str) -> str:
    lines = []
    for name, each in gossip(m, s):
        if name == (node or m.names[0]):
            lines += [f"/{each.endpoint}", f"  generation:{each.generation}"]
            lines += [f"  {state}" for state in states_of(each)]
    return "\n".join(lines) or "it does not answer"


OUTPUT = {
    "schemas": schemas_shown,
    "changes": lambda m, s, _: "\n".join(f"{row.text}: {row.became}" for row in changes(m, s)),
    "nodes": lambda m, s, _: "\n".join(map(known_line, known_rows(m, s))),
    "gossipinfo": _gossipinfo_of,
}
