"""What a search or a walk was about: which configuration, what was judged, what was left out.

A verdict without these reads as more than it is: that nothing breaks is said of one configuration
and of what was judged, and of nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from kit.engine.model import Model, Monitor, Property
from kit.engine.parameters import plainly
from kit.errors import shorten

LONGEST = 60  # characters of a parameter's value in a line
KINDS = ("always", "step", "monitor", "sometimes", "goal")


class Scope(Struct, frozen=True):
    """A configuration and what was judged of it.

    ``parameters`` are those that differ from the model's defaults, and those that the smallest
    configuration of a safeguard sets that is ``off`` (its id and name); ``judged`` gives the names
    of all that was judged by kind (``monitor`` among them), ``left_out`` names the model's own
    properties and monitors that were not.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        """``rf=1; without S-01 progress-barrier``."""
        values = [f"{name}={_value(value)}" for name, value in self.parameters.items()]
        parameters = ", ".join(values) or "every parameter at its default"
        return f"{parameters}; without {', '.join(self.off)}" if self.off else parameters

    def without(self, names: tuple[str, ...]) -> Scope:
        """The same, when these could not be judged in the end."""
        judged = {
            kind: tuple(name for name in given if name not in names)
            for kind, given in self.judged.items()
        }
        return replace(self, judged=judged)

    def lines(self) -> tuple[str, ...]:
        """What it was about, in two or three lines."""
        judged = [f"{kind} {', '.join(names)}" for kind, names in self.judged.items() if names]
        lines = [
            f"configuration: {self.configuration}",
            f"judged: {'; '.join(judged) or 'nothing'}",
        ]
        if self.left_out:
            lines.append(f"not judged: {', '.join(self.left_out)}")
        return tuple(lines)

    def as_plain(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "configuration": {"parameters": dict(self.parameters), "off": list(self.off)},
            "judged": {kind: list(names) for kind, names in self.judged.items()},
            "not_judged": list(self.left_out),
        }


def scope_of(
    model: Model[Any, Any], properties: Iterable[Property], monitors: Iterable[Monitor]
) -> Scope:
    """The scope of a search of a model that judges these properties and monitors."""
    judged = [(str(prop.kind), prop.name) for prop in properties]
    judged += [("monitor", monitor.name) for monitor in monitors]
    names = {name for _, name in judged}
    own = [prop.name for prop in (*model.properties, *model.signs)]
    own += [monitor.name for monitor in model.monitors]
    off = [safeguard for safeguard in model.safeguards if safeguard.name in model.off]
    return Scope(
        _parameters(model, {name for safeguard in off for name in safeguard.smallest}),
        tuple(f"{safeguard.id} {safeguard.name}" for safeguard in off),
        {kind: tuple(name for each, name in judged if each == kind) for kind in KINDS},
        tuple(name for name in own if name not in names),
    )


def _parameters(model: Model[Any, Any], set_by_safeguards: set[str]) -> dict[str, Any]:
    """The parameters worth telling, as plain data."""
    values = _plain(model.parameters)
    try:
        defaults = _plain(type(model.parameters)())
    except TypeError:  # some have no default
        defaults = {}
    return {
        name: value
        for name, value in values.items()
        if name in set_by_safeguards or name not in defaults or value != defaults[name]
    }


def _plain(parameters: Struct) -> dict[str, Any]:
    """By their names, those of a struct one by one; as they are where types cannot be read."""
    try:
        return plainly(parameters)
    except (TypeError, NameError):
        plain: dict[str, Any] = msgspec.to_builtins(parameters, enc_hook=shorten)
        return plain


def _value(value: Any) -> str:
    text = json.dumps(value, default=shorten)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
