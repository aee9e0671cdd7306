"""Which of several files of one cluster is what: each says so by what stands in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kit.edge.reading import beginning
from kit.errors import BadInput
from kit.operators.importers.nodetool import LEGEND
from kit.operators.importers.schema import is_schema, is_schema_rows
from kit.operators.importers.tablet_tables import is_loads, is_sizes, is_tablets
from kit.operators.importers.topology_tables import is_topology
from kit.protocols.tablets.dry_run.nodes import PathLike

# Of kinds whose columns the next ones have as well, the first counts.
KINDS: Mapping[str, Callable[[str], bool]] = {
    "sizes": is_sizes,
    "dump": is_tablets,
    "topology": is_topology,
    "loads": is_loads,
    "status": lambda text: LEGEND.search(text) is not None,
    "schema": lambda text: is_schema(text) or is_schema_rows(text),
}
ALLOWED = "a dump of a table of system, what nodetool status prints, a schema"


def sorted_out(files: Sequence[PathLike]) -> dict[str, Any]:
    """The files by what ``open_tablets`` calls them; a schema may be several.

    Raises:
        BadInput: for a file that is none of these, one of a kind of which there is another one, or
            no dump of ``system.tablets`` at all.
    """
    of_kinds: dict[str, list[PathLike]] = {}
    for file in files:
        text = beginning(file)
        kind = next((name for name, fits in KINDS.items() if text and fits(text)), None)
        if kind is None:
            raise BadInput("file", Path(str(file)).name, ALLOWED)
        of_kinds.setdefault(kind, []).append(file)
    for kind, several in of_kinds.items():
        if kind != "schema" and len(several) > 1:
            first, second = (Path(str(each)).name for each in several[:2])
            raise BadInput("file", second, f"one file of a kind: {first} is one, too")
    if "dump" not in of_kinds:
        raise BadInput("file", f"{len(files)} files", "a dump of system.tablets among them")
    return {
        kind: tuple(several) if kind == "schema" else several[0]
        for kind, several in of_kinds.items()
    }
