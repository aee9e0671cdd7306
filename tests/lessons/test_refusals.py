"""What a lesson shows of a call that is refused: the kit's one line, and nothing else."""

from __future__ import annotations

import pytest

from kit import build
from kit.errors import KitError
from kit.lessons import refusal


def test_the_line_of_a_refused_call_is_given() -> None:
    """It is the text of the error, with the field, the value and what is allowed."""
    with pytest.raises(KitError) as error:
        build("twophase", {"rms": 0})
    assert refusal(build, "twophase", {"rms": 0}) == str(error.value)


def test_a_call_that_is_not_refused_is_told() -> None:
    """A lesson that shows a refusal which is none any more does not pass in silence."""
    with pytest.raises(KitError, match="build was not refused"):
        refusal(build, "twophase")


def test_other_errors_stay_what_they_are() -> None:
    """An error that is not the kit's is not taken for a refusal."""
    with pytest.raises(ZeroDivisionError):
        refusal(lambda: 1 / 0)
