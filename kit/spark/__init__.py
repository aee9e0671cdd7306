"""Placements and runs of large clusters as data pipelines on Spark.

The names below are loaded when they are first used; importing this package loads no Spark.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "SparkUnavailable": "kit.spark.sessions",
    "about": "kit.spark.sessions",
    "history": "kit.spark.history",
    "pipeline": "kit.spark.pipeline",
    "sample": "kit.spark.history",
    "session": "kit.spark.sessions",
    "stop": "kit.spark.sessions",
    "with_spark_or_local": "kit.spark.sessions",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605  # the table above is the one list of public names


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kit.spark' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
