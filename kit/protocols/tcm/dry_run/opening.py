"""What somebody gives as a ring of their own, with its keyspaces and operations, and as it stands.

What one more death would break is judged on the ring as it stands, with nothing planned. Source:
CEP-21, "Consistency Guarantees": an answer needs a quorum of the replicas; published
``blockForWrite``: of as many as the keyspace asks for, and one answer more for each pending one.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from kit.edge.arguments import finite
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.model.timeline import LONGEST_RUN
from kit.operators.importers import ringfile
from kit.operators.importers.cql import parse_keyspace
from kit.operators.importers.opening import Imported, import_texts, open_ring
from kit.protocols.tcm.dry_run.history import check_begins, operations_of
from kit.protocols.tcm.parameters import FORM, enter, parse_operation
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations as ops
from kit.ring.columns import np
from kit.ring.natural import replicas
from kit.ring.placements import Placement, Table, slots_of
from kit.ring.replication import Keyspace
from kit.ring.topology import Ring

RingSource: TypeAlias = ringfile.RingFile | str | Path | Sequence[str | Path]
Keyspaces: TypeAlias = str | Keyspace | Iterable[str | Keyspace]
Operations: TypeAlias = str | ops.Operation | Iterable[str | ops.Operation]
MOST_SOURCES = 10_000  # files or texts that are one ring together
NO_KEYSPACE = 'one or more: keyspaces=\'ks={"class": "SimpleStrategy", "replication_factor": 3}\''


def opened(ring: RingSource, keyspaces: Keyspaces = ()) -> Imported:
    """A ring from whatever holds one; BadInput when it is none, or no keyspace is known."""
    if (named := named_keyspaces(keyspaces)) and isinstance(ring, ringfile.RingFile):
        raise BadInput("keyspaces", named[0].name, "none, since the ring is already open")
    if isinstance(ring, Imported):
        imported = ring
    elif isinstance(ring, ringfile.RingFile):
        imported = Imported(ring.epoch, ring.ring, ring.keyspaces)
    else:
        imported = _read([ring] if isinstance(ring, str | Path) else ring, named)
    if not imported.keyspaces:
        raise BadInput("keyspaces", None, NO_KEYSPACE)
    return imported


def named_keyspaces(keyspaces: Keyspaces) -> tuple[Keyspace, ...]:
    """Keyspaces as somebody names them. Raises BadInput for one that is not well formed."""
    several = (keyspaces,) if isinstance(keyspaces, str | Keyspace) else keyspaces
    return tuple(finite("keyspaces", map(_keyspace, several), ringfile.MOST_KEYSPACES))


def _keyspace(given: str | Keyspace) -> Keyspace:
    if isinstance(given, Keyspace):
        return given
    try:
        return parse_keyspace(given)
    except BadInput as error:
        field = error.field.replace("--keyspace", "keyspaces")
        raise BadInput(field, error.value, error.allowed) from None


def _read(sources: Any, keyspaces: Sequence[Keyspace]) -> Imported:
    several = sources if isinstance(sources, Sequence) else [sources]
    given = finite("ring", several, MOST_SOURCES)
    for source in given:
        if not isinstance(source, str | Path):
            allowed = "a file, several files, their text, or an imported ring"
            raise BadInput("ring", source, allowed)
    if not any(_is_text(source) for source in given):
        return open_ring(given, keyspaces)
    texts = []
    for i, source in enumerate(given, 1):
        if _is_text(source):
            texts.append((f"text {i}", str(source)))
        else:
            texts.append((str(source), read_text(source, "ring file", ringfile.LARGEST_FILE)))
    return import_texts(texts, keyspaces)


def _is_text(source: str | Path) -> bool:
    """Whether it is the content itself; no name of a file has several lines or begins so."""
    return isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("{", "["))


def operations_in(field: str, given: Operations) -> tuple[ops.Operation, ...]:
    """Operations as somebody writes them. Raises BadInput for one that is not well formed."""
    several = (given,) if isinstance(given, str | ops.Operation) else given
    if not isinstance(several, Iterable):
        raise BadInput(field, given, f"one line or several: {FORM}")
    operations: list[ops.Operation] = []
    for line in finite(field, several, LONGEST_RUN):
        if isinstance(line, ops.Operation):
            operations.append(line)
        elif isinstance(line, str):
            operations += [parse_operation(text) for text in line.splitlines() if text.strip()]
        else:
            raise BadInput(field, line, f"a line of text: {FORM}")
    return tuple(operations)


# -- as it stands, with nothing planned ------------------------------------------------------------

UNLOCKED = ops.ProtocolSwitches(safeguards=ops.TcmSafeguards(range_locks=False))
SHARED = (
    "operations in flight share ranges, which only a ring that is spread by gossip allows: "
    "all of their pending replicas count"
)


def as_it_stands(given: Imported) -> tuple[rules.Snapshot, bool]:
    """The ring with its operations in flight and pending replicas; whether some share ranges."""
    ring, operations = enter(given.ring, operations_of(given))
    snapshot = rules.initial(ring, given.keyspaces, given.epoch)
    for resolved in operations:
        ops.validate(snapshot.metadata.ring, resolved)
        planned = rules.plan(snapshot.metadata, resolved, ops.ALL_ON)
        operation = resolved.operation
        check_begins(operation, rules.permit(snapshot.metadata, planned, UNLOCKED))
        if rules.permit(snapshot.metadata, planned, ops.ALL_ON) is not None:
            return by_gossip(rules.initial(ring, given.keyspaces, given.epoch), operations), True
        snapshot = rules.enact(snapshot, resolved, ops.ALL_ON)
        # Where tools show it in flight, its pending replicas are written to already: just before
        # the switch.
        while sequence := snapshot.metadata.sequence(operation.node):
            if sequence.next.switches:
                break
            snapshot = rules.enact(snapshot, rules.Advance(operation.node), ops.ALL_ON)
    return snapshot, False


def by_gossip(
    snapshot: rules.Snapshot, operations: Sequence[ops.ResolvedOperation]
) -> rules.Snapshot:
    """The ring with operations that share ranges, which a log of metadata would have refused.

    Pending is whoever gets a range once all who leave are gone, and of those who come each one as
    if it came alone then. Source: published ``calculatePendingRanges``, before CEP-21.
    """
    now: Ring = reduce(ops.placed, operations, snapshot.metadata.ring)
    goes = [each for each in operations if each.operation.kind in rules.SHRINKS]
    left: Ring = reduce(ops.ring_after, goes, now)
    ends = (left, *(ops.ring_after(left, each) for each in operations))  # who goes is gone already
    rights = reduce(np.union1d, (ring.rights for ring in ends), now.rights)
    lefts = np.append(np.int64(now.space.low), rights[:-1])
    placements = []
    for placement, replication in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
        groups = replicas(now, replication, rights)
        for ring in ends:
            new = replicas(ring, replication, rights)
            late = np.where(slots_of(new, groups) < 0, new, np.int32(-1))
            groups = np.concatenate((groups, late), axis=1)
        placements.append(Placement(placement.reads, Table(lefts, rights, groups)))
    return replace(snapshot, placements=tuple(placements))
