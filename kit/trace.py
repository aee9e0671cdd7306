"""A run as data: model, parameters, safeguards off, actions and fingerprints, as readable JSON."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit import __version__
from kit.errors import BadInput
from kit.model import Model
from kit.registry import build

FORMAT = 1
MOST_STEPS = 100_000
MOST_BYTES = 64_000_000


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step: which moment it starts from, its verb, the action itself, where it leads."""

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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(name, _start(text), f"a trace in JSON ({error})") from None
    number = head.get("format") if isinstance(head, dict) else None
    if type(number) is not int or number != FORMAT:
        raise BadInput("format", number, f"{FORMAT}, the one format this kit reads")
    try:
        trace = msgspec.convert(head, Trace, strict=True)
    except msgspec.ValidationError as error:
        raise BadInput(name, _start(text), f"the fields of a trace ({error})") from None
    if len(trace.steps) > MOST_STEPS:
        raise BadInput("steps", len(trace.steps), f"at most {MOST_STEPS} steps")
    return trace


def read(path: str | Path) -> Trace:
    """The trace in a file.

    Raises:
        BadInput: when the file cannot be read or holds no trace.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise BadInput("file", str(path), f"a readable file ({error.strerror})") from None
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
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise BadInput("file", str(path), f"a writable place ({error.strerror})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink()
        raise BadInput("file", str(path), f"a writable place ({error.strerror})") from None


def _start(text: str | bytes) -> str:
    shown = text[:40]
    return shown.decode(errors="replace") if isinstance(shown, bytes) else shown
