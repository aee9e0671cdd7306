"""A join: its messages, the rows of host ids, what each process is at, every check."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kit.model.actors import ActorState
from kit.model.network import DuplicateMessage
from kit.model.timeline import PassedStep
from kit.protocols.topology import handshake, join
from kit.protocols.topology.join import Join
from kit.views.busts import Health
from kit.views.declared import Badges, Column, Note, Table, of_state, panel_of, status
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import lamp
from kit.views.promises import LAMPS, judged
from kit.views.registry import Views
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Paper, Sign, Stage, stage_panel

BY = {
    "receiver": "the receiver, from its configuration",
    "placing": "the receiver, from group 0",
    "coordinator": "the coordinator",
}


def hosts(s: ActorState) -> Iterator[tuple[handshake.JoinRow, bool, str]]:
    """Every row of ``system.topology``, whether it is in group 0, why it was rejected."""
    held = join.tables(s)
    for row in held.rows:
        yield row, row.host in held.members, handshake.REASONS[row.reason] if row.reason else ""


def processes(m: Join, s: ActorState) -> tuple[tuple[str, str], ...]:
    """What the members, the joiner and, where there is one, the removed node are at, in words."""
    state, zombie = join.joiner(s), join.removed(s)
    doing = [
        f"{state.host}, start {state.boot}: {state.status}",
        f"features {', '.join(state.features) or 'none'}",
        "group 0 server runs" if m.runs_group0(state) else "no group 0 server",
        "a response is held until the joiner is told to wait for one" if state.parked else "",
        handshake.REASONS[state.reason] if state.reason else "",
    ]
    named = [(each.name, _member(s, each)) for each in join.members(s)]
    named.append((handshake.JOINER, "; ".join(filter(None, doing))))
    if zombie is not None:
        awake = "has sent its old write" if zombie.awake else "is cut off"
        named.append((handshake.REMOVED, "knows that it was removed" if zombie.banned else awake))
    return tuple(named)


def _member(s: ActorState, state: join.MemberState) -> str:
    if not state.up:
        return "down"
    done = "was handled" if state.call == "handled" else "is on its way"
    parts = [
        "coordinator" if join.tables(s).coordinator == state.name else "",
        *(f"handles the request of {asks.host}" for asks in state.handling),
        f"its response {done}" if state.call else "",
        f"owes {state.owes[0]} a rejection" if state.owes else "",
        "has stored an old write" if state.stored else "",
        f"bans {', '.join(state.banned)}" if state.banned else "",
    ]
    return "; ".join(filter(None, parts)) or "nothing to do"


def checks(m: Join, s: ActorState) -> tuple[tuple[str, str, bool], ...]:
    """Every check, who makes it, and whether it would fail if it were made of the joiner now."""
    state = join.joiner(s)
    asks = replace(m.asks, host=state.host, call=state.boot, features=state.features)
    return tuple(
        (check.reason, BY[check.by], check.fails(join.tables(s), asks, join.up(s)))
        for check in handshake.CHECKS
        if check.is_made(m.edition)
    )


def in_short(s: ActorState) -> tuple[str, str, str]:
    """The joiner's status, who coordinates, whether the feature is enabled."""
    lead = join.tables(s).coordinator
    enabled = handshake.FEATURE in join.tables(s).enabled
    return (
        f"{join.joiner(s).host} {join.joiner(s).status}",
        f"{lead} coordinates" if lead else "no coordinator",
        f"feature {handshake.FEATURE} {'enabled' if enabled else 'not enabled'}",
    )


def tried(steps: Sequence[PassedStep]) -> tuple[int, ...]:
    """How often the calls of a join were made: the query, the request, the response.

    A call is tried again after a timeout, a lost connection or a new start of who made it; the
    first query is on its way from the start.
    """
    counts: dict[type, int] = {
        handshake.JoinNodeQuery: 1,
        handshake.JoinNodeRequest: 0,
        handshake.JoinNodeResponse: 0,
    }
    for step in steps:
        old = Counter(step.before.network.in_flight)
        for envelope, number in (Counter(step.after.network.in_flight) - old).items():
            kind = type(envelope.message)
            if kind in counts and not isinstance(step.action, DuplicateMessage):
                counts[kind] += number
    return tuple(counts.values())


# -- the stage: members, the joiner, and at their side what group 0 holds --------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    words = dict(processes(m, s))
    names = tuple(name for name in m.names if name != handshake.GROUP0)
    cast = [_member_there(s, each, words[each.name]) for each in join.members(s)]
    cast.append(_joiner_there(m, s, join.joiner(s), words[handshake.JOINER]))
    if (zombie := join.removed(s)) is not None:
        tag = "is banned" if zombie.banned else "awake" if zombie.awake else "removed"
        who, title = handshake.REMOVED, f"{handshake.REMOVED}: {words[handshake.REMOVED]}"
        sign: Sign = "ban" if zombie.banned else ""
        cast.append(Character(who, f"n:{who}", "gone", sign=sign, tag=tag, title=title))
    return Stage(names, tuple(cast), (_group0(s),), lines=4)


def _member_there(s: ActorState, state: join.MemberState, words: str) -> Character:
    leads = join.tables(s).coordinator == state.name
    holds = [f"asked by {asks.host}" for asks in state.handling]
    if state.call:
        has = "has" if state.call == "handled" else "awaits"
        holds.append(f"{has} {handshake.JOINER}'s answer")
    holds += [f"rejects {host}" for host in state.owes[:1]]
    holds += ["stored old write"] * state.stored
    holds += [f"bans {', '.join(state.banned)}"] if state.banned else []
    return Character(
        state.name,
        f"n:{state.name}",
        "up" if state.up else "down",
        leads=leads,
        tag="coordinator" if leads else "member" if state.name in join.tables(s).members else "",
        holds=tuple(holds),
        title=f"{state.name}: {words}",
    )


def _joiner_there(m: Join, s: ActorState, state: join.JoinerState, words: str) -> Character:
    server = ["group 0 runs"] * m.runs_group0(state)
    health: Health = "up" if state.status == "normal" else "joining"
    return Character(
        handshake.JOINER,
        f"n:{handshake.JOINER}",
        "down" if state.status == "stopped" else health,
        tag=state.status,
        holds=(f"id {state.host}, start {state.boot}", _papers(m, s, state), *server),
        title=f"{handshake.JOINER}: {words}",
    )


def _papers(m: Join, s: ActorState, state: join.JoinerState) -> Paper:
    """What is checked of the joiner in this start: by who took its request, and by group 0."""
    row = join.tables(s).row(state.host)
    row = row if row and row.attempt == state.boot else None
    taken = [asks for each in join.members(s) for asks in each.handling]
    came = bool(row) or any((a.host, a.call) == (state.host, state.boot) for a in taken)
    said = (sent.message for sent in s.network.in_flight)
    whys = {each.reason for each in said
            if isinstance(each, handshake.RejectedReply) and each.call == state.boot}  # fmt: skip
    whys |= {state.reason, row.reason if row else ""}
    knows = row and (row.verified or row.state in (*handshake.JOINING, "normal"))
    lacks = "features" in whys or bool(row and "lacks" in row.verified)
    return Paper((
        (f"cluster {m.asks.cluster}", False if "cluster-name" in whys else came or None),
        (f"snitch {m.asks.snitch}", False if "snitch" in whys else came or None),
        (f"features {', '.join(state.features) or 'none'}", not lacks if lacks or knows else None),
    ))  # fmt: skip


def _group0(s: ActorState) -> Character:
    held = join.tables(s)
    rows = [f"{row.host}: {row.state}" for row in held.rows if row.state != "normal"]
    inside = ", ".join(held.members)
    return Character("g0", f"n:{handshake.GROUP0}", tag=f"cluster {handshake.CLUSTER}: {inside}",
                     holds=tuple(rows),
                     title=f"group 0: {'; '.join(rows) or 'no other rows'}; members {inside}",
                     kind="part")  # fmt: skip


ASKED = {"asking": f"{handshake.JOINER}'s question", "requesting": f"{handshake.JOINER}'s request"}


def gates(scene: Scene) -> Iterator[Gate]:
    """Who has to answer before the join goes on: who was asked, the coordinator, the joiner."""
    s, contact = scene.state, scene.model.contact
    status, lead = join.joiner(s).status, join.tables(s).coordinator
    if any(each.call == "sent" for each in join.members(s)):
        yield Gate(
            handshake.JOINER, "the coordinator's call", "been heard", (), (handshake.JOINER,), 1
        )
    elif status in ASKED:
        yield Gate(handshake.JOINER, ASKED[status], "been heard", (), (contact,), 1)
    elif status == "waiting" and lead:
        names = dict.fromkeys((contact, lead))
        there = tuple(name for name in names if name != lead)
        row = join.tables(s).row(join.joiner(s).host)
        due = "the verdict" if row is None or row.state == "none" else "the response"
        yield Gate(handshake.JOINER, due, "been heard", there, (lead,), len(names))


def _tried(scene: Scene) -> str:
    calls = ("QUERY", "REQUEST", "RESPONSE")
    made = zip(calls, tried(scene.way()), strict=True)
    return f"Calls so far: {', '.join(f'JOIN_NODE_{call} {times}' for call, times in made)}."


def _badges(scene: Scene) -> Badges:
    names = ("joiner", "coordinator", "feature")
    yield from ((*each, "") for each in zip(names, in_short(scene.state), strict=True))


VIEWS = Views(
    (
        status(_badges, wording=lambda s: ", ".join((*in_short(s.state), judged(s)))),
        panel_of(
            "hosts",
            "Host ids in group 0",
            Table(
                lambda scene: hosts(scene.state),
                "host:{0[0].host}",
                (
                    Column("host id", lambda row: row[0].host),
                    Column("node_state", lambda row: row[0].state),
                    Column("group 0", lambda row: "member" if row[1] else ""),
                    Column("supported_features", lambda row: row[0].features),
                ),
                of="{0[0].host}",
            ),
            Table(
                lambda scene: [row for row in hosts(scene.state) if row[0].attempt],
                "asked:{0[0].host}",
                (
                    Column("host id", lambda row: row[0].host),
                    Column("start that asked", lambda row: row[0].attempt),
                    Column("verified by a member", lambda row: row[0].verified),
                    Column("error", lambda row: row[2]),
                ),
                caption="Who has asked to join",
                of="{0[0].host}",
                empty="No node has asked to join yet.",
            ),
            still=True,
        ),
        stage_panel(
            "stage",
            "The handshake",
            _stage,
            gates=gates,
            meanings={
                "g0": "group 0: its members, and rows of its table",
                "crown": "the coordinator",
            },
        ),
        MESSAGES,
        panel_of(
            "processes",
            "What each node is doing",
            Table(of_state(processes), "process:{0[0]}", ("node", "what it is doing"), of="{0[0]}"),
            Note(_tried, "tried"),
            tab="Nodes",
            own=True,
        ),
        panel_of(
            "checks",
            "Which node checks what",
            Table(
                of_state(checks),
                "check:{0[0]}",
                (
                    "check",
                    "made by",
                    Column("joiner", lambda row: lamp(not row[2], "passes", "fails")),
                ),
                caption="the results if the checks were made now",
            ),
            tab="Checks",
        ),
        LAMPS,
    ),
    picture="stage",
    table="hosts",
    badges="status",
)


OUTPUT = {
    "rows": lambda m, s, _: "\n".join(
        f"{row.host}: {row.state}, {'in' if member else 'not in'} group 0"
        + (f", {reason}" if reason else "")
        for row, member, reason in hosts(s)
    ),
    "processes": lambda m, s, _: "\n".join(map(": ".join, processes(m, s))),
    "checks": lambda m, s, _: (
        "\n".join(f"{name}, by {by}" for name, by, fails in checks(m, s) if fails) or "none fails"
    ),
}
"""What scenario files show of a join."""
