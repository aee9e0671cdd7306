"""Which worker runs which tests."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling


class SparkTogether(LoadFileScheduling):
    """A file stays on one worker, and so do all files of the folders named ``spark``.

    They share a session, which takes as long to start as many of their tests together.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if "/spark/" in file else file
