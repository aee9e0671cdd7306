"""Snapshots of ``scylla-tablets snapshot``: one to four tables in a folder or a tar archive.

Of ``system_tablets.csv``, ``system_topology.csv``, ``system_load_per_node.csv`` and
``system_tablet_sizes.csv`` only the first has to be there; one that is empty is a table without
rows. The four were asked for at once, not at one instant. Several snapshots of a cluster are
ordered by the ``version`` of their topology, then by name.
Source: published tool ``scylla-tablets``, what its snapshots hold and how they are written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.bundles import LISTING, is_bundle, read_bundle
from kit.edge.paths import HeldFile, Readable, source_name
from kit.errors import BadInput
from kit.operators.importers import system_tables
from kit.operators.importers.anonymous import Pseudonyms, hidden

FILES = {
    "dump": "system_tablets.csv",
    "topology": "system_topology.csv",
    "loads": "system_load_per_node.csv",
    "sizes": "system_tablet_sizes.csv",
}
"""The files by what readers call them."""
TABLES = {
    "dump": system_tables.TABLETS_TABLE,
    "topology": system_tables.TOPOLOGY_TABLE,
    "loads": system_tables.LOADS_TABLE,
    "sizes": system_tables.SIZES_TABLE,
}
MARK = (
    "names are pseudonyms made by this kit (--anonymize): hosts, addresses, keyspaces, tables, "
    "datacenters, racks; unknown columns are left out"
)


class Snapshot(Struct, frozen=True):
    """The tables of a snapshot by what readers call them; one without rows is not among them.

    ``warnings`` are lines to show.
    """

    source: str
    files: Mapping[str, HeldFile]
    warnings: tuple[str, ...] = ()

    def file(self, kind: str) -> HeldFile:
        """A table that is needed. Raises BadInput where the snapshot does not have it."""
        if kind not in self.files:
            names = ", ".join(each.name.rpartition("/")[2] for each in self.files.values())
            allowed = f"a snapshot with {FILES[kind]} and rows in it"
            raise BadInput(self.source, names, allowed)
        return self.files[kind]


def is_listing(text: str) -> bool:
    """Whether the beginning of something is the list of a snapshot's names."""
    return text.startswith(LISTING) and FILES["dump"] in text.splitlines()


def is_snapshot(given: object) -> bool:
    """Whether something given is a folder or an archive; what is in it is not looked at."""
    return is_bundle(given)


def read_snapshot(path: Readable, *, anonymize: bool = False) -> Snapshot:
    """Read one snapshot; ``anonymize`` gives pseudonyms to all names before anything else.

    Raises BadInput for what is no folder or archive, or one without the tablets' file.
    """
    return read_snapshots([path], anonymize=anonymize)[0]


def read_snapshots(paths: Iterable[Readable], *, anonymize: bool = False) -> tuple[Snapshot, ...]:
    """Read snapshots in the order of time: by the version of their topology, then by name.

    With ``anonymize`` one name has one pseudonym in all of them.

    Raises BadInput as ``read_snapshot``; for one that is given twice, one without a version beside
    others that have one.
    """
    given = sorted(paths, key=lambda path: (source_name(path), str(path)))
    names = [source_name(path) for path in given]
    if len(set(names)) < len(names):
        names = list(map(str, given))
    with hidden(anonymize):
        if anonymize:
            names = [f"snapshot-{number}" for number in range(1, len(given) + 1)]
        read = [_read(path, name) for path, name in zip(given, names, strict=True)]
        snapshots = _in_time(read) if len(read) > 1 else read
        if anonymize:
            snapshots = _anonymous(snapshots)
    return tuple(snapshots)


def _read(path: Readable, name: str) -> Snapshot:
    bundle = read_bundle(path, "snapshot", FILES.values(), name)
    files = {kind: bundle.files[name] for kind, name in FILES.items() if name in bundle.files}
    if "dump" not in files:
        held = ", ".join([*bundle.files, *bundle.others]) or "no file"
        raise BadInput(f"snapshot {bundle.source}", held, f"{FILES['dump']} among the files")
    rows = {kind: f for kind, f in files.items() if kind == "dump" or f.content.strip()}
    out = "it is left out because it is not one of the four tables"
    warnings = [f"{name}: {out}" for name in bundle.others if name.endswith(".csv")]
    warnings += [f"{FILES[kind]} has no rows" for kind in files if kind not in rows]
    return Snapshot(bundle.source, rows, tuple(f"{bundle.source}/{line}" for line in warnings))


def version_of(snapshot: Snapshot) -> int | None:
    """The version of the topology; None where the snapshot does not have it."""
    if "topology" not in snapshot.files:
        return None
    version = system_tables.read_topology(snapshot.files["topology"]).statics.get("version")
    return version if isinstance(version, int) else None


def _in_time(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    versions = [(version_of(each), at) for at, each in enumerate(snapshots)]
    known = [version for version, _ in versions if version is not None]
    if known and len(known) < len(versions):
        without = next(snapshots[at] for version, at in versions if version is None)
        with_one = next(snapshots[at] for version, at in versions if version is not None)
        allowed = f"a version in {FILES['topology']}, as in {with_one.source}, to set the order"
        raise BadInput(f"snapshot {without.source}", "no version", allowed)
    in_order = sorted(versions, key=lambda each: (each[0] or 0, each[1]))
    ordered = [snapshots[at] for _, at in in_order]
    for at, each in enumerate(ordered):
        for earlier in ordered[:at]:
            if _contents(earlier) == _contents(each):
                allowed = f"one that differs from {earlier.source}"
                raise BadInput("snapshot", each.source, allowed)
    return [*_doubted(ordered, list(snapshots))]


def _doubted(ordered: Sequence[Snapshot], named: list[Snapshot]) -> Iterator[Snapshot]:
    for before, each in zip((None, *ordered), ordered, strict=False):
        if before is not None and named.index(each) < named.index(before):
            what = "its name comes earlier, but its version is later"
            said = f"{each.source}: {what}, and the version counts ({before.source} comes first)"
            yield replace(each, warnings=(*each.warnings, said))
        else:
            yield each


def _contents(snapshot: Snapshot) -> dict[str, bytes]:
    return {kind: file.content for kind, file in snapshot.files.items()}


def _anonymous(snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    names, placed = Pseudonyms(), list[Snapshot]()
    for number, each in enumerate(snapshots, 1):
        name = f"snapshot-{number}"
        files = {k: HeldFile(f"{name}/{FILES[k]}", f.content) for k, f in each.files.items()}
        rows = (f"/{file} has no rows" for file in FILES.values())
        warnings = (f"{name}{line}" for line in rows if each.source + line in each.warnings)
        placed.append(Snapshot(name, files, (*warnings, MARK)))
        for kind, file in files.items():
            names.look(file, TABLES[kind])
    return [
        replace(each, files={k: names.renamed(f, TABLES[k]) for k, f in each.files.items()})
        for each in placed
    ]
