"""What pictures, texts and tables ask of a data range and its requests at a moment, as plain data.

Views, the command line and notebooks show these; they never compute protocol facts themselves.
Every function takes the model and a state and is pure. Epochs are absolute. Where one node is real
and you play the others: what each replica may answer now, or what may be sent to the real one.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.masks import holds
from kit.protocols.storage.coordinating import Coordinating
from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, is_under_way
from kit.protocols.storage.rules import requests as rules
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.solo import Coordinator, Replica, ReplicaState, Reply, Send
from kit.protocols.storage.storage import Finish, Start, Storage, StorageState, TimeOut

Role = Literal["reads and writes", "writes only", "reads only", "no replica"]
Phase = Literal["waiting", "open", "done", "failed"]
CopyStatus = Literal["not begun", "on its way", "arrived", "left behind"]
Held = Literal["nothing", "value", "tombstone"]


class EpochRow(Struct, frozen=True):
    """The range's row at one committed epoch, and who knows no newer one.

    ``changed`` says that the event changed one of the groups; ``knows`` names replicas, and
    coordinators that have a request under way (the others may know any epoch when they begin).
    ``again`` counts the rows of the same number above it.
    """

    epoch: int
    title: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    changed: bool
    knows: tuple[str, ...]
    again: int = 0

    @property
    def key(self) -> str:
        """The key that tells the row from all others: quiet events share their number."""
        return f"view:{self.epoch}" + f":{self.again}" * bool(self.again)


class CopyRow(Struct, frozen=True):
    """One copy of the range that the operation under way needs; ``text`` is the cell on its way.

    One that is left behind belongs to a ``session`` of before.
    """

    source: str
    target: str
    status: CopyStatus
    text: str
    session: int = 0


class ReplicaRow(Struct, frozen=True):
    """A node that replicates the range at some epoch.

    ``role`` is its part by the newest committed epoch, ``own_role`` by the epoch that it knows;
    ``not_owned`` says that it holds something of a range that is no longer its own. ``behind``
    counts what ``epoch`` does: a change without a new number puts nobody behind. Who ``joins``
    becomes a replica by the operation under way.
    """

    name: str
    dc: str
    epoch: int
    behind: int
    role: Role
    own_role: Role
    cell: str
    held: Held
    not_owned: bool
    up: bool
    joins: bool = False


class RequestRow(Struct, frozen=True):
    """A request as it stands.

    ``planned`` is the epoch that it was sent by and ``knows`` what its coordinator knows by now
    (None unless it is open); ``on_the_way`` are replicas that its message has not reached.
    ``plan`` is what its level needs by the epoch it was sent by, ``judged`` what it needs by what
    the coordinator knows now, with the answers that count. ``result`` is what the client was told.
    ``writes_back`` is the cell that a read has found and writes back, empty while it reads: all of
    the above are then that write's.
    """

    number: int
    title: str
    coordinator: str
    dc: str | None
    level: str
    phase: Phase
    planned: int | None
    knows: int | None
    on_the_way: tuple[str, ...]
    answered: tuple[str, ...]
    plan: tuple[QuotaRow, ...]
    judged: tuple[QuotaRow, ...]
    result: str
    writes_back: str = ""

    @property
    def enough(self) -> bool:
        """Whether the plan as it was sent has its answers."""
        return all(quota.met for quota in self.plan)

    @property
    def valid(self) -> bool:
        """Whether the answers are enough by what the coordinator knows now."""
        return all(quota.met for quota in self.judged)


_PHASES: tuple[Phase, ...] = ("waiting", "open", "done", "failed", "open")


def session(m: Storage, s: StorageState) -> int:
    """The session that is open by the newest epoch, 0 for none."""
    return m.newest(s).session


def computed(m: Storage, s: StorageState) -> int:
    """How often placements are computed on the way to a state: at the start and once an epoch."""
    return 1 + m.newest_epoch(s) - m.history.epochs[0].epoch


def stable(m: Storage, s: StorageState) -> bool:
    """Whether the range is read from exactly where it is written to."""
    view = m.views(s)[-1]
    return view.read_at == view.written_at


def epochs(m: Any, s: Any) -> tuple[EpochRow, ...]:
    """Every committed epoch, oldest first, and who knows it as the newest."""
    if isinstance(m, Replica):
        trail, knowing = m.trail, [(m.replica, s.known)]
    else:
        trail, knowing = m.trails[s.trail], list(_known(m, s))
    rows, before, names = list[EpochRow](), trail.views[0], m.history.names
    for index, (number, view) in enumerate(zip(trail.numbers, trail.views, strict=True)):
        title = m.history.epochs[trail.nodes[index]].title
        groups = names(view.read_at), names(view.written_at)
        changed = (before.read_at, before.written_at) != (view.read_at, view.written_at)
        known = tuple(name for name, newest in knowing if newest == index)
        again = trail.numbers[:index].count(number)
        rows.append(EpochRow(number, title, *groups, changed, known, again))
        before = view
    return tuple(rows)


def planned(m: Any, s: Any) -> tuple[tuple[int, str, View], ...]:
    """The epochs that are still to come, if all goes well: the number, the event and the groups."""
    trail = m.trail if isinstance(m, Replica) else m.trails[s.trail]
    rows, node, number = list[tuple[int, str, View]](), trail.newest, trail.numbers[-1]
    while len(rows) < len(m.history.epochs):
        to = next((edge.to for edge in node.edges if not edge.aside), None)
        if to is None:
            break
        node = m.history.epochs[to]
        number += not node.quiet
        rows.append((number, node.title, node.view))
    return tuple(rows)


def _known(m: Coordinating, s: StorageState) -> tuple[tuple[str, int], ...]:
    replicas = zip(m.history.replicas, s.known, strict=False) if isinstance(m, Storage) else ()
    at_work = (
        (m.workload[n].coordinator, request.coordinator_epoch)
        for n, request in enumerate(s.requests)
        if request.phase in rules.AT_WORK
    )
    return (*replicas, *at_work)


def replicas(m: Storage, s: StorageState) -> tuple[ReplicaRow, ...]:
    """Every node that ever replicates the range, with what it knows, does and holds."""
    views, rows = m.views(s), []
    latest = len(views) - 1
    for i, name in enumerate(m.history.replicas):
        cell, part, epoch = m.returned(s, i), role(views[latest], i), m.epoch(s, s.known[i])
        who = name, m.history.dcs[i], epoch, m.epoch(s, latest) - epoch
        roles = part, role(views[s.known[i]], i)
        holds_more = part == "no replica" and cell != rules.NOTHING
        text, kind, up = m.cell_text(s, cell), held(cell), not holds(s.down, i)
        joins = holds(views[latest].new_replicas & ~views[latest].old_replicas, i)
        rows.append(ReplicaRow(*who, *roles, text, kind, holds_more, up, joins))
    return tuple(rows)


def held(cell: int) -> Held:
    """The kind of cell."""
    if cell == rules.NOTHING:
        return "nothing"
    return "tombstone" if rules.is_tombstone(cell) else "value"


def role(view: View, i: int) -> Role:
    """The part of replica ``i`` by a view."""
    reads, writes = holds(view.reads | view.read_at, i), holds(view.writes | view.written_at, i)
    if reads and writes:
        return "reads and writes"
    return "writes only" if writes else "reads only" if reads else "no replica"


def copies(m: Storage, s: StorageState) -> tuple[CopyRow, ...]:
    """The copies of the present epoch, as far as they have got, and those left behind before."""
    names, rows = m.history.replicas, []
    statuses: dict[int, CopyStatus] = {NOT_COPIED: "not begun", COPIED: "arrived"}
    for copy, done in zip(m.newest(s).copies, s.copies, strict=True):
        text = m.cell_text(s, done) if is_under_way(done) else ""
        status = statuses.get(done, "on its way")
        rows.append(CopyRow(names[copy.source], names[copy.target], status, text))
    for late in m.late_copies(s):
        text = f"{m.cell_text(s, late.cell)}, permit of session {late.session}"
        ends = names[late.source], names[late.target]
        rows.append(CopyRow(*ends, "left behind", text, late.session))
    return tuple(rows)


def late_copies(m: Storage, s: Any) -> list[str]:
    """The copies of earlier steps that may still arrive, in words; other states have none."""
    rows = copies(m, s) if isinstance(s, StorageState) else ()
    late = (row for row in rows if row.status == "left behind")
    return [f"{row.source} → {row.target}: {row.text}" for row in late]


def requests(m: Coordinating, s: StorageState) -> tuple[RequestRow, ...]:
    """Every request of the workload, in the order in which they were asked for."""
    return tuple(_request(m, s, number, request) for number, request in enumerate(s.requests))


def _request(m: Coordinating, s: StorageState, number: int, request: rules.Request) -> RequestRow:
    ask = m.workload[number]
    who = number, m.title_of(number), ask.coordinator, ask.dc, ask.level, _PHASES[request.phase]
    epochs: tuple[int | None, int | None] = None, None
    plan, judged = tuple[QuotaRow, ...](), tuple[QuotaRow, ...]()
    if request.phase in rules.AT_WORK:
        epochs = m.epoch(s, request.epoch), m.epoch(s, request.coordinator_epoch)
        plan = m.quota_rows(m.wanted(s, number, request.epoch), request.acked)
        wanted = m.wanted(s, number, m.judged_by(s, number))
        judged = m.quota_rows(wanted, m.valid(s, number))
    nodes = m.history.names(request.in_flight), m.history.names(request.acked)
    result = _result(m, s, number, request)
    back = m.cell_text(s, request.newest_seen) if request.phase == rules.REPAIRING else ""
    return RequestRow(*who, *epochs, *nodes, plan, judged, result, back)


def _result(m: Coordinating, s: StorageState, number: int, request: rules.Request) -> str:
    if request.phase == rules.FAILED:
        return "failed"
    if request.phase != rules.DONE:
        return ""
    if m.workload[number].writes:
        return "done"
    deleted = " (deleted)" if rules.is_tombstone(request.newest_seen) else ""
    return f"returned {m.cell_text(s, request.newest_seen)}{deleted}"


_WORD = re.compile(r"[^\s,;:{}()]+")


def request_key(number: int) -> str:
    """The key of a request; that of a node is its name."""
    return f"request:{number}"


def message_key(number: int, replica: str) -> str:
    """The key of a request's message to a replica, and of the answer."""
    return f"message:{number}:{replica}"


def about(m: Coordinating, witness: str) -> frozenset[str]:
    """The keys of the nodes and requests that a witness names, and of the messages between them."""
    words = {word.rstrip(".") for word in _WORD.findall(witness)}
    named = [name for name in m.everybody if name in words]
    replicas = [name for name in named if name in m.history.replicas]
    titles = (m.title_of(number) for number in range(len(m.workload)))
    numbers = [number for number, title in enumerate(titles) if re.search(rf"\b{title}\b", witness)]
    messages = {message_key(number, name) for number in numbers for name in replicas}
    return frozenset({*named, *map(request_key, numbers), *messages})


class Choice(Struct, frozen=True):
    """Something that you may do: at which epoch, in a word, and why not now, if not."""

    action: Any
    epoch: int | None
    word: str
    refusal: Refusal | None


class AnswerRow(Struct, frozen=True):
    """A replica that you play: asked and silent so far if there are choices.

    ``in_flight``: the message to it was sent and is not answered.
    """

    replica: str
    in_flight: bool
    choices: tuple[Choice, ...]


def choices(m: Any, s: Any, *kinds: type) -> tuple[Choice, ...]:
    """All that you, or the real node, may do now of these kinds, in the order of the model."""
    return tuple(
        Choice(action, getattr(action, "epoch", None), _word(action), why)
        for action, why in m.options(s)
        if isinstance(action, kinds)
    )


def _word(action: Any) -> str:
    if isinstance(action, Reply):
        return "error" if action.verdict != "ok" else "ok, has it" if action.has_write else "ok"
    return {Start: "plans", Finish: "answer the client", TimeOut: "time out"}.get(
        type(action), "send"
    )


def answers(m: Coordinator, s: StorageState) -> Iterator[AnswerRow]:
    """Every replica that you play, with what it may answer now."""
    replies, [request] = choices(m, s, Reply), s.requests
    for i, name in enumerate(m.history.replicas):
        own = tuple(each for each in replies if each.action.replica == name)
        yield AnswerRow(name, holds(request.in_flight, i), own)


def sends(m: Replica, s: ReplicaState) -> dict[str, list[Choice]]:
    """The messages that you may send, by the epoch of their plan, for each kind of message."""
    may, kinds = choices(m, s, Send), {"write": True, "read": False}
    return {kind: [c for c in may if c.action.write == writes] for kind, writes in kinds.items()}


def real(m: Replica, s: ReplicaState) -> ReplicaRow:
    """The real replica as it is now."""
    latest, i = len(m.seen) - 1, m.index
    who = m.replica, m.history.dcs[i], m.epoch(s.known), latest - s.known
    part, own = role(m.seen[latest], i), role(m.seen[s.known], i)
    not_owned = part == "no replica" and s.cell != rules.NOTHING
    return ReplicaRow(*who, part, own, m.cell_text(s.cell), held(s.cell), not_owned, True)


def why_kept(m: Storage, s: StorageState, name: str) -> str:
    """Why a node still has data that it does not own."""
    if not m.cleaning:
        return "nothing cleans it up automatically"
    at = m.history.replicas.index(name)
    return "no cleanup is to come" if s.cleaned >> at & 1 else "not cleaned up yet"


def shown_replicas(m: Storage, s: StorageState, name: str) -> str:
    """The state of each replica (of one, when it is named): what it knows, does and holds."""
    if name and name not in m.history.replicas:
        raise BadInput("replica", name, "one of " + ", ".join(m.history.replicas))
    lines = []
    for row in replicas(m, s):
        notes = [row.role, f"holds {row.cell}"]
        notes += [f"data not owned: {why_kept(m, s, row.name)}"] * row.not_owned
        notes += ["down"] * (not row.up)
        if name in ("", row.name):
            lines.append(f"{row.name} at {m.history.unit} {row.epoch}: {', '.join(notes)}")
    return "\n".join(lines)


def _stands(row: RequestRow) -> str:
    late = f"; still on its way to {', '.join(row.on_the_way)}" if row.on_the_way else ""
    if row.phase != "open":
        return f"{row.result or row.phase}{late}"
    plan = "; ".join(
        f"needs {q.needed} of {','.join(q.replicas)} (answered: {','.join(q.counted) or 'nobody'})"
        for q in row.plan
    )
    judged = "" if row.valid or not row.enough else "; the plan is no longer valid"
    back = f"writes {row.writes_back} back; " if row.writes_back else ""
    now = f"planned at {row.planned}, {row.coordinator} knows {row.knows}"
    return f"{back}{now}; {plan}{judged}{late}"


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "replicas": shown_replicas,
    "requests": lambda m, s, _: "\n".join(f"{r.title}: {_stands(r)}" for r in requests(m, s)),
    "views": lambda m, s, _: "\n".join(
        f"{row.epoch}: reads {','.join(row.reads)}; writes {','.join(row.writes)}"
        + (f"; known to {','.join(row.knows)}" if row.knows else "")
        for row in epochs(m, s)
    ),
    "log": lambda m, s, _: (
        "\n".join(f"{row.epoch}: {row.title}" for row in epochs(m, s)[1:]) or "nothing is committed"
    ),
}
