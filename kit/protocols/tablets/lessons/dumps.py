"""Questions and tables on the tablets of a real cluster: drains, losses, resizes of its dumps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kit.engine.registry import one_of
from kit.errors import BadInput, BadType, KitError, counted
from kit.lessons.questions import PosedQuestion, listed, posed
from kit.protocols.tablets.dry_run import what_if
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.report import resizes
from kit.protocols.tablets.rules.balance.reasons import (
    Misplaced,
    OtherDatacenter,
    RackNamed,
    RackSpread,
    ReplicaThere,
    TakesNone,
)
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import resize_said
from kit.views.parts import volume
from kit.views.static import Sheet

KEPT_AWAY: Mapping[type[Misplaced], str] = {
    ReplicaThere: "has a replica",
    RackSpread: "rack would have one too many",
    RackNamed: "other rack than the one that is named",
    TakesNone: "takes none",
    OtherDatacenter: "other datacenter",
}
SHORT = 8  # digits of a host id that tell nodes apart


def takes_over(opened: OpenedTablets, host: str) -> PosedQuestion:
    """Which nodes would take tablets of a node that is to be emptied?

    Raises:
        BadInput: for a name of no node, or of several.
        BadType: when what is asked is no opened dump.
    """
    leaving = _opened(opened).host(host, "host")
    report = what_if.drain(opened, leaving)
    others = tuple(_short(node.host) for node in opened.nodes if node.host != leaving)
    went = sum(report.targets.values())
    return posed(
        f"{_short(leaving)} holds {counted(report.replicas, 'replica')} and is to be emptied. "
        "Which nodes take some of them?",
        others,
        tuple(map(_short, report.targets)),
        f"{went} can go, {report.replicas - went} cannot.",
    )


def worst_loss(opened: OpenedTablets) -> PosedQuestion:
    """Without which one more node do most tablets have no majority?

    Raises:
        BadType: when what is asked is no opened dump.
        KitError: when no node is up.
    """
    now, costs = _costs(_opened(opened))
    if not costs:
        raise KitError("predict: no node is up")
    return posed(
        "One node more is lost. Without which one do most tablets have no majority?",
        tuple(map(_short, costs)),
        tuple(_short(host) for host, lost in costs.items() if lost == max(costs.values())),
        f"{now} of {_tablets(opened)} tablets have none as it is. With one node more it is "
        + listed(f"{lost} without {_short(host)}" for host, lost in costs.items())
        + ".",
    )


def to_resize(opened: OpenedTablets, kind: ResizeType) -> PosedQuestion:
    """Which tables are to be split, or to be merged?

    Raises:
        BadInput: for another word than split, merge or none.
        BadType: when what is asked is no opened dump.
    """
    lines = resizes(_opened(opened))
    if kind not in ("split", "merge", "none"):
        raise BadInput("kind", kind, one_of(str(kind), ["split", "merge", "none"]))
    word = {"split": "are to be split", "merge": "are to be merged", "none": "stay as they are"}
    return posed(
        f"Which tables {word[kind]}?",
        tuple(line.table for line in lines),
        tuple(line.table for line in lines if line.decision == kind),
        " ".join(f"{line.table}: {resize_said(line.reason)}." for line in lines),
    )


def drain_table(opened: OpenedTablets, host: str) -> Sheet:
    """For each other node: how many tablets of a node that is emptied it takes, and what keeps it
    from the others.

    Raises:
        BadInput: for a name of no node, or of several.
        BadType: when what is asked is no opened dump.
    """
    leaving = _opened(opened).host(host, "host")
    report = what_if.drain(opened, leaving)
    kept: dict[str, Counter[type[Misplaced]]] = {}
    for stuck in report.stuck:
        for reason, hosts in stuck.reasons:
            for each in hosts:
                kept.setdefault(each, Counter())[type(reason)] += len(stuck.tablets)
    seen = [kind for kind in KEPT_AWAY if any(counts[kind] for counts in kept.values())]
    rows = tuple(
        (
            _short(node.host),
            node.rack,
            str(report.targets.get(node.host, 0)),
            *(str(kept.get(node.host, Counter())[kind]) for kind in seen),
        )
        for node in opened.nodes
        if node.host != leaving
    )
    went = sum(report.targets.values())
    title = (
        f"{_short(leaving)} is emptied: of {counted(report.replicas, 'replica')} {went} can go, "
        f"{report.replicas - went} cannot; {volume(report.bytes)} to copy"
    )
    return Sheet(title, ("node", "rack", "takes", *(KEPT_AWAY[kind] for kind in seen)), rows)


def losses_table(opened: OpenedTablets) -> Sheet:
    """What the loss of each node that is up costs, beside those that are down already.

    Raises:
        BadType: when what is asked is no opened dump.
    """
    hosts = [node.host for node in _opened(opened).nodes if node.host not in opened.gone]
    cases: list[tuple[str, Iterable[str]]] = [("nobody more", ())]
    cases += [(_short(host), (host,)) for host in hosts]
    rows = []
    for name, lost in cases:
        report = what_if.lose(opened, list(lost))
        rows.append((name, str(report.no_quorum), str(report.no_replica)))
    down = listed(map(_short, sorted(opened.gone)))
    title = f"Of {_tablets(opened)} tablets; down already: {down}"
    return Sheet(title, ("lost", "without a majority", "without any replica"), tuple(rows))


def resize_table(opened: OpenedTablets) -> Sheet:
    """The decision on each table, with the average tablet and the count that the rules ask for.

    Raises:
        BadType: when what is asked is no opened dump.
    """
    rows = tuple(
        (
            line.table,
            str(line.tablets),
            volume(line.average),
            line.decision,
            str(line.resize_seq_number),
            "–" if line.target is None else str(line.target.aligned),
            "–" if line.target is None else _largest(line.target.rules),
        )
        for line in resizes(_opened(opened))
    )
    heads = ("table", "tablets", "average", "decision", "number", "wanted count", "by the rule")
    return Sheet("Resize decisions", heads, rows)


def _largest(rules: Mapping[str, int]) -> str:
    """The rule that asks for most."""
    return max(rules.items(), key=lambda rule: rule[1])[0]


def _costs(opened: OpenedTablets) -> tuple[int, dict[str, int]]:
    """How many tablets have no majority now, and without each node that is up."""
    up = [node.host for node in opened.nodes if node.host not in opened.gone]
    now = what_if.lose(opened, ()).no_quorum
    return now, {host: what_if.lose(opened, (host,)).no_quorum for host in up}


def _tablets(opened: OpenedTablets) -> int:
    return sum(table.count for table in opened.maps.values())


def _opened(opened: OpenedTablets) -> OpenedTablets:
    if not isinstance(opened, OpenedTablets):
        raise BadType("cluster", opened, "a dump that open_tablets has opened")
    return opened


def _short(host: str) -> str:
    return host[:SHORT]
