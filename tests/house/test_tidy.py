"""House rules that no linter knows, as ordinary tests over the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.source import (
    ROOT,
    functions,
    imports,
    module_name,
    project_files,
    python_files,
    tree,
)

LONGEST_MODULE = 400
LARGEST_FILE = 500_000  # bytes; requirements.lock is the one list that may grow with its pins
KIT = python_files("kit")
TEXT = {".py", ".js", ".css", ".md", ".toml", ".yml", ".yaml", ".sh", ".txt", ".ipynb", ".svg", ""}
VAGUE = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}
# Two-phase commit has resource managers; there the word says something.
OWN_TERMS = {"kit.twophase.model": {"manager", "managers"}}

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


STOREYS = {
    **dict.fromkeys(("errors", "ring"), 0),
    **dict.fromkeys(("model", "registry", "compose", "log", "dataplane"), 1),
    **dict.fromkeys(("views", "importers", "timeline", "trace", "check", "scenario"), 2),
    **dict.fromkeys(("search", "search_memory", "audit", "fuzz", "fuzz_shrink", "progress"), 2),
    **dict.fromkeys(("rehearsal", "rehearsed", "java", "spark", "simulators"), 2),
    **dict.fromkeys(("widgets", "commands", "lessons", "cli", "lab", "__main__"), 3),
}


def families() -> set[str]:
    """The packages that hold a protocol: those without a storey of their own."""
    packages = {path.parent.name for path in KIT if path.parent.parent == ROOT / "kit"}
    return packages - STOREYS.keys()


def storey(module: str) -> int:
    """Where a module of the kit lives: 0 rules, 1 models, 2 drivers and views, 3 people."""
    _, *parts = module.split(".")
    if not parts:
        return 0
    if parts[0] in families():
        return 0 if len(parts) > 1 and parts[1].startswith("rules") else 1
    return STOREYS[parts[0]]


def is_pure(path: Path) -> bool:
    """Whether the rules and models' restrictions hold for a file: all of the two lower storeys."""
    return storey(module_name(path)) <= 1 and module_name(path) not in ("kit", "kit.registry")


def kit_imports(path: Path) -> set[str]:
    """The modules of the kit that a file imports, each once, as modules that exist."""
    known = {module_name(other) for other in KIT}
    return {name for name in imports(path) if name in known and name != "kit"}


@pytest.mark.parametrize("path", KIT, ids=module_name)
def test_modules_are_short(path: Path) -> None:
    """A module of the kit has at most 400 lines; one that grows past that holds two concepts."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", [path for path in KIT if is_pure(path)], ids=module_name)
def test_rules_and_models_are_pure(path: Path) -> None:
    """Rules and models import no clock, chance, file, process, picture or front end."""
    impure = {name for name in imports(path) if name.split(".")[0] in IMPURE}
    calls = {
        node.func.id
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in IMPURE_CALLS
    }
    chance = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert not impure
    assert not calls
    assert not {name for name in chance if name.startswith(("np.random", "numpy.random"))}


def test_every_module_has_its_storey() -> None:
    """Each module of the kit has a storey by name, or belongs to a family, which has two."""
    modules = {path.stem for path in KIT if path.parent == ROOT / "kit"} - {"__init__"}
    assert modules <= STOREYS.keys()
    rules_or_models = {path.parent.name for path in KIT if path.stem.startswith(("rules", "model"))}
    assert families() <= rules_or_models


@pytest.mark.parametrize("path", KIT, ids=module_name)
def test_imports_point_downwards(path: Path) -> None:
    """No module imports one of a higher storey: rules, models, drivers and views, people."""
    own = storey(module_name(path))
    assert not {name for name in kit_imports(path) if storey(name) > own}


@pytest.mark.parametrize("path", KIT, ids=module_name)
def test_no_family_imports_another(path: Path) -> None:
    """Protocol families stand side by side; what joins two is written in a composition."""
    parts = module_name(path).split(".")
    if len(parts) > 1 and parts[1] in families():
        others = {f"kit.{name}" for name in families() - {parts[1]}}
        assert not {name for name in kit_imports(path) if ".".join(name.split(".")[:2]) in others}


@pytest.mark.parametrize(
    "path", python_files("kit", "tools", "benchmarks", "tests"), ids=module_name
)
def test_names_say_something(path: Path) -> None:
    """No file, class or function is named after nothing: utils, helpers, manager, common."""
    names = [*path.relative_to(ROOT).with_suffix("").parts]
    names += [node.name for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
    names += [node.name for node in functions(path)]
    words = {
        word.lower()
        for name in names
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name.replace("_", " "))
    }
    assert not words & VAGUE - OWN_TERMS.get(module_name(path), set())


@pytest.mark.parametrize("path", KIT, ids=module_name)
def test_public_names_are_explained(path: Path) -> None:
    """Every public function and class of the kit says what it means."""
    silent = [
        node.name
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not silent


@pytest.mark.parametrize("path", python_files("tests"), ids=lambda path: path.stem)
def test_every_test_says_what_it_shows(path: Path) -> None:
    """Every test has a docstring that gives the behaviour in a sentence."""
    silent = [
        node.name
        for node in functions(path)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent


@pytest.mark.parametrize("path", python_files("tests"), ids=lambda path: path.stem)
def test_no_test_steps_aside(path: Path) -> None:
    """No test is marked to be skipped or expected to fail."""
    banned = {"pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail", "pytest.importorskip"}
    used = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert not used & banned


def test_silenced_checkers_give_a_reason() -> None:
    """A `type: ignore` or `noqa` names its code and, behind it, its reason."""
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
