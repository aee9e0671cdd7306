"""Placements and runs of large clusters as data pipelines on Spark.

The names below are loaded when they are first used; importing this package loads no Spark.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "machine": "SparkUnavailable",
    "progress": "Peak Progress session_or_none",
    "rows": "dicts timeline",
    "sessions": "about session stop",
    "storing": "scratch",
    "streaming": "Watch adding watch",
    "sweeping": "sweep",
    "traces": "PlainTraces Traces as_tables drawn drawn_on read_traces replayed schema store",
}
_PLACES = {name: f"kit.spark.{place}" for place in _NAMES for name in _NAMES[place].split()}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # families add the rest: `public` of each


def __getattr__(name: str) -> Any:
    return import_module("kit.model.family").public_name(__name__, _PLACES, name)
