"""House rules that no linter knows, as ordinary tests over the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kit.model.family import families
from tests.house.source import (
    ROOT,
    functions,
    imports,
    module_name,
    nodes,
    offenders,
    project_files,
    python_files,
    tree,
)

LARGEST_FILE = 500_000  # bytes; requirements.lock is the one list that may grow with its pins
KIT = python_files("kit")
TEXT = {".py", ".js", ".css", ".md", ".toml", ".yml", ".yaml", ".sh", ".txt", ".ipynb", ".svg", ""}
VAGUE = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}
# Two-phase commit has resource managers; there the word says something.
OWN_TERMS = {"kit.protocols.twophase": {"manager", "managers"}}

# What a rule or a model may not touch: clocks, chance, files, processes, pictures, front ends.
IMPURE = {
    *("time", "datetime", "random", "secrets", "uuid", "os", "io", "pathlib", "tempfile", "shutil"),
    *("socket", "subprocess", "threading", "asyncio", "urllib", "http", "logging", "sys"),
    *("IPython", "anywidget", "graphviz", "ipywidgets", "jupyterlab", "matplotlib", "pandas"),
    *("pyarrow", "pyspark", "traitlets"),
}
IMPURE_CALLS = {"open", "input", "print", "exec", "eval"}

# Built from parts, so that this file itself names no host and no machine's folder.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("debian", "org"),
        ("anaconda", "org"),
    )
]
MACHINE_PATHS = [f"/{name}/" for name in ("work", "root", "Users", "opt/pypi", "opt/wheels")]
MACHINE_PATHS += ["/" + "home/" + user for user in ("user", "runner", "ubuntu", "jovyan")]

# The storeys of a family, the lowest first; what stands below its folder under no such name is a
# model, called what it is. ``family`` says what there is and imports nothing of it.
STOREYS = ("rules", "model", "facts", "entries", "views", "runs", "lessons", "commands")
NAMED = dict(zip(STOREYS, STOREYS, strict=True)) | {
    "panels": "views",
    "spark": "runs",
    "dry_run": "runs",
    "drill": "runs",
    "trace_rows": "runs",
    "simulators": "runs",
    "quorums": "runs",
    "scenario_output": "facts",
    "join_entry": "entries",
    "tools": "facts",
    "clients": "facts",
}
PURE = ("rules", "model", "facts")
FRONTS = {"commands", "lessons", "operators", "spark", "views", "widgets"}
PURE_ENGINE = {"model", "declared", "compose", "log", "network", "actors", "links"}
SETS = ("set", "frozenset")


def storey(module: str) -> str:
    """The storey of a module of a family; empty for any other, and for what says what it has."""
    kit, _, below = module.partition("kit.protocols.")
    _, _, place = below.partition(".")
    named = [NAMED[part] for part in place.split(".") if part in NAMED]
    return (named or ["model"])[0] if not kit and place and place != "family" else ""


def is_pure(path: Path) -> bool:
    """Whether a file is a rule, a model or a fact, or belongs to the rings."""
    first = path.relative_to(ROOT / "kit").parts[0]
    if first == "protocols":
        return storey(module_name(path)) in PURE
    return first in ("ring", "errors.py") or (first == "model" and path.stem in PURE_ENGINE)


def _impure(path: Path) -> Iterator[str]:
    yield from (name for name in imports(path) if name.split(".")[0] in IMPURE)
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from {node.func.id} & IMPURE_CALLS
        if isinstance(node, ast.Attribute) and node.attr == "random":
            yield from {ast.unparse(node)} & {"np.random", "numpy.random"}


def test_rules_and_models_are_pure() -> None:
    """Rules, models and facts import no clock, chance, file, process, picture or front end."""
    assert not offenders([path for path in KIT if is_pure(path)], _impure)


def _upwards(path: Path) -> Iterator[str]:
    """What a file of a family imports from a higher storey, of its own family or of another."""
    own = storey(module_name(path))
    for name in imports(path) if own else ():
        above = storey(name)
        if above and STOREYS.index(above) > STOREYS.index(own):
            yield name


def test_a_family_imports_downwards_only() -> None:
    """Rules know no model, models no facts and no pictures, pictures no lessons and no commands.

    What import-linter cannot say, since a model file is called what it is.
    """
    assert not offenders(KIT, _upwards)


def _fronts(path: Path) -> Iterator[str]:
    """What a rule, a model or a fact imports of the storeys that show and drive models."""
    for name in imports(path):
        if name.split(".")[0] == "kit" and name.split(".")[1:2] and name.split(".")[1] in FRONTS:
            yield name


def test_models_know_nothing_that_shows_them() -> None:
    """Rules, models and facts import no view, widget, lesson, command, importer or Spark module."""
    assert not offenders([path for path in KIT if is_pure(path)], _fronts)


def _looked_up(path: Path) -> Iterator[str]:
    """Where the code of a node is asked for by its name."""
    for node in nodes(path):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == "code":
            yield f"line {called.lineno}: {ast.unparse(node)}"


def test_rules_look_no_name_up() -> None:
    """Names become node codes at the edge, once: no ring and no rule asks for a name's code."""
    rules = [path for path in KIT if {"rules", "ring"} & set(path.relative_to(ROOT).parts)]
    assert not offenders(rules, _looked_up)


def _imports_of_families(path: Path) -> Iterator[str]:
    """What a file imports of families that it may not know."""
    parts = module_name(path).split(".")
    own = parts[2] if parts[:2] == ["kit", "protocols"] and len(parts) > 2 else None
    allowed = {own} | {name for f in families() if f.name == own for name in f.composes}
    for name in imports(path):
        _, _, below = name.partition("kit.protocols.")
        if below and below.split(".")[0] not in allowed:
            yield name


def test_no_module_imports_a_family_that_it_may_not_know() -> None:
    """Outside kit/protocols nothing imports a family; a family imports those that it composes.

    ``composes`` is the only way to know another family: import-linter cannot read it.
    """
    assert not offenders(KIT, _imports_of_families)


def test_outside_their_folders_no_model_is_named() -> None:
    """No source outside kit/protocols names a family or one of its models.

    The property ``tablets`` of a keyspace or table is a word of CQL, and to commit is what a log
    does.
    """
    names = {f.name for f in families()} | {name for f in families() for name in f.models}
    outside = [path for path in KIT if "protocols" not in path.parts]

    def named(path: Path) -> Iterator[str]:
        for node in nodes(path):
            if isinstance(node, ast.Constant) and node.value in names - of_others.get(
                path.name, set()
            ):
                yield f"line {node.lineno}: {node.value}"

    of_others = {"schema.py": {"tablets"}, "log.py": {"commit"}, "snapshots.py": {"topology"}}
    assert not offenders(outside, named)


def _vague(path: Path) -> Iterable[str]:
    names = [*path.relative_to(ROOT).with_suffix("").parts]
    names += [node.name for node in nodes(path) if isinstance(node, ast.ClassDef)]
    names += [node.name for node in functions(path)]
    words = {
        word.lower()
        for name in names
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name.replace("_", " "))
    }
    family = ".".join(module_name(path).split(".")[:3])
    return words & VAGUE - OWN_TERMS.get(family, set())


def test_names_say_something() -> None:
    """No file, class or function is named after nothing: utils, helpers, manager, common."""
    assert not offenders(python_files("kit", "tools", "benchmarks", "tests"), _vague)


def _unexplained(path: Path) -> Iterable[str]:
    return [
        node.name
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]


def test_public_names_are_explained() -> None:
    """Every public function and class of the kit says what it means."""
    assert not offenders(KIT, _unexplained)


def _other_markup(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            yield from re.findall(r"(?<!`)(?::[a-z]+:)?`(?!`)[^`]+`", re.sub("``.+?``", "", text))


def test_docstrings_mark_code_one_way() -> None:
    """Code in docstrings stands between double backquotes: no single ones, and no roles."""
    assert not offenders(python_files("kit", "tools", "benchmarks", "tests"), _other_markup)


def _silent_tests(path: Path) -> Iterable[str]:
    return [
        node.name
        for node in functions(path)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]


def test_every_test_says_what_it_shows() -> None:
    """Every test has a docstring that gives the behaviour in a sentence."""
    assert not offenders(python_files("tests"), _silent_tests)


def _unordered(path: Path) -> Iterator[str]:
    """Parameters of a test that are a set: two processes give them different orders."""
    for node in nodes(path):
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(called, ast.Attribute) or called.attr != "parametrize":
            continue
        if isinstance(node, ast.Call) and ast.unparse(called) == "pytest.mark.parametrize":
            values = node.args[1]
            made = isinstance(values, ast.Call) and ast.unparse(values.func) in SETS
            if made or isinstance(values, ast.Set | ast.SetComp):
                yield f"{node.lineno}"


def test_parameters_of_tests_have_an_order() -> None:
    """Else two workers collect different tests, and none is run."""
    assert not offenders(python_files("tests"), _unordered)


def _steps_aside(path: Path) -> Iterable[str]:
    banned = {"pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail", "pytest.importorskip"}
    last = {name.rpartition(".")[2] for name in banned}
    attributes = (node for node in nodes(path) if isinstance(node, ast.Attribute))
    return {ast.unparse(node) for node in attributes if node.attr in last} & banned


def test_no_test_steps_aside() -> None:
    """No test is marked to be skipped or expected to fail."""
    assert not offenders(python_files("tests"), _steps_aside)


def test_silenced_checkers_give_a_reason() -> None:
    """A ``type: ignore`` or ``noqa`` names its code and, behind it, its reason."""
    mark = re.compile(r"#\s*(type:\s*ignore|noqa)(?P<rest>.*)")
    reason = re.compile(r"^(\[[\w, -]+\]|: ?[A-Z]+\d+(, ?[A-Z]+\d+)*)\s+(# )?\S+")
    bare = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in python_files("kit", "tools", "benchmarks", "tests")
        if path != Path(__file__)
        for line in path.read_text(encoding="utf-8").splitlines()
        if (found := mark.search(line)) and not reason.match(found["rest"])
    ]
    assert not bare


def test_no_file_is_large() -> None:
    """No stray large file is committed."""
    large = [
        f"{path.relative_to(ROOT)}: {path.stat().st_size}"
        for path in project_files()
        if path.stat().st_size > LARGEST_FILE
    ]
    assert not large


def test_no_file_names_a_machine_or_a_registry() -> None:
    """No committed file names a registry's host or a folder of the machine it was made on."""
    found = []
    for path in project_files():
        if path.suffix in TEXT:
            text = path.read_text(encoding="utf-8", errors="replace")
            found += [
                f"{path.relative_to(ROOT)}: {word}"
                for word in (*HOSTS, *MACHINE_PATHS)
                if word in text
            ]
    assert not found


def test_nothing_is_left_to_do() -> None:
    """No source carries a note that something is still to be done."""
    words = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
    left = [
        str(path.relative_to(ROOT))
        for path in project_files()
        if path.suffix in {".py", ".js", ".css", ".sh", ".md", ".toml"}
        and words.search(path.read_text(encoding="utf-8"))
    ]
    assert not left


def test_no_merge_is_left_half_done() -> None:
    """No text carries the marks between two versions that were to become one."""
    marks = re.compile(r"^(" + "|".join(mark * 7 for mark in "<>") + r") ", re.MULTILINE)
    left = [
        str(path.relative_to(ROOT))
        for path in project_files()
        if path.suffix in {".py", ".js", ".css", ".sh", ".md", ".toml", ".yml", ".txt", ".ipynb"}
        and marks.search(path.read_text(encoding="utf-8"))
    ]
    assert not left


def test_how_many_examples_are_drawn_is_said_in_one_way() -> None:
    """Settings of a test's own would hold in deep, too; ``examples`` multiplies there."""
    others = [
        path for path in python_files("tests") if path.name not in ("conftest.py", "examples.py")
    ]
    assert not offenders(others, lambda path: imports(path) & {"hypothesis.settings"})
