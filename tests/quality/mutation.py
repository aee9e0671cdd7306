"""Mutants of rules, models, ring and engine, and whether the tests notice them.

``python -m tests.quality.mutation --seed 9 --count 400`` makes every mutant of the sources below,
takes a sample that is spread over their files, and tries each with the tests that run its lines,
quickest first. ``--first A --count B`` tries a slice of the same sample. What no test notices must
stand in ``mutants_known.txt`` with the reason; whoever stands there and is noticed, or can no
longer be made, must not.

Neither of the two kept tools fits: mutmut changes functions only, while most of a protocol is in
tables outside of them, and renames the functions that ``kit.model.purity`` reads; cosmic-ray runs
one command with all tests for every mutant. Neither takes a seeded sample.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from queue import SimpleQueue

import msgspec

from tests.house.source import ROOT, project_files
from tests.quality.covering import RECORDER, SLOW, Covered, covering
from tests.quality.judging import ALLOWANCE, Judge, copied
from tests.quality.mutants import Mutant, mutants

ENGINE = ("model", "search", "console", "formats", "catalogue")
SOURCES = (
    *("kit/ring", *(f"kit/{room}" for room in ENGINE), "kit/protocols"),
    *("kit/edge/progress.py", "kit/operators/explain.py"),
)
# What a family declares, draws and tells, and what has tests of another kind (``LEFT_OUT``).
# Whatever else is in its folder, at any depth, is part of its models.
SPOKEN = {
    *("family", "parameters", "scenario_output", "trace_rows", "panels", "lessons", "commands"),
    *("drill", "spark"),
}
# What starts Java or a process for each answer is too slow to judge mutants. A copy has no history
# to ask.
LEFT_OUT = (
    *(f"--ignore-glob=*/{name}" for name in ("spark/*", "*/lessons/*")),
    "--deselect=tests/house/test_documents.py::test_every_place_that_is_named_is_there",
)
TESTS = (
    *("tests/ring", *(f"tests/{room}" for room in ENGINE), "tests/protocols", "tests/commands"),
    *("tests/clients", "tests/edge", "tests/operators/test_explain.py"),
    *("tests/views/test_diagrams.py", "tests/views/test_narration.py"),
    *("tests/house/test_documents.py", "tests/house/test_reference.py"),
    "tests/lessons/test_glossary.py",
    *(f"{RECORDER}test_recording.py", *LEFT_OUT),
)
KNOWN = Path(__file__).with_name("mutants_known.txt")
SEED, COUNT = 9, 400
# Seconds that the tests of a trial took: those nearest, more that are near, the quickest others.
QUICK, NEAR, THOROUGH = 3.0, 20.0, 45.0
RECORDED = 90.0  # and those of the recorder, at the end
PATIENCE = 150.0  # seconds for a trial
ENOUGH = 0.95

Outcome = str  # a verdict of `judging`, or "equivalent"
Said = Callable[[str], None]


@dataclass(frozen=True)
class Project:
    """A checkout, the files of it that are mutated, and the tests that judge."""

    root: Path
    files: tuple[Path, ...]
    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def made(self) -> dict[str, list[Mutant]]:
        """Every mutant of every source, by file."""
        paths = sorted({path for source in self.sources for path in self.root.glob(source)})
        names = {path: path.relative_to(self.root).as_posix() for path in paths}
        return {name: mutants(name, path.read_text("utf-8")) for path, name in names.items()}


@dataclass(frozen=True)
class Known:
    """A mutant that no test notices, and why: it is ``equivalent``, or it just ``survives``."""

    key: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Report:
    """What became of each mutant that was tried, and what is known of those that nobody notices."""

    outcomes: Mapping[Mutant, Outcome]
    known: Mapping[str, Known]
    stale: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """How many of those that are not equivalent were killed, of 1."""
        counts = Counter(self.outcomes.values())
        killed = counts["killed"] + counts["by time"]
        return killed / (killed + counts["survived"]) if killed + counts["survived"] else 1.0

    def faults(self) -> list[str]:
        """Why a run fails, a line each; none when it passes."""
        found = [
            f"survives, and nobody said why: {mutant.path}:{mutant.lines[0]} {mutant.key}"
            for mutant, outcome in self.outcomes.items()
            if outcome == "survived" and mutant.key not in self.known
        ]
        found += [
            f"is listed in {KNOWN.name}, but noticed: {mutant.key}"
            for mutant, outcome in self.outcomes.items()
            if outcome in ("killed", "by time") and mutant.key in self.known
        ]
        found += [f"is listed in {KNOWN.name}, but no mutant any more: {key}" for key in self.stale]
        if self.share < ENOUGH:
            found.append(f"only {self.share:.1%} are killed; {ENOUGH:.0%} are wanted")
        return found

    def table(self) -> str:
        """A row for each file, and the sum."""
        names = ("killed", "by time", "equivalent", "survived")
        rows: dict[str, Counter[str]] = {}
        for mutant, outcome in self.outcomes.items():
            rows.setdefault(mutant.path, Counter())[outcome] += 1
        rows["in all"] = Counter(self.outcomes.values())
        lines = [f"{'':<44}{'made':>6}" + "".join(f"{name:>12}" for name in names)]
        for path, counts in rows.items():
            cells = "".join(f"{counts[name]:>12}" for name in names)
            lines.append(f"{path:<44}{counts.total():>6}{cells}")
        return "\n".join([*lines, f"killed of those that are not equivalent: {self.share:.1%}"])


def _python(place: Path) -> Iterator[Path]:
    yield from [place] if place.is_file() else place.rglob("*.py")


def here() -> Project:
    """This checkout; its families are found by scanning."""
    return Project(ROOT, project_files(), sources(ROOT), TESTS)


def sources(root: Path) -> tuple[str, ...]:
    """The files of a checkout that hold rules, models, rings and the engine."""
    paths = (path.relative_to(root) for place in SOURCES for path in _python(root / place))
    spoken = {*SPOKEN, *(f"{name}.py" for name in SPOKEN)}
    return tuple(sorted(path.as_posix() for path in paths if not spoken & {*path.parts}))


def sample(made: Mapping[str, Sequence[Mutant]], seed: int) -> Iterator[Mutant]:
    """All mutants in an order that takes one of each file in turn.

    Which comes first in a file follows from the seed and the mutant alone, so that a change to one
    file leaves the sample of the others as it was.
    """

    def lot(mutant: Mutant) -> bytes:
        return hashlib.blake2b(f"{seed} {mutant.key}".encode()).digest()

    shuffled = [sorted(found, key=lot) for found in made.values()]
    for turn in zip_longest(*shuffled):
        yield from (mutant for mutant in turn if mutant is not None)


def trials(covered: Covered, mutant: Mutant) -> Iterator[list[tuple[str, float]]]:
    """The tests to try: first those near the source, then the quickest that fit, then recorders.

    Near are those in the folder that has the name of the source's folder, and in a file with the
    name of the source; those of the recorder, and whoever is run for a model of that name: its
    parameter begins so. Of equally near files each gives its quickest test, then its next.
    """
    folder = [part for part in Path(mutant.path).parts[1:-1] if part != "rules"]
    near, stem = ("/".join(("tests", *folder, "")), RECORDER), Path(mutant.path).stem
    named = tuple(f"[{word}" for word in (stem, *folder[-1:]))
    ranked: list[tuple[bool, bool, int, float, str]] = []
    before: Counter[tuple[str, bool]] = Counter()
    running = covered.of(mutant.path, mutant.lines)
    for taken, name in sorted((covered.seconds[test], covered.tests[test]) for test in running):
        file = name.partition("::")[0]
        far = not name.startswith(near) and not any(word in name for word in named)
        of_name = stem in Path(file).stem
        ranked.append((not of_name, far, before[file, far], taken, name))
        before[file, far] += 1
    every = [(name, taken) for *_, taken, name in sorted(ranked)]
    first = list(within(every, QUICK))
    yield first
    more = [each for each in every if each not in first and each[1] < SLOW]
    nearer = list(within(more, NEAR))
    yield nearer
    others = sorted(set(every) - {*first, *nearer}, key=lambda each: each[::-1])
    quick = list(within([each for each in others if each[1] < SLOW], THOROUGH))
    yield quick
    slow = [each for each in others if each[0].startswith(RECORDER)]
    yield list(within([each for each in slow if each not in quick], RECORDED))


def within(tests: Sequence[tuple[str, float]], seconds: float) -> Iterator[tuple[str, float]]:
    """The first tests, as long as they fit."""
    for name, taken in tests:
        seconds -= taken
        if seconds < 0:
            return
        yield name, taken


def judged(judge: Judge, covered: Covered, mutant: Mutant) -> Outcome:
    """What becomes of a mutant."""
    with judge.spoiled(mutant):
        for tests in trials(covered, mutant):
            verdict = judge.tried(tests, PATIENCE) if tests else "survived"
            if verdict != "survived":
                return verdict
    return "survived"


def run(
    project: Project,
    chosen: Iterable[Mutant],
    known: Mapping[str, Known],
    *,
    processes: int = 1,
    allowance: float = ALLOWANCE,
    store: Path | None = None,
    say: Said = print,
) -> dict[Mutant, Outcome]:
    """Try mutants of a project; what the tests cover is kept in the folder ``store`` for next time.

    Raises:
        RuntimeError: when a test fails without any mutant.
    """
    with tempfile.TemporaryDirectory() as scratch:
        roots = [
            copied(project.root, project.files, Path(scratch) / f"copy{number}")
            for number in range(processes)
        ]
        coverage = Path(scratch) / "coverage"
        measure = partial(covering, roots[0], project.sources, project.tests, coverage, processes)
        covered = measured_once(project, store, measure)
        free: SimpleQueue[Judge] = SimpleQueue()
        judges = [Judge(root, allowance) for root in roots]

        def one(mutant: Mutant) -> tuple[Mutant, Outcome]:
            judge, begun = free.get(), time.monotonic()
            outcome = judged(judge, covered, mutant)
            free.put(judge)
            if outcome == "survived" and known.get(mutant.key, _UNKNOWN).kind == "equivalent":
                outcome = "equivalent"
            taken = time.monotonic() - begun
            say(f"{outcome:<10} {taken:5.1f} s  {mutant.path}:{mutant.lines[0]} {mutant.change}")
            return mutant, outcome

        for judge in judges:
            free.put(judge.__enter__())
        try:
            with ThreadPoolExecutor(processes) as pool:
                return dict(pool.map(one, chosen))
        finally:
            for judge in judges:
                judge.__exit__()


_UNKNOWN = Known("", "", "")


def measured_once(project: Project, store: Path | None, measure: Callable[[], Covered]) -> Covered:
    """What the tests cover, as it is in the folder ``store`` where nothing changed since then."""
    digest = hashlib.blake2b(repr((project.sources, project.tests)).encode(), digest_size=8)
    for path in project.files:
        if path.suffix in (".py", ".txt", ".toml"):
            digest.update(path.read_bytes())
    kept = store / f"{digest.hexdigest()}.json" if store else None
    if kept and kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=Covered)
    covered = measure()
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(covered))
    return covered


def read_known(text: str) -> dict[str, Known]:
    """The list of mutants that nobody notices: lines that name them, a line that says why.

    Raises:
        ValueError: when an entry has another form, or comes twice.
    """
    found: dict[str, Known] = {}
    for entry in (e for e in text.split("\n\n") if e.strip() and not e.startswith("#")):
        form = re.fullmatch(r"((?:.+\n)+?)\s*(equivalent|survives): ((?s:.*))", entry.strip())
        keys = form[1].splitlines() if form else []
        if not form or not found.keys().isdisjoint(keys):
            raise ValueError(f"not an entry: {entry!r}")
        found |= {key: Known(key, form[2], " ".join(form[3].split())) for key in keys}
    return found


def stale(known: Iterable[str], made: Mapping[str, Sequence[Mutant]]) -> tuple[str, ...]:
    """The listed mutants that can no longer be made."""
    keys = {mutant.key for found in made.values() for mutant in found}
    return tuple(key for key in known if key not in keys)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try a sample and print what became of it; 0 when all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED, help="which sample")
    parser.add_argument("--first", type=int, default=0, help="where in the sample to begin")
    parser.add_argument("--count", type=int, default=COUNT, help="how many to try")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--in", dest="inside", default="", help="only files whose path begins so")
    options = parser.parse_args(arguments)
    begun, project = time.monotonic(), here()
    made = project.made()
    known = read_known(KNOWN.read_text("utf-8"))
    drawn = sample({p: m for p, m in made.items() if p.startswith(options.inside)}, options.seed)
    chosen = list(islice(drawn, options.first, options.first + options.count))
    print(f"seed {options.seed}: {len(chosen)} of {sum(map(len, made.values()))} mutants")
    store = ROOT / "build" / "mutation"
    outcomes = run(project, chosen, known, processes=options.processes, store=store)
    report = Report(outcomes, known, stale(known, made))
    print(report.table(), *report.faults(), sep="\n")
    print(f"seed {options.seed}, {(time.monotonic() - begun) / 60:.1f} minutes")
    return bool(report.faults())


if __name__ == "__main__":
    sys.exit(main())
