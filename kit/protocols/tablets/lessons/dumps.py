"""What a notebook opens and asks of the tablets of a real cluster: Players, questions, tables.

BadType when what is asked is no opened dump, BadInput for a name of no node, or of several.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kit.edge.arguments import checked
from kit.edge.paths import Readable
from kit.errors import BadInput, BadType, KitError, are, counted
from kit.lessons.questions import PosedQuestion, listed, posed
from kit.model.registry import one_of
from kit.model.timeline import Timeline
from kit.protocols.group0.rules.releases import NEWEST
from kit.protocols.tablets.dry_run import what_if
from kit.protocols.tablets.dry_run.opening import OpenedTablets, PathLike, open_tablets, sorted_out
from kit.protocols.tablets.dry_run.rehearsal import rehearsal_of
from kit.protocols.tablets.dry_run.report import resizes
from kit.protocols.tablets.dry_run.series import series_of
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import TARGET_SIZE, TargetCount, resize_said
from kit.protocols.topology.rules.machines import Edition
from kit.views.parts import volume
from kit.views.static import Sheet
from kit.widgets.player import Player
from kit.widgets.rehearsing import Rehearsal

KEPT_AWAY: Mapping[type[reasons.Misplaced], str] = {
    reasons.ReplicaThere: "has a replica",
    reasons.RackSpread: "rack would have one too many",
    reasons.RackNamed: "rack is not in the list",
    reasons.TakesNone: "takes no tablets",
    reasons.OtherDatacenter: "other datacenter",
}
SHORT = 8  # digits of a host id that tell nodes apart


def takes_over(opened: OpenedTablets, host: str) -> PosedQuestion:
    """Which nodes would take tablets of a node that is to be emptied?"""
    report = what_if.drain(opened, _opened(opened).host(host, "host"))
    went = sum(report.targets.values())
    return posed(
        f"{_short(report.host)} holds {counted(report.replicas, 'replica')} and is being emptied. "
        "Which nodes take replicas from it?",
        tuple(_short(node.host) for node in opened.nodes if node.host != report.host),
        tuple(map(_short, report.targets)),
        f"{went} can go, {report.replicas - went} cannot{_stalled(report)}.",
    )


def worst_loss(opened: OpenedTablets) -> PosedQuestion:
    """Without which one more node do most tablets have no majority? KitError when no node is up."""
    now, *reports = _losses(_opened(opened))
    costs = dict(zip(_up(opened), (each.no_quorum for each in reports), strict=True))
    if not costs:
        raise KitError("predict: no node is up")
    more = listed(f"{lost} without {_short(host)}" for host, lost in costs.items())
    return posed(
        "One more node is lost. Which loss leaves the most tablets without a majority?",
        tuple(map(_short, costs)),
        tuple(_short(host) for host, lost in costs.items() if lost == max(costs.values())),
        f"{now.no_quorum} of {now.tablets} tablets already have none. Losing one more node makes "
        f"it {more}.",
    )


def to_resize(opened: OpenedTablets, kind: ResizeType) -> PosedQuestion:
    """Which tables are to be split, or to be merged, or to stay? BadInput for another kind."""
    lines = resizes(_opened(opened))
    word = {"split": "will be split", "merge": "will be merged", "none": "stay as they are"}
    if kind not in list(word):
        raise BadInput("kind", kind, one_of(str(kind), list(word)))
    return posed(
        f"Which tables {word[kind]}?",
        tuple(line.table for line in lines),
        tuple(line.table for line in lines if line.decision == kind),
        " ".join(f"{line.table}: {resize_said(line.reason)}." for line in lines),
    )


def drain_table(opened: OpenedTablets, host: str) -> Sheet:
    """What each other node takes of a node that is emptied, and what keeps it from the rest."""
    report = what_if.drain(opened, _opened(opened).host(host, "host"))
    kept = Counter[tuple[str, type[reasons.Misplaced]]]()
    for stuck in report.stuck:
        for reason, hosts in stuck.reasons:
            for each in hosts:
                kept[each, type(reason)] += len(stuck.tablets)
    seen = [kind for kind in KEPT_AWAY if kind in {kind for _, kind in kept}]
    rows = tuple(
        (
            *(_short(node.host), node.rack, str(report.targets.get(node.host, 0))),
            *(str(kept[node.host, kind]) for kind in seen),
        )
        for node in opened.nodes
        if node.host != report.host
    )
    went = sum(report.targets.values())
    title = (
        f"{_short(report.host)} is emptied: of {counted(report.replicas, 'replica')}, {went} can "
        f"go, {report.replicas - went} cannot{_stalled(report)}; {volume(report.bytes)} to copy"
    )
    return Sheet(title, ("node", "rack", "takes", *(KEPT_AWAY[kind] for kind in seen)), rows)


def losses_table(opened: OpenedTablets) -> Sheet:
    """The loss with each node that is up, beside those that are down already."""
    reports = _losses(_opened(opened))
    names = ["no more", *map(_short, _up(opened))]
    rows = tuple(
        (name, str(report.no_quorum), str(report.no_replica))
        for name, report in zip(names, reports, strict=True)
    )
    down = listed(map(_short, sorted(opened.gone)))
    title = f"Out of {reports[0].tablets} tablets; already down: {down}"
    return Sheet(title, ("lost", "without a majority", "without any replica"), rows)


def resize_table(opened: OpenedTablets) -> Sheet:
    """The decision on each table, with the average tablet and the count that the rules ask for."""
    rows = tuple(
        (
            *(line.table, str(line.tablets), volume(line.average), line.decision),
            str(line.resize_seq_number),
            *(("–", "–") if line.target is None else _wanted(line.target)),
        )
        for line in resizes(_opened(opened))
    )
    heads = ("table", "tablets", "average", "decision", "number", "wanted count", "by the rule")
    return Sheet("Resize decisions", heads, rows)


def _stalled(report: what_if.DrainReport) -> str:
    hosts = listed(map(_short, report.stalled_by))
    down = are(len(report.stalled_by))
    return f"; the drain waits for {hosts}, which {down} down" if report.stalled_by else ""


def _wanted(target: TargetCount) -> tuple[str, str]:
    return str(target.aligned), max(target.rules, key=target.rules.__getitem__)


def _up(opened: OpenedTablets) -> list[str]:
    return [node.host for node in opened.nodes if node.host not in opened.gone]


def _losses(opened: OpenedTablets) -> list[what_if.LossReport]:
    return [what_if.lose(opened, hosts) for hosts in ((), *((host,) for host in _up(opened)))]


def _opened(opened: OpenedTablets) -> OpenedTablets:
    if not isinstance(opened, OpenedTablets):
        raise BadType("cluster", opened, "a dump that open_tablets has opened")
    return opened


def _short(host: str) -> str:
    return host[:SHORT]


# -- Players on a cluster of one's own -------------------------------------------------------------


class TabletRehearsal(Rehearsal):
    """A rehearsal: the Player, what was opened, and lines to read first."""

    def __init__(self, opened: OpenedTablets, timeline: Timeline, warnings: Sequence[str]) -> None:
        self.opened = opened
        super().__init__(timeline, warnings)

    def __repr__(self) -> str:
        tablets = counted(len(self.timeline.state.tablets), "tablet")
        nodes = counted(len(self.opened.nodes), "node")
        return f"TabletRehearsal({self.opened.source}: {tablets} on {nodes})"


@checked
def rehearse(  # noqa: PLR0913  # each file by its own name
    dump: PathLike | Sequence[PathLike],
    operations: str | Iterable[str] = (),
    *,
    topology: PathLike | None = None,
    status: PathLike | None = None,
    sizes: PathLike | None = None,
    loads: PathLike | None = None,
    schema: PathLike | Sequence[PathLike] | None = None,
    edition: Edition = "server",
    target_size: int = TARGET_SIZE,
    anonymize: bool = False,
    release: str = NEWEST,
) -> TabletRehearsal:
    """Rehearse operations on tablets of one's own, and open a Player on them.

    ``dump`` is a dump of ``system.tablets``, the others are those of ``python -m kit tablets``;
    ``dump`` may also be several files of the cluster, each known by what is in it, or a snapshot (a
    folder or an archive), whose names ``anonymize`` replaces by pseudonyms. ``operations``
    are lines: ``decommission HOST``, ``removenode HOST``, ``rf KEYSPACE DC=REPLICAS``, ``lose
    HOST``, or ``balance``; requests that the dump shows come first. Transitions go on from where it
    has them. ``release`` is the server's, from 2025.1 on. BadInput for a file that is not well
    formed, files that do not fit each other, an operation of no node, more nodes than a Player has,
    or another operation of a node under way.
    """
    files: dict[str, Any] = {"topology": topology, "status": status, "sizes": sizes}
    files |= {"loads": loads, "schema": schema}
    dumps = {"dump": dump} if isinstance(dump, Readable) else sorted_out(dump)
    for name in dumps:
        if files.get(name) is not None:
            raise BadInput(name, "two files", "one file of each kind")
    options: dict[str, Any] = {"edition": edition, "target_size": target_size, "release": release}
    opened = open_tablets(**{**files, **dumps}, **options, anonymize=anonymize)
    return TabletRehearsal(opened, *rehearsal_of(opened, operations))


@checked
def replay_snapshots(
    *files: Readable, edition: Edition = "server", anonymize: bool = False
) -> Player:
    """A Player on what changed between snapshots of ``scylla-tablets``, in the order of time.

    ``anonymize`` gives pseudonyms to all names before anything is shown.

    Raises BadInput for a file that is none, for one of another cluster, for one given twice.
    """
    return Player(series_of(files, edition, anonymize).read_through(), controls=False)
