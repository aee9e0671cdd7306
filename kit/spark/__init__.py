"""Placements and runs of large clusters as data pipelines on Spark.

The names below are loaded when they are first used; importing this package loads no Spark.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "Peak": "kit.spark.progress",
    "PlainTraces": "kit.spark.traces",
    "Progress": "kit.spark.progress",
    "SparkUnavailable": "kit.spark.sessions",
    "Traces": "kit.spark.traces",
    "Watch": "kit.spark.streaming",
    "about": "kit.spark.sessions",
    "adding": "kit.spark.streaming",
    "as_tables": "kit.spark.traces",
    "dicts": "kit.spark.rows",
    "drawn": "kit.spark.traces",
    "drawn_on": "kit.spark.traces",
    "read_traces": "kit.spark.traces",
    "replayed": "kit.spark.traces",
    "schema": "kit.spark.traces",
    "scratch": "kit.spark.storing",
    "session": "kit.spark.sessions",
    "session_or_none": "kit.spark.sessions",
    "stop": "kit.spark.sessions",
    "store": "kit.spark.traces",
    "sweep": "kit.spark.sweeping",
    "timeline": "kit.spark.rows",
    "watch": "kit.spark.streaming",
    "with_spark_or_local": "kit.spark.sessions",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # families add the rest: `public` of each


def __getattr__(name: str) -> Any:
    """Load a public name on first use: the package's own, or one that a protocol family adds."""
    return import_module("kit.engine.family").public_name(__name__, _PLACES, name)
