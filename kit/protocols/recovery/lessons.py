"""Questions, tables and exercises on failures and recoveries."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from kit.console.drill import open_drill
from kit.console.server import LOG_FILE
from kit.edge.arguments import checked
from kit.errors import BadInput, KitError, check_among
from kit.lessons.judge import Arguments, TypedJudge, function_task
from kit.lessons.questions import PosedQuestion, copied, listed, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still, timeline_of
from kit.lessons.tasks import Task
from kit.masks import majority
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.recovery import facts, failures, recovery_mode
from kit.protocols.recovery.drill import recovery as drill
from kit.protocols.recovery.facts import LevelLine
from kit.protocols.recovery.lost_majority import NO_GROUP, OLD, group_uuid
from kit.protocols.recovery.orders import ANY_ORDER
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.protocols.recovery.recovery import Die, Recovery, Restart
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.recovery.rules.availability import FAILURES, JudgedFailure, judged_failure
from kit.protocols.recovery.rules.procedure import leaders, regressing
from kit.views.static import Sheet, sign

SCHEMA = "schema changes"
MOST_DATACENTERS = max(row.datacenters for row in FAILURES)


def still_possible(timeline: Timeline) -> PosedQuestion:
    """What can still be done with the nodes that are up?

    Raises BadInput when the timeline is not of model ``failures``; KitError when nodes are cut off.
    """
    m, s = _failed(timeline)
    if s.apart:
        raise KitError(
            "predict: nodes are cut off, but this question needs the network to be whole"
        )
    able = {SCHEMA: s.has_majority} | _data(facts.level_lines(m, s, s.up))
    up, voters = (s.up & s.voters).bit_count(), s.voters.bit_count()
    return _posed(
        timeline,
        f"Down: {_down(m, s)}. What is still possible for every range?",
        able,
        f"{up} of {voters} voters are up, and a schema change needs {majority(voters)}. "
        "For data, each range counts its own replicas.",
    )


def _posed(timeline: Timeline, text: str, able: dict[str, bool], because: str) -> PosedQuestion:
    right = tuple(what for what, holds in able.items() if holds)
    return posed(text, able, right, because, still(timeline, "nodes", "ranges"))


def must_return(timeline: Timeline) -> PosedQuestion:
    """How many nodes have to come back before the schema can change?

    Raises BadInput when the timeline is not of model ``failures``; KitError when no node is down.
    """
    m, s = _failed(timeline)
    down = m.everybody & ~s.up
    if not down:
        raise KitError("predict: no node is down")
    return posed(
        f"Down: {_down(m, s)}. How many voters must come back before the schema can change?",
        tuple(map(str, range(down.bit_count() + 1))),
        (str(facts.voters_missing(s)),),
        f"{s.voters.bit_count()} nodes vote, so {majority(s.voters.bit_count())} must "
        f"be up. Up now: {(s.up & s.voters).bit_count()}.",
        still(timeline, "nodes"),
    )


def votes_now(timeline: Timeline) -> PosedQuestion:
    """Which nodes vote now?

    Raises BadInput when the timeline is not of model ``failures``.
    """
    m, s = _failed(timeline)
    names = m.named(s.voters)
    every = "Every member votes." if s.voters == m.everybody else "At most five nodes vote."
    return posed(
        "Which nodes vote now?",
        m.names,
        names,
        f"{every} Voters now: {listed(names)}.",
        still(timeline, "nodes"),
    )


def sides_possible(timeline: Timeline) -> PosedQuestion:
    """Which side of a cut can change the schema, and which side has data at QUORUM?

    Raises BadInput when the timeline is not of model ``failures``; KitError when nobody is cut off.
    """
    m, s = _failed(timeline)
    if not s.apart:
        raise KitError("predict: no node is cut off")
    able: dict[str, bool] = {}
    for side in s.sides():
        names = ", ".join(m.named(side)) or "nobody"
        lines = facts.level_lines(m, s, side)
        data = _data(line for line in lines if line.level in ("QUORUM", "LOCAL_QUORUM"))
        here = {SCHEMA: s.may_commit(side)} | data
        able |= {f"{names}: {what}": holds for what, holds in here.items()}
    return _posed(
        timeline,
        f"{', '.join(m.named(s.apart))} cannot reach the others. What is possible on each side?",
        able,
        f"A schema change needs {majority(s.voters.bit_count())} of {s.voters.bit_count()} voters. "
        "Data depends on which replicas of each range a side can reach.",
    )


def _failed(timeline: Timeline) -> tuple[failures.Failures, failures.FailuresState]:
    return model_of(timeline, failures.Failures), timeline.state


def _down(m: failures.Failures, s: failures.FailuresState) -> str:
    return listed(m.named(m.everybody & ~s.up))


def _data(lines: Iterable[LevelLine]) -> dict[str, bool]:
    return {f"data at {line.name}": line.standing == "available" for line in lines}


def _judged_rows(datacenters: int) -> list[JudgedFailure]:
    rows = [judged_failure(row) for row in FAILURES if row.datacenters == datacenters]
    if not rows:
        raise BadInput("datacenters", datacenters, f"1 to {MOST_DATACENTERS}")
    return rows


@checked
def failures_table(datacenters: int) -> Sheet:
    """Show the documents' table for this many datacenters of three nodes, and what is computed.

    Raises BadInput when the documents have no table for it.
    """
    return Sheet(
        f"{datacenters} × 3 nodes, RF 3: the documents' rows, with every failure they "
            "cover tried out",
        ("down", "schema changes, documents", "computed", "must be back, documents",
         "computed by the kit", "data, documents", "computed: not always met"),
        tuple(map(_row, _judged_rows(datacenters))),
    )  # fmt: skip


def _row(each: JudgedFailure) -> tuple[str, ...]:
    row = each.row
    unmet = [line for line in each.data if line.standing != "available"]
    levels = dict.fromkeys(line.level for line in unmet)
    agrees = each.schema == ("always" if row.schema else "never")
    return (
        row.words,
        "possible" if row.schema else "impossible",
        f"{sign(agrees)} {each.schema}",
        str(row.back or ""),
        str(each.back),
        "available" if row.data else "unavailable",
        f"{sign(not levels)} {listed(levels)}",
    )


@checked
def orders_table(datacenters: int) -> Sheet:
    """Show for each row whether group 0 has a majority: it depends on who votes and who dies when.

    Raises BadInput when the documents have no table for this many datacenters.
    """
    truths = _judged_rows(datacenters)
    return Sheet(
        f"{datacenters} × 3 nodes: does group 0 have a majority?",
        ("down", "all vote", "five vote: all at once", "five vote: one after another"),
        tuple((each.row.words, each.schema, each.at_once, each.in_turn) for each in truths),
    )


NOWHERE = "in none: it refuses to start"
OWN = "in a group that it creates"


def may_lead(timeline: Timeline) -> PosedQuestion:
    """Which live nodes may lead the recovery?

    Raises BadInput when the timeline is not of model ``recovery``.
    """
    m, s = _recovery(timeline)
    indexes = live_indexes(m, s)
    right = leaders(indexes)
    words = ", ".join(f"{name} {index}" for name, index in indexes.items())
    return posed(
        "Which of the live nodes may lead the recovery?",
        indexes,
        right,
        f"All other nodes get the leader's state. Commit indexes: {words}.",
        still(timeline, "nodes"),
    )


def starts_in(timeline: Timeline, node: str) -> PosedQuestion:
    """In which group does a node run once it has started again?

    Raises BadInput when the timeline is not of model ``recovery``, or for a name that no node has.
    Raises KitError when the node may not start now.
    """
    m, s = _recovery(timeline)
    check_among("node", node, m.names)
    action = Restart(node)
    if m.refusal(s, action) is not None:
        raise KitError(f"predict: {node} cannot be started now")
    after = m.apply(s, action)
    group = after.nodes[m.number(node)].group
    known = tuple(f"in {m.group_name(each)}" for each in range(len(s.groups)))
    right = NOWHERE if group == NO_GROUP else OWN if group >= len(s.groups) else known[group]
    return posed(
        f"{node} restarts. In which group 0 does it run then?",
        (*known, OWN, NOWHERE),
        (right,),
        m.describe(s, action, after),
        still(timeline, "rows"),
    )


def hears(timeline: Timeline) -> PosedQuestion:
    """Which nodes take each other's gossip?

    Raises BadInput when the timeline is not of model ``recovery``.
    Raises KitError when one node is up alone.
    """
    m, s = _recovery(timeline)
    rows = facts.gossip(m, s)
    pairs = {f"{node} and {other}": (accepted, why) for node, other, accepted, why in rows}
    if not pairs:
        raise KitError("predict: no two nodes are up")
    return posed(
        "Which of these nodes accept each other's gossip?",
        pairs,
        tuple(name for name, (accepted, _) in pairs.items() if accepted),
        "; ".join(f"{name}: {why}" for name, (_, why) in pairs.items()) + ".",
        still(timeline, "gossip"),
    )


@checked
def if_led(source: object) -> Sheet:
    """Show for each live node which schemas go back if it leads, and which data then dangles."""
    m, s = _recovery(timeline_of(source))
    indexes = live_indexes(m, s)
    rows = []
    for name, index in indexes.items():
        back = regressing(indexes, name)
        known = s.nodes[m.number(name)].columns
        dangling = [
            f"column {row.column} on {row.node}"
            for row in facts.effects(m, s)
            if not known >> row.column - 1 & 1
        ]
        words = (f"{other} by {entries}" for other, entries in back.items())
        fits = sign(not back)
        rows.append((name, str(index), f"{fits} {listed(words)}", listed(dangling)))
    heads = ("leader", "commit index", "goes back (entries)", "data without a column")
    return Sheet("If this node led", heads, tuple(rows))


@checked
def walks_graded(name: str, walks: Mapping[str, Iterable[str]]) -> Sheet:
    """Grade walks through a drill. A walk is a list of typed lines, graded by the run it makes.

    Raises BadInput for a name that no drill has.
    """
    rows = [(title, *_graded(name, lines)) for title, lines in walks.items()]
    grades = [row.name for row in open_drill(name).grade().rows if row.holds is not None]
    return Sheet(f"Walks through {name}", ("walk", *grades, "because"), tuple(rows))


def _graded(name: str, lines: Iterable[str]) -> tuple[str, ...]:
    drill = open_drill(name)
    for line in lines:
        drill.enter(line)
    rows = [row for row in drill.grade().rows if row.holds is not None]
    wrong = "; ".join(row.why for row in rows if not row.holds)
    return (*(sign(bool(row.holds)) for row in rows), wrong or "nothing is wrong")


def live_indexes(m: Recovery, s: RecoveryState) -> dict[str, int]:
    """The commit indexes of the nodes that are counted on."""
    named = zip(m.names, s.nodes, strict=True)
    return {name: node.index for name, node in named if node.takes_part}


def _recovery(timeline: Timeline) -> tuple[Recovery, RecoveryState]:
    return model_of(timeline, Recovery), timeline.state


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


MOST_NODES = 6


def has_majority(sizes: list[int], lost: list[int]) -> bool:
    """More than half are left."""
    left = sum(size for at, size in enumerate(sizes) if at not in lost)
    return 2 * left > sum(sizes)


def met_levels(replicas: list[str], down: list[str]) -> list[str]:
    """Counted: so many replicas are up."""
    up = sum(name not in down for name in replicas)
    needed = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": len(replicas) // 2 + 1}
    return [level for level, count in {**needed, "ALL": len(replicas)}.items() if up >= count]


def _sizes(chance: random.Random) -> Arguments:
    sizes = [chance.randint(1, MOST_NODES) for _ in range(chance.randint(1, 4))]
    lost = sorted(chance.sample(range(len(sizes)), chance.randint(0, len(sizes))))
    return [sizes, lost]


def _replicas(chance: random.Random) -> Arguments:
    names = list("ABCDEFG")
    return [
        sorted(chance.sample(names, chance.randint(1, 5))),
        sorted(chance.sample(names, chance.randint(0, 4))),
    ]


def altered(timeline: Timeline) -> str | None:
    """The goal that the schema was changed at A, dc2 was lost, and the schema was changed again."""
    actions = [timeline.moments[at].action for at in timeline.path()]
    for at, action in enumerate(actions):
        again = any(isinstance(each, failures.Alter) for each in actions[at:])
        if action == failures.Lose("dc2") and failures.Alter("A") in actions[:at] and again:
            return None
    return "Your run does not alter the schema at A, then lose dc2, and then alter it again."


def all_serve(s: failures.FailuresState) -> bool:
    """Whether whoever runs serves, with the newest schema."""
    return s.up == s.serving and len({s.schemas[i] for i in range(6) if s.up >> i & 1}) == 1


def few_started(timeline: Timeline) -> str | None:
    """The goal that no node was started that the majority does not need."""
    actions = [timeline.moments[at].action for at in timeline.path()]
    starts = sum(isinstance(action, failures.StartNode) for action in actions)
    if any(isinstance(action, failures.StartAll) for action in actions):
        return "Your run starts a whole datacenter, but one node is enough."
    return None if starts <= 1 else f"Your run starts {starts} nodes, but one is enough."


TYPED, TYPED_BY_MODE = "recovery/manual-order", "recovery_mode/recovery-mode"
MOST_LIVE, MOST_INDEX = 5, 20


def whole(timeline: Timeline) -> str | None:
    """The goal that the recovery is done."""
    m: Any = timeline.model
    done = m.is_recovered(timeline.state)
    return None if done else "At the end of your run, the recovery is not done."


def leader_dies(m: Any, step: PassedStep) -> bool:
    """Whether the leader of a new group dies while all are in it."""
    together = isinstance(step.action, Die) and step.before.is_together
    return together and step.action.node == m.names[step.before.leader]


def entries_back(indexes: list[int], leader: int) -> list[int]:
    """Whatever lies above the leader's index."""
    return [max(0, index - indexes[leader]) for index in indexes]


def _drawn(chance: random.Random) -> Arguments:
    live = chance.randint(1, MOST_LIVE)
    indexes = [chance.randint(0, MOST_INDEX) for _ in range(live)]
    return [indexes, chance.randrange(live)]


def runs_as(value: str) -> str:
    """Four values mean something else than recovery."""
    known = {"": "upgrade", "use_pre_raft_procedures": "upgrade"}
    known |= {"use_post_raft_procedures": "group 0", "synchronize": "synchronize"}
    return known.get(value, "recovery")


VALUES = (
    *("", "recovery", "use_post_raft_procedures", "use_pre_raft_procedures", "synchronize"),
    *("RECOVERY", "recover", "none", "unknown"),
)


def dies_inside(m: Any, step: PassedStep) -> bool:
    """Whether a node dies for good while another one runs in RECOVERY mode."""
    inside = any(node.mode == "recovery" for node in step.before.nodes)
    return isinstance(step.action, recovery_mode.Die) and inside


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


def typed_by_leader() -> tuple[str, ...]:
    """The lines of the whole procedure by ``recovery_leader``."""
    where_old = f"WHERE group_id = {group_uuid(OLD)}"
    rows = (f"DELETE FROM system.{table} {where_old}" for table in drill.RAFT_TABLES)
    return (
        *(ISOLATION, *RESTARTS, drill.THE_ID, *on_both(drill.COMMIT_INDEX)),
        *on_both("TRUNCATE TABLE system.discovery", drill.DELETE_ID),
        *(*on_both(f"{drill.OPTION} {B}"), "restart B", "restart A"),
        *(*on_both(f"grep 'group id' {LOG_FILE}"), *REMOVALS),
        *(*on_both(drill.OPTION), *on_both(*rows)),
    )


def typed_by_mode() -> tuple[str, ...]:
    """The lines of the whole procedure by RECOVERY mode."""
    return (
        *(ISOLATION, *on_both(ENTER), *RESTARTS),
        *(*on_both("grep 'RECOVERY mode' /var/log/scylla.log"), *REMOVALS, *on_both(*FORGET)),
        *("nodetool describecluster", *on_both(LEAVE), *RESTARTS),
    )


TASKS = (
    function_task(
        "majority-of-datacenters",
        "does group 0 keep its majority?",
        "Write has_majority(sizes, lost). `sizes` gives the number of nodes in each "
        "datacenter, and `lost` the indexes (from 0) of the datacenters that are lost. Every "
        "node votes. Return whether the remaining nodes can still change the schema.",
        "a majority is more than half of all voters, including those that are down.",
        has_majority,
        ([[3, 3], [1]], [[3, 3, 3], [2]], [[3, 2], [1]], [[1, 1, 1, 1], [0, 1]]),
        _sizes,
    ),
    function_task(
        "levels-that-are-met",
        "consistency levels that are met",
        "Write met_levels(replicas, down). Return which of ONE, TWO, THREE, QUORUM "
        "and ALL a range still meets, in this order. `replicas` are its nodes, `down` the "
        "nodes that are down.",
        "a level counts only the replicas of the range, and QUORUM is more than half of them.",
        met_levels,
        (
            [["A", "B", "C"], ["C"]],
            [["A", "B", "C"], ["B", "C"]],
            [["A", "B"], ["E"]],
            [["A", "B", "C", "D"], ["A", "B"]],
        ),
        _replicas,
    ),
    run_task(
        "one-start-is-enough",
        "a schema change with half the nodes down",
        "There are six nodes in two datacenters. Give the verbs of a run. First add "
        "column 1 at A and lose dc2. Then add a second column with as few starts as possible. "
        "At the end, every running node must have caught up.",
        "the verb start D starts one node of dc2. Look at how many voters are needed.",
        Ground("failures", {"datacenters": (3, 3)}),
        altered,
        ends(all_serve, "At the end of your run, a running node has not caught up."),
        few_started,
        known=("alter A", "lose dc2", "start D", "alter A", "catch up D"),
    ),
    Task(
        "typed-recovery",
        "the whole recovery, typed",
        f"Recover the cluster in the drill {TYPED} in the order of the published "
        "manual. Give the lines you typed as a list, or board.typed from a DrillBoard on this "
        "drill.",
        "verbs",
        "cut the dead nodes off, and restart every live node once. Read every commit index before "
        "you delete an id. Then restart the leader first. Remove recovery_leader before Raft's "
        "old rows. help lists the commands.",
        TypedJudge(TYPED, typed_by_leader, procedure=True),
    ),
    run_task(
        "lead-after-the-leader",
        "the leader also dies",
        "Of four nodes, C and D are dead, and one more can die. Give a run, as verbs "
        "or as a Player, in which the recovery leader dies once all live nodes are in its "
        "group, and the recovery still succeeds.",
        "the group of two has lost its majority: choose the last node as leader, delete its "
        "id of the new group, and restart it.",
        Ground("recovery", {"commit_indexes": (1, 2, 2, 2), "dead": "C D", "deaths": 1}),
        takes(
            leader_dies,
            "In your run, the leader does not die after all live nodes have joined the new group.",
        ),
        whole,
    ),
    function_task(
        "entries-that-go-back",
        "what a leader costs",
        "Write entries_back(indexes, leader). `indexes` are the commit indexes of the "
        "live nodes, and `leader` is the position (from 0) of the node that leads. Return a "
        "list of how many entries each node's state goes back by.",
        "every node gets the leader's state, so a node that knows no more than the "
        "leader loses nothing.",
        entries_back,
        ([[10, 11], 0], [[10, 11], 1], [[3, 3, 5], 0], [[7], 0]),
        _drawn,
    ),
    Task(
        "typed-recovery-mode",
        "with RECOVERY mode, typed",
        f"Recover the cluster in the drill {TYPED_BY_MODE}. Give the lines you typed as a "
        "list, or board.typed from a DrillBoard on this drill.",
        "verbs",
        "each live node restarts twice: into RECOVERY mode and out of it. In between, "
        "remove the dead nodes, delete the old group's state and compare the schemas. help "
        "lists the commands.",
        TypedJudge(TYPED_BY_MODE, typed_by_mode, procedure=True),
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
