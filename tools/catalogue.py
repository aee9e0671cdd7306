"""The published catalogue of what testers check of cluster metadata, beside what the kit shows.

Each row of ``CATALOGUE`` is a subject in the kit's own words. It names the properties that hold it
here, each with the safeguards without which a search breaks it, or it says why no model has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.model.model import Monitor, Property
from kit.model.registry import build, entries

CATALOGUE = """
Log and epochs
 1 | an epoch means the same event on every node | tcm log-prefix S-16; commit one-log S-12
 2 | the epoch that a node shows never goes back | migration no-return
 3 | no node publishes metadata above a hole in its log | tcm log-prefix S-16; commit one-log S-16
 4 | one at a time changes the log of a node | | here a node applies an entry in one step
 5 | no node stops applying for good | tcm stable | events need nothing but the metadata before
 6 | there are never two metadata services | migration one-log S-72 S-73 | nobody wipes a disk here
 7 | metadata survives being written and read | | states are values here, not bytes

Movements of ranges
 8 | no two operations hold a range in common | tcm locks S-09
 9 | no lock outlives its operation | tcm settled S-53
10 | every range keeps its replicas at every epoch | tcm replicas S-10 S-11
11 | an interrupted operation goes on, or is cancelled | tcm stable; tcm settled S-53
12 | a barrier joins the quorums before and after it | tcm quorums S-01; tcm one-step S-01 | \
`relax` lets a barrier fall back level by level

Members of the metadata service
13 | once there is a service, it is never empty | cms somebody; cms within S-15
14 | quorums meet while the members change | cms quorums-meet S-13; cms informed S-14 S-70; \
cms one-event-an-epoch S-13 S-14
15 | a submission is committed once, or rejected | commit once S-66; commit valid S-10
16 | an aborted initialization leaves nobody with half | migration ends; migration one-log S-73

What follows from metadata
17 | one epoch, one schema | migration one-metadata S-19 S-71; commit same-state S-16; schema same
18 | the list of peers agrees with the directory | | nodes have names; addresses are in `cms` alone
19 | no old definition serves a prepared statement | | no client prepares statements here
20 | the ring is owned without gaps | tcm cover S-54

Coming back
21 | after all faults nodes have the same metadata | tcm stable; cms alike; migration ends
22 | the service takes commits again | commit all-answered; cms commits S-15 S-74
23 | some requests succeed meanwhile | dataplane answered
"""


class Shown(Struct, frozen=True):
    """A property of a model that holds a row, and the safeguards without which it breaks."""

    model: str
    name: str
    safeguards: tuple[str, ...]

    @property
    def judge(self) -> Property | Monitor:
        """The property itself, in the default configuration. Raises KeyError for an unknown one."""
        model = build(self.model)
        judges: dict[str, Property | Monitor] = {one.name: one for one in model.properties}
        return (judges | {one.name: one for one in model.monitors})[self.name]


class CatalogueRow(Struct, frozen=True):
    """A subject of the catalogue: what shows it here, and what is to be said about it."""

    number: int
    subject: str
    shown: tuple[Shown, ...]
    remark: str


def catalogue() -> Iterator[tuple[str, tuple[CatalogueRow, ...]]]:
    """The rows of the catalogue, below the titles of its parts."""
    for part in CATALOGUE.strip().split("\n\n"):
        title, *lines = part.splitlines()
        yield title, tuple(map(_row, lines))


def _row(line: str) -> CatalogueRow:
    number, subject, shown, remark = ([each.strip() for each in line.split("|")] + [""])[:4]
    each = (named.split() for named in shown.split(";") if named)
    held = tuple(Shown(model, name, tuple(guards)) for model, name, *guards in each)
    return CatalogueRow(int(number), subject, held, remark)


def catalogue_cells(row: CatalogueRow) -> tuple[str, ...]:
    """A row of the page."""
    holds = (f"`{one.model}`: {one.judge.title}" for one in row.shown)
    guards = dict.fromkeys(
        f"{guard} {_title(one.model, guard)} (`{one.model}`)"
        for one in row.shown
        for guard in one.safeguards
    )
    not_here = "not modelled: " if not row.shown else ""
    return (str(row.number), row.subject, "; ".join(holds) or "–", "; ".join(guards) or "–",
            f"{not_here}{row.remark}" or "–")  # fmt: skip


def _title(model: str, guard: str) -> str:
    return next(each.title for each in entries()[model].safeguards if each.id == guard)
