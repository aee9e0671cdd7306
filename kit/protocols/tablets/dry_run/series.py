"""Snapshots in the order of time as one record: what changed from each to the next one.

Nothing is computed of what lies in between: ``kit.explain`` says whether the model has a run there.
"""

from collections.abc import Sequence
from itertools import pairwise

from kit.edge.arguments import checked
from kit.edge.paths import Readable
from kit.errors import BadInput, counted
from kit.model.flows import Flow, spot
from kit.model.record import ReadOn, Record, RecordState
from kit.protocols.tablets.dry_run.moments import Change, Moment, changes, names_in, opened_moments
from kit.protocols.topology.rules.machines import Edition
from kit.views.busts import Health
from kit.views.declared import Badges, status
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import moved, scroll
from kit.views.registry import Views
from kit.views.stage import Character, Stage, stage_panel
from kit.widgets.player import Player

MOST_SHOWN = 200
"""Changes of one step that a list shows."""


class Series(Record):
    """Snapshots one after the other: the first is there at the start, each step reads the next."""

    name = "tablets/series"
    title = "Snapshots of a cluster's tablets"
    ends = "the snapshots end here"

    def __init__(self, moments: Sequence[Moment]) -> None:
        self.names = names_in(moments)
        self.moments = tuple(moments)
        super().__init__([tuple(changes(*pair, self.names)) for pair in pairwise(moments)])
        self.flow_table = {ReadOn: _travels}

    def milestone(self, before: RecordState, action: ReadOn, after: RecordState) -> str | None:
        """The snapshot that is read."""
        return self.moments[after.read].opened.source.partition("/")[0]

    def describe(self, before: RecordState, action: ReadOn, after: RecordState) -> str:
        """How much changed."""
        moment, changed = self.moments[after.read], self.entries[before.read]
        version = "" if moment.version is None else f", version {moment.version:,}"
        return f"{moment.opened.source}{version}: {counted(len(changed), 'change')}."


def _travels(
    model: Series, before: RecordState, action: ReadOn, after: RecordState
) -> tuple[Flow, ...]:
    return tuple(
        Flow("data", spot(source), spot(target), change.what, f"{change.what}: {change.words}")
        for change in model.entries[before.read]
        for source, target in change.moves
        if source != target
    )


def _health(moment: Moment, host: str, role: str) -> Health:
    if role == "left":
        return "gone"
    if role == "joining":
        return "joining"
    return "down" if host in moment.opened.down else "up"


def _stage(scene: Scene) -> Stage:
    model: Series = scene.model
    moment = model.moments[scene.state.read]
    return Stage(
        tuple(model.names.values()),
        tuple(
            Character(
                model.names[node.host],
                spot(model.names[node.host]),
                _health(moment, node.host, node.role),
                tag=counted(moment.held[node.host], "tablet"),
                sign="ban" if node.role == "excluded" else "",
                holds=(node.rack,),
                title=f"{node.host}, {node.datacenter}/{node.rack}, {node.role}",
            )
            for node in moment.opened.nodes
        ),
        lines=1,
    )


def _read(scene: Scene) -> Sequence[Change]:
    entries: Sequence[Sequence[Change]] = scene.model.entries
    return entries[scene.state.read - 1] if scene.state.read else ()


def draw_changes(scene: Scene) -> Frag:
    """Draw what changed with the last snapshot, and how much before it."""
    changed = _read(scene)
    if not changed:
        words = "Nothing changed." if scene.state.read else "This is the first snapshot."
        return h("p", words, k="no-changes", class_="soft")
    rows = [
        h("li", h("b", each.what), f": {each.words}", k=f"change:{each.what}", class_="entry")
        for each in changed[:MOST_SHOWN]
    ]
    more = len(changed) - MOST_SHOWN
    rows += [h("li", f"and {more:,} more", k="more")] if more > 0 else []
    return scroll("changes", h("ol", rows, class_=f"log {moved(True) or ''}".rstrip()))


def changes_text(scene: Scene) -> str:
    """Write what changed, a line each."""
    changed = [f"  {each.what}: {each.words}" for each in _read(scene)[:MOST_SHOWN]]
    return "\n".join(changed) or "  nothing changed so far"


def _badges(scene: Scene) -> Badges:
    model: Series = scene.model
    moment = model.moments[scene.state.read]
    yield "read", f"{scene.state.read + 1} of {len(model.moments)}", "plain"
    if moment.version is not None:
        yield "version", f"version {moment.version:,}", "plain"
    moving = sum(bool(row.transition) for rows in moment.rows.values() for row in rows.values())
    yield "moving", f"{moving:,} in transition", "busy" if moving else ""


STAGE = stage_panel("stage", "The cluster", _stage, gates=None)
VIEWS = Views(
    (
        status(_badges, "badges", lambda scene: f"{scene.state.read + 1} read"),
        STAGE,
        Panel("changes", "What changed", draw_changes, changes_text, still=True),
    ),
    picture="stage",
    table="changes",
    badges="badges",
    wide=True,
)


def series_of(
    files: Sequence[Readable], edition: Edition = "server", anonymize: bool = False
) -> Series:
    """Two snapshots or more as a record. Raises BadInput as ``opened_moments``."""
    if len(files) < 2:
        raise BadInput("snapshots", f"{len(files)}", "two or more, to see what changed")
    return Series(opened_moments(files, edition, anonymize))


@checked
def replay_snapshots(
    *files: Readable, edition: Edition = "server", anonymize: bool = False
) -> Player:
    """A Player on what changed between snapshots of ``scylla-tablets``, in the order of time.

    ``anonymize`` gives pseudonyms to all names before anything is shown.

    Raises BadInput for a file that is none, for one of another cluster, for one given twice.
    """
    return Player(series_of(files, edition, anonymize).read_through(), controls=False)
