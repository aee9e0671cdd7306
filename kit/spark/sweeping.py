"""Random walks over many seeds as a table: Spark draws them, anybody opens them again.

A row is one walk: its seed, how many steps it took, its verdict, the transitions of the model's
tables that it took, and the whole run as a trace. The same seeds give the same rows on every
engine and however they are cut into tasks; a row needs no Spark to be replayed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kit.errors import BadInput
from kit.model.family import model_places
from kit.model.registry import build, one_of
from kit.model.timeline import Timeline
from kit.search.fuzz import STEPS, Walk, Walker
from kit.spark.schemas import table
from kit.spark.sessions import Spark
from kit.spark.storing import whole_folder, write_rows
from kit.spark.workers import seeded

SWEEP = table(
    "sweep",
    "a walk",
    "seed bigint: the seed of the walk",
    "steps int: how many steps the walk took",
    "verdict string: clean, or the name of the promise that its last step breaks",
    "coverage array<string>: the transitions of the tables that the walk took",
    "trace string: the run as a trace, in JSON",
)
_ROWS = 64  # walks of one batch


def sweep(
    spark: Spark | None,
    model: str,
    seeds: Sequence[int],
    *,
    parameters: Mapping[str, Any] | None = None,
    off: Iterable[str] = (),
    steps: int = STEPS,
    weights: Mapping[str, float] | None = None,
    tasks: int | None = None,
) -> Any:
    """A Spark frame with a row for each seed, made when it is used, in so many tasks.

    Without Spark (None) it is an Arrow table, made here and now. ``weights`` are by kind of action;
    None for those of the model's entry. BadInput names what is unknown or out of limits.
    """
    kinds = None if weights is None else dict(weights)
    new_walker = partial(_walker, model, dict(parameters or {}), tuple(off), steps, kinds)
    new_walker()
    if spark is not None and model not in model_places():
        allowed = f"{one_of(model, list(model_places()))}; Spark's workers know no others"
        raise BadInput("model", model, allowed)
    return seeded(spark, seeds, partial(_batches, new_walker), SWEEP, tasks)


def stored(frame: Any, folder: str | Path) -> Path:
    """Write the rows as Parquet into a new folder, all or nothing; BadInput if it cannot."""
    with whole_folder(folder) as place:
        write_rows(frame, place)
    return Path(folder)


def _walker(
    model: str,
    parameters: Mapping[str, Any],
    off: tuple[str, ...],
    steps: int,
    weights: Mapping[str, float] | None,
) -> Walker:
    return Walker(build(model, parameters, off), steps=steps, weights=weights)


def _batches(new_walker: Callable[[], Walker], seeds: Iterable[int]) -> Iterator[pa.RecordBatch]:
    walker = new_walker()
    rows = (_row(walker, walker.walk(seed)) for seed in seeds)
    while some := list(islice(rows, _ROWS)):
        yield SWEEP.batch(some)


def _row(walker: Walker, walk: Walk) -> tuple[Any, ...]:
    trace = Timeline.along(walker.model, walk.actions).save()
    text = msgspec.json.encode(trace).decode()
    return walk.seed, walk.steps, walk.verdict, list(walk.taken), text
