"""Whether a search that judges one thing alone reports it."""

from __future__ import annotations

from typing import Any

from kit.model.model import Model, Monitor, Property
from kit.search.check import check


def judges(model: Model[Any, Any]) -> dict[str, Property | Monitor]:
    """The properties, signs and monitors of a model, by name."""
    return {one.name: one for one in (*model.properties, *model.signs, *model.monitors)}


def assert_reported(model: Model[Any, Any], name: str, most: int = 20_000) -> None:
    """A search of a broken model, judging this alone, names it, or says that it is out of reach.

    ``most`` bounds the states.
    """
    one = judges(model)[name]
    if isinstance(one, Monitor):
        found = check(model, (), monitors=(one,), max_states=most)
    else:
        found = check(model, (one,), monitors=(), max_states=most)
    if isinstance(one, Property) and one.kind == "sometimes":
        assert (found.complete, found.violation, found.unreached) == (True, None, (name,))
        return
    assert found.broken is not None
    assert found.broken.property == name
    assert found.broken.witness
