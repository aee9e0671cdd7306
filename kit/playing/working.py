"""Work beside the kernel's loop: a search in a thread of its own, which one may stop."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from kit.edge.limits import ALONE
from kit.edge.progress import Progress
from kit.errors import KitError
from kit.model.patience import stoppable

T = TypeVar("T")


class Background(Generic[T]):
    """One piece of work at a time; what comes of it is handed to the kernel's loop."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self._halt = threading.Event()

    @property
    def running(self) -> bool:
        """Whether something is under way."""
        return self.thread is not None

    def stop(self) -> None:
        """End what is under way, if anything; it tells what it has seen."""
        self._halt.set()

    def begin(
        self,
        work: Callable[[Progress], T],
        report: Progress,
        ended: Callable[[T | KitError | None], None],
    ) -> None:
        """Begin to work, which reports how far it is. None: it was stopped before it had a result.

        ``report`` is called in the thread, ``ended`` on the loop that this is called on.
        """
        halt = self._halt = threading.Event()
        later = on_this_loop()

        def progress(done: int, now: int) -> None:
            if halt.is_set():
                raise KeyboardInterrupt  # a search keeps what it has found
            report(done, now)

        def run() -> None:
            outcome: T | KitError | None = None
            try:
                with stoppable(halt):  # a function of a student's own may never end
                    outcome = work(progress)
            except KitError as error:
                outcome = error
            except KeyboardInterrupt:  # it had ended already, or had not begun
                pass
            later(end, outcome)

        def end(outcome: T | KitError | None) -> None:
            try:
                ended(outcome)
            finally:
                self.thread = None  # last: who sees that it has ended sees the result

        self.thread = threading.Thread(target=run, daemon=True)
        if ALONE:  # nothing goes on beside it, and who began it waits
            run()
        else:
            self.thread.start()


def on_this_loop() -> Callable[..., object]:
    """A way to call something on the kernel's loop; without a loop it is called at once."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        return lambda act, *given: act(*given)
