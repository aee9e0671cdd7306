"""What ``make test`` runs, stage by stage, with one closing summary of all counts.

Every stage runs even when an earlier one failed, so that one run tells everything. A stage that ran
no test has failed. With KIT_FORBID_SKIPS=1 a skipped test is a failure (tests/conftest.py, and here
for the cells of notebooks).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORKERS = 4
ROOM = 3 << 30
"""Bytes of memory for a worker, with the Java, browser or JupyterLab that its tests start."""


def workers() -> int:
    """How many tests run at a time: one a core that is ours to use, as memory allows, two at least.

    Past four, the longest chain of tests that share something would be waited for.
    """
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(2, min(cores, memory // ROOM, MOST_WORKERS))


# A notebook's cells must stay on one worker; the longest files come first (tests/conftest.py).
PARALLEL = ("-n", str(workers()), "--dist", "loadfile", "--no-loadscope-reorder")
# Whose plugin takes two seconds to load, in every process; only notebooks need it.
QUICK = ("-p", "no:nbval")
NOTEBOOKS = (
    *("--nbval", "notebooks", "-p", "no:cacheprovider"),
    *("--nbval-cell-timeout=120", "--override-ini=addopts="),
)
DEEP_TESTS = "(deep or hypothesis) and not browser"
PATIENT = ("-o", "faulthandler_timeout=7200")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
FEW_ROWS = (
    "-Dspark.sql.adaptive.enabled=false"
    " -Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"
)
"""A query over a few rows is not worth a second plan, or classes of its own."""
# All of them run, whichever fails.
STYLE = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",), ("lint-imports",))


@dataclass(frozen=True)
class Stage:
    """One run of pytest: its name, its arguments."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a stage counted, and how long it took in seconds."""

    name: str
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0.0


STAGES = (
    Stage("tests", (*QUICK, *PARALLEL, "--durations=15")),
    Stage("browser", ("-m", "browser and not deep", *QUICK, *PARALLEL, "--durations=15")),
    # What is stored is one run, compared with this one; the deep tests add another.
    Stage("notebooks", (*NOTEBOOKS, *PARALLEL)),
)
# Whoever has no Firefox has nothing to fear of it: no landing asks for one.
SORTS = ("style", "tests", "browser", "notebooks", "deep", "firefox")
FIREFOX = Stage("firefox", ("-m", "firefox", *QUICK, "-n", "0"))
DEEP = (
    # Tests that draw examples are run once more, with more of them (tests/examples.py).
    Stage("deep", ("-m", DEEP_TESTS, *PARALLEL, *PATIENT)),
    Stage("deep, browser", ("-m", "browser and deep", *QUICK, *PARALLEL, *PATIENT)),
    Stage("notebooks, once more", (*NOTEBOOKS, *PARALLEL)),
)


def environment(deep: bool = False) -> dict[str, str]:
    """The environment of every stage: the venv's programs first, no window, no update checks.

    What one stage compiles is kept for the next ones and for the processes that tests start. Java
    that lives for a minute need not be optimised: that halves what the Spark notebook takes. In the
    deep stages more examples are drawn, and notebooks use Spark as it is.
    """
    java = QUICK_JAVA if deep else f"{QUICK_JAVA} {FEW_ROWS}"
    here = Path(sys.executable).parent
    given = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **given,
        **({"KIT_HYPOTHESIS": "deep"} if deep else {}),
        "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "KIT_SOLVED": os.devnull + "/nobody",  # nobody has solved anything
        "MPLBACKEND": "agg",
        "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", java),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


@dataclass(frozen=True)
class Check:
    """What a checker of style said, whether it is content, and how long it took in seconds."""

    command: tuple[str, ...]
    said: str
    content: bool
    seconds: float


def checked(command: tuple[str, ...]) -> Check:
    """Run a program of the venv to its end."""
    begun = time.monotonic()
    ran = subprocess.run(
        [Path(sys.executable).parent / command[0], *command[1:]],
        check=False,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Check(command, ran.stdout, ran.returncode == 0, time.monotonic() - begun)


def style(checks: list[Check]) -> Outcome:
    """Print what the checkers said; each counts as one check."""
    for check in checks:
        print(f"\n--- {' '.join(check.command)}\n{check.said}", end="", flush=True)
    failed = sum(not check.content for check in checks)
    slowest = max(check.seconds for check in checks)
    return Outcome("style", len(checks) - failed, failed, seconds=slowest)


def begun_with_style(stages: list[Stage], forbid_skips: bool) -> list[Outcome]:
    """Run the checkers of style side by side, and these stages meanwhile; both are told then.

    A whole check of the types keeps one core for half a minute, and the others wait for it.
    """
    with ThreadPoolExecutor(len(STYLE)) as beside:
        checks = beside.map(checked, STYLE)
        outcomes = [run(stage, forbid_skips) for stage in stages]
        return [style(list(checks)), *outcomes]


def run(stage: Stage, forbid_skips: bool) -> Outcome:
    """Run one stage of pytest and read its counts from its report."""
    print(f"\n--- {stage.name}: pytest {' '.join(stage.arguments)}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *stage.arguments]
        variables = environment(deep=stage in DEEP)
        status = subprocess.run(command, check=False, cwd=ROOT, env=variables).returncode
        counts = _counts(report)
    errors, skipped = counts["errors"], counts["skipped"]
    if forbid_skips and skipped:
        print(f"{stage.name}: {skipped} skipped, and skips are forbidden here")
        errors, skipped = errors + skipped, 0
    if status and not errors and not counts["failures"]:  # a crash, or no test at all
        errors = 1
    passed = counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"]
    seconds = time.monotonic() - begun
    return Outcome(stage.name, passed, counts["failures"], errors, skipped, seconds)


def _counts(report: Path) -> dict[str, int]:
    names = ("tests", "failures", "errors", "skipped")
    if not report.exists():
        return dict.fromkeys(names, 0)
    suites = ET.parse(report).getroot().iter("testsuite")
    totals = dict.fromkeys(names, 0)
    for suite in suites:
        for name in names:
            totals[name] += int(suite.get(name, "0"))
    return totals


def closing(outcomes: list[Outcome], seconds: float) -> str:
    """The table of stages and, last, one line in pytest's own form with the counts of all."""
    rows = [
        f"{one.name:<22} {one.passed:>6} passed {one.failed:>4} failed {one.errors:>4} errors "
        f"{one.skipped:>4} skipped {one.seconds:>7.1f} s"
        for one in outcomes
    ]
    totals = {
        "failed": sum(one.failed for one in outcomes),
        "passed": sum(one.passed for one in outcomes),
        "skipped": sum(one.skipped for one in outcomes),
        "errors": sum(one.errors for one in outcomes),
    }
    told = ", ".join(f"{n} {name}" for name, n in totals.items() if n) or "no tests ran"
    return "\n".join(["", *rows, f"{f' {told} in {seconds:.2f}s ':=^80}"])


def main() -> int:
    """Run the stages that the command line asks for; 0 only when all passed and each ran a test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deep", action="store_true", help="add the long tests")
    parser.add_argument("--only", choices=SORTS)
    options = parser.parse_args()
    begun, forbid_skips = time.monotonic(), os.environ.get("KIT_FORBID_SKIPS") == "1"
    more = (FIREFOX,) if options.only == "firefox" else ()
    stages = [*STAGES, *more, *(DEEP if options.deep or options.only == "deep" else ())]
    chosen = [stage for stage in stages if not options.only or stage.name.startswith(options.only)]
    outcomes = begun_with_style(chosen[:1], forbid_skips) if options.only in (None, "style") else []
    outcomes += [run(stage, forbid_skips) for stage in chosen[len(outcomes[1:]) :]]
    print(closing(outcomes, time.monotonic() - begun), flush=True)
    return int(any(one.failed or one.errors for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
