"""``python -m tests.net.trace ITEM``: print the file that an item is about (a trace, or a ring)."""

from __future__ import annotations

import sys

from tests.net.questions import SECTIONS
from tests.net.record import read


def main() -> None:
    """Print the trace of an item, or the files that it reads."""
    (name,) = sys.argv[1:]
    for section in SECTIONS:
        for item in read(section):
            if item["item"] == name:
                question = item["question"]
                for file in (question.get("trace"), *question.get("files", {}).values()):
                    if file is not None:
                        print(file)
                return
    sys.exit(f"no item {name}")


if __name__ == "__main__":
    main()
