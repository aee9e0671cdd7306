"""What the lesson on a node's way in asks and checks: verdicts, second tries, other addresses."""

import random
from typing import Any

from kit.errors import BadInput
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.topology import handshake
from kit.protocols.topology import topology as act
from kit.protocols.topology.handshake import CHECKS, CLUSTER, FEATURE, REASONS, JoinRow
from kit.protocols.topology.join import Join, joiner
from kit.protocols.topology.rules.machines import EDITIONS, Edition
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
    """The checks on a joiner, in order, and by which node.

    Raises BadInput for an edition that does not exist.
    """
    if edition not in EDITIONS:
        raise BadInput("edition", edition, " or ".join(EDITIONS))
    rows = [(REASONS[check.reason], BY[check.by]) for check in CHECKS if check.is_made(edition)]
    return Sheet(f"Which node checks what ({edition} edition)", ("rejected", "by"), tuple(rows))


WAYS_OF = ("", "bootstrapping", "normal", "left")
"""What the row of a host id may say as it asks; empty: there is none."""


def turned_away(cluster: str, features: list[str], enabled: list[str], row: str) -> str:
    """Who turns a joiner away, in one word; empty: it is accepted. The truth is the checks'."""
    host = "N1"
    rows = (JoinRow(host, row),) if row else ()
    tables = handshake.JoinTables(rows, (), tuple(enabled))
    asks = handshake.JoinNodeRequest(host, 1, cluster, handshake.SNITCH, tuple(features), ())
    failing = (each for each in CHECKS if each.fails(tables, asks, ()))
    order = {"receiver": "member", "placing": "member", "coordinator": "coordinator"}
    return next((order[each.by] for each in failing), "")


def _drawn(chance: random.Random) -> Arguments:
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
        _drawn,
    ),
)
