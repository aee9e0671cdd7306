"""The dataplane model in the registry, with the configurations worth seeing."""

from __future__ import annotations

from kit.dataplane.model import Dataplane
from kit.dataplane.parameters import DataplaneParameters
from kit.dataplane.safeguards import SAFEGUARDS
from kit.registry import Entry


def build(parameters: DataplaneParameters, off: tuple[str, ...] = ()) -> Dataplane:
    """The model."""
    return Dataplane(parameters, off)


ENTRY = Entry("dataplane", Dataplane.title, DataplaneParameters, build, SAFEGUARDS)
