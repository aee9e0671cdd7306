"""The schema in the log: what an event needs, what it makes, and which epoch stands in its way.

Statements are those of a schema by gossip, and so are the cells that they leave on a node; here
their timestamp is the epoch, and one log gives each its place. Metadata has besides who owns data
and who joins, leaves, moves or is replaced, for a statement that changes replication would change
ranges that these operations have locked. Events are text: a statement, ``bootstrap X``,
``joined X``, ``decommission B``, ``left B``, ``cancel X``, ``cms A B``.
Sources: CEP-21, "Schema Management", "Event Submission Protocol"; published code,
``SchemaTransformation``, ``AlterSchema`` and ``LockedRanges``.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.cms.rules.log import Entry, Machine, replay
from kit.protocols.gossip import rules as gossip

JOIN, JOINED, CANCEL, CMS = "bootstrap", "joined", "cancel", "cms"
LEAVE, MOVE, REPLACE = "decommission", "move", "replace"
LEAVING, MOVING, REPLACED = "LEAVING", "MOVING", "BOOT_REPLACE"
OPERATIONS = {
    JOIN: (gossip.BOOT, JOINED, "join"),
    LEAVE: (LEAVING, "left", "decommission"),
    MOVE: (MOVING, "moved", "move"),
    REPLACE: (REPLACED, "replaced", "replacement"),
}
"""Of each operation: what its node is meanwhile, the event that ends it, and its noun."""
LOCKING = {status: what for what, (status, _, _) in OPERATIONS.items()}
"""The statuses of nodes whose operation has locked ranges."""
OWNERS = (gossip.NORMAL, LEAVING, MOVING, REPLACED)
"""The statuses of nodes that own data; one that leaves, or is replaced, does so to the end."""


class SchemaMetadata(Struct, frozen=True, cache_hash=True):
    """The metadata of each node at an epoch: the schema, what each node is, the CMS."""

    cells: gossip.Mutations = ()
    statuses: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()

    def those(self, status: str) -> tuple[str, ...]:
        """The nodes with this status."""
        return tuple(name for name, said in self.statuses if said == status)

    @property
    def locks(self) -> str:
        """The operation that has locked ranges, and of which node; empty where none has."""
        busy = ((name, LOCKING[said]) for name, said in self.statuses if said in LOCKING)
        return next((f"{OPERATIONS[what][2]} of {name}" for name, what in busy), "")


@lru_cache(256)
def statement(event: str) -> tuple[gossip.SchemaChange, str] | None:
    """The statement of an event, and the node that it was asked of; None where it is none."""
    text, _, node = event.rpartition(" at ")
    if not text:
        return None
    [parsed] = gossip.parse_changes("event", (event,), (node,))
    return parsed.change, node


def enact(metadata: SchemaMetadata, entry: Entry) -> SchemaMetadata:
    """The metadata after one more entry."""
    if parsed := statement(entry.event):
        cells = gossip.cells_of(parsed[0], entry.epoch, parsed[1])
        return replace(metadata, cells=gossip.merged(metadata.cells, cells))
    verb, *names = entry.event.split()
    if verb == CMS:
        return replace(metadata, members=tuple(names))
    statuses = dict(metadata.statuses)
    was = statuses.pop(names[0], "")
    has_left = was == gossip.BOOT if verb == CANCEL else verb == OPERATIONS[LEAVE][1]
    if not has_left:
        statuses[names[0]] = OPERATIONS[verb][0] if verb in OPERATIONS else gossip.NORMAL
    return replace(metadata, statuses=tuple(sorted(statuses.items())))


@lru_cache(1 << 14)  # runs meet the same few logs again and again
def metadata_after(machine: Machine, entries: tuple[Entry, ...]) -> SchemaMetadata:
    """The metadata that these entries make."""
    made: SchemaMetadata = replay(machine, entries)
    return made


def moves_ranges(schema: gossip.LegacySchema, change: gossip.SchemaChange) -> bool:
    """Whether a statement changes who owns ranges.

    A new keyspace does where no other one has its replication, as all that have one replication
    share their ranges; so does dropping the last one, and any other replication of one.
    """
    if change.table:
        return False
    had = dict(schema.keyspaces).get(change.keyspace)
    own = change.replication or had or 1
    if change.verb == "alter":
        return own != had
    return own not in (rf for name, rf in schema.keyspaces if name != change.keyspace)


def objection(metadata: SchemaMetadata, event: str, *, locks: bool = True) -> str | None:
    """Why a statement cannot be committed on this metadata; None: it can."""
    if (parsed := statement(event)) is None:
        return None
    schema = gossip.schema_of(metadata.cells)
    if why := gossip.objection(schema, parsed[0]):
        return why
    if locks and metadata.locks and moves_ranges(schema, parsed[0]):
        return f"it changes replication, and the {metadata.locks} has locked ranges"
    return None


def lost_to(machine: Machine, entries: tuple[Entry, ...], event: str) -> Entry | None:
    """The entry that stands in the way of an event: before it the event made sense."""
    for place in reversed(range(len(entries))):
        if objection(metadata_after(machine, entries[:place]), event) is None:
            return entries[place]
    return None
