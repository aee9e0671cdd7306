"""Parameters that come out of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kit.model.registry import build


@pytest.mark.parametrize("number", [np.int64(4), np.int32(4), np.uint8(4)], ids=repr)
def test_whole_numbers_of_numpy_are_numbers(number: Any) -> None:
    """A slider or an array hands over numpy's whole numbers: they are taken as what they are."""
    model = build("twophase", {"rms": number})
    assert model.parameters.rms == 4  # type: ignore[attr-defined]  # the parameters of twophase
    assert type(model.parameters.rms) is int  # type: ignore[attr-defined]  # likewise
