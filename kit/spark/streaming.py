"""A growing folder of traces, watched: each new run changes a live table and chart."""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kit.edge.arguments import checked
from kit.edge.paths import whole_path
from kit.edge.progress import in_notebook
from kit.errors import BadInput, KitError
from kit.spark.rows import columns_of
from kit.spark.schemas import EPOCHS, table
from kit.spark.sessions import Spark
from kit.spark.storing import for_spark
from kit.spark.traces import LAG, PlainTraces, Tables, lag_of, store, stored
from kit.views.chart import Chart, canvas, chart
from kit.views.palette import BESIDE, SHADES
from kit.views.static import display_widget

PAUSE = 0.2  # seconds between two looks
LONGEST_PAUSE = 3600


class Watching(ABC):
    """A live table over a folder of traces: how far each node is behind, over all runs so far."""

    @abstractmethod
    def lag(self) -> pd.DataFrame:
        """Give the live table: node, runs, mean, most, behind."""

    @abstractmethod
    def stop(self) -> None:
        """Look no more."""

    @property
    def runs(self) -> int:
        """How many runs the live table has seen."""
        lag = self.lag()
        return int(lag["runs"].max()) if len(lag) else 0

    def follow(
        self,
        runs: int,
        *,
        seconds: float = 60.0,
        show: Callable[[pd.DataFrame], object] | None = None,
    ) -> pd.DataFrame:
        """Show the live table as it changes, until it has seen so many runs, or for ``seconds``."""
        draw = show or (LiveChart() if in_notebook() else lambda _: None)
        end = time.monotonic() + seconds
        last = pd.DataFrame()
        while True:
            lag = self.lag()
            if not lag.equals(last):
                draw(lag)
                last = lag
            if (len(lag) and lag["runs"].max() >= runs) or time.monotonic() > end:
                if isinstance(draw, LiveChart):
                    draw.close()
                return lag
            time.sleep(PAUSE)


class Watch(Watching):
    """A stream of Spark's over the folder; Spark looks for new files by itself."""

    @checked
    def __init__(self, spark: Spark, folder: str | Path, *, files_at_once: int = 4) -> None:
        """The folder can be empty, and it need not exist yet."""
        self._spark = spark
        self._name = f"lag_{uuid.uuid4().hex}"
        below = _epochs_below(folder)
        place = for_spark(below)
        _make(below)
        reader = spark.readStream.schema(EPOCHS.ddl).option("maxFilesPerTrigger", files_at_once)
        writer = lag_of(reader.parquet(place)).writeStream.outputMode("complete")
        self._query = writer.format("memory").queryName(self._name).start()

    def lag(self) -> pd.DataFrame:
        """The live table as it stands; KitError when the stream has failed."""
        failure = self._query.exception()
        if failure is not None:
            raise KitError(f"the stream has failed: {str(failure).splitlines()[0]}")
        lag: pd.DataFrame = self._spark.table(self._name).toArrow().to_pandas()
        return lag.sort_values(LAG, ignore_index=True)

    def stop(self) -> None:
        """End the stream."""
        self._query.stop()


class PlainWatch(Watching):
    """The same without Spark: at each look the files that are there are read."""

    @checked
    def __init__(self, folder: str | Path) -> None:
        """The folder can be empty, and it need not exist yet."""
        self._place = _epochs_below(folder)
        _make(self._place)

    def lag(self) -> pd.DataFrame:
        """The live table as it stands; BadInput when a file cannot be read."""
        files = sorted(self._place.glob("*.parquet"))
        return PlainTraces(*({EPOCHS.name: stored(file, EPOCHS)} for file in files)).lag()

    def stop(self) -> None:
        """There is nothing to end."""


def watch(spark: Spark | None, folder: str | Path) -> Watching:
    """Watch a folder of traces: by a stream on a session, or with None in this process."""
    return PlainWatch(folder) if spark is None else Watch(spark, folder)


@contextmanager
def adding(folder: str | Path, runs: Iterable[Tables], pause: float = PAUSE) -> Iterator[None]:
    """While entered, store runs one by one after a ``pause`` in seconds; what fails is raised."""
    if not 0 <= pause <= LONGEST_PAUSE:
        raise BadInput("pause", pause, f"seconds from 0 to {LONGEST_PAUSE}")

    def add() -> None:
        for run in runs:
            time.sleep(pause)
            store(folder, run)

    with ThreadPoolExecutor(1) as thread:
        adder = thread.submit(add)
        yield
        adder.result()


def _epochs_below(folder: str | Path) -> Path:
    return whole_path(folder, "folder", "a folder of traces") / EPOCHS.name


def _make(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        allowed = f"a folder that can be created ({error})"
        raise BadInput("folder", str(place.parent), allowed) from None


class LiveChart:
    """One place in a notebook in which a chart of the lag is drawn again and again."""

    def __init__(self) -> None:
        self.widget: Any = None

    def __call__(self, lag: pd.DataFrame) -> None:
        """Draw a lag report."""
        image = lag_chart(lag).html()
        if self.widget is None:
            self.widget = import_module("ipywidgets").HTML(image)
            display_widget(self.widget, "Epochs behind: a chart grows here as runs come in")
        else:
            self.widget.value = image

    def close(self) -> None:
        """Take it away: the last chart is what the caller shows."""
        if self.widget is not None:
            self.widget.layout.display = "none"


LAG_REPORT = table(
    "lag",
    "a node, over all runs",
    "node string: the node",
    "runs bigint: how many runs the node was in",
    "mean double: how many epochs the node was behind, on average",
    "most bigint: the most epochs that the node was behind",
    "behind double: the share of the steps in which the node was behind",
)


def lag_chart(frame: pd.DataFrame, *, ax: Any = None) -> Chart:
    """How many epochs each node is behind, of a lag report (else BadInput): the mean, the most."""
    frame = columns_of("frame", frame, LAG_REPORT).to_pandas()
    with canvas(ax, 6.4, 2.8) as axes:
        places = np.arange(len(frame))
        for offset, name, sign, hatch in (
            (-0.2, "mean", "added", ""),
            (0.2, "most", "removed", "//"),
        ):
            look = {"color": SHADES[sign], "hatch": hatch, "label": name}
            axes.bar(places + offset, frame[name], 0.38, **look)
        axes.set_xticks(places, list(frame["node"]))
        axes.set_ylabel("epochs behind")
        axes.yaxis.get_major_locator().set_params(integer=True)
        runs = int(frame["runs"].max()) if len(frame) else 0
        axes.set_title(f"Epoch lag, {runs} runs")
        axes.legend(**BESIDE)
    lines = [
        f"{row.node}: mean {row.mean:.2f}, most {row.most}, behind in {row.behind:.0%} of the steps"
        for row in frame.itertuples(index=False)
    ]
    return chart(axes, "\n".join([f"Epochs behind, over {runs} runs", *lines]))
