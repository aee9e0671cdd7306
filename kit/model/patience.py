"""How a student's functions are stopped that never end, so that every call gets an answer.

Whoever waits for a cell can interrupt it; a press of a button has nobody who could, and JupyterLab
has presses answered on a thread of their own, which no signal reaches. For one step there is a
limit (``patient``): processor time of the thread that works, not the clock, so that a busy machine
stops nobody. A search may take its time as long as each function of the model comes back
(``attended``), and ends when it is asked to (``stoppable``). The main thread looks at itself by a
timer, which wakes it when it sleeps, and reaches code of C that asks for signals: a regular
expression that tries for ever, a huge power. One thread looks at all others. What never comes back
from C and asks for no signal, such as ``sum(iter(int, 1))``, nobody can stop but who ends the
process. Where Python has one thread, nobody looks at all: that is a page's, which ends its worker.
"""

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kit.edge.limits import ALONE
from kit.errors import BadInput
from kit.model.source import is_kits_file, raised_at

SECONDS = 5.0  # of computing for one step: hundreds of times what a step of the lessons takes
ASLEEP = 30.0  # seconds without any computing
_LOOK = 0.2  # seconds between two looks
_IDLE = 5  # looks with nothing to look at, after which nobody looks
_LEAST = 0.05  # of the time between two looks: a thread that computes less sleeps
_MAIN = threading.main_thread().ident
_WAY_OUT = frozenset((contextlib.__file__, __file__))

Due = Callable[["FrameType | None"], bool]
"""Whether a thread that is at work in a frame is to be stopped."""


class _TooLong(BaseException):
    """No ``except Exception`` of a student's own keeps it."""


class _Work:
    """The work of a thread from now on, and when it is to be stopped by which error."""

    __slots__ = ("due", "ended", "error", "lock", "timed", "worker")

    def __init__(self, due: Due, error: type[BaseException]) -> None:
        self.worker, self.due, self.error = threading.get_ident(), due, error
        self.ended, self.timed, self.lock = False, False, threading.Lock()

    def is_due(self, frame: FrameType | None) -> bool:
        """Whether it is to be stopped now, and each time that somebody looks from then on.

        Not while it is on its way out of what happens inside (which may take long, when much
        memory is given back): there nobody would understand it.
        """
        return not (self.ended or _leaves(frame)) and self.due(frame)

    def look(self) -> None:
        """Raise the error in the thread, unless that looks at itself."""
        with self.lock:
            frame = sys._current_frames().get(self.worker)
            if not self.timed and self.is_due(frame):
                worker, error = ctypes.c_ulong(self.worker), ctypes.py_object(self.error)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(worker, error)

    def end(self) -> None:
        """Have it looked at no more. What was raised until now arrives here at the latest.

        (To take it back would leave the interpreter looking for it at every step from then on.)
        """
        with self.lock:
            self.ended = True


def _leaves(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename in _WAY_OUT


def _is_entered(frame: FrameType) -> bool:
    caller = frame.f_back
    return caller is not None and _leaves(caller) and caller.f_code.co_name == "__enter__"


def _ticked(_number: int, frame: FrameType | None) -> None:
    for work in _WATCH.works:
        if work.timed and work.is_due(frame):
            raise work.error


@contextmanager
def _timed(work: _Work) -> Iterator[None]:
    """Let the main thread look at itself by a timer, where nobody else uses that."""
    is_ours = signal.getsignal(signal.SIGALRM) is _ticked
    free = is_ours or signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    runs = any(signal.getitimer(signal.ITIMER_REAL))
    work.timed = work.worker == _MAIN and free and (is_ours or not runs)
    if not work.timed or runs:
        yield
        return
    signal.signal(signal.SIGALRM, _ticked)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _Watch:
    """One thread that looks at all work, since to start one for every step takes longer than most.

    It ends when there was no work for a while.
    """

    def __init__(self) -> None:
        self.works: list[_Work] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, work: _Work) -> None:
        with self._lock:
            self.works.append(work)
            if self._thread is None or not self._thread.is_alive():  # a fork leaves none alive
                self._thread = threading.Thread(target=self._run, name="patience", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        idle = 0
        while True:
            time.sleep(_LOOK)
            with self._lock:
                self.works = works = [work for work in self.works if not work.ended]
                idle = 0 if works else idle + 1
                if idle == _IDLE:
                    self._thread = None
                    return
            for work in works:
                work.look()


_WATCH = _Watch()


@contextmanager
def _watched(due: Due, error: type[BaseException]) -> Iterator[None]:
    if ALONE:
        yield
        return
    work = _Work(due, error)
    try:
        try:
            with _timed(work):
                _WATCH.add(work)
                yield
        finally:
            work.end()
    finally:
        work.end()


def _processor_time(thread: int) -> Callable[[], float]:
    """A thread's processor time so far, in seconds; the clock where the system cannot tell."""
    if ALONE or not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _idle(used: Callable[[], float]) -> Callable[[FrameType | None], bool]:
    """Whether a thread has slept for long, asked at each look; who debugs it may take his time."""
    before, looked = used(), time.monotonic()
    since = looked

    def asleep(frame: FrameType | None) -> bool:
        nonlocal before, looked, since
        now, clock = used(), time.monotonic()
        if clock - looked < _LOOK / 2:  # what the look itself computes would count for much
            return False
        if now - before > _LEAST * (clock - looked) or (frame is not None and frame.f_trace):
            since = clock
        before, looked = now, clock
        return clock - since >= ASLEEP

    return asleep


@contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except _TooLong as error:
        after = f"no answer after {SECONDS:g} seconds of computing, or {ASLEEP:g} of waiting"
        raise BadInput(raised_at(error), after, "functions that end") from None


@contextmanager
def patient() -> Iterator[None]:
    """Let what happens inside compute for ``SECONDS``, then stop it; sooner or later if it sleeps.

    Raises BadInput naming the function and the line that were at work.
    """
    used = _processor_time(threading.get_ident())
    most, asleep = used() + SECONDS, _idle(used)
    with _naming(), _watched(lambda frame: used() >= most or asleep(frame), _TooLong):
        yield


@contextmanager
def attended() -> Iterator[None]:
    """Stop a function of somebody else's, called from what happens inside, that does not come back.

    It may compute for ``SECONDS``. Nothing is counted on the way: now and then somebody looks which
    function is at work, and whether it is the same call as before.

    Raises BadInput naming the function and the line that were at work.
    """
    used = _processor_time(threading.get_ident())
    asleep = _idle(used)
    base: FrameType | None = sys._getframe()
    # Those that leave while what happens inside goes on:
    while base and (_leaves(base) or _is_entered(base)):
        base = base.f_back
    call: FrameType | None = None
    began = 0.0

    def due(frame: FrameType | None) -> bool:
        nonlocal call, began
        outer, is_asleep = None, asleep(frame)
        while frame is not None and frame is not base:
            if not is_kits_file(frame.f_code.co_filename):
                outer = frame
            frame = frame.f_back
        if frame is None:  # nothing of what happens inside is at work
            outer = None
        if outer is not call:
            call, began = outer, used()
        return call is not None and (is_asleep or used() - began >= SECONDS)

    with _naming(), _watched(due, _TooLong):
        yield


@contextmanager
def ended_after(seconds: float) -> Iterator[Callable[[], bool]]:
    """Interrupt what happens inside, as a keyboard would, after so many seconds of computing.

    A search then tells what it has found. What comes out says whether that has happened.
    """
    used = _processor_time(threading.get_ident())
    end = most = used() + seconds

    def due(_frame: FrameType | None) -> bool:
        nonlocal most
        late = used() >= most
        most += SECONDS * late  # until it is asked again
        return late

    with _watched(due, KeyboardInterrupt):
        yield lambda: most > end


@contextmanager
def stoppable(stop: threading.Event) -> Iterator[None]:
    """Interrupt what happens inside, as a keyboard would, once another thread sets ``stop``.

    Whoever looks at ``stop`` now and then has a moment to stop by itself, in a place of its own.

    Raises KeyboardInterrupt in whatever function is at work then.
    """
    looks = 0

    def due(_frame: FrameType | None) -> bool:
        nonlocal looks
        looks += stop.is_set()
        return looks > 1

    with _watched(due, KeyboardInterrupt):
        yield
