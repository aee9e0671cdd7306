"""What the lessons on a node's way in and on the queue ask and check: verdicts, tries, turns."""

import random
from typing import Any

from kit.errors import BadInput, KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.masks import nodes_in
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.handshake import CHECKS, CLUSTER, FEATURE, REASONS
from kit.protocols.topology.join import Join, joiner
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import Topology
from kit.views.static import Sheet

IN, NO_ANSWER = "it is let in", "no node answers it"
BANNED = "any member, before it even listens, because the node is banned"
BY = {
    "receiver": "the member that is asked, from its own configuration",
    "placing": "the member that is asked, from the tables of group 0",
    "coordinator": "the coordinator",
}
"""Who turns a joiner away, by what the checks call the place."""


def who_decides(timeline: Timeline) -> PosedQuestion:
    """Which node rejects the joiner, if any? BadInput for a model without a joiner."""
    model_of(timeline, Join, "join, the handshake")
    ahead = copied(timeline)
    while joiner(ahead.state).status not in ("normal", "stopped") and ahead.forward() is not None:
        pass
    last = joiner(ahead.state)
    by = {check.reason: BY[check.by] for check in CHECKS} | {"banned": BANNED}
    right = IN if last.status == "normal" else by.get(last.reason, NO_ANSWER)
    return posed(
        f"{last.host} asks to join. Which node rejects it, if any?",
        (IN, *BY.values(), BANNED, NO_ANSWER),
        (right,),
        f"{last.host} is {last.status}: {REASONS[last.reason]}."
        if last.reason
        else f"{last.host} is {last.status}.",
        still(ahead, "hosts"),
    )


def checks_table(edition: Edition = "documents") -> Sheet:
    """The checks on a joiner, in order, and by which node. BadInput for an unknown edition."""
    if edition not in EDITIONS:
        raise BadInput("edition", edition, " or ".join(EDITIONS))
    rows = [(REASONS[check.reason], BY[check.by]) for check in CHECKS if check.is_made(edition)]
    return Sheet(f"Which node checks what ({edition} edition)", ("rejected", "by"), tuple(rows))


WAYS_OF = ("", "bootstrapping", "normal", "left")
"""What the row of a host id may say as it asks; empty: there is none."""


def turned_away(cluster: str, features: list[str], enabled: list[str], row: str) -> str:
    """Its configuration and its row first, what it supports last."""
    if cluster != "prod" or row:
        return "member"
    return "coordinator" if set(enabled) - set(features) else ""


def _random_joiner(chance: random.Random) -> Arguments:
    names = ["f", "g", "h"]
    enabled = sorted(chance.sample(names, chance.randint(0, 2)))
    own = sorted(chance.sample(names, chance.randint(1, 3)))
    return [chance.choice([CLUSTER, CLUSTER, "test"]), own, enabled, chance.choice(WAYS_OF)]


def fresh_one_joins(s: Any) -> bool:
    """Whether the joiner serves under another host id than its first one."""
    return joiner(s).status == "normal" and joiner(s).disk > 1


def moves_while_waited_for(m: Any, step: PassedStep) -> bool:
    """Whether C gets another address while a barrier with its drain still asks for it."""
    waits = step.before.topology.transition == "write_both_read_old"
    moves = isinstance(step.action, act.RestartElsewhere) and step.action.node == "C"
    return waits and moves and step.before.topology.fence_version < step.before.topology.version


# -- the queue of requests: who is next, and who has to wait ---------------------------------------


NOBODY_NEXT = "none: they all wait"


def next_request(timeline: Timeline) -> PosedQuestion:
    """Which request in the queue is next? KitError when none waits."""
    m = model_of(timeline, Topology, "topology, the coordinator")
    s = timeline.state
    rows = queue(s.topology, s.reachable, m.setting)
    entries = {entry.number: entry for entry in rows if entry.standing != "running"}
    if not entries:
        raise KitError("predict: no request waits here")
    requests = s.topology.requests
    named = {number: _request_title(requests[number - 1], m.names) for number in sorted(entries)}
    reasons = []
    for number, name in named.items():
        entry = entries[number]
        waits = ", ".join(m.names[node] for node in nodes_in(entry.waits_for))
        why = f" ({entry.reason})" if entry.reason else ""
        reasons.append(f"{name}: {entry.standing}{why}" + f": {waits}" * bool(waits))
    chosen = [name for number, name in named.items() if entries[number].standing == "next"]
    return posed(
        f"These requests are waiting: {', '.join(named.values())}. Which one is next?",
        [*named.values(), NOBODY_NEXT],
        chosen or (NOBODY_NEXT,),
        f"This is the queue in the {m.setting.edition} edition.",
        still(timeline, "queue"),
        reasons=reasons,
    )


def _request_title(request: cluster.RequestEntry, names: tuple[str, ...]) -> str:
    of_all = request.keyspace or request.table
    whose = of_all if request.node == cluster.NOBODY else names[request.node]
    return f"{request.kind} {whose}".strip()


QUEUED = ("join", "leave", "rebuild", "cleanup", "truncate_table")
OF_CLUSTER = ("cleanup", "truncate_table")


def queue_order(edition: str, kinds: list[str]) -> list[str]:
    """By age, or first the nodes by kind and then what concerns all by age."""
    if edition == "documents":
        return kinds
    rank = {"join": 0, "leave": 1, "rebuild": 2}
    return sorted(kinds, key=lambda kind: rank.get(kind, 3))


def _random_queue(chance: random.Random) -> Arguments:
    kinds = chance.sample(QUEUED, chance.randint(3, len(QUEUED)))
    return [chance.choice(["documents", "server", "server"]), kinds]


def overtakes(m: Any, step: PassedStep) -> bool:
    """Whether a node begins to join while a truncate waits that was asked for before it."""
    begins = {entry.state for entry in step.after.topology.nodes} - {
        entry.state for entry in step.before.topology.nodes
    }
    number = next((entry.request_id for entry in step.before.topology.nodes if entry.request), 0)
    earlier = any(waiting < number for waiting in step.before.topology.queue)
    return "bootstrapping" in begins and earlier


def paused(m: Any, step: PassedStep) -> bool:
    """Whether a leave has to wait for the tablets of its node while another node joins."""
    s = step.after
    waits = queue(s.topology, s.reachable, m.setting)
    joins = any(entry.state == "bootstrapping" for entry in s.topology.nodes)
    return joins and any(entry.standing == "paused" for entry in waits)


def all_done(s: Any) -> bool:
    """Whether every request is done, without an error."""
    requests = s.topology.requests
    return bool(requests) and all(each.done and not each.error for each in requests)


TASKS = (
    run_task(
        "second-try",
        "in on the second try",
        "The joiner N may crash once, and its data directory may be cleared once. Give a run, as "
        "verbs or as a Player, in which N is rejected but at the end is a normal node, under "
        "another host id. Use the server edition.",
        "use start-again once the request is in the queue: by then, the old host id has already "
        "asked. The coordinator must give up on the first attempt before it takes the second one.",
        Ground("join", {"edition": "server", "restarts": 1, "wipes": 1}),
        takes(
            lambda m, step: joiner(step.before).status != "stopped" == joiner(step.after).status,
            "In your run, N is never rejected.",
        ),
        ends(fresh_one_joins, "At the end of your run, N is not normal under another host id."),
    ),
    run_task(
        "moved-house",
        "another address halfway",
        "D joins, and one node may be restarted once with another address. Give a run, as verbs or "
        "as a Player, in which that is C, while the barrier of write_both_read_old has no fence "
        "yet, and every node is normal at the end.",
        "readdress C before or after C has answered. Then the others must hear about it (gossip "
        "C).",
        Ground("topology", {"operations": ("join D",), "addresses": 1, "lag": False}),
        takes(moves_while_waited_for, "In your run, C does not move while that barrier waits."),
        ends(
            lambda s: all(entry.state == "normal" for entry in s.topology.nodes),
            "At the end of your run, not every node is normal.",
        ),
    ),
    function_task(
        "who-turns-away",
        "which node rejects it?",
        "Write turned_away(cluster, features, enabled, row). A node asks to join cluster "
        f"'{CLUSTER}', but its configuration names `cluster`. It supports `features`, and the "
        "cluster has enabled `enabled`. `row` is the state in the row of its host id: '' (there is "
        "no row), 'bootstrapping', 'normal' or 'left'. Return 'member' or 'coordinator', whichever "
        "rejects it, or '' if it may join.",
        "the member that is asked checks first: its own configuration, then the tables. The "
        "coordinator then checks features.",
        turned_away,
        (
            [CLUSTER, [FEATURE], [FEATURE], ""],
            ["test", [FEATURE], [FEATURE], ""],
            [CLUSTER, ["g"], [FEATURE], ""],
            [CLUSTER, ["g"], [FEATURE], "left"],
        ),
        _random_joiner,
    ),
    run_task(
        "overtaken-truncate",
        "asked first, served last",
        "In the server edition, a client truncates ks.t, and D joins. Give a run, as verbs or as a "
        "Player, in which the TRUNCATE is requested first, D begins to join before it starts, and "
        "both are done at the end.",
        "make both requests before the coordinator decides anything.",
        Ground(
            "topology",
            {"edition": "server", "operations": ("truncate_table ks.t", "join D"), "lag": False},
        ),
        takes(overtakes, "In your run, no node joins while the TRUNCATE waits."),
        ends(
            lambda s: len(s.topology.requests) > 1 and all_done(s),
            "At the end of your run, at least one request is not done.",
        ),
    ),
    run_task(
        "paused-leave",
        "a leave that is paused",
        "In the server edition, C has tablets. Give a run, as verbs or as a Player, in which "
        "C's leave is paused while D joins, and at the end D is normal and C has left.",
        "the leave is paused while C has tablets. Once D is in, the tablets can move.",
        Ground(
            "topology",
            {"edition": "server", "operations": ("decommission C", "join D")}
            | {"lag": False, "on_tablets": ("C",)},
        ),
        takes(paused, "In your run, no leave is paused while a node joins."),
        ends(
            lambda s: [entry.state for entry in s.topology.nodes[2:]] == ["left", "normal"],
            "At the end of your run, C has not left, or D is not normal.",
        ),
    ),
    function_task(
        "queue-order",
        "the order of the queue",
        "Write queue_order(edition, kinds). `kinds` are the requests, oldest first: join, leave, "
        "rebuild, cleanup, truncate_table, each at most once. Return them in the order in which "
        "the coordinator takes them in edition 'documents' or 'server'. All nodes are up, and no "
        "node owes a cleanup.",
        "in the documents, the oldest request comes first. The server takes a join first, then a "
        "leave, then a rebuild. Requests for the whole cluster come last, oldest first.",
        queue_order,
        (
            ["documents", ["rebuild", "join", "cleanup"]],
            ["server", ["rebuild", "join", "cleanup"]],
            ["server", ["truncate_table", "cleanup", "leave"]],
        ),
        _random_queue,
    ),
)
