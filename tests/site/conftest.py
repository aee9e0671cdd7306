"""A page registers the models that its cells define: the next test has the kit's alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.model import registry


@pytest.fixture(autouse=True)
def only_models_of_the_kit() -> Iterator[None]:
    """Forget what was registered by a cell."""
    former = set(registry.model_names())
    yield
    for name in set(registry.model_names()) - former:
        del registry._ENTRIES[name]
