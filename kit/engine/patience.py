"""A limit on what a student's functions may compute for one step, so that a button gets an answer.

Whoever waits for a cell can interrupt it; a press of a button has nobody who could, and JupyterLab
has presses answered on a thread of their own, which no signal reaches. What is counted is processor
time of the thread that works, not the clock: a busy machine stops nobody.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kit.engine.purity import raised_at
from kit.errors import BadInput

SECONDS = 5.0  # of computing for one step: hundreds of times what a step of the lessons takes
_LOOK = 0.2  # seconds between two looks


class _TooLong(BaseException):
    """No ``except Exception`` of a student's own keeps it."""


class _Watch(threading.Thread):
    """Looks at what a thread computes, and raises ``_TooLong`` in it, again and again."""

    def __init__(self) -> None:
        super().__init__(name="patience", daemon=True)
        self.worker = threading.get_ident()
        self.used = _processor_time(self.worker)
        self.most = self.used() + SECONDS
        self._ended, self._lock = threading.Event(), threading.Lock()

    def run(self) -> None:
        while not self._ended.wait(_LOOK):
            with self._lock:
                if not self._ended.is_set() and self.used() >= self.most:
                    worker, error = ctypes.c_ulong(self.worker), ctypes.py_object(_TooLong)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(worker, error)

    def end(self) -> None:
        """Look no more. What was raised until now arrives here at the latest.

        (To take it back would leave the interpreter looking for it at every step from then on.)
        """
        with self._lock:
            self._ended.set()


def _processor_time(thread: int) -> Callable[[], float]:
    """What a thread has computed so far, in seconds; the clock where the system cannot tell."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


@contextmanager
def patient() -> Iterator[None]:
    """Let what happens inside compute for ``SECONDS``, then stop it.

    Raises:
        BadInput: naming the function and the line that were at work.
    """
    watch = _Watch()
    watch.start()
    try:
        try:
            yield
        finally:
            watch.end()
    except _TooLong as error:
        after = f"no answer after {SECONDS:g} seconds of computing"
        raise BadInput(raised_at(error), after, "functions that come to an end") from None
    finally:
        watch.end()
