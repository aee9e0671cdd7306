"""The tabs of what is lost and what is repaired: tablets by hosts, the line of tokens, warnings.

A node that takes another's place waits in its boot for the tablets of that one. Source: Topology
over Raft, "Node replace with tablets": the replace is over for whoever started the node once
availability is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.errors import counted
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.cluster import TabletRow, TabletsState
from kit.protocols.tablets.facts.tablets import tablet_map
from kit.protocols.tablets.rules.availability import (
    availability,
    lost_with,
    primary_replica,
    skipped_by_primary_repair,
    unrepaired_in_time,
)
from kit.protocols.tablets.rules.maps import first_token
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.cluster import NOBODY, mask_of
from kit.protocols.topology.topology import CrashMember
from kit.views.actions import mark
from kit.views.declared import Alike, Column, Drawn, Several, Table, of_state, panel_of
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import act_button, bulb
from kit.views.sizes import SLOT

GRACE = 10
"""The default ``gc_grace_seconds`` in days; a step of a run is taken for a day."""


class TabletLosses(Struct, frozen=True):
    """A tablet: the hosts of its replicas in force, those of them that are lost, what is to spare.

    ``comes`` are the hosts where a replica is being made.
    """

    tablet: int
    hosts: tuple[str, ...]
    lost: tuple[str, ...]
    comes: tuple[str, ...]
    spare: int


class HostLoss(Struct, frozen=True):
    """What the loss of a host that lives would cost: the tablets without a quorum then."""

    host: str
    tablets: tuple[int, ...]


class RepairedRange(Struct, frozen=True):
    """A tablet's range: whether a primary-range repair on all nodes would mark it as repaired.

    The range is the tokens after ``first`` up to ``last``. ``repaired`` is the day of its last
    repair in this run, which began on day 0 with all repaired; ``late`` says that it is not
    repaired within the grace.
    """

    tablet: int
    first: int
    last: int
    primary: TabletReplica
    skipped: bool
    repaired: int
    late: bool


def left_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are no part of the topology any more."""
    return m.hosts(mask_of(s.control.topology, "left"))


def lost_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are dead or have left."""
    return left_hosts(m, s) | {m.names[i] for i in range(len(m.names)) if not _lives(s, i)}


def _lives(s: TabletsState, node: int) -> bool:
    return bool(s.control.up >> node & 1)


def losses(m: Tablets, s: TabletsState) -> tuple[TabletLosses, ...]:
    """Each tablet by the replicas in force."""
    given, lost = tablet_map(m, s), lost_hosts(m, s)
    return tuple(
        TabletLosses(
            each.tablet,
            tuple(replica.host for replica in tablet.replicas),
            tuple(replica.host for replica in tablet.replicas if replica.host in lost),
            tuple(replica.host for replica in tablet.sets.pending if tablet.transition),
            each.spare,
        )
        for each, tablet in zip(availability(given, lost), given.tablets, strict=True)
    )


def one_more(m: Tablets, s: TabletsState) -> tuple[HostLoss, ...]:
    """What each further loss costs."""
    given, lost = tablet_map(m, s), lost_hosts(m, s)
    hosts = [m.names[i] for i in nodes_in(s.control.up) if m.names[i] not in lost]
    return tuple(HostLoss(*each) for each in lost_with(given, lost, hosts).items())


def repair_map(
    m: Tablets, s: TabletsState, steps: Sequence[PassedStep]
) -> tuple[RepairedRange, ...]:
    """Each tablet's range, as if all nodes ran a primary-range repair now."""
    given, places = tablet_map(m, s), {name: _place(m.rack(name)) for name in m.names}
    lasts = given.last_tokens
    skipped = frozenset(skipped_by_primary_repair(given, left_hosts(m, s), places))
    repaired = last_repairs(s, steps)
    late = frozenset(unrepaired_in_time(given, repaired, len(steps), GRACE))
    return tuple(
        RepairedRange(
            *(number, first_token(number, lasts), lasts[number]),
            primary_replica(given, number, places),
            number in skipped,
            repaired[number],
            number in late,
        )
        for number in range(given.count)
    )


def last_repairs(s: TabletsState, steps: Sequence[PassedStep]) -> dict[int, int]:
    """The step in which each tablet's last repair ended; 0 where none did."""
    repaired = dict.fromkeys(range(len(s.tablets)), 0)
    for day, step in enumerate(steps, 1):
        if step.before.tablets is step.after.tablets:
            continue
        for number, (was, now) in enumerate(
            zip(step.before.tablets, step.after.tablets, strict=True)
        ):
            ended = was.transitions and not now.transitions
            if ended and was.transitions[0].kind == "repair":
                repaired[number] = day
    return repaired


def _place(rack: str) -> tuple[str, str]:
    datacenter, _, name = rack.partition("/")
    return datacenter, name


WAITING = ("replacing", "normal")
"""The states of a node that boots: it is normal before its tablets are there."""


class Boot(Struct, frozen=True):
    """The boot of a node that replaces another: how many tablets it waits for, how many are there.

    ``over``: it is normal and has waited for all, so that the replace is reported as finished.
    """

    node: str
    replaced: str
    rebuilt: int
    total: int
    over: bool


def boots(m: Tablets, s: TabletsState) -> Iterator[Boot]:
    """The boot of each node that replaces one, also when it is over."""
    for name, entry in zip(m.names, s.control.topology.nodes, strict=True):
        if entry.replaced == NOBODY or entry.state not in WAITING:
            continue
        replaced = m.names[entry.replaced]
        total, left = (sum(_is_on(row, replaced) for row in rows) for rows in (m.rows, s.tablets))
        yield Boot(name, replaced, total - left, total, entry.state == "normal" and not left)


def _is_on(row: TabletRow, host: str) -> bool:
    return any(replica.host == host for replica in row.replicas)


MOST_HOSTS = 8
"""Hosts that have a column of their own."""
MOST_NAMED = 6  # tablets that a line names
HEIGHT, EDGE, BAR, BOOT = 48.0, 6.0, 26.0, 10.0
MOST_RANGES = 48  # that are drawn; the words have all
FATES = {1: "lives", 0: "no replica to spare", -1: "no quorum"}
CLOCK = (
    "A step is a day, and all was repaired on day 0. In tombstone mode timeout deleted rows may "
    f"come back in a tablet that is not repaired within {GRACE} days (gc_grace_seconds)."
)
NO_WARNING = "Every tablet was repaired within the grace."


# -- availability ----------------------------------------------------------------------------------


def _draw_boots(scene: Scene) -> list[Frag]:
    return [_boot(each) for each in scene.of(boots)]


def _boots(scene: Scene) -> list[str]:
    return [_boot_words(each) for each in scene.of(boots)]


def _boot(each: Boot) -> Frag:
    """A bar that is full as the last tablet is rebuilt, and what is reported of the boot."""
    full = SLOT - 2 * EDGE
    done = full * each.rebuilt / each.total if each.total else full
    return h(
        "div",
        h("p", bulb("✓" if each.over else "…", "boot"), f" {_boot_words(each)}"),
        h(
            "svg",
            h("rect", x=EDGE, y=1, width=full, height=BOOT, class_="wire"),
            h("rect", x=EDGE, y=1, width=done, height=BOOT, class_="box") if done else None,
            viewBox=f"0 0 {SLOT:.0f} {BOOT + 2:.0f}",
            width=SLOT,
            role="img",
            aria_label=f"boot of {each.node}: {each.rebuilt} of {each.total} tablets",
        ),
        k=f"boot:{each.node}",
        data_of=each.node,
    )


def _boot_words(each: Boot) -> str:
    tablets = f"{each.rebuilt} of {counted(each.total, 'tablet')} rebuilt"
    if each.over:
        return f"{each.node} has booted, {tablets}: {each.replaced} is replaced."
    return f"{each.node} boots in place of {each.replaced}: {tablets}."


def _fate(each: TabletLosses) -> str:
    return FATES[max(-1, min(1, each.spare))]


def _columns(scene: Scene) -> list[Column]:
    names = scene.model.names
    hosts = [Column(name, partial(_cell, name), none="") for name in names]
    whole = [Column("replicas", lambda each: " ".join(_replicas(each)))]
    return [
        Column("tablet", "tablet"),
        *(hosts if len(names) <= MOST_HOSTS else whole),
        Column("to spare", _spare),
    ]


def _spare(each: TabletLosses) -> list[Kid]:
    sign = "✓" if each.spare > 0 else "!"
    return [bulb(sign, _fate(each)), f" {max(each.spare, 0)}"]


def _cell(host: str, each: TabletLosses) -> str:
    if host in each.lost:
        return "✗"
    return "✓" if host in each.hosts else "+" if host in each.comes else ""


def _replicas(each: TabletLosses) -> Iterator[str]:
    for host in each.hosts:
        yield f"{'✗' if host in each.lost else '✓'}{host}"
    yield from (f"+{host}" for host in each.comes)


def _tablets(scene: Scene) -> Table:
    return Table(
        of_state(losses),
        "losses:{0.tablet}",
        _columns,
        caption="replicas: ✓ lives, ✗ is gone, + is being made",
        of=f"tablet {scene.model.parameters.tables[0]} {{0.tablet}}",
        line=_tablet,
        alike=Alike(lambda each: (_fate(each),), lambda scene, each: bool(each.lost)),
    )


def _tablet(each: TabletLosses) -> str:
    words = f"tablet {each.tablet}: {' '.join(_replicas(each))}; {max(each.spare, 0)} to spare"
    return f"{words}{', no quorum' if each.spare < 0 else ''}"


def _crash(scene: Scene, each: HostLoss) -> Frag | str:
    """The button that loses a host, where the model may."""
    for action, refusal in scene.options():
        if refusal is None and isinstance(action, CrashMember) and action.node == each.host:
            act = f"do:{mark(scene.model, action)}"
            return act_button(f"lose {each.host}", f"lose:{each.host}:button", act, scene.closed)
    return each.host


def _costs(each: HostLoss) -> Frag:
    return bulb(*(("!", "costs a quorum") if each.tablets else ("✓", "safe")))


def _cost(each: HostLoss) -> str:
    if not each.tablets:
        return "every tablet keeps its quorum"
    more = len(each.tablets) - MOST_NAMED
    names = ", ".join(map(str, each.tablets[:MOST_NAMED])) + (f" and {more} more" * (more > 0))
    return f"no quorum: {'tablet' if len(each.tablets) == 1 else 'tablets'} {names}"


# -- repair ----------------------------------------------------------------------------------------


def _draw_repairs(scene: Scene) -> Frag:
    """Draw which ranges a primary-range repair would mark, and who is to be warned of."""
    ranges = repair_map(scene.model, scene.state, scene.way())
    skipped = [each for each in ranges if each.skipped]
    late = [each for each in ranges if each.late]
    return h(
        "div",
        h("p", f"A primary-range repair on all nodes, now: {_summary(ranges)}."),
        _line(scene.model.parameters.tables[0], ranges[:MOST_RANGES]),
        h("ul", [_item("!", _skipped(each), f"skipped:{each.tablet}") for each in skipped]),
        h("p", _clock(scene), k="repair:clock"),
        h("ul", [_item("!", _late(each), f"late:{each.tablet}") for each in late]),
        None if late else h("p", NO_WARNING, class_="soft"),
    )


def _summary(ranges: tuple[RepairedRange, ...]) -> str:
    skipped = sum(each.skipped for each in ranges)
    return f"{counted(len(ranges) - skipped, 'range')} marked, {skipped} passed over"


def _line(table: str, ranges: tuple[RepairedRange, ...]) -> Frag:
    """The line of tokens: ranges that are marked are full, one that is passed over is dashed."""
    wide = (SLOT - 2 * EDGE) / len(ranges)
    return h(
        "svg",
        [_range(table, each, EDGE + wide * place, wide) for place, each in enumerate(ranges)],
        viewBox=f"0 0 {SLOT:.0f} {HEIGHT:.0f}",
        width=SLOT,
        role="img",
        aria_label=f"ranges by token: {_summary(ranges)}",
    )


def _range(table: str, each: RepairedRange, left: float, wide: float) -> Frag:
    sign = "!" if each.skipped else "✓"
    return h(
        "g",
        h("title", f"tablet {each.tablet}, primary {each.primary}: {_mark(each)}"),
        h(
            "rect",
            x=1,
            y=16,
            width=wide - 2,
            height=BAR,
            class_="wire dashed" if each.skipped else "box",
        ),
        h("text", str(each.tablet), x=wide / 2, y=12, text_anchor="middle", class_="soft")
        if wide > 18
        else None,
        h(
            "text",
            sign,
            x=wide / 2,
            y=33,
            text_anchor="middle",
            class_=None if each.skipped else "on",
        )
        if wide > 9
        else None,
        k=f"repaired:{each.tablet}",
        transform=f"translate({left:.1f} 0)",
        data_of=f"tablet {table} {each.tablet}",
    )


def _mark(each: RepairedRange) -> str:
    return "passed over, not marked as repaired" if each.skipped else "marked as repaired"


def _item(sign: str, words: str, key: str) -> Frag:
    return h("li", bulb(sign, "warning"), h("span", words), k=key, class_="lamp")


def _skipped(each: RepairedRange) -> str:
    return (
        f"tablet {each.tablet}: its primary replica {each.primary} has left; nobody repairs the "
        f"tokens after {each.first} up to {each.last}, and tombstones stay"
    )


def _late(each: RepairedRange) -> str:
    return f"tablet {each.tablet}: last repaired on day {each.repaired}"


def _clock(scene: Scene) -> str:
    return f"Day {len(scene.way())}. {CLOCK}"


def _repair_words(scene: Scene) -> Iterator[str]:
    """What is passed over, then who is warned of.

    The day is left out: it is the Player's counter, and a new day alone changes nothing.
    """
    ranges = repair_map(scene.model, scene.state, scene.way())
    yield f"a primary-range repair now: {_summary(ranges)}"
    yield from (_skipped(each) for each in ranges if each.skipped)
    yield CLOCK
    yield from [_late(each) for each in ranges if each.late] or [NO_WARNING]


LOSSES = panel_of(
    "losses",
    "Availability, and one more loss",
    Drawn(_draw_boots, _boots),
    Several(lambda scene: [_tablets(scene)]),
    Table(
        of_state(one_more),
        "lose:{0.host}",
        (Column("host", draws=_crash), Column("quorum", _costs), Column("cost", _cost)),
        caption="lose one more",
        of="{0.host}",
        line=lambda each: f"lose {each.host}: {_cost(each)}",
        headless=True,
    ),
    optional=True,
    tab="Losses",
)
REPAIRS = panel_of(
    "repairs",
    "Repair of primary ranges",
    Drawn(_draw_repairs, _repair_words),
    optional=True,
    tab="Repair",
)
