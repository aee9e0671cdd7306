"""The schema beside a dump of tablets: keyspaces with their replication, tables, their options.

Either CQL as ``DESCRIBE SCHEMA`` prints it, or rows of ``system_schema.keyspaces``,
``scylla_keyspaces``, ``tables``, ``scylla_tables`` and ``views`` as JSON or CSV, a table known by
its columns. A replication factor is a number, or the list of the racks that have a replica each.
A list is flattened in rows: a key for each place, and the place -1 where it is empty.
Sources: the published manual on CREATE KEYSPACE; its ``docs/dev/system_schema_keyspace.md`` on that
form; its change (PR 26429) that keeps ``replication`` readable for older drivers and has the rack
lists in ``replication_v2``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.literals import Bare
from kit.operators.importers.nodetool import place_name
from kit.ring.replication import CLASSES, LARGEST_FACTOR, PACKAGE

Factor = int | tuple[str, ...]
"""How many replicas a datacenter has, or its racks that have one each."""

Count = int | Fraction
"""How many tablets; those of a shard need not be whole."""

EVERY = "replication_factor"
"""The option that holds for each datacenter that no other one names."""

PER_SHARD = "min_per_shard_tablet_count"
COUNTS = ("min_tablet_count", "max_tablet_count", "expected_data_size_in_gb", PER_SHARD)
"""Options of a table, ``tablets``, that say how many tablets it is to have."""

GC_MODES = ("timeout", "disabled", "immediate", "repair")
RACKS = "a number of replicas, or a list of racks that have one each: ['r1', 'r2']"
_FLAT = re.compile(r"(?P<datacenter>.+):(?P<place>-1|[0-9]{1,4})", re.DOTALL)
_NO_RACKS = {-1: ""}


class CqlKeyspace(Struct, frozen=True):
    """A keyspace: its strategy, what that asks for by datacenter, and by default.

    ``tablets`` is None where nothing tells whether it has tablets; ``initial`` is 0 where the
    schema asks for no count of its own. ``line`` says where it stands.
    """

    name: str
    line: str
    strategy: str = ""
    factors: Mapping[str, Factor] = field(default_factory=dict)
    every: int | None = None
    tablets: bool | None = None
    initial: int = 0


class CqlTable(Struct, frozen=True):
    """A table or view (``view_of`` names its base table), its id, and the counts it asks for.

    ``gc_mode`` is its tombstone mode. It is empty, and ``gc_grace_seconds`` None, where nothing
    tells.
    """

    keyspace: str
    name: str
    line: str
    table_id: str = ""
    view_of: str = ""
    counts: Mapping[str, Count] = field(default_factory=dict)
    gc_mode: str = ""
    gc_grace_seconds: int | None = None

    @property
    def full(self) -> str:
        """``keyspace.table``."""
        return f"{self.keyspace}.{self.name}"


class ClusterSchema(Struct, frozen=True):
    """What files tell of keyspaces, by name, and of tables, by ``keyspace.table``."""

    source: str
    keyspaces: Mapping[str, CqlKeyspace]
    tables: Mapping[str, CqlTable]


class SchemaParts:
    """Keyspaces and tables as they are read, one file or table of rows after the other."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._keyspaces: dict[str, CqlKeyspace] = {}
        self._tables: dict[str, CqlTable] = {}

    def add_keyspace(self, given: CqlKeyspace) -> None:
        """Add what one row or statement says of a keyspace; another table may say the rest.

        Raises:
            BadInput: where its replication was told already.
        """
        known = self._keyspaces.get(given.name)
        if known is not None:
            if known.strategy and given.strategy:
                raise BadInput(given.line, given.name, f"each keyspace once; it is in {known.line}")
            whole, other = (given, known) if given.strategy else (known, given)
            tablets = whole.tablets if other.tablets is None else other.tablets
            given = replace(whole, tablets=tablets, initial=whole.initial or other.initial)
        self._keyspaces[given.name] = given

    def add_table(self, given: CqlTable) -> None:
        """Add what one row or statement says of a table; another table may say the rest.

        Raises:
            BadInput: for another id, or base table, than before.
        """
        known = self._tables.get(given.full)
        if known is not None:
            for what in ("table_id", "view_of"):
                old, new = getattr(known, what), getattr(given, what)
                if old and new and old != new:
                    raise BadInput(f"{given.line} {what}", new, f"{old}, as in {known.line}")
            given = replace(
                known,
                table_id=known.table_id or given.table_id,
                view_of=known.view_of or given.view_of,
                counts={**known.counts, **given.counts},
                gc_mode=known.gc_mode or given.gc_mode,
                gc_grace_seconds=known.gc_grace_seconds
                if given.gc_grace_seconds is None
                else given.gc_grace_seconds,
            )
        self._tables[given.full] = given

    def schema(self, source: str) -> ClusterSchema:
        """All of it.

        Raises:
            BadInput: for no keyspace, a keyspace or an id that rows contradict.
        """
        for keyspace in self._keyspaces.values():
            if not keyspace.strategy:
                allowed = "also its row of system_schema.keyspaces, with its replication"
                raise BadInput(keyspace.line, keyspace.name, allowed)
        if not self._keyspaces:
            allowed = "keyspaces: DESCRIBE SCHEMA, or rows of system_schema.keyspaces"
            raise BadInput(source, "no keyspace", allowed)
        ids = sorted((each.table_id, each.line) for each in self._tables.values() if each.table_id)
        for (table, line), (other, again) in pairwise(ids):
            if table == other:
                raise BadInput(again, other, f"an id of its own; {line} has it, too")
        keyspaces = dict(sorted(self._keyspaces.items()))
        return ClusterSchema(source, keyspaces, dict(sorted(self._tables.items())))


def replication_of(options: object, field: str) -> tuple[str, Mapping[str, Factor], int | None]:
    """The strategy of a replication map, what it asks for by datacenter, and for each other one.

    Raises:
        BadInput: for what is no such map, no strategy, or no factor.
    """
    if not isinstance(options, Mapping) or "class" not in options:
        raise BadInput(field, options, "a map with a class, as in CQL")
    strategy = str(options["class"]).removeprefix(PACKAGE)
    if strategy not in CLASSES:
        raise BadInput(f"{field}.class", options["class"], ", ".join(CLASSES))
    factors: dict[str, Factor] = {}
    lists: dict[str, dict[int, str]] = {}
    every = None
    for option, given in options.items():
        if option == "class":
            continue
        flat = _FLAT.fullmatch(option)
        if option == EVERY:
            every = _number(given, f"{field}.{option}")
        elif flat is None:
            place_name(option, f"{field} datacenter")
            factors[option] = _factor(given, f"{field}.{option}")
        else:
            place_name(flat["datacenter"], f"{field} datacenter")
            racks = lists.setdefault(flat["datacenter"], {})
            none = flat["place"] == "-1" and given == ""
            racks[int(flat["place"])] = "" if none else _rack(given, f"{field}.{option}")
    for datacenter, racks in lists.items():
        where = f"{field}.{datacenter}"
        places = [] if racks == _NO_RACKS else sorted(racks)
        if datacenter in factors or places != list(range(len(places))):
            allowed = f"{datacenter}:0, {datacenter}:1 and so on, a rack each, and nothing beside"
            raise BadInput(where, ", ".join(map(str, sorted(racks))), allowed)
        factors[datacenter] = _each_once([racks[at] for at in places], where)
    if strategy != "NetworkTopologyStrategy" and (factors or lists):
        raise BadInput(f"{field} option", next(iter(factors)), f"{EVERY} at most, with {strategy}")
    return strategy, factors, every


def _factor(given: object, field: str) -> Factor:
    if isinstance(given, list):
        return _each_once([_rack(each, field) for each in given], field)
    return _number(given, field, RACKS)


def _each_once(racks: list[str], field: str) -> tuple[str, ...]:
    if len(set(racks)) < len(racks):
        raise BadInput(field, ", ".join(racks), "each rack once")
    return tuple(racks)


def _rack(given: object, field: str) -> str:
    if not isinstance(given, str) or isinstance(given, Bare):
        raise BadInput(field, given, "the name of a rack, a text")
    return place_name(given, field)


def _number(given: object, field: str, allowed: str = "a number of replicas") -> int:
    if isinstance(given, str) and re.fullmatch("[0-9]{1,10}", given):
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= LARGEST_FACTOR:
        raise BadInput(field, given, allowed)
    return given


def keyspace_tablets(options: object, field: str) -> tuple[bool, int]:
    """Of a keyspace's ``tablets``: whether it has any, and how many a table begins with at least.

    Raises:
        BadInput: for what is no such map; options that are not known here are passed over.
    """
    if options == []:  # an empty literal does not tell which it is
        options = {}
    if not isinstance(options, Mapping):
        raise BadInput(field, options, "a map as in CQL: {'enabled': true, 'initial': 8}")
    enabled = str(options.get("enabled", "true")).lower()
    if enabled not in ("true", "false"):
        raise BadInput(f"{field}.enabled", options["enabled"], "true or false")
    return enabled == "true", _number(options.get("initial", 0), f"{field}.initial", "a number")


def table_counts(options: object, field: str) -> Mapping[str, Count]:
    """Of a table's ``tablets``: how many it asks for; others of its options are passed over.

    Raises:
        BadInput: for what is no such map, or no number.
    """
    if options == []:
        options = {}
    if not isinstance(options, Mapping):
        raise BadInput(field, options, "a map as in CQL: {'min_tablet_count': '8'}")
    return {
        name: _count(name, options[name], f"{field}.{name}") for name in COUNTS if name in options
    }


def _count(name: str, given: object, field: str) -> Count:
    text = str(given)
    if name == PER_SHARD and re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", text):
        return Fraction(text)
    return _number(given, field, "a whole number")


def tombstone_mode(options: object, field: str) -> str:
    """Of a table's ``tombstone_gc``: when tombstones are collected.

    Raises:
        BadInput: for what is no such map, or no mode.
    """
    mode = options.get("mode") if isinstance(options, Mapping) else None
    if mode not in GC_MODES:
        raise BadInput(field, options, f"a map with a mode, one of {', '.join(GC_MODES)}")
    return str(mode)


def grace(given: object, field: str) -> int:
    """Of a table's ``gc_grace_seconds``: how long tombstones are kept at least.

    Raises:
        BadInput: for what is no number of seconds.
    """
    return _number(given, field, "a number of seconds")
