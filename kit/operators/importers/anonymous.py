"""Pseudonyms for the names in dumps: one name has one pseudonym, in all files of a call.

Names are hosts, addresses, keyspaces, tables, datacenters and racks; ids of tables and requests are
renamed as well. Pseudonyms are numbered in the order of the names themselves, so that what is
ordered by name stays so, and no answer depends on the order of rows. Columns that are not known may
hold anything, and are left out.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from kit.edge.paths import HeldFile
from kit.edge.reading import text_of
from kit.errors import BadInput
from kit.operators.importers import dumps
from kit.operators.importers.cql import SystemTable
from kit.operators.importers.nodetool import HOST_ID

HIDDEN = "(not shown: --anonymize)"
KINDS = {
    "datacenter": "datacenter", "dc": "datacenter", "rebuild_option": "datacenter",
    "rack": "rack",
    "keyspace_name": "keyspace", "new_keyspace_rf_change_ks_name": "keyspace",
    "table_name": "table",
    "ip": "address",
}  # fmt: skip
"""Of a column whose value is a name: what it names."""
HOSTS = frozenset(
    "host_id replaced_id ignore_nodes node replicas new_replicas missing_replicas "
    "initiating_host target_host".split()
)
"""Columns whose UUIDs are hosts; those of others are ids."""
FREE_TEXTS = frozenset(("error", "new_keyspace_rf_change_data"))
"""Columns that are known, and may hold names in words of their own: left out as well."""
_UUID = re.compile(HOST_ID)
_FORMS = {
    "datacenter": "dc{}", "rack": "rack{}", "keyspace": "ks{}", "table": "table{}",
}  # fmt: skip


@contextmanager
def hidden(active: bool) -> Iterator[None]:
    """Errors inside name the place and what is allowed, and not what stands there."""
    try:
        yield
    except BadInput as error:
        if not active:
            raise
        allowed = error.allowed if error.value == HIDDEN else _UUID.sub("…", error.allowed)
        raise BadInput(error.field, HIDDEN, allowed) from None


class Pseudonyms:
    """Looks at all files first, then gives each one renamed."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {kind: set() for kind in KINDS.values()}
        self.hosts: set[str] = set()
        self.ids: set[str] = set()
        self._given: dict[str, dict[str, str]] = {}

    def look(self, file: HeldFile, table: SystemTable) -> None:
        """Learn the names of a file. Raises BadInput for one that is no CSV, without its values."""
        columns, rows = _rows(file, table)
        for fields in rows:
            for name, field in zip(columns, fields, strict=True):
                if (kind := KINDS.get(name)) and field:
                    self.names[kind].add(field)
                elif name in HOSTS:
                    self.hosts.update(map(str.lower, _UUID.findall(field)))
                elif name in table.columns:
                    self.ids.update(map(str.lower, _UUID.findall(field)))

    def renamed(self, file: HeldFile, table: SystemTable) -> HeldFile:
        """The file with pseudonyms, and without the columns that are not known."""
        given = self._given or self._number()
        columns, rows = _rows(file, table)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=dumps.SNAPSHOT)
        kept = [at for at, name in enumerate(columns) if name in table.columns]
        writer.writerow([columns[at] for at in kept])
        for fields in rows:
            writer.writerow([self._cell(columns[at], fields[at], given) for at in kept])
        return HeldFile(file.name, out.getvalue().encode() if columns else b"")

    def _cell(self, column: str, field: str, given: Mapping[str, Mapping[str, str]]) -> str:
        kind = KINDS.get(column)
        if not field or column in FREE_TEXTS:
            return ""
        if kind:
            return given[kind][field]
        return _UUID.sub(lambda match: given["uuid"][match[0].lower()], field)

    def _number(self) -> dict[str, dict[str, str]]:
        for kind, names in self.names.items():
            form = _FORMS.get(kind)
            self._given[kind] = {
                name: form.format(f"{at:0{len(str(len(names)))}}") if form else _address(at)
                for at, name in enumerate(sorted(names), 1)
            }
        hosts = {each: f"{at:08x}-0000-4000-8000-{at:012x}" for at, each in _numbered(self.hosts)}
        others = _numbered(self.ids - self.hosts)
        ids = {each: f"{at:08x}-0000-1000-8000-{at:012x}" for at, each in others}
        self._given["uuid"] = {**hosts, **ids}
        return self._given


def _address(number: int) -> str:
    return ".".join(map(str, (10, *number.to_bytes(3, "big"))))


def _numbered(names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Ids in the order of their time, where they are of version 1, then of their letters."""

    def time(name: str) -> tuple[str, str]:
        low, middle, high, *_ = name.split("-")
        return (high[1:] + middle + low if high.startswith("1") else "", name)

    return enumerate(sorted(names, key=time), 1)


def _rows(file: HeldFile, table: SystemTable) -> tuple[list[str], Iterator[list[str]]]:
    with hidden(active=True):
        text = text_of(file.content, file.name, file.name)
        if dumps.is_json(text):
            raise BadInput(file.name, HIDDEN, "CSV, as in a snapshot")
        records = list(dumps.csv_records(text, file.name))
        null = dumps.nulls(text)
        if records and (missing := [name for name in table.needed if name not in records[0][1]]):
            allowed = f"rows of {table.name}, with the column {missing[0]}; CSV has a header"
            raise BadInput(records[0][0], HIDDEN, allowed)
    head = records[0][1] if records else []
    below = ([("" if field in null else field) for field in fields] for _, fields in records[1:])
    return head, below
