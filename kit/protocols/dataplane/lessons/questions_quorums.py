"""A question on quorums: which epochs may miss one another. The simulator answers it."""

from __future__ import annotations

from kit.engine.registry import one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion
from kit.protocols.dataplane.quorums import Crossing, miss_text, quorums
from kit.protocols.tcm.lessons.questions import cluster_of
from kit.views.question import Question

_FAR = 2  # epochs apart, at most, of the pairs that are offered


def crossed(timeline: Timeline, label: str) -> PosedQuestion:
    """On one range, at which epochs may a read miss an acknowledged write?

    Raises:
        BadInput: for a range that no operation changes.
        KitError: when no pair of different epochs is in use.
    """
    rows = quorums(cluster_of(timeline), levels=[("QUORUM", "QUORUM")]).rows
    known = list(dict.fromkeys(row.range for row in rows))
    if label not in known:
        raise BadInput("range", label, one_of(label, known))
    here = [row for row in rows if row.range == label and 0 < row.apart <= _FAR and row.pairs]
    if not here:
        raise KitError("predict: no two epochs are in use at once here")
    here.sort(key=lambda row: (row.apart, row.read_epoch, row.write_epoch))
    missed = [row for row in here if row.missed]
    question = Question(
        f"Every read and every write of {label} goes to a majority. At which of these epochs may "
        "a read miss a write?",
        tuple(map(_title, here)),
        tuple(map(_title, missed)),
        " ".join(f"{miss_text(row)}." for row in missed)
        or "Every read quorum meets every write quorum.",
    )
    return PosedQuestion(question)


def _title(row: Crossing) -> str:
    return f"read at {row.read_epoch}, write at {row.write_epoch}"
