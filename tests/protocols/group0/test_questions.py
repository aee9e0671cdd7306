"""Questions on group 0 and discovery are answered by the models."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import effective, founders, predict
from kit.model.timeline import Timeline
from kit.protocols.group0.discovery import Discovery
from tests.protocols.group0.driving import Driven


def test_what_takes_effect_is_the_chain_of_states() -> None:
    """A retried command stands in the log twice; the first entry is right, a wrong one is shown."""
    driven = Driven(operations=("create table ks.t at A",), elections=1)
    driven.submitted("create table ks.t at A").do("commit 4 by A B", "elect B", "retry A")
    driven.do("commit 4 by A B")
    prediction = predict(driven.timeline, effective)
    right = prediction.choices[:2]
    assert prediction.answer(*right).passed
    wrong = prediction.answer(*prediction.choices[:3])
    assert not wrong.passed
    assert "The states follow one another: 0 → 1, 1 → 4." in repr(wrong)
    assert wrong.evidence is not None


@pytest.mark.parametrize(
    ("seeds", "right"),
    [
        (("A", "A", "A"), ("A",)),
        (("C", "C", "C"), ("A", "B", "C")),
        (("A", "B", "A B"), ("A", "B")),
    ],
)
def test_who_may_found_a_group_is_found_by_a_search(
    seeds: tuple[str, ...], right: tuple[str, ...]
) -> None:
    """Whoever founds one in some run of the messages is right, and nobody else."""
    prediction = predict(Discovery(Discovery.Parameters(seeds)), founders)
    assert prediction.right == right
    assert prediction.answer(*right).passed


def test_a_question_about_the_wrong_thing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: no log, no discovery, too large a search."""
    monkeypatch.setattr("kit.protocols.group0.lessons._MOST", 10_000)
    with pytest.raises(KitError, match="group 0's log has no entry"):
        predict(Timeline(Discovery()), effective)
    with pytest.raises(BadInput, match="discovery"):
        predict(Driven().timeline, founders)
    with pytest.raises(KitError, match="more than 10,000 states"):
        predict(Discovery(Discovery.Parameters(("A",) * 5)), founders)
