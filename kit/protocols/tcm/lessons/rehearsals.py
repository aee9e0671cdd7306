"""What a notebook opens: a cluster of one's own (dry run, real log, *what if*), stories, steps.

A step is a copy of a Player, brought to where a cell wants it; the Player itself stays where it is,
so that *Run all* leaves each Player that is shown as the text beside it describes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kit.commands.answer import Rows
from kit.console.server import aligned
from kit.edge.arguments import checked
from kit.errors import BadInput, Refused, are, counted, first_of
from kit.model.parameters import edition_in
from kit.model.registry import check_one_of, edition_of
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.operators.importers import ringfile
from kit.operators.importers.opening import Imported
from kit.operators.workload import PLAYER, check_work
from kit.protocols.tcm.dry_run import history, opening, time_machine
from kit.protocols.tcm.dry_run.metadata_log import MetadataHistory, metadata_history
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons import cluster_of
from kit.protocols.tcm.panels.dry_run import MOST_NODES
from kit.protocols.tcm.parameters import FORM
from kit.protocols.tcm.rules.operations import EDITIONS, Edition
from kit.ring.sizes import Stored
from kit.views.fragment import Frag, h
from kit.views.parts import volume
from kit.widgets.player import Player
from kit.widgets.rehearsing import Rehearsal

LogSource: TypeAlias = MetadataHistory | str | Path | Sequence[str | Path]
SizesSource: TypeAlias = Stored | Mapping[str, int] | str | Path | None
HEADS = ("epoch", "what is committed", "to copy", "most loaded source", "must not die")


class DryRun(Rehearsal):
    """A dry run: the player, and its figures as data.

    ``ring`` is what was opened, ``steps`` every epoch, ``operations`` each operation as it stands
    at the end, ``pairs`` whether two may be under way at once before any has begun, ``loads`` what
    each node sends and receives in all; ``warnings`` are lines to read first.
    """

    def __init__(self, ring: Imported, timeline: Timeline, *, controls: bool = False) -> None:
        self.ring = ring
        self.steps: tuple[history.StepSummary, ...] = history.steps(timeline)
        self.operations: tuple[facts.Planned, ...] = history.outcome(timeline)
        m: Any = timeline.model
        self._opening = m, history.opening_state(timeline)
        last = timeline.moments[timeline.tip].state
        self.loads: tuple[facts.Load, ...] = facts.traffic(m, last)
        of_files = (*ring.warnings, *history.forced_notes(ring), *_down(ring), *self._elsewhere())
        warnings = (*of_files, *history.standstill(timeline))
        super().__init__(timeline, warnings, controls=controls)

    def _elsewhere(self) -> Iterator[str]:
        edition = self._opening[0].parameters.edition
        for planned in self.operations:
            operation = planned.operation
            why = history.elsewhere(operation, edition, self.ring.ring, self.ring.up)
            if why is not None and planned.status != "planned":  # else it stands still, and says so
                yield f"{operation.title} cannot begin as things are: {why.reason}"

    @property
    def pairs(self) -> tuple[facts.OperationPair, ...]:
        """Whether two operations may be under way at once, before any has begun."""
        return facts.pairs(*self._opening)

    def _introduction(self) -> list[Frag]:
        caption = "Every epoch and the state when it is committed"
        table = Rows(list(map(_cells, self.steps)), heads=HEADS, caption=caption)
        folded = h("details", h("summary", self.summary()), table.draw())
        return [*super()._introduction(), folded]

    def summary(self) -> str:
        """The fate of each operation, in a line."""
        words = {"done": "done", "under way": "not finished", "planned": "not begun"}
        ends = [
            f"{planned.operation.title}: {words[planned.status]}" for planned in self.operations
        ]
        m, _ = self._opening
        known = [load.receives_bytes for load in self.loads if load.receives_bytes is not None]
        size = f"{volume(sum(known))} in " if len(known) == len(self.loads) else ""
        streams = sum(load.receives for load in self.loads)
        epochs = counted(len(self.steps), "epoch") + edition_in(m.parameters, " (edition {})")
        copied = f"{size}{counted(streams, 'stream')}" if streams else "nothing"
        return f"{'; '.join(ends)}. {epochs}; {copied} copied."

    def _lines(self) -> list[str]:
        return [self.summary(), "", *aligned([HEADS, *map(_cells, self.steps)], "  "), ""]

    def __repr__(self) -> str:
        return f"DryRun({self.summary()})"


def rehearse(
    ring: opening.RingSource,
    operations: opening.Operations,
    *,
    keyspaces: opening.Keyspaces = (),
    sizes: SizesSource = None,
    in_flight: opening.Operations = (),
    edition: Edition = "server",
    controls: bool = False,
) -> DryRun:
    """Rehearse operations on a ring of one's own, and open a player on it.

    ``ring`` is a file, several files of one cluster, their text, or what was imported from them:
    what ``nodetool ring``, ``status`` and ``describering`` print, dumps of the system tables, ring
    files. ``operations`` are lines such as ``decommission n7`` or ``bootstrap X --tokens 5,7``, one
    or several; ``in_flight`` those that have begun beside what the files show. ``keyspaces`` add
    what files do not tell: ``ks={"class": "SimpleStrategy", "replication_factor": 3}``. ``sizes``
    are bytes by node, or a file of sizes; without them the loads that the files tell count. The
    rules are those of the published server; ``edition`` documents chooses those of CEP-21's text.
    BadInput names in one line what is not acceptable, and nothing is opened then.
    """
    given = opening.opened(ring, keyspaces)
    planned = opening.operations_in("operations", operations)
    check_work(given, PLAYER)
    if not planned:
        raise BadInput("operations", operations, f"one line or several: {FORM}")
    edition = edition_of(edition, tuple(EDITIONS))
    begun = opening.operations_in("in_flight", in_flight)
    if isinstance(sizes, Mapping):
        sizes = Stored(ringfile.checked_nodes(sizes, given))
    stored = ringfile.read_stored(sizes, given) if isinstance(sizes, str | Path) else sizes
    timeline = history.dry_run_of(given, planned, in_flight=begun, edition=edition, stored=stored)
    return DryRun(given, timeline, controls=controls)


def _down(ring: Imported) -> Iterator[str]:
    if ring.down:
        down = f"{first_of(ring.down, MOST_NODES, 'node')} {are(len(ring.down))} down"
        yield f"{down}: no data and no acknowledgements come from there"


def _cells(step: history.StepSummary) -> tuple[str, str, str, str, str]:
    size = "" if step.bytes is None else f"{volume(step.bytes)} in "
    copied = f"{size}{counted(step.streams, 'stream')}" if step.streams else "–"
    broken = f"{counted(step.broken, 'range')} broken now; " if step.broken else ""
    who = first_of(step.fragile, 3) or "no single node"
    return str(step.epoch), step.say, copied, step.busiest or "–", f"{broken}{who}"


def _history_in(log: LogSource) -> MetadataHistory:
    return log if isinstance(log, MetadataHistory) else metadata_history(log)


@checked
def replay_log(log: LogSource) -> Rehearsal:
    """Open a Player on the history in a real log's files, and say what is missing from it.

    Raises BadInput for files that ``metadata_history`` does not take.
    """
    known = _history_in(log)
    return Rehearsal(time_machine.RealLog(known).read_through(), known.warnings)


@checked
def what_if(
    log: LogSource, epoch: int, keyspaces: opening.Keyspaces, operations: str | Iterable[str] = ()
) -> Rehearsal:
    """Open a Player on the tcm model with the cluster at an epoch: continue from there, or cancel.

    Each operation that was under way stands at the step that it had reached; ``operations`` are
    others to try, such as ``decommission 10.0.0.3``. ``keyspaces`` are those of the cluster, which
    the log does not tell: ``ks={"class": "SimpleStrategy", "replication_factor": 3}``.

    Raises BadInput for an epoch that the log does not have or at which somebody's tokens are not
    known, and where the published rules would have refused what the log has.
    """
    known = _history_in(log)
    timeline = time_machine.fork(known, epoch, keyspaces, operations)
    return Rehearsal(timeline, known.warnings, controls=True)


# -- stories, and a Player brought to where a cell wants it ----------------------------------------


def story(name: str, *, controls: bool = False, ended: bool = False) -> Player:
    """A Player on a story that is told in a scenario file of the kit, at its start or its end.

    ``name`` is the file's, after its model's: ``dataplane/anomaly-lost-write``; else BadInput.
    """
    timeline = open_file(file_named(name))
    timeline.goto(timeline.tip if ended else 0)
    return Player(timeline, controls=controls)


def before(player: Player, verb: str) -> Player:
    """A copy of the Player before the first step of its branch with this verb; else BadInput."""
    return _beside(player, verb, parent=True)


def after(player: Player, verb: str) -> Player:
    """A copy of the Player after the first step of its branch with this verb; else BadInput."""
    return _beside(player, verb)


def _beside(player: Player, verb: str, *, parent: bool = False) -> Player:
    timeline = player.timeline
    verbs = {
        timeline.model.verb(timeline.moments[moment].action): moment
        for moment in reversed(timeline.path()[1:])
    }
    check_one_of("verb", verb, verbs)
    twin = player.copy()
    twin.goto(timeline.moments[verbs[verb]].parent if parent else verbs[verb])
    return twin


def to_epoch(player: Player, epoch: int) -> Player:
    """A copy of the Player at the moment at which ``epoch`` was committed, played as far as needed.

    BadInput when the branch does not get there. A cell that does this shows the same again.
    """
    twin = player.copy()
    timeline = twin.timeline
    m = cluster_of(timeline)
    for moment in timeline.path():
        if m.newest_epoch(timeline.moments[moment].state) == epoch:
            twin.goto(moment)
            return twin
    twin.goto(timeline.tip)
    while m.newest_epoch(timeline.state) < epoch:
        try:
            twin.milestone()
        except Refused:
            break
    if (last := m.newest_epoch(timeline.state)) != epoch:
        raise BadInput("epoch", epoch, f"an epoch up to {last}, where this branch ends")
    return twin
