"""Columns of numbers: numpy, or where Python has none the plain ones of ``kit.ring.plain``.

Here it is chosen, for all of the kit's models and rules. What is written for columns works on both;
the plain ones are for a class's size, and refuse what is larger.
"""

from typing import TYPE_CHECKING

from kit.errors import KitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    PLAIN = False
else:
    try:
        import numpy as np
        from numpy.typing import NDArray

        PLAIN = False
    except ImportError:
        from kit.ring import plain as np
        from kit.ring.plain import NDArray

        PLAIN = True

MOST_PLAIN = 1024  # ranges of a ring: about a second of work where there is no numpy

__all__ = ["MOST_PLAIN", "PLAIN", "NDArray", "check_size", "np"]


def check_size(what: str, count: int) -> None:
    """Refuse rows beyond what plain columns are for, if there are no others.

    ``what`` has a place for the number: ``a ring of {} ranges``. Raises KitError.
    """
    if PLAIN and count > MOST_PLAIN:
        needs = f"needs numpy, which is not installed. Without it, the limit is {MOST_PLAIN:,}"
        raise KitError(f"{what.format(f'{count:,}')} {needs}")
