"""Looking at something again and again while other work goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Looking:
    """Calls ``look`` every so many seconds, on a thread of its own, while it is entered.

    A look that fails is the last one: what is wrong will be said by the work that is looked at.
    """

    def __init__(self, seconds: float, look: Callable[[], object]) -> None:
        """Nothing is looked at before it is entered."""
        self._seconds = seconds
        self._look = look
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Looking:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """No look happens after this."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._done.wait(self._seconds):
                self._look()
        except Exception:
            return
