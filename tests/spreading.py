"""Which worker runs which tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[1]
FIXTURE = "spark: Any"
"""What a test says that takes the session."""


@cache
def uses_spark(file: str) -> bool:
    """Whether the tests of a file share the session of Spark, or start Spark themselves."""
    path = ROOT / file
    return "/spark/" in file or (path.is_file() and FIXTURE in path.read_text(encoding="utf-8"))


class SparkTogether(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """A file stays on one worker, and so do all files that use Spark.

    They share a session, which takes as long to start as many of their tests together.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if uses_spark(file) else file
