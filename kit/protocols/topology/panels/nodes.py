"""A table of the nodes' rows."""

from msgspec.structs import replace

from kit.model.flows import spot
from kit.protocols.topology import facts
from kit.protocols.topology.facts import NodeFacts
from kit.views.declared import NONE, Alike, Column, Table, of_state, panel_of
from kit.views.panel import Scene

LEADS = "★"


def cells(node: NodeFacts) -> tuple[str, ...]:
    """The row behind the node's name, as texts."""
    row, view = node.row, node.view
    asks = f"asks for {row.request}" + (f" of {node.replaced}" if node.replaced else "")
    replaces = f"replaces {node.replaced}" if node.replaced and not row.request else ""
    words = [
        asks if row.request else replaces,
        f"at {node.address}" if node.address else "",
        node.health,
        "ignored" if node.is_ignored else "",
        f"cleanup {row.cleanup}" if row.cleanup != "clean" else "",
        "no tokens (join_ring=false)" if row.state == "normal" and not row.tokens else "",
        "lags" if node.is_behind else "",
        row.rack,
    ]
    goes_by = (view.version, view.fence_version, view.session or NONE) if view else (NONE,) * 3
    return row.state, *map(str, goes_by), ", ".join(filter(None, words))


def _is_named(scene: Scene, node: NodeFacts) -> bool:
    ends = (key for flow in scene.flows() for key in (flow.from_key, flow.to_key))
    return node.is_coordinator or spot(node.name) in ends


def _look(node: NodeFacts) -> tuple[str, ...]:
    state, version, fence, session, notes = cells(node)
    goes_by = (f"version {version}", f"fence {fence}") if node.view else ()
    return state, *goes_by, f"session {session}" if session != NONE else "", notes


def _line(node: NodeFacts) -> str:
    state, *others = filter(None, _look(node))
    leads = ["coordinator"] if node.is_coordinator else []
    return f"{node.name}: {', '.join([state, *leads, *others])}"


TABLE = Table(
    of_state(facts.nodes),
    "row:{0.name}",
    (
        Column("node", lambda node: f"{LEADS} {node.name}" if node.is_coordinator else node.name),
        Column("state", lambda node: cells(node)[0]),
        Column("version", lambda node: cells(node)[1]),
        Column("fence", lambda node: cells(node)[2]),
        Column("notes", lambda node: ", ".join(filter(None, _look(node)[-2:]))),
    ),
    caption=f"What each node has applied ({LEADS} coordinator)",
    of="{0.name}",
    line=_line,
    alike=Alike(_look, _is_named),
)


NODES = panel_of("nodes", "Nodes", TABLE, still=True)
PLACED = panel_of("nodes", "Nodes", replace(TABLE, key=lambda node: spot(node.name)), still=True)
"""The same beside a picture without nodes: what travels goes to the rows."""
