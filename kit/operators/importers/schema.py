"""The schema beside a dump of tablets: keyspaces with their replication, tables, their options.

Either CQL as ``DESCRIBE SCHEMA`` prints it, or rows of ``system_schema.keyspaces``,
``scylla_keyspaces``, ``tables``, ``scylla_tables`` and ``views`` as JSON or CSV, a table known by
its columns. A replication factor is a number, or the list of the racks that have a replica each.
A list is flattened in rows: a key for each place, and the place -1 where it is empty.
Sources: the published manual on CREATE KEYSPACE; its ``docs/dev/system_schema_keyspace.md`` on that
form; its change (PR 26429) that keeps ``replication`` readable for older drivers and has the rack
lists in ``replication_v2``.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kit.edge.limits import check_room
from kit.edge.paths import Readable, source_name
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers import cql, dumps
from kit.operators.importers.ringfile import LARGEST_FILE, place_name
from kit.ring.replication import CLASSES, LARGEST_FACTOR, PACKAGE, not_modelled

Factor = int | tuple[str, ...]
"""How many replicas a datacenter has, or its racks that have one each."""
Count = int | Fraction
"""How many tablets; those of a shard need not be whole."""
EVERY = "replication_factor"
"""The option that holds for each datacenter that no other one names."""
PER_SHARD = "min_per_shard_tablet_count"
COUNTS = ("min_tablet_count", "max_tablet_count", "expected_data_size_in_gb", PER_SHARD)
"""Options of a table, ``tablets``, that say how many tablets it is to have."""
POWERS = "pow2_count"
"""Whether that has to be a power of two: so it is if nothing is said (published since 2026)."""
GC_MODES = ("timeout", "disabled", "immediate", "repair")
RACKS = "a number of replicas, or a list of racks with one replica each: ['r1', 'r2']"
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
    """The schema in files: keyspaces by name, and tables by ``keyspace.table``."""

    source: str
    keyspaces: Mapping[str, CqlKeyspace]
    tables: Mapping[str, CqlTable]


class SchemaParts:
    """Keyspaces and tables as they are read, one file or table of rows after the other."""

    def __init__(self) -> None:
        self._keyspaces: dict[str, CqlKeyspace] = {}
        self._tables: dict[str, CqlTable] = {}
        self._rows: dict[tuple[str, ...], str] = {}

    def once(self, where: str, *row: str) -> None:
        """See that a row, named by what tells it apart, is new. Raises BadInput where it is not."""
        if self._rows.setdefault(row, where) != where:
            allowed = f"each row once, but this one is also in {self._rows[row]}"
            raise BadInput(where, ".".join(row[:2]), allowed)

    def add_keyspace(self, given: CqlKeyspace) -> None:
        """Add what one row or statement says of a keyspace; another table may say the rest.

        Raises BadInput where its replication was told already.
        """
        if (known := self._keyspaces.get(given.name)) is not None:
            if known.strategy and given.strategy:
                allowed = f"each keyspace once, but it is also in {known.line}"
                raise BadInput(given.line, given.name, allowed)
            whole, other = (given, known) if given.strategy else (known, given)
            tablets = whole.tablets if other.tablets is None else other.tablets
            given = replace(whole, tablets=tablets, initial=whole.initial or other.initial)
        self._keyspaces[given.name] = given

    def add_table(self, given: CqlTable) -> None:
        """Add what one row or statement says of a table; another table may say the rest.

        Raises BadInput for another id, or base table, than before.
        """
        if (known := self._tables.get(given.full)) is not None:
            for what in ("table_id", "view_of"):
                old, new = getattr(known, what), getattr(given, what)
                if old and new and old != new:
                    raise BadInput(f"{given.line} {what}", new, f"{old}, as in {known.line}")
            grace = given.gc_grace_seconds
            given = replace(
                known,
                table_id=known.table_id or given.table_id,
                view_of=known.view_of or given.view_of,
                counts={**known.counts, **given.counts},
                gc_mode=known.gc_mode or given.gc_mode,
                gc_grace_seconds=known.gc_grace_seconds if grace is None else grace,
            )
        self._tables[given.full] = given

    def schema(self, source: str) -> ClusterSchema:
        """All of it. Raises BadInput for no keyspace, a keyspace or an id that rows contradict."""
        for keyspace in self._keyspaces.values():
            if not keyspace.strategy:
                allowed = "its row of system_schema.keyspaces as well, with its replication"
                raise BadInput(keyspace.line, keyspace.name, allowed)
        if not self._keyspaces:
            allowed = "keyspaces: DESCRIBE SCHEMA, or rows of system_schema.keyspaces"
            raise BadInput(source, "no keyspace", allowed)
        ids = sorted((each.table_id, each.line) for each in self._tables.values() if each.table_id)
        for (table, line), (other, again) in pairwise(ids):
            if table == other:
                raise BadInput(again, other, f"an id of its own, but {line} also has this one")
        keyspaces = dict(sorted(self._keyspaces.items()))
        return ClusterSchema(source, keyspaces, dict(sorted(self._tables.items())))


def replication_of(options: object, field: str) -> tuple[str, Mapping[str, Factor], int | None]:
    """The strategy of a replication map, what it asks for by datacenter, and for each other one.

    Raises BadInput for what is no such map, no strategy, or no factor.
    """
    if not isinstance(options, Mapping) or "class" not in options:
        raise BadInput(field, options, "a map with a class, as in CQL")
    if (strategy := str(options["class"]).removeprefix(PACKAGE)) not in CLASSES:
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
            where = f"{field}.{option}"
            if isinstance(given, list):
                factors[option] = _each_once([_rack(each, where) for each in given], where)
            else:
                factors[option] = _number(given, where, RACKS)
        else:
            place_name(flat["datacenter"], f"{field} datacenter")
            racks = lists.setdefault(flat["datacenter"], {})
            none = flat["place"] == "-1" and given == ""
            racks[int(flat["place"])] = "" if none else _rack(given, f"{field}.{option}")
    for datacenter, racks in lists.items():
        where = f"{field}.{datacenter}"
        places = [] if racks == _NO_RACKS else sorted(racks)
        if datacenter in factors or places != list(range(len(places))):
            allowed = f"{datacenter}:0, {datacenter}:1 and so on, one rack each, and nothing else"
            raise BadInput(where, ", ".join(map(str, sorted(racks))), allowed)
        factors[datacenter] = _each_once([racks[at] for at in places], where)
    if strategy != "NetworkTopologyStrategy" and (factors or lists):
        raise BadInput(f"{field} option", next(iter(factors)), f"at most {EVERY}, with {strategy}")
    return strategy, factors, every


def _each_once(racks: list[str], field: str) -> tuple[str, ...]:
    if len(set(racks)) < len(racks):
        raise BadInput(field, ", ".join(racks), "each rack once")
    return tuple(racks)


def _rack(given: object, field: str) -> str:
    if not isinstance(given, str) or isinstance(given, cql.Bare):
        raise BadInput(field, given, "the name of a rack, as a string")
    return place_name(given, field)


def _number(given: object, field: str, allowed: str = "a number of replicas") -> int:
    if isinstance(given, str) and re.fullmatch("[0-9]{1,10}", given):
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= LARGEST_FACTOR:
        raise BadInput(field, given, allowed + not_modelled(given))
    return given


def _options(given: object, field: str, example: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping) and given != []:  # an empty literal does not tell what it is
        raise BadInput(field, given, f"a map as in CQL: {example}")
    return given if isinstance(given, Mapping) else {}


def keyspace_tablets(options: object, field: str) -> tuple[bool, int]:
    """Of a keyspace's ``tablets``: whether it has any, and how many a table begins with at least.

    Raises BadInput for what is no such map; options that are not known here are passed over.
    """
    options = _options(options, field, "{'enabled': true, 'initial': 8}")
    if (enabled := str(options.get("enabled", "true")).lower()) not in ("true", "false"):
        raise BadInput(f"{field}.enabled", options["enabled"], "true or false")
    return enabled == "true", _number(options.get("initial", 0), f"{field}.initial", "a number")


def table_counts(options: object, field: str) -> Mapping[str, Count]:
    """Of a table's ``tablets``: how many it asks for; others of its options are passed over.

    Source: published ``tablet_options::validate``.

    Raises BadInput for what is no such map, no number, or a least count above the largest one.
    """
    options = _options(options, field, "{'min_tablet_count': '8'}")
    counts: dict[str, Count] = {}
    for name in COUNTS:
        if name == PER_SHARD and re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", str(options.get(name))):
            counts[name] = Fraction(str(options[name]))
        elif name in options:
            counts[name] = _number(options[name], f"{field}.{name}", "a whole number")
    if POWERS in options:
        if (word := str(options[POWERS]).lower()) not in ("true", "false"):
            raise BadInput(f"{field}.{POWERS}", options[POWERS], "true or false")
        counts[POWERS] = int(word == "true")
    least, most = (counts.get(name) for name in COUNTS[:2])
    if most == 0:
        raise BadInput(f"{field}.{COUNTS[1]}", most, "a whole number from 1 up")
    if least is not None and most is not None:
        powers = counts.get(POWERS, 1)  # the first rounds up to a power of two, the other one down
        up = 1 << max(0, int(least) - 1).bit_length() if powers else least
        down = 1 << int(most).bit_length() - 1 if powers else most
        if up > down:
            allowed = f"at most {COUNTS[1]}, {down}" + " as a power of two" * bool(powers)
            raise BadInput(f"{field}.{COUNTS[0]}", least, allowed)
    return counts


def tombstone_mode(options: object, field: str) -> str:
    """The mode of a table's ``tombstone_gc``. Raises BadInput for no such map, or no mode."""
    mode = options.get("mode") if isinstance(options, Mapping) else None
    if mode not in GC_MODES:
        raise BadInput(field, options, f"a map with a mode, one of {', '.join(GC_MODES)}")
    return str(mode)


TABLE_OPTIONS: dict[str, tuple[str, Callable[[object, str], object]]] = {
    "id": (
        "table_id",
        lambda given, field: str(cql.from_json(cql.ColumnType("uuid"), given, field)),
    ),
    "tablets": ("counts", table_counts),
    "tombstone_gc": ("gc_mode", tombstone_mode),
    "gc_grace_seconds": (
        "gc_grace_seconds",
        lambda given, field: _number(given, field, "a number of seconds"),
    ),
}
"""Options of a table that are read, the field of each, and what reads it."""
MAPS = ("tablets", "tombstone_gc")
BYTES = 8  # of memory for a character, measured on a schema of 20,000 tables
PASSED_OVER = ("ALTER TABLE ", "ATTACH ", "GRANT ")
"""Statements of such a text that say nothing of replicas, but for those that begin with CREATE."""
DESCRIBED = "statements that DESCRIBE SCHEMA prints: CREATE …, and GRANT, ATTACH, ALTER TABLE"
ROWS = (
    "rows of system_schema.keyspaces (keyspace_name, replication), scylla_keyspaces "
    "(keyspace_name, initial_tablets), tables or scylla_tables (table_name), views (view_name)"
)
OF_ROWS = ("durable_writes", "initial_tablets", "bloom_filter_fp_chance", "min_tablet_count")
"""Columns of those tables that others with a ``keyspace_name`` do not have."""
FORM, NAMED = "a name, or keyspace.name", "a name in each row"
_CREATES = re.compile(r"^\s*CREATE\s+(KEYSPACE|TABLE)\b", re.IGNORECASE | re.MULTILINE)
Options = Mapping[str, tuple[object, str]]
"""Values by their names, each with the words that name it in messages."""


def is_schema(text: str) -> bool:
    """Whether a text, or its beginning, looks like what ``DESCRIBE SCHEMA`` prints."""
    return _CREATES.search(text) is not None


def is_schema_rows(text: str) -> bool:
    """Whether a text, or its beginning, looks like rows of a table of ``system_schema``."""
    return "keyspace_name" in text and any(name in text for name in OF_ROWS)


def read_schema(*paths: Readable) -> ClusterSchema:
    """The schema that files tell together. Raises BadInput naming the file or line that fails."""
    parts = SchemaParts()
    for path in paths:
        add_text(parts, read_text(path, "--schema", LARGEST_FILE), source_name(path))
    return parts.schema(", ".join(source_name(path) for path in paths))


def add_text(parts: SchemaParts, text: str, source: str) -> None:
    """Add what a text tells. Raises BadInput naming the line and what may stand there."""
    check_room(source, f"{len(text)} characters", len(text) * BYTES)
    if dumps.is_json(text) or "keyspace_name" in dumps.header_names(text.lstrip()):
        _add_rows(parts, dumps.parse_rows(text, source))
    else:
        _add_statements(parts, text, source)


def _add_rows(parts: SchemaParts, rows: list[tuple[str, dumps.Row]]) -> None:
    for where, row in rows:
        keyspace = dumps.name_in(row, "keyspace_name", where, NAMED)
        names = [str(row[name]) for name in ("table_name", "view_name") if name in row]
        parts.once(where, keyspace, *names, *sorted(row))
        if "view_name" in row or "table_name" in row:
            parts.add_table(_table_of(row, keyspace, where))
        elif "replication" in row:
            # replication_v2 has the rack lists that older drivers cannot read.
            newer = row.get("replication_v2") is not None
            column = "replication_v2" if newer else "replication"
            field = f"{where} keyspace {keyspace} {column}"
            replication = replication_of(_map(row[column], field), field)
            parts.add_keyspace(CqlKeyspace(keyspace, where, *replication))
        elif "initial_tablets" in row:
            enabled = row["initial_tablets"] is not None
            initial = {"initial": row["initial_tablets"]} if enabled else {}
            _, count = keyspace_tablets(initial, f"{where} initial_tablets")
            parts.add_keyspace(CqlKeyspace(keyspace, where, tablets=enabled, initial=count))
        else:
            raise BadInput(where, ", ".join(map(str, row)) or "no column", ROWS)


def _table_of(row: dumps.Row, keyspace: str, where: str) -> CqlTable:
    name = dumps.name_in(row, "view_name" if "view_name" in row else "table_name", where, NAMED)
    base = row.get("base_table_name")
    base = "" if base is None else place_name(str(base), f"{where} base_table_name")
    options = {
        option: (_map(row[option], where) if option in MAPS else row[option], f"{where} {option}")
        for option in TABLE_OPTIONS
        if row.get(option) is not None
    }
    return CqlTable(keyspace, name, where, view_of=base, **_table_options(options))


def _table_options(given: Options) -> dict[str, Any]:
    return {TABLE_OPTIONS[name][0]: TABLE_OPTIONS[name][1](*each) for name, each in given.items()}


def _map(given: object, field: str) -> object:
    """A map of a row: JSON has it as it is, CSV as a CQL literal."""
    return cql.parse_literal(given, field, "a map as in CQL") if isinstance(given, str) else given


def _add_statements(parts: SchemaParts, text: str, source: str) -> None:
    used = ""
    for words in cql.statements(text, source):
        where = f"{source} line {words[0].line}"
        said = "".join(f"{word.written.upper()} " for word in words[:3])
        if said.startswith("USE "):
            if len(words) != 2 or words[1].kind not in ("word", "name"):
                written = " ".join(word.written for word in words[:4])
                raise BadInput(where, written, "USE and the name of a keyspace")
            used = place_name(words[1].called, f"{where} keyspace")
        elif said.startswith("CREATE KEYSPACE "):
            parts.add_keyspace(_keyspace(words, text, where))
        elif said.startswith(("CREATE TABLE ", "CREATE MATERIALIZED VIEW ")):
            table = _table(words, text, where, used)
            parts.once(where, table.keyspace, table.name, said)
            parts.add_table(table)
        elif not said.startswith(("CREATE ", *PASSED_OVER)):
            raise BadInput(where, said.strip(), DESCRIBED)


def _keyspace(words: cql.Statement, text: str, where: str) -> CqlKeyspace:
    if (at := _after_exists(words, 2)) >= len(words) or words[at].kind == "mark":
        raise BadInput(where, "CREATE KEYSPACE", "the name of a keyspace after it")
    name = place_name(words[at].called, f"{where} keyspace")
    given = _properties(words[at + 1 :], text, where, ("replication", "tablets"))
    if "replication" not in given:
        raise BadInput(where, f"CREATE KEYSPACE {name}", "also WITH replication = {…}")
    options, field = given["replication"]
    tablets, initial = keyspace_tablets(*given["tablets"]) if "tablets" in given else (None, 0)
    replication = replication_of(options, f"{field} of keyspace {name}")
    return CqlKeyspace(name, where, *replication, tablets, initial)


def _table(words: cql.Statement, text: str, where: str, used: str) -> CqlTable:
    is_view = words[1].says("MATERIALIZED")
    keyspace, name, at = _full_name(words, _after_exists(words, 2 + is_view), where, used)
    base = ""
    if is_view:
        begins = next((i for i, word in enumerate(words[at:], at) if word.says("FROM")), None)
        if begins is None:
            view = f"CREATE MATERIALIZED VIEW {name}"
            raise BadInput(where, view, "FROM and its base table as well")
        _, base, at = _full_name(words, begins + 1, where, keyspace)
    options = _properties(words[at:], text, where, TABLE_OPTIONS)
    return CqlTable(keyspace, name, where, view_of=base, **_table_options(options))


def _after_exists(words: cql.Statement, at: int) -> int:
    clause = [word.written.upper() for word in words[at : at + 3]]
    return at + 3 if clause == ["IF", "NOT", "EXISTS"] else at


def _full_name(words: cql.Statement, at: int, where: str, used: str) -> tuple[str, str, int]:
    names = [word.called for word in words[at : at + 3 : 2] if word.kind in ("word", "name")]
    dotted = at + 1 < len(words) and words[at + 1].says(".")
    if len(names) < 1 + dotted:
        raise BadInput(where, " ".join(word.written for word in words[:4]), FORM)
    keyspace, name = names[:2] if dotted else (used, names[0])
    if not keyspace:
        raise BadInput(where, name, "keyspace.name, or USE keyspace; before it")
    place_name(keyspace, f"{where} keyspace")
    return keyspace, place_name(name, f"{where} table"), at + (3 if dotted else 1)


def _properties(words: cql.Statement, text: str, where: str, wanted: Collection[str]) -> Options:
    """The wanted properties behind WITH. Raises BadInput for one twice, or without a value."""
    seen: set[str] = set()
    options: dict[str, tuple[object, str]] = {}
    for part in _parts(words):
        if len(part) < 2 or not part[1].says("="):
            continue  # CLUSTERING ORDER BY and the like
        name = part[0].called
        if len(part) == 2 or name in seen:
            raise BadInput(where, name, "each property once, with its value")
        seen.add(name)
        if name in wanted:
            field = f"{where.rpartition(' ')[0]} {part[0].line} {name}"
            written = text[part[2].start : part[-1].end]
            options[name] = cql.parse_literal(written, field, "a value as in CQL"), field
    return options


def _parts(words: cql.Statement) -> Iterator[cql.Statement]:
    depth, begins = 0, None
    for at, word in enumerate(words):
        depth += word.says("(", "{", "[") - word.says(")", "}", "]")
        if depth == 0 and word.says("WITH" if begins is None else "AND"):
            if begins is not None:
                yield words[begins:at]
            begins = at + 1
    if begins is not None:
        yield words[begins:]
