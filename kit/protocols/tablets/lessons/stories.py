"""What the lesson of small stories asks and checks: replication, TRUNCATE, the lock, CDC."""

import random
from typing import Any

from kit.errors import KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, posed
from kit.lessons.replays import Ground, broken, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.tablets.truncate import Truncate

DONE, FAILS, WAITS = "it is done", "it ends with an error", "it waits forever"


def _topology(state: Any) -> Any:
    return getattr(getattr(state, "control", state), "topology", None)


def how_it_ends(timeline: Timeline) -> PosedQuestion:
    """How does the last request end, if nothing more goes wrong? KitError without requests."""
    if not hasattr(_topology(timeline.state), "requests"):
        raise KitError("predict: no request is made in this model")
    ahead = copied(timeline)
    while ahead.forward() is not None:
        pass
    if not (requests := _topology(ahead.state).requests):
        raise KitError("predict: no request is made here")
    last = requests[-1]
    right = FAILS if last.error else DONE if last.done else WAITS
    path = [ahead.moments[at] for at in ahead.path()]
    said = next(
        (moment.say for moment in path if f"request {len(requests)} " in moment.say), path[-1].say
    )
    return posed(
        f"A request is made: {last.kind}. How does it end?",
        (DONE, FAILS, WAITS),
        (right,),
        said,
        still(ahead, "requests"),
    )


MOST = 4


def may_alter(now: int, wanted: int, nodes: int) -> bool:
    """One replica comes or goes, one is left, and each has a node."""
    return abs(wanted - now) <= 1 and 1 <= wanted <= nodes


def _drawn(chance: random.Random) -> Arguments:
    nodes = chance.randint(2, MOST + 1)
    now = chance.randint(1, min(nodes, MOST))
    return [now, max(0, now + chance.choice((-2, -1, -1, 0, 1, 1, 2))), nodes]


def elected_while_sending(m: Any, step: PassedStep) -> bool:
    """Whether another coordinator takes over once a replica has answered."""
    return bool(step.before.answered and step.before.changes > step.after.changes)


def refused_late(m: Any, step: PassedStep) -> bool:
    """Whether a late message is turned away, and new rows stay."""
    arrives = isinstance(step.action, Truncate.arrive)
    return bool(arrives and step.before.written and step.before.rows == step.after.rows)


def published_early(m: Any, step: PassedStep) -> bool:
    """Whether a new generation is told to readers while the reads of the join have not moved."""
    before, after = step.before.topology, step.after.topology
    early = before.transition == "write_both_read_old"
    return bool(early and after.unpublished < before.unpublished)


TASKS = (
    function_task(
        "may-alter",
        "one replica at a time",
        "Write may_alter(now, wanted, nodes). A keyspace with tablets has `now` replicas in its "
        "only datacenter, which has `nodes` nodes, and ALTER KEYSPACE asks for `wanted`. Return "
        "True if the request is carried out, False if it ends with an error.",
        "a request adds or removes at most one replica, each replica is on its own node, and at "
        "least one must be left.",
        may_alter,
        ([2, 3, 3], [3, 1, 3], [3, 4, 3], [1, 0, 3]),
        _drawn,
    ),
    run_task(
        "truncate-twice",
        "a TRUNCATE with two coordinators",
        "Another coordinator may take over once, and one message may be late. Give a run, as verbs "
        "or as a Player, in which the coordinator changes after a replica has answered, and a late "
        "message arrives after new rows have been written but does no harm.",
        "delay a message, elect after a send, and let the late message arrive after write.",
        Ground("truncate", {"late": 1, "changes": 1}),
        takes(
            elected_while_sending,
            "In your run, no coordinator takes over after a replica has answered.",
        ),
        takes(refused_late, "In your run, no late message arrives after new rows are written."),
        lambda timeline: "Your run breaks a promise." if broken(timeline) else None,
    ),
    run_task(
        "published-in-time",
        "published before reads move",
        "D joins, and each generation is published in a separate step. Give a run, as verbs or as "
        "a Player, in which generation 2 is published while D is in write_both_read_old, and D is "
        "normal at the end.",
        "you can publish as soon as the generation is in the table.",
        Ground("topology", {"operations": ("bootstrap D",), "publishing": True, "lag": False}),
        takes(published_early, "In your run, nothing is published in write_both_read_old."),
        ends(
            lambda s: s.topology.nodes[-1].state == "normal",
            "At the end of your run, D is not normal.",
        ),
    ),
)
