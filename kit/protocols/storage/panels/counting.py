"""The two ways to count the answers of a write while a replica is on its way, as a drawing."""

from collections.abc import Iterator

from kit.masks import mask_of
from kit.protocols.storage.rules.levels import AnswerQuota, write_quotas
from kit.protocols.storage.rules.view import Acknowledgement, View
from kit.views.diagrams import Cell, table_source

NAMES = "ABCX"
"""A gives up its place and X takes it, so both groups are neighbours in this order."""
ANSWERS = ("BC", "AB", "ABX")
RULES: tuple[Acknowledgement, ...] = ("union", "joint")


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the drawing: (name, DOT text). Each block is a set of answers, judged by both rules."""
    old, new = _mask("ABC"), _mask("BCX")
    view = View(reads=old, writes=old | new, old_replicas=old, new_replicas=new)
    rows: list[list[Cell]] = [[Cell("answers of"), *map(Cell, NAMES)]]
    for answers in ANSWERS:
        given = [Cell(name, fill="changed") if name in answers else Cell("–") for name in NAMES]
        rows += [[Cell()], [Cell(), *given]]
        for rule in RULES:
            for quota in write_quotas("QUORUM", view, (), 0, rule):
                rows.append([Cell(rule), *_bracket(quota, _mask(answers))])
    yield "quorums-union-joint", table_source(rows, [70, *[80] * len(NAMES)])


def _mask(names: str) -> int:
    return mask_of(map(NAMES.index, names))


def _bracket(quota: AnswerQuota, answered: int) -> Iterator[Cell]:
    first = (quota.replicas & -quota.replicas).bit_length() - 1
    have, of = (quota.replicas & answered).bit_count(), quota.replicas.bit_count()
    enough = have >= quota.needed
    words = f"{have} of {of}: {'enough' if enough else f'{quota.needed} needed'}"
    yield from [Cell()] * first
    yield Cell(words, of, "added" if enough else "removed")
