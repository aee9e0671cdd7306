"""States of the old procedure that differ in the numbers of groups alone.

A group gets the first number that no node knows, so that the same thing may come by other numbers.
The old group keeps its own; the others count from there in the order in which nodes know them.
"""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.recovery.old.state import OldState
from kit.protocols.recovery.state import NO_GROUP, OLD

GroupNumbers = dict[int, int]


def renumbered(s: OldState) -> tuple[OldState, GroupNumbers]:
    """The state that stands for all that differ in the numbers of groups, and the new numbers."""
    known = dict.fromkeys((OLD, *(at for n in s.nodes for at in (n.group_id, n.group))))
    order = [group for group in known if group != NO_GROUP]
    numbers = {group: at for at, group in enumerate(order)}
    if order == list(range(len(s.groups))):
        return s, numbers
    to = {**numbers, NO_GROUP: NO_GROUP}
    nodes = (replace(n, group=to[n.group], group_id=to[n.group_id]) for n in s.nodes)
    groups, voters, logs = (
        tuple(each[at] for at in order if each) for each in (s.groups, s.voters, s.logs)
    )
    after = replace(s, nodes=tuple(nodes), groups=groups, voters=voters, logs=logs)
    return after, numbers
