"""What counts as an answer: success, or one line of the kit's own."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Timer, get_ident
from typing import Any, NamedTuple

from kit.errors import LONGEST_MESSAGE, KitError

PATIENCE = 30.0  # seconds of processor, or ten times as many by the clock


class HangError(BaseException):
    """A case took too long; no kit code may catch it."""


class Harness(NamedTuple):
    """A way to make hostile cases: its name, one case, and its shares of a run."""

    name: str
    case: Callable[[Random, Path], None]
    quick: int
    deep: int


def kit_error(error: BaseException) -> str | None:
    """What is wrong with an error as an answer; None when it is one line of the kit's own."""
    if not isinstance(error, KitError):
        return f"{type(error).__name__}: {error!s:.200}"
    text = str(error)
    if not text or not text.isprintable() or len(text) > LONGEST_MESSAGE:
        return f"not one line: {text!r:.200}"
    return None


def answered(call: Callable[[], Any]) -> Any:
    """What a call gives; None when it is refused as it should be.

    Raises:
        AssertionError: for any other error.
    """
    try:
        return call()
    except Exception as error:
        wrong = kit_error(error)
        if wrong is None:
            return None
        raise AssertionError(wrong) from error


def violations(harness: Harness, cases: int, folder: Path, first: int = 0) -> Iterator[str]:
    """A line for each case that is against the contract, with its seed."""
    for seed in range(first, first + cases):
        try:
            with _limited():
                harness.case(Random(f"{harness.name} {seed}"), folder)
        except (Exception, HangError, SystemExit) as error:
            where = error.__cause__ or error
            yield f"{harness.name} {seed}: {error!s:.400} [{_place(where)}]"


def _place(error: BaseException) -> str:
    link = error.__traceback__
    while link is not None and link.tb_next is not None:
        link = link.tb_next
    return f"{link.tb_frame.f_code.co_filename}:{link.tb_lineno}" if link else ""


@contextmanager
def _limited() -> Iterator[None]:
    """Stop what computes for too long, or waits: other work on the machine is not its fault.

    The alarm is left to those who are tried: by it the kit wakes a model that sleeps.
    """

    def stop(*_: object) -> None:
        raise HangError(f"no answer within {PATIENCE:g} s")

    numbers = signal.SIGPROF, signal.SIGUSR1
    former = [signal.signal(number, stop) for number in numbers]
    waited = Timer(PATIENCE * 10, signal.pthread_kill, (get_ident(), signal.SIGUSR1))
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    waited.start()
    try:
        yield
    finally:
        waited.cancel()
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in zip(numbers, former, strict=True):
            signal.signal(number, handler)
