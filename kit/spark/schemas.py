"""Tables as data: every column with its type and what it means.

The same columns stand in Parquet, in Arrow and in Spark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from msgspec import Struct

_ARROW = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array<int>": pa.list_(pa.int32()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<string>": pa.list_(pa.string()),
}


class Column(Struct, frozen=True):
    """A column: its name, its type in Spark's words, its meaning."""

    name: str
    type: str
    meaning: str


class Schema(Struct, frozen=True, dict=True):
    """A table: its name, what a row is, its columns."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow types."""
        return pa.schema([(column.name, _ARROW[column.type]) for column in self.columns])

    def batch(self, rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
        """Rows of values as one batch."""
        return self.batch_of(list(zip(*rows, strict=True)) or [()] * len(self.columns))

    def batch_of(self, columns: Iterable[Any]) -> pa.RecordBatch:
        """Whole columns, of Arrow, numpy or Python, as one batch."""
        arrays = [
            values if isinstance(values, pa.Array) else pa.array(values, column.type)
            for values, column in zip(columns, self.arrow, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow)

    @property
    def ddl(self) -> str:
        """The columns as Spark reads them, each with its meaning as a comment."""
        return ", ".join(
            f"`{c.name}` {c.type} COMMENT '{c.meaning.replace(chr(39), '’')}'" for c in self.columns
        )

    def __str__(self) -> str:
        wide = max(len(column.name) for column in self.columns)
        kind = max(len(column.type) for column in self.columns)
        lines = [f"  {c.name:<{wide}}  {c.type:<{kind}}  {c.meaning}" for c in self.columns]
        return "\n".join([f"{self.name}: {self.row}", *lines])


def table(name: str, row: str, *columns: str) -> Schema:
    """A schema from lines such as ``node int: its code``."""
    fields = []
    for line in columns:
        head, _, meaning = line.partition(": ")
        column, kind = head.split(" ", 1)
        fields.append(Column(column, kind, meaning))
    return Schema(name, row, tuple(fields))


RUN = "run string: the name of the run"
STEP = "step int: the number of the step within the run, 0 at the start"


def of_steps(name: str, row: str, *columns: str) -> Schema:
    """A schema whose rows belong to a step of a run, which its first two columns name."""
    return table(name, row, RUN, STEP, *columns)


RUNS = table(
    "runs",
    "a run",
    RUN,
    "model string: the model that was run",
    "parameters string: its parameters, as JSON",
    "off array<string>: the safeguards that were off",
    "steps int: how many steps the run has",
    "problem string: why the run could not be read, null if it could",
)
EVENTS = of_steps(
    "events",
    "a step of a run",
    "kind string: the kind of action",
    "verb string: the action, as a line that a script understands",
    "epoch bigint: the newest committed epoch after the step; none where a model has no epochs",
    "say string: what happened, in words",
)
EPOCHS = of_steps(
    "epochs",
    "how far a node has applied the log after a step",
    "node string: the node",
    "applied bigint: the newest epoch that the node has applied",
    "newest bigint: the newest committed epoch",
    "up boolean: whether the node is up",
)
OPERATIONS = of_steps(
    "operations",
    "an operation under way after a step",
    "operation string: the operation's title",
    "state string: the operation's last committed step",
    "epoch bigint: the newest committed epoch",
)
BARRIERS = of_steps(
    "barriers",
    "an operation's barrier after a step",
    "operation string: the operation's title",
    "keyspace string: the keyspace",
    "left bigint: left bound of the locked range",
    "right bigint: its right bound",
    "epoch bigint: the epoch that must be applied",
    "needed int: how many replicas must have applied it",
    "acked int: how many of them have applied it",
    "met boolean: whether that is enough",
)
PLACEMENTS = table(
    "placements",
    "a range with its groups at an epoch of a run",
    RUN,
    "epoch bigint: the epoch",
    "keyspace string: the keyspace",
    "left bigint: the left bound, not in the range",
    "right bigint: the right bound",
    "reads array<string>: the nodes that serve reads",
    "writes array<string>: the nodes that get writes",
)
REQUESTS = of_steps(
    "requests",
    "a client's request after a step",
    "request int: the request's number, from 1",
    "title string: what the client asks for",
    "coordinator string: the node that serves the request",
    "level string: its consistency level",
    "phase string: waiting, open, done or failed",
    "planned bigint: the epoch at which it was sent, null unless it is open",
    "knows bigint: the epoch that its coordinator knows, null unless it is open",
    "answered array<string>: the replicas that have answered",
    "enough boolean: whether those are enough for the plan that was sent, null unless the "
    "request is open",
    "valid boolean: whether they are enough given what the coordinator knows, null unless the "
    "request is open",
    "result string: what the client was told, empty while it waits",
)
TRACE_TABLES = (RUNS, EVENTS, EPOCHS, OPERATIONS, BARRIERS, PLACEMENTS, REQUESTS)
Row = tuple[Any, ...]
Moments = list[Any]
"""The moments of a run, from its start on."""
Rows = Callable[[str, Any, Moments], Iterator[Row]]
Makers = dict[Schema, Rows]


def of_states(cells: Callable[[Any, Any], Iterable[tuple[Any, ...]]]) -> Rows:
    """Rows of which ``cells(model, state)`` gives what follows the run and the step."""

    def rows(run: str, m: Any, moments: Moments) -> Iterator[Row]:
        for step, moment in enumerate(moments):
            yield from ((run, step, *each) for each in cells(m, moment.state))

    return rows


def epochs_with(nodes: Callable[[Any, Any], Iterable[tuple[str, int, bool]]]) -> Rows:
    """Rows of the table ``epochs``: ``nodes(model, state)`` gives name, applied epoch and up."""

    def cells(m: Any, s: Any) -> Iterator[tuple[Any, ...]]:
        last = m.newest_epoch(s)
        return ((node, applied, last, up) for node, applied, up in nodes(m, s))

    return of_states(cells)


def events(run: str, m: Any, moments: Moments) -> Iterator[Row]:
    """Rows of the table ``events``."""
    for step, moment in enumerate(moments):
        verb, kind = "", "start"
        if moment.action is not None:
            verb, kind = m.verb(moment.action), m.kind(moment.action)
        yield run, step, kind, verb, m.newest_epoch(moment.state), moment.say
