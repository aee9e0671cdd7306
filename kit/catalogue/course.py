"""The course: every lesson, what it needs, and what its notebook was called before.

One table, ``data/course.toml``, so that README, map, links and tests say the same. Two tracks
can be read alone: *epochs* follows CEP-21 of Apache Cassandra, *topology* follows ScyllaDB's
topology over Raft. Numbers leave gaps, so that a new lesson moves no other.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from kit.edge.arguments import checked
from kit.errors import BadInput
from kit.model.registry import one_of

TRACKS = MappingProxyType(
    {
        0: "Start",
        1: "Epochs: CEP-21 of Apache Cassandra",
        30: "Topology over Raft: ScyllaDB",
        90: "Appendices",
    }
)
"""Title of each track by the number of its first lesson, in the order of the numbers."""


class Lesson(Struct, frozen=True, forbid_unknown_fields=True):
    """One notebook: ``in_class`` says what students do, ``needs`` the slugs of lessons before it.

    ``exercises`` are the names of those at its end.
    """

    number: int
    slug: str
    title: str
    in_class: str
    needs: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its notebook, without the ending."""
        return f"{self.number:02}-{self.slug}"

    @property
    def file(self) -> str:
        """The file of its notebook in the folder ``notebooks``."""
        return f"{self.name}.ipynb"

    @property
    def track(self) -> str:
        """The title of the track that its number is in."""
        return next(title for first, title in [*TRACKS.items()][::-1] if first <= self.number)


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    lesson: tuple[Lesson, ...]


COURSE = msgspec.toml.decode(
    Path(__file__).with_name("data").joinpath("course.toml").read_bytes(), type=_Table
).lesson
"""Every lesson, in the order in which the course goes."""


@checked
def lesson(name: str) -> Lesson:
    """Find a lesson by its slug or notebook, with or without the ending ``.ipynb``.

    Raises BadInput for an unknown name, with the nearest ones.
    """
    short = name.removesuffix(".ipynb")
    for each in COURSE:
        if short in (each.slug, each.name):
            return each
    raise BadInput("lesson", name, one_of(short, [each.name for each in COURSE]))


def without_magics(source: str) -> str:
    """The Python of a cell: what only a notebook understands, such as ``%nodetool``, is left out.

    A cell that begins with ``%%`` has no Python at all.
    """
    lines = [] if source.startswith("%%") else source.splitlines()
    return "\n".join(line for line in lines if not line.startswith("%"))
