"""The tabs of what is lost and what is repaired: tablets by hosts, the line of tokens, warnings.

A node that takes another's place waits in its boot for the tablets of that one. Source: Topology
over Raft, "Node replace with tablets": the replace is over for whoever started the node once
availability is as it was.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from kit.errors import counted, first_of
from kit.model.timeline import PassedStep
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.facts.tablets import tablet_map
from kit.protocols.tablets.rules import availability
from kit.protocols.tablets.rules.maps import first_token
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.cluster import NOBODY, in_state
from kit.protocols.topology.topology import CrashMember
from kit.views.actions import mark
from kit.views.declared import Alike, Column, Drawn, Several, Table, of_state, panel_of
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import SLOT
from kit.views.panel import Scene
from kit.views.parts import act_button, box, bulb, drawing, lamp, word

GRACE = 10  # the default ``gc_grace_seconds`` in days; a step of a run is taken for a day
WAITING = ("replacing", "normal")
"""The states of a node that boots: it is normal before its tablets are there."""
MOST_HOSTS = 8  # hosts that have a column of their own
MOST_NAMED = 6  # tablets that a line names
HEIGHT, EDGE, BAR, BOOT = 48.0, 6.0, 26.0, 10.0
MOST_RANGES = 48  # that are drawn; the words have all
CLOCK = (
    "Each step is a day, and everything was repaired on day 0. In tombstone mode timeout, deleted "
    f"rows can come back in a tablet that is not repaired within {GRACE} days (gc_grace_seconds)."
)
MARKED = ("✓", "box", "on", "marked as repaired")
PASSED_OVER = ("!", "wire", None, "skipped, not marked as repaired")
"""How a range looks: its sign, its shape, the look of the sign, in words."""
NO_WARNING = "Every tablet was repaired within the grace period."


class Boot(Struct, frozen=True):
    """The boot of a node that replaces another: how many tablets are there, of how many; ``over``
    once it is normal and all are, so that the replace is reported as finished.
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
        total, left = (
            sum(any(each.host == replaced for each in row.replicas) for row in rows)
            for rows in (m.rows, s.tablets)
        )
        yield Boot(name, replaced, total - left, total, entry.state == "normal" and not left)


def _draw_boots(scene: Scene) -> list[Frag]:
    full = SLOT - 2 * EDGE
    return [
        h(
            "div",
            h("p", bulb("✓" if each.over else "…", "boot"), f" {_boot(each)}"),
            drawing(
                f"boot of {each.node}: {each.rebuilt} of {each.total} tablets",
                SLOT,
                BOOT + 2,
                box(EDGE, 1, full, BOOT, "wire"),
                box(EDGE, 1, full * each.rebuilt / each.total if each.total else full, BOOT, "box")
                if each.rebuilt or not each.total
                else None,
            ),
            k=f"boot:{each.node}",
            data_of=each.node,
        )
        for each in boots(scene.model, scene.state)
    ]


def _boot(each: Boot) -> str:
    tablets = f"{each.rebuilt} of {counted(each.total, 'tablet')} rebuilt"
    if each.over:
        return f"{each.node} has booted and has replaced {each.replaced}: {tablets}."
    return f"{each.node} boots in place of {each.replaced}: {tablets}."


class TabletLosses(Struct, frozen=True):
    """A tablet: the hosts of its replicas in force, each with whether it lives (✓) or is lost (✗),
    those where a replica is being made (+), and what is to spare.
    """

    tablet: int
    hosts: tuple[tuple[str, str], ...]
    spare: int

    @property
    def fate(self) -> str:
        """The fate of it, in words."""
        return {1: "alive", 0: "no replica to spare", -1: "no quorum"}[max(-1, min(1, self.spare))]


def left_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are no part of the topology any more."""
    return m.hosts(in_state(s.control.topology, "left"))


def lost_hosts(m: Tablets, s: TabletsState) -> frozenset[str]:
    """The hosts that are dead or have left."""
    return left_hosts(m, s) | {name for i, name in enumerate(m.names) if not s.control.up >> i & 1}


def losses(m: Tablets, s: TabletsState) -> Iterator[TabletLosses]:
    """Each tablet by the replicas in force."""
    given, lost = tablet_map(m, s), lost_hosts(m, s)
    every = availability.availability(given, lost, m.edition)
    for each, tablet in zip(every, given.tablets, strict=True):
        serving = availability.in_force(tablet, m.edition)
        hosts = [(at.host, "✗" if at.host in lost else "✓") for at in serving]
        coming = (at for at in tablet.sets.pending if tablet.transition and at not in serving)
        hosts += [(at.host, "+") for at in coming]
        yield TabletLosses(each.tablet, tuple(hosts), each.spare)


def one_more(m: Tablets, s: TabletsState) -> list[tuple[str, tuple[int, ...]]]:
    """Each host that lives, with the tablets without a quorum if it went, too."""
    lost = lost_hosts(m, s)
    hosts = [name for name in m.names if name not in lost]
    return list(availability.lost_with(tablet_map(m, s), lost, hosts, m.edition).items())


def _columns(scene: Scene) -> list[Column]:
    names = scene.model.names
    hosts = [Column(name, partial(_cell, name), none="") for name in names]
    if len(names) > MOST_HOSTS:
        hosts = [Column("replicas", _replicas)]

    def spare(each: TabletLosses) -> list[Kid]:
        return [bulb("✓" if each.spare > 0 else "!", each.fate), f" {max(each.spare, 0)}"]

    return [Column("tablet", "tablet"), *hosts, Column("to spare", spare)]


def _cell(host: str, each: TabletLosses) -> str:
    return next((sign for name, sign in each.hosts if name == host), "")


def _replicas(each: TabletLosses) -> str:
    return " ".join(f"{sign}{name}" for name, sign in each.hosts)


def _tablet(each: TabletLosses) -> str:
    words = f"tablet {each.tablet}: {_replicas(each)}; {max(each.spare, 0)} to spare"
    return f"{words}{', no quorum' if each.spare < 0 else ''}"


def _tablets(scene: Scene) -> list[Table]:
    table = Table(
        lambda scene: losses(scene.model, scene.state),
        "losses:{0.tablet}",
        _columns,
        caption="replicas: ✓ alive, ✗ lost, + being made",
        of=lambda each: f"tablet {scene.model.parameters.tables[0]} {each.tablet}",
        line=_tablet,
        alike=Alike(
            lambda each: (each.fate,),
            lambda scene, each: any(sign == "✗" for _, sign in each.hosts),
        ),
    )
    return [table]


def _crash(scene: Scene, each: tuple[str, tuple[int, ...]]) -> Frag | str:
    host, _ = each
    for action, refusal in scene.options():
        if refusal is None and isinstance(action, CrashMember) and action.node == host:
            act = f"do:{mark(scene.model, action)}"
            return act_button(f"lose {host}", f"lose:{host}:button", act, scene.closed)
    return host


def _cost(each: tuple[str, tuple[int, ...]]) -> str:
    _, tablets = each
    if not tablets:
        return "every tablet keeps its quorum"
    names = first_of([*map(str, tablets)], MOST_NAMED)
    return f"no quorum: tablet{'s' * (len(tablets) > 1)} {names}"


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


def repair_map(
    m: Tablets, s: TabletsState, steps: Sequence[PassedStep]
) -> tuple[RepairedRange, ...]:
    """Each tablet's range, as if all nodes ran a primary-range repair now."""
    given = tablet_map(m, s)
    lasts = given.last_tokens
    skipped = availability.skipped_by_primary_repair(given, left_hosts(m, s), m.places)
    repaired = last_repairs(s, steps)
    late = availability.unrepaired_in_time(given, repaired, len(steps), GRACE)
    return tuple(
        RepairedRange(
            *(number, first_token(number, lasts), last),
            availability.primary_replica(given, number, m.places),
            *(number in skipped, repaired[number], number in late),
        )
        for number, last in enumerate(lasts)
    )


def last_repairs(s: TabletsState, steps: Sequence[PassedStep]) -> dict[int, int]:
    """The step in which each tablet's last repair ended; 0 where none did."""
    repaired = dict.fromkeys(range(len(s.tablets)), 0)
    for day, step in enumerate(steps, 1):
        pairs = zip(step.before.tablets, step.after.tablets, strict=True)
        for number, (was, now) in enumerate(pairs):
            if not now.transitions and any(way.kind == "repair" for way in was.transitions[:1]):
                repaired[number] = day
    return repaired


def _draw_repairs(scene: Scene) -> Frag:
    ranges = repair_map(scene.model, scene.state, scene.way())
    late = [_item(_late(each), f"late:{each.tablet}") for each in ranges if each.late]
    skipped = [_item(_skipped(each), f"skipped:{each.tablet}") for each in ranges if each.skipped]
    return h(
        "div",
        h("p", f"A primary-range repair on all nodes, now: {_summary(ranges)}."),
        _line(scene.model.parameters.tables[0], ranges),
        h("ul", skipped),
        h("p", f"Day {len(scene.way())}. {CLOCK}", k="repair:clock"),
        h("ul", late),
        None if late else h("p", NO_WARNING, class_="soft"),
    )


def _summary(ranges: Sequence[RepairedRange]) -> str:
    skipped = sum(each.skipped for each in ranges)
    return f"{counted(len(ranges) - skipped, 'range')} marked, {skipped} skipped"


def _line(table: str, ranges: Sequence[RepairedRange]) -> Frag:
    shown = ranges[:MOST_RANGES]
    wide = (SLOT - 2 * EDGE) / len(shown)
    drawn = []
    for place, each in enumerate(shown):
        sign, kind, look, fate = PASSED_OVER if each.skipped else MARKED
        part = h(
            "g",
            h("title", f"tablet {each.tablet}, primary {each.primary}: {fate}"),
            box(1, 16, wide - 2, BAR, kind),
            word(str(each.tablet), wide / 2, 12, "soft") if wide > 18 else None,
            word(sign, wide / 2, 33, look) if wide > 9 else None,
            k=f"repaired:{each.tablet}",
            transform=f"translate({EDGE + wide * place:.1f} 0)",
            data_of=f"tablet {table} {each.tablet}",
        )
        drawn.append(part)
    return drawing(f"ranges by token: {_summary(shown)}", SLOT, HEIGHT, drawn)


def _item(words: str, key: str) -> Frag:
    return h("li", bulb("!", "warning"), h("span", words), k=key, class_="lamp")


def _skipped(each: RepairedRange) -> str:
    return (
        f"tablet {each.tablet}: its primary replica {each.primary} has left; no node repairs the "
        f"tokens above {each.first} up to {each.last}, and its tombstones stay"
    )


def _late(each: RepairedRange) -> str:
    return f"tablet {each.tablet}: last repaired on day {each.repaired}"


def _repair_words(scene: Scene) -> Iterator[str]:
    """Without the day, which is the Player's counter: a new day alone changes nothing."""
    ranges = repair_map(scene.model, scene.state, scene.way())
    yield f"a primary-range repair now: {_summary(ranges)}"
    yield from (_skipped(each) for each in ranges if each.skipped)
    yield CLOCK
    yield from [_late(each) for each in ranges if each.late] or [NO_WARNING]


LOSSES = panel_of(
    "losses",
    "Availability after one more loss",
    Drawn(_draw_boots),
    Several(_tablets),
    Table(
        of_state(one_more),
        "lose:{0[0]}",
        (
            Column("host", draws=_crash),
            Column("quorum", lambda each: lamp(not each[1], "safe", "costs a quorum")),
            Column("cost", _cost),
        ),
        caption="lose one more",
        of="{0[0]}",
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
