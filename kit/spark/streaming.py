"""A growing folder of traces, watched: each new run changes a live table and chart."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from kit.errors import KitError
from kit.spark.progress import in_notebook
from kit.spark.trace_reports import LAG, lag_of
from kit.spark.traces import EPOCHS

PAUSE = 0.2  # seconds between two looks


class Watch:
    """A stream over a folder of traces: how far each node is behind, over all runs so far.

    Spark looks for new files by itself; ``stop`` ends that.
    """

    def __init__(self, spark: Any, folder: str | Path, *, files_at_once: int = 4) -> None:
        """The folder may still be empty; it need not exist yet."""
        self._spark = spark
        self._name = f"lag_{uuid.uuid4().hex}"
        place = Path(folder).resolve() / EPOCHS.name
        place.mkdir(parents=True, exist_ok=True)
        reader = spark.readStream.schema(EPOCHS.ddl).option("maxFilesPerTrigger", files_at_once)
        writer = lag_of(reader.parquet(str(place))).writeStream.outputMode("complete")
        self._query = writer.format("memory").queryName(self._name).start()

    def lag(self) -> pd.DataFrame:
        """The live table as it stands: node, runs, mean, most, behind.

        Raises:
            KitError: when the stream has failed.
        """
        failure = self._query.exception()
        if failure is not None:
            raise KitError(f"the stream has failed: {str(failure).splitlines()[0]}")
        found: pd.DataFrame = self._spark.table(self._name).toArrow().to_pandas()
        return found.sort_values(LAG, ignore_index=True)

    @property
    def runs(self) -> int:
        """How many runs the live table has seen."""
        found = self.lag()
        return int(found["runs"].max()) if len(found) else 0

    def follow(
        self,
        runs: int,
        *,
        seconds: float = 60.0,
        show: Callable[[pd.DataFrame], object] | None = None,
    ) -> pd.DataFrame:
        """Show the live table whenever it changes, until it has seen so many runs.

        ``show`` redraws one chart in a notebook, unless given. After ``seconds`` it ends anyway.
        """
        draw = show or (LiveChart() if in_notebook() else lambda _: None)
        end = time.monotonic() + seconds
        last = pd.DataFrame()
        while True:
            found = self.lag()
            if not found.equals(last):
                draw(found)
                last = found
            if (len(found) and found["runs"].max() >= runs) or time.monotonic() > end:
                return found
            time.sleep(PAUSE)

    def stop(self) -> None:
        """End the stream."""
        self._query.stop()


class LiveChart:
    """One place in a notebook in which a chart of the lag is drawn again and again."""

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._handle: Any = None

    def __call__(self, found: pd.DataFrame) -> None:
        """Draw a lag report."""
        charts, display = import_module("kit.spark.charts"), import_module("IPython.display")
        chart = charts.lag(found)
        if self._handle is None:
            self._handle = display.display(chart, display_id=True)
        else:
            self._handle.update(chart)
