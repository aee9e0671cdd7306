"""What starts Spark's Python workers on this machine: modules of the working folder come last.

Spark runs it as ``python -m``, which would look in that folder before Python's own modules; the
session therefore asks for a path without it (``PYTHONSAFEPATH``).
"""

import os
import sys

from pyspark import daemon

if __name__ == "__main__":
    sys.path.append(os.getcwd())  # noqa: PTH109  # as text: that is what stands on the path
    daemon.manager()  # type: ignore[no-untyped-call]  # Spark's own
