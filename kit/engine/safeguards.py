"""Safeguards: rules of a protocol that can be switched off, to see what they are for.

A safeguard is described once, by a ``Safeguard``. What a model's rules ask is a *switch*: a
bool field of a struct that the family declares beside its rules. The name of the safeguard is the
name of the field, with hyphens. So a rule cannot ask for a switch that there is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import fields, replace

from kit.errors import BadInput

Switches = TypeVar("Switches", bound=Struct)


class LaterCase(Struct, frozen=True):
    """A configuration that begins at the end of a run, where the invariant ``breaks`` may break.

    ``scenario`` names a scenario file of the kit (``dataplane/deleted-data-returns``): its header
    gives the parameters, its lines above the first one that is ``before`` give the run.
    """

    breaks: str
    scenario: str
    before: str


class Safeguard(Struct, frozen=True):
    """A rule of the protocol that can be switched off, to see what it is for.

    ``protects`` names the invariants that break without it (``INV-QI``), ``smallest`` the
    parameters of the smallest configuration in which one of them does. For others of them
    ``wider`` says what they need besides, and ``later`` are configurations in which something has
    happened before. Where a search shows that nothing breaks, it protects nothing.
    """

    name: str
    id: str
    title: str
    protects: tuple[str, ...]
    smallest: Mapping[str, Any] = field(default_factory=dict)
    later: tuple[LaterCase, ...] = ()
    wider: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def shown_by(self, smallest: Mapping[str, Any], *later: LaterCase) -> Safeguard:
        """The same safeguard in a model where these are the smallest configurations."""
        return replace(self, smallest=smallest, later=later)

    def seen_by(self, *invariants: str) -> Safeguard:
        """The same safeguard in a model that judges these of its invariants alone."""
        wider = {name: more for name, more in self.wider.items() if name in invariants}
        return replace(self, protects=invariants, wider=wider)

    def breaking(self, invariant: str) -> dict[str, Any]:
        """The parameters with which an invariant that it protects breaks without it."""
        return {**self.smallest, **self.wider.get(invariant, {})}


def switched_off(switches: type[Switches], off: Iterable[str]) -> Switches:
    """The switches of a model with these safeguards off, by their names, and all others on.

    ``switches`` is a struct of bool fields, or of such structs.

    Raises:
        BadInput: for a name that is none of its fields.
    """
    names = {name.replace("-", "_"): name for name in off}
    known = set(_switches(switches))
    for switch, name in names.items():
        if switch not in known:
            allowed = ", ".join(sorted(known)).replace("_", "-")
            raise BadInput("safeguard", name, f"one of {allowed}")
    return _without(switches, names)


# To look at the types of fields takes longer than all else of a model that is built.
_fields = cache(fields)


def _switches(switches: type[Struct]) -> Iterator[str]:
    for each in _fields(switches):
        if each.type is bool:
            yield each.name
        else:
            yield from _switches(each.type)


def _without(switches: type[Switches], names: Mapping[str, str]) -> Switches:
    return switches(
        **{
            each.name: each.name not in names if each.type is bool else _without(each.type, names)
            for each in _fields(switches)
        }
    )
