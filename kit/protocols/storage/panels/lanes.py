"""What the picture of reads and writes is declared by: epochs, nodes, requests, copies."""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.storage import events as what
from kit.protocols.storage import facts
from kit.protocols.storage.facts import EpochRow, RequestRow
from kit.protocols.storage.panels.spacetime import events, short
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.solo import Replica
from kit.protocols.storage.storage import Storage
from kit.views import columns
from kit.views.columns import Copy, Epoch, Fill, Lanes, Node, Request, lanes_panel
from kit.views.panel import Scene

FILLS: dict[facts.Role, Fill] = {
    "reads and writes": "both",
    "writes only": "write",
    "reads only": "read",
    "no replica": "",
}
HOW: dict[facts.CopyStatus, Literal["planned", "way", "there"]] = {
    "not begun": "planned",
    "on its way": "way",
    "left behind": "way",
    "arrived": "there",
}


def lanes(scene: Scene) -> Lanes:
    """The facts of the picture at a moment."""
    m, s = scene.model, scene.state
    rows = facts.epochs(m, s)
    coming = facts.planned(m, s)
    ahead = (Epoch(str(number), f"plan:{at}", title, True) for at, (number, title, _) in
             enumerate(coming))  # fmt: skip
    past = m.seen if isinstance(m, Replica) else m.views(s)
    views = [*past, *(view for _, _, view in coming)]
    waited = s.waited if isinstance(m, Storage) else 0
    return Lanes(
        (*_epochs(rows), *ahead),
        tuple(_nodes(m, s, views)),
        tuple(_sent(scene) if isinstance(m, Replica) else _requests(scene)),
        tuple(_copies(scene, len(rows))) if isinstance(m, Storage) else (),
        counted(waited, "tick") if waited else "",
        tuple(n for n in getattr(m, "names", ()) if n not in getattr(m, "coordinators", ())),
    )


def _epochs(rows: tuple[EpochRow, ...]) -> Iterator[Epoch]:
    for row in rows:
        again = "′" * row.again
        key = f"log:{row.epoch}" + f":{row.again}" * bool(row.again)
        yield Epoch(f"{row.epoch}{again}", key, row.title.partition(" (")[0])


def _nodes(m: Any, s: Any, views: list[View]) -> Iterator[Node]:
    held = {row.name: row for row in facts.replicas(m, s)} if isinstance(m, Storage) else {}
    for i, name in enumerate(m.history.replicas):
        node = Node(name, tuple(FILLS[facts.role(view, i)] for view in views))
        if row := held.get(name):
            stored = "" if row.held == "nothing" else short(row.cell)
            health = "works" if row.up else "down"
            left = f"data not owned: no longer a replica, {facts.why_kept(m, s, name)}"
            words = left * row.not_owned
            node = replace(node, knows=s.known[i], stored=stored, health=health, words=words)
            if row.up and row.joins:
                node = replace(node, health="joining")
        elif isinstance(m, Replica) and name == m.replica:
            real = facts.real(m, s)
            stored = "" if real.held == "nothing" else short(real.cell)
            node = replace(node, knows=s.known, stored=stored)
        yield node


def _requests(scene: Scene) -> Iterator[Request]:
    m = scene.model
    names, requests = m.history.names, scene.state.requests
    marks = [
        dict.fromkeys(names(each.acked), columns.TOOK)
        | dict.fromkeys(names(each.in_flight), columns.WAY)
        | dict.fromkeys(names(each.in_flight & (each.begun or 0)), columns.WORK)
        for each in requests
    ]
    planned = {n: each.epoch for n, each in enumerate(requests) if marks[n]}
    ended = dict[int, what.Completed]()
    titles = {m.title_of(number): number for number in range(len(m.workload))}
    for step, event in events(scene):
        if isinstance(event, what.Sent):
            planned[event.request] = scene.way()[step].after.requests[event.request].epoch
            marks[event.request] |= dict.fromkeys(event.targets, columns.WAY)
        elif isinstance(event, what.Delivered):
            marks[event.request][event.replica] = _answer(event)
        elif isinstance(event, what.DiskEvent):
            does = {"never": columns.LOST, "begins": columns.WORK}.get(event.what.split()[0])
            number = next((n for t, n in titles.items() if event.what.endswith(t)), None)
            if does and number is not None:
                marks[number][event.replica] = does
        elif isinstance(event, what.Completed):
            ended[event.request] = event
    for row in facts.requests(m, scene.state):
        done, own = ended.get(row.number), marks[row.number]
        quotas = done.plan if done else row.judged
        counts = dict.fromkeys(name for quota in quotas for name in quota.counted)
        barred = [n for n, mark in own.items() if mark in (columns.LOST, columns.REFUSED)]
        yield Request(
            *(row.number, row.coordinator, row.title, planned.get(row.number)),
            tuple((n, own[n]) for n in m.history.replicas if n in own),
            tuple(counts),
            tuple(n for n in row.on_the_way if not done),
            tuple(n for n in m.history.replicas if n in barred and not done),
            _needs(row),
            row.phase in ("done", "failed"),
        )


def _answer(event: what.Delivered) -> str:
    if event.error:
        return columns.REFUSED
    did, _, cell = event.did.partition(" ")
    return short(" ".join(cell.split()[:2])) if did == "returns" else columns.TOOK


def _needs(row: RequestRow) -> tuple[str, ...]:
    if row.phase == "waiting":
        return "not sent yet", "later"
    if row.phase == "failed":
        return ("failed",)
    if row.phase == "done":
        cell = row.result.partition("returned ")[2]
        return (f"found {cell}", f"found {short(cell)}", short(cell)) if cell else (row.result,)
    counts = "; ".join(quota.count for quota in row.judged)
    missing = sum(max(0, quota.needed - len(quota.counted)) for quota in row.judged)
    if row.enough and not row.valid:
        return f"plan no longer valid: now {counts}", "plan no longer valid", "old plan"
    return counts, *((f"needs {missing} more", f"+{missing}") if missing else ("has enough",))


def _sent(scene: Scene) -> Iterator[Request]:
    """What you sent to the real replica: a request each."""
    m = scene.model
    for number, (step, event) in enumerate(events(scene)):
        if isinstance(event, what.Delivered):
            action = scene.way()[step].action
            mark, refused = _answer(event), bool(event.error)
            counted = () if refused else (event.replica,)
            needs = ("refused", "no") if refused else (event.did, "done")
            at = m.trail.index(action.epoch)
            what_of = number, event.title[0], event.title, at, ((event.replica, mark),), counted
            yield Request(*what_of, barred=(event.replica,) * refused, needs=needs, ended=True)


def _copies(scene: Scene, epochs: int) -> Iterator[Copy]:
    at, begun, last = 0, dict[tuple[str, str, int], int](), dict[tuple[str, str, int], Copy]()
    for _, event in events(scene):
        if isinstance(event, what.EpochCommitted):
            at += 1
        elif isinstance(event, what.Copied):
            pair = event.source, event.target
            column = begun.setdefault((*pair, event.session), at)
            key = (*pair, event.session if event.late else 0)
            if not event.refused:
                last[key] = Copy(*pair, column, "there" if event.landed else "way", key[2])
    for row in facts.copies(scene.model, scene.state):
        pair = row.source, row.target
        column = begun.get((*pair, row.session), epochs - 1)
        known = last.get((*pair, 0))
        if row.session and known and column == known.at:
            del last[*pair, 0]
        how = HOW[row.status]
        column = known.at if known and known.how == how and not row.session else column
        last[*pair, row.session] = Copy(*pair, column, how, row.session)
    yield from last.values()


LANES = lanes_panel(
    "lanes",
    "Who reads and writes, epoch by epoch",
    lanes,
    lambda scene, witness: facts.about(scene.model, witness),
)
