"""The whole sample of mutants; ``make test-deep`` runs it in a stage of its own."""

from __future__ import annotations

import pytest

from tests.quality.mutation import main


@pytest.mark.deep
@pytest.mark.spec("H-021")
def test_the_tests_notice_what_is_changed() -> None:
    """Of 400 mutants all but those that are listed with a reason are noticed."""
    assert main([]) == 0
