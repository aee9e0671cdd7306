"""``editions``: every state, edge and stage of both editions, side by side."""

from collections.abc import Iterator

from msgspec import Struct, to_builtins

from kit.commands.answer import GAP, Answer, Rows
from kit.commands.parsing import Command, Word
from kit.errors import counted
from kit.model.family import families
from kit.model.registry import check_one_of

EDITIONS = ("documents", "server")
NONE = "–"
HEADS = ("state, and edges out of it", "edition", "says")
DIFFERS = "≠"


class Compared(Struct, frozen=True):
    """A state with the work that is done in it, or an edge out of it: what each edition says.

    The text of an edition that does not have it is empty. An edge's ``edge`` says where it leads.
    """

    state: str
    edge: str
    documents: str
    server: str
    differs: bool

    def cells(self, *, below: bool) -> Iterator[tuple[str, str, str]]:
        """A row for both, or one for each; an edge ``below`` its state does not repeat it."""
        name = self.state if not self.edge else f"{GAP if below else self.state} → {self.edge}"
        if not self.differs:
            yield name, "both", self.documents
            return
        yield name, f"documents {DIFFERS}", self.documents or NONE
        yield "", f"server {DIFFERS}", self.server or NONE


class ComparedTable(Struct, frozen=True):
    """The table of one machine, or of one kind of operation, in both editions."""

    protocol: str
    table: str
    rows: tuple[Compared, ...]

    def cells(self) -> Iterator[tuple[str, str, str]]:
        """The rows of the table as text."""
        states = {row.state for row in self.rows if not row.edge}
        for row in self.rows:
            yield from row.cells(below=row.state in states)


def compared() -> Iterator[ComparedTable]:
    """Every table of every family that has two editions, from the transition tables themselves."""
    for family in families():
        if not family.editions:
            continue
        said: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
        for edition in EDITIONS:
            before: dict[str, tuple[str, str] | None] = {}
            for table, state, edge, words in family.load(family.editions)(edition):
                cells, key = said.setdefault(table, {}), (state, edge)
                if key not in cells:  # behind what it follows in its own edition
                    order = list(cells)
                    last = before.get(table)
                    order.insert(order.index(last) + 1 if last else 0, key)
                    said[table] = cells = {each: cells.get(each, {}) for each in order}
                cells[key][edition] = words
                before[table] = key
        for table, cells in said.items():
            yield ComparedTable(family.title, table, tuple(map(_row, cells, cells.values())))


def _row(key: tuple[str, str], said: dict[str, str]) -> Compared:
    documents, server = (said.get(each, "") for each in EDITIONS)
    return Compared(*key, documents, server, documents != server)


def editions(*tables: str, differences: bool = False) -> Answer:
    """The tables of these names, or all, with what differs marked; or only what differs.

    Raises BadInput for a table that there is not.
    """
    every = list(compared())
    known = list(dict.fromkeys(each.table for each in every))
    for name in tables:
        check_one_of("table", name, known)
    chosen = [each for each in every if each.table in tables or not tables]
    if differences:
        kept = ((each, tuple(row for row in each.rows if row.differs)) for each in chosen)
        chosen = [ComparedTable(each.protocol, each.table, rows) for each, rows in kept if rows]
    differ = sum(row.differs for each in chosen for row in each.rows)
    whole = sum(len(each.rows) for each in chosen)
    number = counted(len(chosen), "table")
    heading = f"{number} with {whole} states and edges: {differ} differ ({DIFFERS})"
    titled = ((f"{each.table} ({each.protocol})", tuple(each.cells())) for each in chosen)
    parts = tuple(Rows(cells, title=title, heads=HEADS) for title, cells in titled)
    return Answer({"tables": to_builtins(chosen)}, [heading], parts)


COMMAND = Command(
    "editions",
    lambda given: editions(*given.tables, differences=given.differences),
    (
        Word(
            "tables",
            "TABLE",
            "the tables to show, such as decommissioning (default: all)",
            number="*",
        ),
        Word("--differences", "", "show only what differs"),
    ),
    "The states, edges and stages of both editions, side by side: the documents and the\n"
    "published server. Differences are marked.",
)
