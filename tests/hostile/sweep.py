"""``python -m tests.hostile.sweep [NAME [FIRST [CASES]]]``: run harnesses and print violations."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

from tests.hostile.judging import violations
from tests.hostile.test_harnesses import HARNESSES

SHOWN = 2  # violations at one place of the code


def main(name: str = "", first: str = "0", cases: str = "") -> None:
    """Print the cases tried, their time, and the first violations of each kind."""
    for harness in HARNESSES:
        if name not in harness.name:
            continue
        count, began = int(cases or harness.quick), perf_counter()
        seen: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for line in violations(harness, count, Path(folder), int(first)):
                kind = line[line.rfind("[") :]
                seen[kind] += 1
                if seen[kind] <= SHOWN:
                    print("   ", line)
        each = (perf_counter() - began) / count * 1000
        print(f"{harness.name}: {count} tried, {seen.total()} violations, {each:.1f} ms each")


if __name__ == "__main__":
    main(*sys.argv[1:])
