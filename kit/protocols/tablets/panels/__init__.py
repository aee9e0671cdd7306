"""How tablets are drawn: the grid as the picture, its tabs beside it."""

from __future__ import annotations

from kit.protocols.tablets.panels import resizing, tracks
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.question import Question, changed_fields
from kit.views.registry import Views


def _question(scene: Scene) -> Question | None:
    """Which fields change; of a cluster that was read from a dump nobody is asked."""
    return None if scene.model.dump is not None else changed_fields(scene)


TRACKS = Views(
    (
        *(tracks.BADGES, tracks.GRID, tracks.NOW, tracks.STAGES, tracks.TABLE),
        *(tracks.SESSIONS, tracks.BARRIER, *tracks.CLUSTER, LAMPS),
    ),
    evidence=("now",),
    picture="grid",
    table="now",
    badges="badges",
    question=_question,
)

RESIZE = Views(
    (resizing.BADGES, resizing.GRID, resizing.LINE, resizing.READINESS, resizing.STORAGE, LAMPS),
    evidence=("resize",),
    picture="grid",
    table="resize",
    badges="badges",
)
