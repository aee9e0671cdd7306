"""A cluster's tablets in a notebook: a Player whose first state is the dump."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.engine.registry import one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, counted
from kit.protocols.tablets.dry_run.files import sorted_out
from kit.protocols.tablets.dry_run.nodes import PathLike
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets
from kit.protocols.tablets.dry_run.placing import RF_CHANGE, parameters_of
from kit.protocols.tablets.dry_run.under_way import check_under_way, not_played
from kit.protocols.tablets.rules.maps import keyspace_of
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.replication import replication_in
from kit.protocols.topology.topology import CrashMember, MakeRequest
from kit.widgets.rehearsing import Rehearsal

FORM = "decommission HOST, removenode HOST, rf KEYSPACE DC=REPLICAS, lose HOST or balance"
REQUESTS = ("decommission", "removenode")
WORDS = (*REQUESTS, "rf", "lose", "balance")


class Rehearsed(Struct, frozen=True):
    """What is to be done: requests in their order, who dies at first, whether loads are evened out.

    Nodes are host ids; an RF change has its keyspace and replicas in the place of one.
    """

    requests: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    balance: bool = False


class TabletRehearsal(Rehearsal):
    """A rehearsal: the Player, what was opened, and lines to read first."""

    def __init__(self, opened: OpenedTablets, timeline: Timeline, warnings: Sequence[str]) -> None:
        """A Player on a history that stands where the operations begin."""
        self.opened = opened
        super().__init__(timeline, (*opened.warnings, *warnings))

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
) -> TabletRehearsal:
    """Rehearse operations on tablets of one's own, and open a Player on them.

    ``dump`` is a dump of ``system.tablets``, the others are those of ``python -m kit tablets``;
    ``dump`` may also be several files of the cluster, each known by what stands in it.
    ``operations`` are lines: ``decommission HOST``, ``removenode HOST``, ``rf KEYSPACE
    DC=REPLICAS``, ``lose HOST``, or ``balance``; requests that the dump shows come first.
    Transitions go on from where it has them.

    Raises:
        BadInput: for a file that is not well formed, files that do not fit each other, an operation
            of no node, more nodes than a Player has, or another operation of a node under way.
    """
    named = {
        "topology": topology,
        "status": status,
        "sizes": sizes,
        "loads": loads,
        "schema": schema,
    }
    files = _together(dump, {name: file for name, file in named.items() if file is not None})
    opened = open_tablets(**files, edition=edition, target_size=target_size)
    check_under_way(opened)
    given = _wanted(opened, operations)
    parameters, names, warnings = parameters_of(opened, given.requests, given.balance, given.lost)
    timeline = Timeline(Tablets(parameters))
    first = [CrashMember(names[host]) for host in given.lost]
    requests = range(len(parameters.operations))
    if first or requests:
        timeline.run([*first, *map(MakeRequest, requests)])
    return TabletRehearsal(opened, timeline, (*not_played(opened), *warnings))


def _together(dump: PathLike | Sequence[PathLike], named: dict[str, Any]) -> dict[str, Any]:
    """The files by name: those that have one, and several of one cluster, sorted out.

    Raises:
        BadInput: for a file that is of no kind, or of one that is there already.
    """
    if isinstance(dump, str | Path):
        return {"dump": dump, **named}
    files = sorted_out(dump)
    for name in files.keys() & named.keys():
        raise BadInput(name, "two files", "one file of a kind")
    return {**files, **named}


def _wanted(opened: OpenedTablets, operations: str | Iterable[str]) -> Rehearsed:
    """What the dump shows as requested, then what the lines say.

    Raises:
        BadInput: for a line that is no operation, or an operation given twice.
    """
    if not isinstance(operations, Iterable):
        raise BadInput("operations", operations, f"lines: {FORM}")
    lines = operations.splitlines() if isinstance(operations, str) else list(operations)
    requests = list(_pending(opened))
    lost: list[str] = []
    balance = False
    for line in lines:
        word, host = _parsed(opened, line)
        if word == "balance":
            balance = True
        elif word == RF_CHANGE:
            requests.append((word, host))
        elif host in lost or host in [each for _, each in requests]:
            raise BadInput("operation", line, "each node once; requests of the dump count")
        elif word == "lose":
            lost.append(host)
        else:
            requests.append((word, host))
    return Rehearsed(tuple(requests), tuple(lost), balance)


def _pending(opened: OpenedTablets) -> Iterator[tuple[str, str]]:
    for node in opened.nodes:
        if node.role in ("leaving", "removing"):
            yield REQUESTS[node.role == "removing"], node.host


def _parsed(opened: OpenedTablets, line: object) -> tuple[str, str]:
    words = line.split() if isinstance(line, str) else []
    if not words:
        raise BadInput("operation", line, FORM)
    if words[0] not in WORDS:
        raise BadInput("operation", line, one_of(words[0], list(WORDS)))
    if words == ["balance"]:
        return "balance", ""
    if words[0] == "rf" and len(words) > 2:
        replication_in(words[2:], "operation")
        if words[1] not in map(keyspace_of, opened.maps):
            known = sorted({*map(keyspace_of, opened.maps)})
            raise BadInput("operation", line, one_of(words[1], known))
        return RF_CHANGE, " ".join(words[1:])
    if words[0] in ("balance", "rf") or len(words) != 2:
        raise BadInput("operation", line, FORM)
    host = opened.host(words[1], "operation")
    if words[0] == "lose" and host in opened.down:
        raise BadInput("operation", line, "a node that is up")
    return words[0], host
