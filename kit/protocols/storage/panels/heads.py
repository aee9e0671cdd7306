"""The heads of lifelines: each node as it is now, and whom clients ask for a read or a write.

Beside a replica's name are an eye and a pencil, by the newest committed epoch, and its disk. A
client's lines end at the eyes and pencils of those whom it asks; a thin one is asked by only some
of the epochs that the client may know. An envelope on a line is a message that has not arrived.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from kit.protocols.storage import facts
from kit.protocols.storage.facts import AskedRow, CopyRow, ReplicaRow
from kit.protocols.storage.storage import Storage
from kit.views.busts import Health, Kind, bust
from kit.views.fragment import Frag, h
from kit.views.labels import measured
from kit.views.palette import hues
from kit.views.panel import Scene
from kit.views.parts import fresh, word
from kit.views.replicas import DISK_WIDE, MARK, SIGNS, asked_words, disk, envelope, eye, key, pencil
from kit.views.stage import ring

NAME, LINE, ASIDE = 82, 9, 9
"""The room for names, that of each line of a client, how far an eye is from its row's middle."""
HEAD, MOST_LETTERS = 11.0, 3
PLUS = "translate(17 -9) scale(.8)"
"""A head, and the letters of a name that it has room for."""
COPIES = 14
"""The room of a copy between two disks."""


def _lines(m: Any) -> int:
    return len({(ask.coordinator, ask.writes) for ask in m.workload})


def head_width(m: Any) -> int:
    """How wide the heads of a model's lifelines are."""
    if not isinstance(m, Storage):
        return 34
    most = max((len(epoch.copies) for epoch in m.history.epochs), default=0)
    return NAME + LINE * _lines(m) + MARK + DISK_WIDE + 16 + (COPIES + 10) * min(most, 3)


def draw_heads(scene: Scene, rows: Mapping[str, int]) -> list[Frag]:
    """Draw what nodes are now, at the heights of their lifelines, from the left edge."""
    m, s = scene.model, scene.state
    acts = _acting(scene, rows)
    if not isinstance(m, Storage):
        return [_name(name, "", y, is_lit=name == acts) for name, y in rows.items()]
    replicas, lines = scene.of(facts.replicas), scene.of(facts.addressees)
    marks = NAME + LINE * _lines(m) + MARK // 2 + 4
    disks = marks + MARK // 2 + 6 + DISK_WIDE // 2
    asks, former = _asking(scene), scene.former()
    before = _asking(former) if former else asks
    drawn = [
        _client(row, before.get(name, row), m.history.unit, rows[name], acts=name == acts)
        for name, row in asks.items()
    ]
    for at, line in enumerate(lines):
        drawn.append(_asks(line, NAME + LINE * at, marks - MARK // 2 - 2, rows))
    was, colours = _former(scene), hues([row.name for row in replicas])
    for row in replicas:
        share = facts.arrived(row)
        former_row = was.get(row.name, (row, share))
        acting = row.name == acts
        head = _replica(row, share, former_row, marks, disks, rows, acts=acting)
        drawn.append(h("g", head, class_=colours.get(row.name)))
    ways = dict.fromkeys(way for row in replicas for way in row.copies if way.status != "arrived")
    session = facts.session(m, s)
    for at, way in enumerate(ways):
        drawn.append(_copy(way, session, disks + DISK_WIDE // 2 + 6 + COPIES * (at % 3), rows))
    return drawn


def _acting(scene: Scene, names: Container[str]) -> str:
    """The actor of a step: the last sender, as an answer to what came, or the only one whom the
    action names; empty: nobody who is here.
    """
    if scene.action is None or scene.model.kind(scene.action) in scene.model.faults:
        return ""
    named = [name for name in scene.model.things(scene.action) if name in names]
    sent = (flow.from_key.removeprefix("n:") for flow in scene.flows()[::-1])
    return next(sent, named[0] if len(named) == 1 else "")


def _asking(scene: Scene) -> dict[str, AskedRow]:
    lines = sorted(scene.of(facts.addressees), key=lambda row: row.number is not None)
    return {row.client: row for row in lines}


def _former(scene: Scene) -> dict[str, tuple[ReplicaRow, float]]:
    former = scene.former()
    if former is None:
        return {}
    return {row.name: (row, facts.arrived(row)) for row in former.of(facts.replicas)}


def _name(
    name: str,
    below: str,
    y: int,
    *,
    health: Health = "up",
    said: str = "",
    kind: Kind = "node",
    is_new: bool = False,
    is_lit: bool = False,
) -> Frag:
    is_short, sign = len(name) <= MOST_LETTERS, SIGNS.get(health)
    plus = h("path", d=sign, class_=f"sign {health}", transform=PLUS) if sign else None
    rim = ring(HEAD - 1) if is_lit else None
    head = h("g", rim, bust(name, HEAD, kind), plus, transform=f"translate({HEAD + 6:.0f} -5)")
    return h(
        "g",
        h("title", said or name),
        head if is_short else word(name if health != "down" else f"✗ {name}", 2, 0, None, "start"),
        fresh(2 + measured(below) / 2, 14, measured(below) + 8) if is_new else None,
        word(below, 2, 19, "soft", "start") if below else None,
        k=f"who:{name}",
        transform=f"translate(0 {y})",
        class_=f"who character {health}",
        data_of=name,
    )


def _client(row: AskedRow, was: AskedRow, unit: str, y: int, *, acts: bool) -> Frag:
    by, former = map(_epochs, (row, was))
    does = "works with" if row.number is not None else "plans its next request at"
    said = f"{row.client}: client, {does} {unit} {by.strip('@')}"
    return _name(row.client, by, y, said=said, kind="client", is_new=by != former, is_lit=acts)


def _epochs(row: AskedRow) -> str:
    joint = " or " if row.newest == row.oldest + 1 else " to "
    return f"@{row.oldest}" + f"{joint}{row.newest}" * (row.newest > row.oldest)


def _replica(
    row: ReplicaRow,
    share: float,
    former: tuple[ReplicaRow, float],
    marks: int,
    disks: int,
    rows: Mapping[str, int],
    *,
    acts: bool,
) -> Frag:
    was, was_share = former
    is_lit = acts or (row.up, row.joins, row.tag) != (was.up, was.joins, was.tag)
    health: Health = "down" if not row.up else "joining" if row.joins else "up"
    reads, writes = _asked_for(row)
    read, written = _asked_for(was)
    words = f"{row.name}: {asked_words(reads, writes)}, holds {row.cell}{'; down' * (not row.up)}"
    words += "; becomes a replica" * row.joins
    kind, _, number = row.cell.partition(" ")
    held = f"{kind[0]}{number}" if number else "–" * (row.role != "no replica")
    lines, news = (held,) if held else (), (held,) if row.cell != was.cell else ()
    is_new = row.tag != was.tag
    name = _name(row.name, row.tag, 0, health=health, said=words, is_new=is_new, is_lit=is_lit)
    return h(
        "g",
        h("title", words),
        name,
        fresh(marks, -ASIDE, MARK, 16) if reads != read else None,
        eye(marks, -ASIDE, filled=reads),
        fresh(marks, ASIDE, MARK, 16) if writes != written else None,
        pencil(marks, ASIDE, filled=writes),
        disk(disks, 0, share, lines, news=news, refilled=share != was_share),
        k=f"head:{row.name}",
        transform=f"translate(0 {rows[row.name]})",
    )


def _asked_for(row: ReplicaRow) -> tuple[bool, bool]:
    both = row.role == "reads and writes"
    return both or row.role == "reads only", both or row.role == "writes only"


def asks_words(line: AskedRow) -> str:
    """Say whom a client asks."""
    does = "writes to" if line.write else "reads from"
    who = ", ".join([*line.surely, *(f"perhaps {name}" for name in line.perhaps)])
    return f"{line.client} {does} {who or 'nobody'}"


def _asks(line: AskedRow, x: int, end: int, rows: Mapping[str, int]) -> Frag:
    def parts() -> Iterator[Frag]:
        top, aside = rows[line.client], ASIDE if line.write else -ASIDE
        for names, kind in ((line.perhaps, "asks perhaps"), (line.surely, "asks")):
            if names:
                low = max(rows[name] for name in names) + aside
                ways = "".join(f"M{x} {rows[name] + aside}H{end}" for name in names)
                yield h("path", d=f"M{x} {top}V{low}{ways}", class_=kind)
        yield h("circle", cx=x, cy=top, r=2.5, class_="dot")
        for names, opened in ((line.on_the_way, False), (line.at_work, True)):
            yield from (envelope(end - 8, rows[name] + aside, opened=opened) for name in names)
        for name in line.answered:
            yield h("circle", cx=end - 5, cy=rows[name] + aside, r=3, class_="dot")

    opened = "" if line.number is None else " open"
    return h(
        "g",
        h("title", asks_words(line)),
        list(parts()),
        k=f"asks:{line.client}:{'write' if line.write else 'read'}",
        class_=f"{'writes' if line.write else 'reads'}{opened}",
        data_of=line.client if line.number is None else facts.request_key(line.number),
    )


def _copy(way: CopyRow, session: int | None, x: int, rows: Mapping[str, int]) -> Frag:
    begin, end = rows[way.source], rows[way.target]
    tip = 4 if end > begin else -4
    moving, key_of = way.status != "not begun", way.session or session
    words = f"copy from {way.source} to {way.target}: {way.status}"
    return h(
        "g",
        h("title", words + (f", session {key_of}" if key_of else "")),
        h("path", d=f"M{x - 6} {begin}H{x}V{end}H{x - 6}m4 {-tip}l-4 {tip}l4 {tip}", class_="wire"),
        envelope(x, (begin + end) / 2) if moving else None,
        key(x + 14, (begin + end) / 2) if key_of else None,
        k=f"carries:{way.source}:{way.target}:{way.session}",
    )
