"""The lines that an operator types for the steps of a run: what a key prints, and tests walk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kit.engine.drill import Drill, DrillKind, DrillMoment
from kit.engine.model import Model
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import recovery as act
from kit.protocols.recovery.drill.servers import machines
from kit.protocols.recovery.drill.tables import GROUP_ID, former_groups
from kit.protocols.recovery.drill.words import FILE, LOG, RAFT_TABLES
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.rules.hosts import group_uuid

COMMIT_INDEX = "SELECT commit_idx, group_id FROM system.raft"
THE_ID = f"SELECT value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
IN_THE_LOG = f"grep 'group id' {LOG}"
"""What the manual has looked at, of which the model has no step."""


def typed_out(now: DrillMoment, action: Any) -> Iterator[str]:
    """The lines for one step; none for a step that another one's lines or the cluster do."""
    m: Recovery = now.model
    hosts = machines(m, now.run)
    match action:
        case act.Isolate():
            addresses = (hosts[i].address for i in nodes_in(now.state.dead))
            yield f"firewall drop {', '.join(addresses)}"
        case act.Read():
            yield from (THE_ID,) if m.edition == "server" else ()
            yield from _on_each(now, COMMIT_INDEX)
        case act.DeleteId(name):
            yield from (f"on {name}", "TRUNCATE TABLE system.discovery")
            yield f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
        case act.SetOption(name):
            leader = hosts[now.state.leader].host_id
            yield from (f"on {name}", f"edit {FILE} recovery_leader: {leader}")
        case act.Restart(name):
            yield f"restart {name}"
        case act.Remove(name):
            yield _removal(now, name)
        case act.UnsetOption(name):
            yield from (f"on {name}", f"edit {FILE} recovery_leader:")
        case act.CleanRows(name):
            yield f"on {name}"
            for group in former_groups(now, m.number(name)):
                for table in RAFT_TABLES:
                    yield f"DELETE FROM system.{table} WHERE group_id = {group_uuid(group)}"


def _on_each(now: DrillMoment, line: str) -> Iterator[str]:
    for name in now.model.named(now.state.where(lambda node: node.takes_part)):
        yield from (f"on {name}", line)


def _removal(now: DrillMoment, name: str) -> str:
    hosts = machines(now.model, now.run)
    number = now.model.number(name)
    others = [hosts[i].host_id for i in nodes_in(now.state.dead) if i != number]
    ignoring = f" --ignore-dead-nodes {','.join(others)}" if others else ""
    return f"nodetool removenode {hosts[number].host_id}{ignoring}"


def procedure_lines(kind: DrillKind, model: Model[Any, Any]) -> tuple[str, ...]:
    """The lines of the whole procedure in its own order, on a drill of this model.

    The leader is chosen as the procedure says, and what is typed for the choice are the options.
    """
    drill = Drill(kind, model)
    parameters: Any = drill.timeline.model.parameters
    guarded = Recovery(parameters)
    lines: list[str] = []
    while (action := guarded.suggest(drill.timeline.state)) is not None:
        if isinstance(action, act.Choose):
            drill.timeline.do(action)
        apart = not drill.timeline.state.is_together
        typed = list(_entered(drill, typed_out(drill.now, action)))
        if apart and drill.timeline.state.is_together and parameters.edition == "server":
            typed += _entered(drill, _on_each(drill.now, IN_THE_LOG))
        lines += typed
    return tuple(lines)


def _entered(drill: Drill, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        drill.enter(line)
        yield line
