"""What is done about dead nodes: cases of the published manuals, as text data by release."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.protocols.group0.rules.releases import RELEASES
from kit.protocols.topology.rules.remedies import NEVER, STEPS, numbered, remedy_steps

CASES = [
    part.split("\n")
    for part in Path(__file__).with_name("remedies.txt").read_text("utf-8").strip().split("\n\n")
    if not part.startswith("#")
]

KINDS, NAMED = ({each: each for each in every} for every in (STEPS, RELEASES))


@pytest.mark.parametrize("lines", CASES, ids=[lines[0] for lines in CASES])
def test_the_steps_of_the_manuals(lines: list[str]) -> None:
    """Each says what it has to, in this order, and nothing that is not for this release."""
    kind, release, node, dead, place = ("" if w == "." else w for w in lines[0].split())
    others = dead.split(",") if dead else []
    steps = remedy_steps(KINDS[kind], node, others, NAMED[release], place=place)
    text = "\n".join(f"{step.name}: {step.what}" for step in steps)
    at = 0
    for sign, words in (line.split(" ", 1) for line in lines[1:]):
        if sign == "-":
            assert words not in text
        else:
            at = text.find(words, at)
            assert at >= 0, words


def test_a_node_without_tokens_is_replaced_by_one_without() -> None:
    """Neither takes the other's place."""
    for tokens in (True, False):
        steps = remedy_steps("replace", "A", tokens=tokens)
        assert any("join_ring: false" in step.what for step in steps) is not tokens


def test_what_must_not_be_done_has_no_number() -> None:
    """It comes last, also where steps of two nodes follow each other."""
    rows = numbered((*remedy_steps("replace", "A", "B"), *remedy_steps("replace", "B")))
    numbers = [number for number, _, _ in rows]
    steps = [number for number in numbers if number]
    assert steps == [f"{at}" for at in range(1, len(steps) + 1)]
    assert {name for number, name, _ in rows if not number} == {NEVER}
    assert numbers[len(steps) :] == [""] * (len(rows) - len(steps))
