"""How tablets are drawn: the grid as the picture, its tabs beside it."""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.tablets.panels import balancing, kinds, losses, plans, resizing, sharding, tracks
from kit.views.panel import Panel, Scene
from kit.views.promises import LAMPS
from kit.views.question import Question, changed_parts
from kit.views.registry import Views


def _question(scene: Scene) -> Question | None:
    """Which parts change; of a cluster that was read from a dump nobody is asked."""
    return None if scene.model.dump is not None else changed_parts(scene)


def _of_model(panel: Panel) -> Panel:
    """A panel that looks at every tablet of one table; no dump is so small."""
    return replace(panel, shown=lambda scene: scene.model.dump is None)


TRACKS = Views(
    (
        *(tracks.BADGES, tracks.GRID, tracks.NOW, tracks.STAGES, tracks.TABLE),
        *(tracks.SESSIONS, tracks.BARRIER, _of_model(sharding.SHARDER), kinds.KINDS_TAB),
        *(*tracks.CLUSTER, plans.TRACKS_PLAN, _of_model(plans.TRACKS_LOAD)),
        *(_of_model(losses.LOSSES), _of_model(losses.REPAIRS), LAMPS),
    ),
    evidence=("now",),
    picture="grid",
    table="now",
    badges="badges",
    question=_question,
)

RESIZE = Views(
    (
        *(resizing.BADGES, resizing.GRID, resizing.LINE, resizing.READINESS),
        *(resizing.SIBLINGS, resizing.STORAGE, plans.RESIZE_LOAD, plans.RESIZE_PLAN),
        LAMPS,
    ),
    evidence=("resize",),
    picture="grid",
    table="resize",
    badges="badges",
)

BALANCE = Views(
    (balancing.BADGES, balancing.GRID, balancing.LOADS, balancing.PLAN, balancing.STORAGE, LAMPS),
    evidence=("loads",),
    picture="grid",
    table="loads",
    badges="badges",
)
