"""A model of one's own on the command line: a Python file in the place of a model's name."""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from kit.edge.paths import path_of
from kit.errors import BadInput, KitError
from kit.model import registry
from kit.model.declared import Declared, entry
from kit.model.family import model_places
from kit.model.source import line_of, raised_at

ENDING = ".py"
FILE = "a Python file with a model (lock.py), or one of several by its class (lock.py:Lock)"


def is_file(name: str) -> bool:
    """Whether a model is given as a Python file, with or without a class."""
    return _parts(name)[0].casefold().endswith(ENDING)


def or_a_file(name: str, allowed: str) -> str:
    """The names that are allowed where ``name`` is neither a model of the kit nor a file."""
    beside = f"{name}{ENDING}"
    if beside in map(str, Path().glob(f"*{ENDING}")):
        return f"{beside}, which is a file here; or {allowed}"
    return f"{allowed}; or {FILE}"


def entry_in(name: str) -> registry.Entry:
    """The entry of the model in a file, or of its class behind a colon; it is registered.

    Raises BadInput where there is no such file or class, where the file raises, or has several.
    """
    file, wanted = _parts(name)
    path = path_of(file, "model", FILE)
    if path.is_dir():
        raise BadInput("model", file, f"{FILE}; this is a folder")
    if not path.is_file():
        raise BadInput("model", file, f"{FILE}; there is no such file")
    if path.suffix != ENDING:
        raise BadInput("model", file, f"{FILE}; its name must end in {ENDING}, in small letters")
    module = _loaded(path)
    models = {
        each.__name__: each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Declared)
        if each.__module__ == module.__name__ and hasattr(each, "name")
    }
    if wanted and wanted not in models:
        allowed = registry.one_of(wanted, list(models)) if models else "a class below Declared"
        raise BadInput(f"model in {path.name}", wanted, allowed)
    if not models:
        raise BadInput("model", file, "a file that defines a class below Declared, with a name")
    if len(models) > 1 and not wanted:
        allowed = "one of " + ", ".join(f"{path.name}:{each}" for each in models)
        raise BadInput("model", f"{file}, which has {len(models)}", allowed)
    model = models[wanted] if wanted else next(iter(models.values()))
    if model.name in model_places():
        allowed = "a name that no model of the kit has"
        raise BadInput(f"name of {model.__name__}", model.name, allowed)
    made = entry(model)
    registry.register(made)
    return made


def _parts(name: str) -> tuple[str, str]:
    file, _, wanted = name.rpartition(":") if f"{ENDING}:" in name.casefold() else (name, "", "")
    return file, wanted


def _loaded(path: Path) -> ModuleType:
    """The module that a file is; what lies beside it can be imported, as by ``python lock.py``.

    Raises BadInput for a file that does not run, naming the line.
    """
    sys.path.insert(0, os.fspath(path.resolve().parent))
    spec = spec_from_file_location(f"own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KitError:
        raise
    except SyntaxError as error:
        line = line_of(error.filename or path.name, error.lineno or 1)
        raise BadInput(f"model, {line}", error.msg, "a Python file that runs") from None
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise BadInput(f"model, {raised_at(error)}", said, "a Python file that runs") from None
    return module
