"""A run as data: model, parameters, safeguards off, actions and fingerprints, as readable JSON.

A trace says which revision of the model made it. Where that is another one today, its actions are
what counts: where they lead is not compared.
"""

import os
from difflib import get_close_matches
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from kit import __version__
from kit.edge.arguments import checked
from kit.edge.json_text import located, parse_json
from kit.edge.reading import read_bytes, text_of
from kit.edge.writing import write_whole
from kit.errors import BadInput, BadType, misfit
from kit.model.model import Model
from kit.model.registry import LONGEST_WORD, build, model_names

FORMAT = 2
MOST_STEPS = 100_000
MOST_BYTES = 64_000_000
LONGEST_INTEGER = 1000  # digits
OF_OWN = (
    "one of your own is defined first, then Player(Lock()).load(path) opens its trace, or "
    "register(entry(Lock)) makes it known"
)


class RecordedStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One step: which moment it starts from, its verb, the action itself, where it leads.

    ``verb`` is for people who read the file; the action is what counts, and the ``fingerprint`` of
    the state that it leads to. ``off`` are the safeguards without which it was done, where they are
    others than the trace's.
    """

    parent: int
    verb: str
    action: Any
    fingerprint: str
    fold: int = 0
    off: tuple[str, ...] | UnsetType = UNSET


class Trace(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False):
    """A whole history. Step ``i`` (from 0) makes moment ``i + 1``; moment 0 is the start.

    ``revision`` is the model's own.
    """

    format: int
    kit: str
    model: str
    revision: Annotated[int, Meta(ge=1)]
    parameters: dict[str, Any]
    off: tuple[str, ...]
    steps: tuple[RecordedStep, ...]
    at: int = 0
    tip: int = 0


@checked
def trace_of(
    model: Model[Any, Any], steps: tuple[RecordedStep, ...], *, at: int, tip: int
) -> Trace:
    """The trace of a model's run."""
    parameters = msgspec.to_builtins(model.parameters)
    made = FORMAT, __version__, model.name, model.revision
    return Trace(*made, parameters, tuple(model.off), steps, at, tip)


@checked
def model_of(trace: Trace) -> Model[Any, Any]:
    """A trace's model, from the registry.

    Raises BadInput for a name that is not there, such as of a model of somebody's own.
    """
    if trace.model not in model_names():
        raise not_here(trace.model, OF_OWN)
    return build(trace.model, trace.parameters, trace.off)


@checked
def not_here(name: str, given: str) -> BadInput:
    """The error for a trace of a model that is not known here, and how one's own is ``given``."""
    near = get_close_matches(name[:LONGEST_WORD], model_names(), n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return BadInput("model of the trace", name, f"a model that is known here{meant}; {given}")


@checked
def action_from(model: Model[Any, Any], plain: Any, field: str) -> Any:
    """An action from plain data. Raises BadInput for what is none."""
    kinds = getattr(model, "Action", "none")
    try:
        return msgspec.convert(plain, kinds, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise misfit(field, plain, error, f"an action of {model.name}") from None
    except TypeError as error:  # classes that msgspec cannot tell apart, or none
        allowed = f"classes of actions, each with its own tag: A | B ({error})"
        raise BadType(f"Action of {model.name}", kinds, allowed) from None


@checked
def dumps(trace: Trace) -> str:
    """A trace as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(trace), indent=1).decode()


@checked
def loads(text: str | bytes, name: str = "trace") -> Trace:
    """A trace from JSON, strictly. Raises BadInput for no JSON, a wrong format or field."""
    if len(text) > MOST_BYTES:
        raise BadInput(name, f"{len(text)} bytes", f"at most {MOST_BYTES} bytes")
    if isinstance(text, bytes):
        text = text_of(text, name, text[:40])
    head = parse_json(text, name, "a trace in JSON", LONGEST_INTEGER)
    if not isinstance(head, dict):
        raise BadInput(name, text[:40], "a trace in JSON: an object with its fields")
    number = head.get("format")
    if type(number) is not int or number != FORMAT:
        field = "format" if name == "trace" else f"{name}: format"
        hint = " (this is a ring file: use ring or plan)" if "keyspaces" in head else ""
        raise BadInput(field, number, f"{FORMAT}, the format this kit reads{hint}")
    try:
        trace = msgspec.convert(head, Trace, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        wrong = misfit("trace", head, error, "as in a trace")
        raise located(wrong, text) from None
    if len(trace.steps) > MOST_STEPS:
        raise BadInput("steps", len(trace.steps), f"at most {MOST_STEPS} steps")
    return trace


@checked
def is_trace(text: str) -> bool:
    """Whether a text, or its beginning, looks like a trace: what ``Trace`` begins with, in JSON."""
    return text.lstrip().startswith("{") and all(
        f'"{name}"' in text for name in Trace.__struct_fields__[:3]
    )


@checked
def read(path: str | os.PathLike[str]) -> Trace:
    """The trace in a file. Raises BadInput when the file cannot be read or holds no trace."""
    return loads(read_bytes(path, "file", MOST_BYTES), str(path))


@checked
def write(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace so that the file is always whole: the old one or the new one.

    Raises BadInput when the place cannot be written; BadType for what is no trace.
    """
    write_whole(path, dumps(trace))
