"""What the lesson on RECOVERY mode asks and checks."""

from typing import Any

from kit.errors import KitError, check_among
from kit.lessons.judge import TypedJudge, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.lessons.tasks import Task
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.recovery.mode_cluster import MODES
from kit.protocols.recovery.orders import ANY_ORDER
from kit.protocols.recovery.recovery_mode import Die, RecoveryMode

TYPED = "recovery_mode/recovery-mode"
RUNS = {
    "recovery": "in RECOVERY mode, without group 0",
    "group 0": "in its old group 0",
    "upgrade": "in the Raft upgrade, looking for a group",
    "synchronize": "in the last state of the Raft upgrade",
}
"""How a node runs, by what the model calls its mode."""


def runs_after_restart(timeline: Timeline, node: str) -> PosedQuestion:
    """How does a node run once it has started again?

    Raises BadInput when the timeline is not of model ``recovery_mode``, or for an unknown name.
    Raises KitError when the node may not be restarted now.
    """
    m = model_of(timeline, RecoveryMode)
    check_among("node", node, m.names)
    ahead, free = copied(timeline), RecoveryMode(m.parameters, {*m.off, *ANY_ORDER})
    for verb in (f"stop {node}", f"start {node}"):
        option = free.find(ahead.state, verb)
        if option is not None and option[1] is None:
            ahead.do(option[0], model=free)
    after = ahead.state.nodes[m.number(node)]
    if not after.is_up:
        raise KitError(f"predict: {node} cannot be started now")
    value = after.value or "no row"
    return posed(
        f"{node} restarts. How does it run then?",
        RUNS.values(),
        (RUNS[after.mode],),
        f"{node} reads group0_upgrade_state ({value}) when it starts.",
        still(ahead, "rows"),
    )


def runs_as(value: str) -> str:
    """How a node starts that reads this value; an empty text: there is no row."""
    modes: dict[str, str] = {str(read): mode for read, mode in MODES.items()}
    return modes.get(value, MODES["unknown"])


VALUES = (
    *("", "recovery", "use_post_raft_procedures", "use_pre_raft_procedures", "synchronize"),
    *("RECOVERY", "recover", "none", "unknown"),
)


def dies_inside(m: Any, step: PassedStep) -> bool:
    """Whether a node dies for good while another one runs in RECOVERY mode."""
    inside = any(node.mode == "recovery" for node in step.before.nodes)
    return isinstance(step.action, Die) and inside


A, B, C, D, E = (f"0000000{name}-0000-4000-8000-00000000000{name}" for name in "abcde")
LOCAL = "system.scylla_local"
ENTER = f"UPDATE {LOCAL} SET value = 'recovery' WHERE key = 'group0_upgrade_state';"
FORGET = (
    "TRUNCATE TABLE system.discovery;",
    "TRUNCATE TABLE system.group0_history;",
    f"DELETE value FROM {LOCAL} WHERE key = 'raft_group0_id';",
)
LEAVE = f"DELETE FROM {LOCAL} WHERE key = 'group0_upgrade_state';"
ISOLATION, RESTARTS = "firewall drop 10.0.0.13, 10.0.0.14, 10.0.0.15", ("restart A", "restart B")
REMOVALS = (
    f"nodetool removenode {C} --ignore-dead-nodes {D},{E}",
    f"nodetool removenode {D} --ignore-dead-nodes {E}",
    f"nodetool removenode {E}",
)


def on_both(*lines: str) -> tuple[str, ...]:
    """These lines on both of the live nodes."""
    return tuple(line for name in "AB" for line in (f"on {name}", *lines))


def solved() -> tuple[str, ...]:
    """The lines of the whole procedure."""
    return (
        *(ISOLATION, *on_both(ENTER), *RESTARTS),
        *(*on_both("grep 'RECOVERY mode' /var/log/scylla.log"), *REMOVALS, *on_both(*FORGET)),
        *("nodetool describecluster", *on_both(LEAVE), *RESTARTS),
    )


TASKS = (
    Task(
        "typed-recovery-mode",
        "with RECOVERY mode, typed",
        f"Recover the cluster in the drill {TYPED}. Give the lines you typed as a "
        "list, or board.typed from a DrillBoard on this drill.",
        "verbs",
        "each live node restarts twice: into RECOVERY mode and out of it. In between, "
        "remove the dead nodes, delete the old group's state and compare the schemas. help "
        "lists the commands.",
        TypedJudge(TYPED, solved, procedure=True),
    ),
    run_task(
        "one-more-dies",
        "one more dies",
        "Of seven nodes, D to G are dead, and one more can die. Give a run, as verbs "
        "or as a Player, in which a node dies for good while another one is already in "
        "RECOVERY mode, and the cluster is whole at the end.",
        "the node that dies is removed like the others: all remaining nodes have to "
        "be in one group.",
        Ground("recovery_mode", {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1}),
        takes(dies_inside, "In your run, no node dies while another one is in RECOVERY mode."),
        ends(lambda s: s.is_whole, "At the end of your run, the cluster is not whole."),
    ),
    function_task(
        "runs-as",
        "how does it start?",
        "Write runs_as(value). `value` is what a node finds in group0_upgrade_state "
        "when it starts; '' means that there is no row. Return 'recovery' for RECOVERY mode, "
        "'group 0', 'upgrade' (the Raft upgrade begins) or 'synchronize' (its last state).",
        "four values have a meaning of their own, and any other value counts as recovery.",
        runs_as,
        (["recovery"], [""], ["use_post_raft_procedures"], ["RECOVERY"]),
        lambda chance: [chance.choice(VALUES)],
    ),
)
