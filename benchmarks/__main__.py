"""Run every benchmark and print its figures: ``make bench``, in at most ten minutes.

Each module hands out ``figures()``, which are the rows of the one table at the end. Names on the
command line choose modules.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import HEAD, Figure, unmeasured

# With it, jsonschema keeps 38 grammars of addresses, 100,000 objects that no notebook has, and
# Python's garbage collector passes over all of them in the middle of what is measured.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # that is: not there

ORDER = ("placements", "player", "flows", "search", "timeline", "imports")
BEHIND_THE_SCENES = {
    *("__init__", "__main__", "figures"),
    *("harmony_twophase", "plain_search", "plain_twophase"),
    *("spin", "spin_raft", "spin_twophase"),
    *("duck_sums", "painting", "plain_balancer", "stateful_twophase"),
}


def chosen(names: list[str]) -> list[str]:
    """The modules to run: those named, or all; any that is not in the order comes last."""
    found = {path.stem for path in Path(__file__).parent.glob("*.py")} - BEHIND_THE_SCENES
    every = [name for name in ORDER if name in found] + sorted(found - set(ORDER))
    unknown = [name for name in names if name not in every]
    if unknown:
        raise SystemExit(f"benchmarks: got {unknown[0]}; allowed: {', '.join(every)}")
    return names or every


def run(name: str) -> Iterator[Figure]:
    """The rows of one benchmark, each printed as soon as it is there.

    Where a package is missing that it compares with, there is a row that names it.
    """
    gc.freeze()  # what earlier ones keep in memory would slow each collection
    began = time.perf_counter()
    print(f"--- {name}", flush=True)
    try:
        module = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as lack:
        figures = iter([unmeasured(name, f"no package {lack.name} here")])
    else:
        figures = module.figures()
    for figure in figures:
        print(figure.row, flush=True)
        yield figure
    print(f"    ({time.perf_counter() - began:.0f} s)", flush=True)


def main() -> int:
    """Run them all, one after the other; one that fails does not stop the others."""
    began, rows, failed = time.perf_counter(), list[Figure](), list[str]()
    for name in chosen(sys.argv[1:]):
        try:
            rows.extend(run(name))  # what it gave before it failed stays
        except Exception as error:  # the others are still worth having
            print(f"    failed: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
    print(f"\n{HEAD}")
    for figure in rows:
        print(figure.row)
    missed = [figure.name for figure in rows if figure.met is False]
    print(f"\n{time.perf_counter() - began:.0f} s in all; {len(missed)} aims not met")
    for name in failed:
        print(f"could not be measured: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
