"""What the coordinator is at: the queue with reasons, the barrier node by node, the badges."""

from collections.abc import Iterator

from kit.errors import counted
from kit.masks import majority, nodes_in
from kit.model.flows import as_timeuuid
from kit.protocols.topology import facts
from kit.protocols.topology.control import has_majority, voting
from kit.protocols.topology.facts import HistoryLine, NodeFacts, history
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.decide import QueueEntry
from kit.views import declared
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb, lamp

STANDINGS = {"running": "▶", "next": "→", "waits": "…", "paused": "‖", "cancelled": "✕"}
"""A sign for each standing, beside its word."""


# -- the requests that are not done, in the order in which they are taken --------------------------


Row = tuple[str, str, list[Kid], str, QueueEntry, str]
"""Title, parameter, how it stands, why; the request itself, and the node that it is about."""


def _queue(scene: Scene) -> Iterator[Row]:
    m = scene.model
    for entry in facts.entries(m, scene.state):
        sign = h("span", STANDINGS[entry.standing], aria_hidden="true")
        waits = f": {', '.join(m.named(entry.waits_for))}" if entry.waits_for else ""
        about = "" if entry.node == NOBODY else str(m.names[entry.node])
        title, parameter = facts.title(m, entry), facts.parameter(m, scene.state, entry)
        yield title, parameter, [sign, f" {entry.standing}"], f"{entry.reason}{waits}", entry, about


def _request(row: Row) -> str:
    title, parameter, _, why, entry, _ = row
    reason = f" ({why})" if entry.reason else ""
    return f"{', '.join(filter(None, (title, parameter)))}: {entry.standing}{reason}"


# -- the barrier: what each node has applied, what still runs there, whether it has answered -------

Member = tuple[NodeFacts, str, str, tuple[str, ...], tuple[str, str]]
"""A member, its version, its requests in flight, its sessions; its answer as a sign and words."""


def _members(scene: Scene) -> Iterator[Member]:
    m, s, runs = scene.model, scene.state, scene.of(facts.barrier)
    answers: dict[str, tuple[str, str]] = {}
    if runs is not None:
        answers = {name: ("…", why or "not yet") for name, why in runs.refused}
        answers |= dict.fromkeys(runs.answered, ("✓", "answered"))
    for node in scene.of(facts.nodes):
        if node.view:
            is_at_work = s.client != NOBODY and m.names[s.client] == node.name
            client = f"1 request at version {s.client_version}" if is_at_work else ""
            answer = answers.get(node.name, ("", "not asked"))
            sessions = tuple(_sessions(scene, node.name, node.view.session))
            yield node, f"version {node.view.version}", client, sessions, answer


def _sessions(scene: Scene, node: str, known: int) -> Iterator[str]:
    held = dict(facts.guards(scene.model, scene.state, scene.model.number(node)))
    own = {known: held.pop(known, 0)} if known else {}
    for session, number in (own | held).items():
        guards = f", {counted(number, 'topology_guard')}" if number else ""
        yield f"{session} {'open' if session in own else 'closed'}{guards}"


def _answer(row: Member) -> Frag:
    sign, words = row[4]
    lit = bulb(sign, words) if sign else None
    return h("span", lit, f" {words}", class_=None if sign else "soft")


def _look(row: Member) -> tuple[str, ...]:
    _, version, in_flight, sessions, (_, answer) = row
    return version, in_flight, *(f"session {each}" for each in sessions), answer


def _caption(scene: Scene) -> str:
    if (runs := scene.of(facts.barrier)) is None:
        return "No barrier runs"
    return f"{runs.command}: {len(runs.answered)} of {len(runs.needs)} have answered"


# -- badges ----------------------------------------------------------------------------------------


def _badges(scene: Scene) -> declared.Badges:
    topology, entries = scene.state.topology, scene.of(facts.entries)
    head = ""
    for first in entries[:1]:
        standing = f": {first.standing}" * (first.standing != "running")
        more = f" +{len(entries) - 1}" * (len(entries) > 1)
        head = f"{facts.title(scene.model, first)}{standing}{more}"
    yield "version", f"version {topology.version}", "plain"
    yield "coordinator", "! no coordinator" * (scene.state.coordinator == NOBODY), "alarm"
    yield "queue", head, ""
    session = topology.session
    yield "session", f"session {session} open" * bool(session), "busy", as_timeuuid(session)


def _status(scene: Scene) -> str:
    said = []
    for key, words, _, *more in _badges(scene):
        if words and key != "coordinator":
            said.append(words + f" ({', '.join(more)})" * bool(more))
    return ", ".join(said)


BADGES = declared.status(_badges, "badges", _status)
QUEUE = declared.panel_of(
    "queue",
    "Request queue",
    declared.Table(
        _queue,
        "request:{0[4].number}",
        (
            "request",
            declared.Column("parameter", lambda row: row[1], none=""),
            "standing",
            declared.Column("why", lambda row: row[3], none=""),
        ),
        caption="Unfinished requests, each with its standing and the reason",
        of="{0[5]}",
        line=_request,
        empty="The queue is empty.",
    ),
    tab="Queue",
)
BARRIER = declared.panel_of(
    "barrier",
    "Barrier by node",
    declared.Table(
        _members,
        "barrier:{0[0].name}",
        (
            declared.Column("node", lambda row: row[0].name),
            "applied",
            "requests in flight",
            "sessions",
            declared.Column("answer", _answer),
        ),
        caption=_caption,
        of="{0[0].name}",
        alike=declared.Alike(_look, lambda scene, row: row[0].is_coordinator),
    ),
    tab="Barrier",
)

LAST = 30


def _draw_configuration(scene: Scene) -> Frag:
    members = [*nodes_in(scene.state.topology.members)]
    rows = declared.told_apart(members, lambda i: (_role(scene, i).strip(),), lambda i: False)
    enough = lamp(has_majority(scene.state), "majority", "no majority")
    listed = [
        h(
            *("li", h("b", name), h("small", _role(scene, i))),
            k=f"member:{name}",
            class_="lamp",
            data_of=name,
        )
        for i in rows.listed
        for name in [scene.model.names[i]]
    ]
    return h(
        "div",
        h("p", enough, f" {_quorum(scene)}", k="majority"),
        h("ul", listed),
        declared.draw_others(rows.others),
    )


def _quorum(scene: Scene) -> str:
    vote = voting(scene.state)
    reached = (vote & scene.state.reachable).bit_count()
    count = vote.bit_count()
    return f"{reached} of {count} voters reached; {majority(count)} make a majority"


def _role(scene: Scene, node: int) -> str:
    s = scene.state
    leads = " leader, runs the coordinator" if s.coordinator == node else ""
    votes = scene.once("voting", lambda: voting(s))
    silent = "" if votes >> node & 1 else " does not vote"
    missing = "" if s.reachable >> node & 1 else " not reached"
    return f"{leads}{missing}{silent}" or " follows"


def _log(scene: Scene) -> list[tuple[int, str, str]]:
    """Of each line of the journals its step, the host that wrote it, and what it says."""

    def lines() -> list[tuple[int, str, str]]:
        m = scene.model
        return [
            (number, m.leader(step.after), words)
            for number, step in enumerate(scene.way())
            for words in facts.journal(m, step.before, step.action, step.after)
        ]

    return scene.once("journal", lines)


def _draw_log(scene: Scene) -> Frag:
    lines, newest = [*enumerate(_log(scene))], len(scene.way()) - 1
    if not lines:
        return h("p", "Nothing has been logged yet.", k="no-log", class_="soft")
    entries = [
        h(
            *("li", h("b", host), h("span", words)),
            k=f"line:{step}:{place}",
            class_=f"entry{' moved' if step == newest else ''}",
        )
        for place, (step, host, words) in reversed(lines[-LAST:])
    ]
    return h("ol", entries, class_="log")


def _history(scene: Scene) -> tuple[HistoryLine, ...]:
    return history(scene.model, scene.way())


HISTORY = declared.panel_of(
    "history",
    "Group 0 history",
    declared.Table(
        lambda scene: reversed(_history(scene)),
        "command:{0.step}",
        (
            declared.Column("state id", lambda line: line.state_id or ""),
            declared.Column("creator", "creator"),
            declared.Column("description", "description"),
        ),
        caption=lambda scene: f"group0_history: {counted(len(_history(scene)), 'command')}",
        empty="Nothing has been committed yet.",
        kind=lambda line: None if line.state_id else "soft",
        most=LAST,
        thing="command",
    ),
    tab="History",
)
CONFIGURATION = declared.panel_of(
    "configuration", "Group 0 configuration", declared.Drawn(_draw_configuration), tab="Members"
)
LOG = declared.panel_of(
    "log",
    "Coordinator's journal",
    declared.Drawn(
        _draw_log,
        lambda scene: (
            [f"{host}: {words}" for _, host, words in _log(scene)]
            or ["nothing has been logged yet"]
        ),
    ),
    tab="Journal",
)
