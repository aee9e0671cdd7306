"""A run as data: model, parameters, safeguards off, actions and fingerprints, as readable JSON."""

from __future__ import annotations

import os
import tempfile
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit import __version__
from kit.engine.model import Model
from kit.engine.registry import build
from kit.errors import BadInput, misfit

FORMAT = 1
MOST_STEPS = 100_000
MOST_BYTES = 64_000_000


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step: which moment it starts from, its verb, the action itself, where it leads.

    ``verb`` is for people who read the file; the action is what counts, and the ``fingerprint`` of
    the state that it leads to.
    """

    parent: int
    verb: str
    action: Any
    fingerprint: str
    fold: int = 0


class Trace(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False):
    """A whole history. Step ``i`` (from 0) makes moment ``i + 1``; moment 0 is the start."""

    format: int
    kit: str
    model: str
    parameters: dict[str, Any]
    off: tuple[str, ...]
    steps: tuple[Step, ...]
    at: int = 0
    tip: int = 0


def trace_of(model: Model[Any, Any], steps: tuple[Step, ...], *, at: int, tip: int) -> Trace:
    """The trace of a model's run."""
    parameters = msgspec.to_builtins(model.parameters)
    return Trace(FORMAT, __version__, model.name, parameters, tuple(model.off), steps, at, tip)


def model_of(trace: Trace) -> Model[Any, Any]:
    """The model a trace was made with, from the registry.

    Raises:
        BadInput: for an unknown model, parameter or safeguard.
    """
    return build(trace.model, trace.parameters, trace.off)


def dumps(trace: Trace) -> str:
    """A trace as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(trace), indent=1).decode()


def loads(text: str | bytes, name: str = "trace") -> Trace:
    """A trace from JSON, strictly.

    Raises:
        BadInput: for malformed JSON, an unknown format number, unknown or missing fields.
    """
    if len(text) > MOST_BYTES:
        raise BadInput(name, f"{len(text)} bytes", f"at most {MOST_BYTES} bytes")
    try:
        head = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInput(name, _start(text), f"a trace in JSON ({error})") from None
    if not isinstance(head, dict):
        raise BadInput(name, _start(text), "a trace in JSON: an object with its fields")
    number = head.get("format")
    if type(number) is not int or number != FORMAT:
        field = "format" if name == "trace" else f"{name}: format"
        ring = "nodes" in head and "keyspaces" in head
        hint = "; this is a ring file, for ring and plan" if ring else ""
        raise BadInput(field, number, f"{FORMAT}, the one format this kit reads{hint}")
    try:
        trace = msgspec.convert(head, Trace, strict=True)
    except msgspec.ValidationError as error:
        raise misfit("trace", head, error, "as a trace has it") from None
    if len(trace.steps) > MOST_STEPS:
        raise BadInput("steps", len(trace.steps), f"at most {MOST_STEPS} steps")
    return trace


def read(path: str | Path) -> Trace:
    """The trace in a file.

    Raises:
        BadInput: when the file cannot be read or holds no trace.
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1).removeprefix(BOM_UTF8)
    except (OSError, ValueError) as error:
        raise BadInput("file", str(path), f"a readable file ({_reason(error)})") from None
    return loads(text, str(path))


def write(trace: Trace, path: str | Path) -> None:
    """Write a trace so that the file is always whole: the old one or the new one."""
    write_atomically(path, dumps(trace))


def write_atomically(path: str | Path, text: str) -> None:
    """Write ``text`` beside ``path``, then put it in place in one step.

    Raises:
        BadInput: when the place cannot be written.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".kit-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(handle)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink()
            raise
    except (OSError, ValueError) as error:
        raise BadInput("file", str(path), f"a writable place ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _start(text: str | bytes) -> str:
    shown = text[:40]
    return shown.decode(errors="replace") if isinstance(shown, bytes) else shown
