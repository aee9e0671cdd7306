"""What somebody gives as a ring of their own, its keyspaces and the operations on it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kit.edge.arguments import finite
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.model.timeline import LONGEST_RUN
from kit.operators.importers import ringfile
from kit.operators.importers.cql import parse_keyspace
from kit.operators.importers.opening import Imported, import_texts, open_ring
from kit.protocols.tcm.parameters import FORM, parse_operation
from kit.protocols.tcm.rules.operations import Operation
from kit.ring.replication import Keyspace

RingSource: TypeAlias = ringfile.RingFile | str | Path | Sequence[str | Path]
Keyspaces: TypeAlias = str | Keyspace | Iterable[str | Keyspace]
Operations: TypeAlias = str | Operation | Iterable[str | Operation]
MOST_SOURCES = 10_000  # files or texts that are one ring together
NO_KEYSPACE = 'one or more: keyspaces=\'ks={"class": "SimpleStrategy", "replication_factor": 3}\''


def opened(ring: RingSource, keyspaces: Keyspaces = ()) -> Imported:
    """A ring from whatever holds one; BadInput when it is none, or no keyspace is known."""
    named = named_keyspaces(keyspaces)
    if named and isinstance(ring, ringfile.RingFile):
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


def operations_in(field: str, given: Operations) -> tuple[Operation, ...]:
    """Operations as somebody writes them. Raises BadInput for one that is not well formed."""
    several = (given,) if isinstance(given, str | Operation) else given
    if not isinstance(several, Iterable):
        raise BadInput(field, given, f"one line or several: {FORM}")
    operations: list[Operation] = []
    for line in finite(field, several, LONGEST_RUN):
        if isinstance(line, Operation):
            operations.append(line)
        elif isinstance(line, str):
            operations += [parse_operation(text) for text in line.splitlines() if text.strip()]
        else:
            raise BadInput(field, line, f"a line of text: {FORM}")
    return tuple(operations)
