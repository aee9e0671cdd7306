"""``python -m kit``: the kit at the command line."""

import os
import signal
from typing import Any


def run() -> int:
    """Run the command line; a Ctrl-C while it is still being loaded ends it in one line, too."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, _leave)
    from kit.commands.cli import main  # noqa: PLC0415  # the handler has to be there before

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


def _leave(*_: Any) -> None:
    os.write(2, b"kit: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    raise SystemExit(run())
