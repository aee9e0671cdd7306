"""What the model of failures says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.voters import majority
from kit.protocols.recovery.failures import state as act
from kit.protocols.recovery.failures.sides import may_commit, side_of, sides
from kit.protocols.recovery.failures.state import FailuresState

if TYPE_CHECKING:
    from kit.protocols.recovery.failures.model import Failures

SENTENCES: dict[type, str] = {
    act.CatchUpSchema: "{node} has fetched the newest schema, and serves.",
    act.ServeAlone: "{node} reaches no majority. It serves data by the schema that it has stored.",
    act.StartFailed: "{node} has started. It does not serve yet.",
    act.StartDatacenter: "The nodes of {place} have started. They do not serve yet.",
    act.EndCut: "All nodes that run reach each other again.",
    act.StopNode: "{node} is down.",
    act.StopTogether: "{node} are down, all at once.",
    act.LoseDatacenter: "All of {place} is down.",
    act.CutPlace: "The network separates {place} from the others.",
}
FAILURES = (act.StopNode, act.StopTogether, act.LoseDatacenter, act.CutPlace)


def verb(action: Any) -> str:
    """The word, and the node or the datacenter if there is one."""
    place = _place(action)
    match action:
        case act.StartDatacenter():
            return f"start {place}"
        case act.StopTogether():
            return f"stop {place}"
        case act.CatchUpSchema():
            return f"catch up {place}"
        case act.CutPlace():
            return f"cut off {place}"
    return f"{type(action).__struct_config__.tag} {place}".rstrip()


def _place(action: Any) -> str:
    if isinstance(action, act.StopTogether):
        return ", ".join(action.nodes)
    for name in ("node", "datacenter", "place"):
        if hasattr(action, name):
            return str(getattr(action, name))
    return ""


def milestone(before: FailuresState, after: FailuresState) -> str | None:
    """Group 0 loses its majority, or gets it back."""
    had, has = (any(may_commit(s, side) for side in sides(s)) for s in (before, after))
    if had == has:
        return None
    return "group 0 has a majority again" if has else "group 0 has lost its majority"


def describe(m: Failures, before: FailuresState, action: Any, after: FailuresState) -> str:
    """What the step did; after a failure what it means for group 0."""
    if isinstance(action, act.AlterTable):
        side = ", ".join(m.named(side_of(after, m.number(action.node))))
        return f"Column {after.entries} is added: {side} know it."
    said = SENTENCES[type(action)].format(node=_place(action), place=_place(action))
    if isinstance(action, FAILURES):
        said += " " + _means(m, after)
    return said


def _means(m: Failures, s: FailuresState) -> str:
    able = [side for side in sides(s) if may_commit(s, side)]
    if not able:
        needed = majority(s.voters.bit_count())
        return f"No {needed} of the {s.voters.bit_count()} voters reach each other."
    if s.apart:
        return f"The majority is with {', '.join(m.named(able[0]))}."
    return f"{(s.up & s.voters).bit_count()} of {s.voters.bit_count()} voters are left."


def readable(m: Failures, s: FailuresState) -> dict[str, str]:
    """Who votes, what is cut off, and every node."""
    words = {
        "voters": ", ".join(m.named(s.voters)),
        "cut off": ", ".join(m.named(s.apart)) or "nobody",
    }
    return words | {name: f"{standing(s, at)}, schema {shown(s.schemas[at])}"
                    for at, name in enumerate(m.names)}  # fmt: skip


def standing(s: FailuresState, node: int) -> str:
    """What a node does now."""
    if s.serving >> node & 1:
        return "serving"
    if not s.up >> node & 1:
        return "down"
    return "catching up" if may_commit(s, side_of(s, node)) else "started"


def shown(schema: int) -> str:
    """A schema by its columns: ``1 2``; a dash where there is none."""
    return " ".join(str(at + 1) for at in range(schema.bit_length()) if schema >> at & 1) or "–"
