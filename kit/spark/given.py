"""What counts as a Spark session that somebody gives."""

from __future__ import annotations

from typing import Annotated, Any, Protocol, TypeAlias, runtime_checkable


@runtime_checkable
class SparkSession(Protocol):
    """What every session has, in this process or over Connect."""

    def stop(self) -> None:
        """End it."""

    def createDataFrame(self, data: Any) -> Any:  # noqa: N802  # Spark's own name
        """A table of rows."""


Spark: TypeAlias = Annotated[Any, SparkSession]
