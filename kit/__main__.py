"""``python -m kit``: the kit at the command line."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Python puts the working folder first: a json.py in it would be taken for Python's own.
    here = sys.path.pop(0)
    if here == os.path.dirname(os.path.dirname(os.path.abspath(__file__))):  # noqa: PTH100, PTH120  # pathlib is slow to load
        sys.path.append(here)

try:
    import resource
    import signal
except KeyboardInterrupt:  # Python has barely begun
    os.write(2, b"kit: interrupted\n")
    os._exit(130)

TYPE_CHECKING = False  # the real one costs as much time as all that is here
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED, BAD_INPUT = 130, 2
PRESSED: list[int] = []
"""The interrupts so far."""

IMPORTING = "<frozen importlib._bootstrap>"
LEAST = {resource.RLIMIT_AS: 160 * 10**6, resource.RLIMIT_DATA: 100 * 10**6}
"""Bytes that loading the libraries takes, as addresses and as data: 120 and 80 MB measured."""


def run() -> int:
    """Run the command line; Ctrl-C ends it in one line, also while it is being loaded or ends."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, _interrupted)
    _check_limits()
    from kit.commands.cli import main  # noqa: PLC0415  # the handler has to be there before

    try:
        status = main()
        if usual:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but to end
    except BaseException:
        if not PRESSED:
            raise
        _leave("interrupted", INTERRUPTED)  # whatever was made of it on its way here
    return status


def _check_limits() -> None:
    """Refuse to begin where the libraries could not be loaded: they end with words of their own."""
    for kind, least in LEAST.items():
        most, _ = resource.getrlimit(kind)
        if most == resource.RLIM_INFINITY:
            continue
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each would take 40 MB of addresses
        if most < least:
            _leave(
                f"memory: got a limit of {most} bytes (ulimit); allowed: {least} or more", BAD_INPUT
            )


def _interrupted(number: int, frame: "FrameType | None") -> None:
    """Raise as Python does; but what is raised within an import may be lost, or end as a traceback.

    Nothing is half written while a module is loaded, so one may leave at once.
    """
    PRESSED.append(number)
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            _leave("interrupted", INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave(message: str, status: int) -> "NoReturn":
    """End at once with one line: nothing may have been loaded that would say it."""
    os.write(2, f"kit: {message}\n".encode())
    os._exit(status)


if __name__ == "__main__":
    raise SystemExit(run())
