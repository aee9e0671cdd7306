"""What the model of a truncate says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.tablets.truncate import state as act
from kit.protocols.tablets.truncate.state import NEW_ROWS, OLD_ROWS, TruncateState

if TYPE_CHECKING:
    from kit.protocols.tablets.truncate.model import Truncate

VERBS: dict[type, str] = {
    act.AskTruncate: "truncate",
    act.OpenSession: "open session",
    act.PassSessionBarrier: "barrier",
    act.LearnSession: "apply",
    act.SendTruncate: "send",
    act.DelayTruncate: "delay",
    act.ArriveTruncate: "arrive",
    act.CloseSession: "close session",
    act.ChangeCoordinator: "elect",
    act.WriteRows: "write",
    act.MoveTablet: "move",
    act.EndMove: "end move",
}
SENTENCES: dict[type, str] = {
    act.AskTruncate: "A client asks to truncate the table; the request waits in the queue.",
    act.OpenSession: "The coordinator takes the request up: its session is open in group 0.",
    act.PassSessionBarrier: "Every node goes by the sessions of group 0.",
    act.LearnSession: "{node} applies what group 0 says of the session.",
    act.SendTruncate: "{node} gets the RPC within the session, deletes its rows and answers.",
    act.DelayTruncate: "The RPC to {node} is late: the coordinator will send another one.",
    act.CloseSession: "All replicas have answered: the session is closed.",
    act.ChangeCoordinator: "Another coordinator takes over and sends again in the same session.",
    act.WriteRows: "A client that saw the truncate done writes new rows.",
    act.MoveTablet: "Tablets of the table begin to move.",
    act.EndMove: "The tablets have moved.",
}


def verb(action: Any) -> str:
    """The word, and the node if there is one."""
    node = getattr(action, "node", "")
    return f"{VERBS[type(action)]} {node}".rstrip()


def describe(model: Truncate, before: TruncateState, action: Any) -> str:
    """What the step did, and why."""
    if isinstance(action, act.ArriveTruncate):
        inside = model.let_in(before, model.number(action.node))
        said = "deletes the rows" if inside else "knows no such session and refuses it"
        return f"The late RPC reaches {action.node}, which {said}."
    return SENTENCES[type(action)].format(node=getattr(action, "node", ""))


def readable(model: Truncate, s: TruncateState) -> dict[str, str]:
    """The request, what is on its way, and every node."""
    late = [name for i, name in enumerate(model.names) if s.late >> i & 1]
    return {
        "truncate": s.phase,
        "session": str(s.session or "none"),
        "late RPCs": ", ".join(late) or "none",
        "tablets": "in transition" if s.moving else "no transition",
        **{name: _node(s, i) for i, name in enumerate(model.names)},
    }


def _node(s: TruncateState, node: int) -> str:
    rows = [
        said
        for kind, said in ((OLD_ROWS, "rows of before"), (NEW_ROWS, "new rows"))
        if s.rows[node] & kind
    ]
    return f"{' and '.join(rows) or 'no rows'}, session {s.views[node] or 'none'}"
