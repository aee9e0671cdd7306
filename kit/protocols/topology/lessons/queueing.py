"""What the lesson on the queue of requests asks and checks: who is next, and who has to wait."""

import random
from typing import Any

from kit.errors import KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.masks import nodes_in
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.topology import Topology

NOBODY_NEXT = "none: they all wait"


def next_request(timeline: Timeline) -> PosedQuestion:
    """Which request in the queue is next? KitError when none waits."""
    m = model_of(timeline, Topology, "topology, the coordinator")
    s = timeline.state
    rows = queue(s.topology, s.reachable, m.setting)
    entries = {entry.number: entry for entry in rows if entry.standing != "running"}
    if not entries:
        raise KitError("predict: no request waits here")
    named = {number: _named(s.topology.requests[number - 1], m.names) for number in sorted(entries)}
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


def _named(request: cluster.RequestEntry, names: tuple[str, ...]) -> str:
    whose = request.keyspace or request.table
    return (
        f"{request.kind} {whose if request.node == cluster.NOBODY else names[request.node]}".strip()
    )


KINDS = ("join", "leave", "rebuild", "cleanup", "truncate_table")
OF_CLUSTER = ("cleanup", "truncate_table")


def queue_order(edition: Edition, kinds: list[str]) -> list[str]:
    """Requests of several kinds, given as they were made, in the order in which they are taken.

    All nodes are up, no tablet is in the way, and no node owes a cleanup. The truth is the
    coordinator's own queue.
    """
    nodes = [cluster.NodeEntry(state="normal", tokens=True)] * 3
    requests = []
    for number, kind in enumerate(kinds, start=1):
        node = cluster.NOBODY if kind in OF_CLUSTER else len(nodes)
        requests.append(cluster.RequestEntry(kind, node))
        if node != cluster.NOBODY:
            state = "none" if kind == "join" else "normal"
            nodes.append(cluster.NodeEntry(state=state, request=kind, request_id=number))
    topology = cluster.ClusterTopology(
        nodes=tuple(nodes),
        requests=tuple(requests),
        queue=tuple(i for i, kind in enumerate(kinds, start=1) if kind in OF_CLUSTER),
    )
    everybody = (1 << len(nodes)) - 1
    return [entry.kind for entry in queue(topology, everybody, cluster.Setting(edition))]


def _drawn(chance: random.Random) -> Arguments:
    kinds = chance.sample(KINDS, chance.randint(3, len(KINDS)))
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
        _drawn,
    ),
)
