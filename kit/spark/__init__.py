"""Placements and runs of large clusters as data pipelines on Spark.

The names below are loaded when they are first used; importing this package loads no Spark.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "Peak": "kit.spark.memory",
    "PlainTraces": "kit.spark.trace_reports",
    "Progress": "kit.spark.progress",
    "SparkUnavailable": "kit.spark.sessions",
    "Traces": "kit.spark.trace_reports",
    "Watch": "kit.spark.streaming",
    "about": "kit.spark.sessions",
    "as_tables": "kit.spark.traces",
    "drawn": "kit.spark.traces",
    "drawn_on": "kit.spark.trace_reports",
    "history": "kit.spark.histories",
    "pipeline": "kit.spark.pipelines",
    "read_traces": "kit.spark.trace_reports",
    "replayed": "kit.spark.trace_reports",
    "same_as_engine": "kit.spark.comparing",
    "sample": "kit.spark.histories",
    "schema": "kit.spark.traces",
    "session": "kit.spark.sessions",
    "session_or_none": "kit.spark.sessions",
    "reopen": "kit.spark.sweeping",
    "stop": "kit.spark.sessions",
    "store": "kit.spark.traces",
    "sweep": "kit.spark.sweeping",
    "watch": "kit.spark.streaming",
    "with_spark_or_local": "kit.spark.sessions",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # the table above is the one list of public names


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kit.spark' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
