"""Moments of CEP-21: what was committed, whom a barrier asks, what streams; who is in the CMS.

Source: as ``kit.protocols.tcm`` and ``kit.protocols.cms`` have it, in edition ``server``.
"""

from collections.abc import Callable

from kit.errors import counted
from kit.masks import majority
from kit.protocols.cms.cms import was_forced
from kit.protocols.tcm.facts import moment
from kit.protocols.tcm.facts.moment import BarrierRow, OperationRow
from kit.protocols.worlds.alignment import Now, in_order


def step_of(now: Now) -> str:
    """The step of a plan that was committed (``start``); of a cancel its own; else empty."""
    if now.before is None or len(now.after.tcm.events) == len(now.before.tcm.events):
        return ""
    committed = now.m.tcm.committed(now.after.tcm.events)
    return "cancel" if now.is_a("cancel") else str(committed.step)


def commits(step: str) -> Callable[[Now], bool]:
    """The moment at which a step of some plan is committed."""
    return lambda now: step_of(now) == step


def committer(now: Now) -> str:
    """The author of it: the node that drives its own operation, or an operator."""
    return now.m.tcm.submitter(now.before.tcm, now.action.action) or "an operator"


def under_way(now: Now) -> tuple[OperationRow, ...]:
    """The operations under way."""
    return moment.operations(now.m, now.after)


def barriers(now: Now) -> tuple[BarrierRow, ...]:
    """The barriers before the next steps."""
    return tuple(row for operation in under_way(now) for row in operation.barriers)


def addressed(now: Now) -> set[str]:
    """The nodes that these barriers ask, range by range."""
    return {name for row in barriers(now) for name in row.replicas}


def lacking(now: Now) -> set[str]:
    """Those of them that have not applied the epoch."""
    return {name for row in barriers(now) for name in row.missing}


def is_open(now: Now) -> bool:
    """Whether there are barriers, and each has its answers."""
    return bool(barriers(now)) and all(row.met for row in barriers(now))


def opens(now: Now) -> bool:
    """The moment at which an answer opens the barrier."""
    return now.is_a("apply") and is_open(now)


def waits(now: Now) -> bool:
    """The moment at which somebody has answered and the barrier still waits."""
    rows = barriers(now)
    return now.is_a("apply") and any(row.acked for row in rows) and not is_open(now)


def _epoch(now: Now) -> str:
    return f"Epoch {now.m.newest_epoch(now.after)}"


def says_begins(now: Now) -> str:
    """The author of the plan, and how many ranges it locks."""
    node = committer(now)
    [plan] = [row for row in under_way(now) if row.node == node]
    locks = counted(len(plan.locks), "range")
    return f"{_epoch(now)}: {node} commits its own plan, which locks {locks}."


def says_committed(now: Now) -> str:
    """The epoch, and who committed it."""
    return f"{_epoch(now)}, committed by {committer(now)}."


def says_barrier(now: Now) -> str:
    """The nodes that the barrier asks, and those that are missing."""
    rows = barriers(now)
    need = sorted({f"{row.needed} of {len(row.replicas)}" for row in rows})
    wanted = f"{' or '.join(need)} answers"
    said = f"The barrier asks {in_order(addressed(now))} and needs {wanted} in each range."
    is_now = "open" if is_open(now) else "closed"
    return f"{said} It is {is_now}. Still behind: {in_order(lacking(now))}."


def says_streams(now: Now) -> str:
    """The streamed data, and whether it has a permit."""
    done = sum(row.done for each in under_way(now) for row in each.streams)
    whole = sum(len(each.streams) for each in under_way(now))
    return f"Streamed: {done} of {counted(whole, 'range')}. The plan in the log names the senders."


def says_ended(now: Now) -> str:
    """How many epochs it took, and who did not need to know."""
    behind = {row.node for row in moment.applied(now.m, now.after)
              if row.epoch < now.m.newest_epoch(now.after) - 1}  # fmt: skip
    number = counted(len(now.after.tcm.events), "epoch")
    return f"{_epoch(now)} is the last of {number}. More than one epoch behind: {in_order(behind)}."


def says_locks(now: Now) -> str:
    """The operations whose ranges are locked."""
    titles = [f"{row.title} ({counted(len(row.locks), 'range')})" for row in under_way(now)]
    return f"Under way: {', '.join(titles) or 'nothing'}."


def refusal(now: Now, verb: str) -> str:
    """Why an operation that is refused may not begin now."""
    reason: str = now.m.find(now.after, verb)[1].reason
    return reason


# -- the CMS ---------------------------------------------------------------------------------------


def has_no_quorum(now: Now) -> bool:
    """The moment at which the CMS has lost its quorum."""
    return not now.m.has_quorum(now.after) and now.m.has_quorum(now.before or now.after)


def members(now: Now) -> tuple[int, int]:
    """How many members the CMS has by its newest list, and how many of them work."""
    voters = now.m.newest(now.after).readers
    able = now.after.where(lambda node: node.health == "up")
    return voters.bit_count(), (voters & able).bit_count()


def forced(now: Now) -> bool:
    """Whether an operator has forced an entry."""
    return was_forced(now.after)


def says_members(now: Now) -> str:
    """The members of the CMS, and how many are enough."""
    count, live = members(now)
    by_force = " An operator forced an entry." if forced(now) else ""
    return f"CMS: {live} of {counted(count, 'member')} up, {majority(count)} needed.{by_force}"


def says_served(now: Now) -> str:
    """That data was served while no event could be committed."""
    able = "possible" if now.m.has_quorum(now.after) else "impossible"
    return f"{now.verb.split()[-1]} serves a read and a write. New epochs are {able}."


def says_forced(now: Now) -> str:
    """The node that is forced, and who else could have been."""
    return (
        f"{now.verb.split()[-1]} is the CMS now. Possible choices: {in_order(now.could('force'))}."
    )
