"""What every long way through a model's states has in common: searches and random walks."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kit.engine.model import Model, Monitor
from kit.engine.purity import blame


@contextmanager
def exploring(
    model: Model[Any, Any],
    monitors: Sequence[Monitor] = (),
    under_way: Callable[[], list[Any]] = list,
) -> Iterator[None]:
    """Let the garbage collector rest meanwhile: nothing here is cyclic, and live states are many.

    ``under_way`` gives the nodes whose steps are being taken.

    Raises:
        BadInput: for an error that a model's broken word explains, naming the place in its code.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    except (TypeError, AttributeError) as error:
        blamed = blame(model, tuple(monitors), under_way(), error)
        if blamed is None:
            raise
        raise blamed from None
    finally:
        if collecting:
            gc.enable()
