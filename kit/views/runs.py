"""A run in other forms: what one node has seen and learnt of it, and texts for other tools."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from kit.edge.arguments import checked
from kit.errors import BadInput, nearest
from kit.formats.recorded import RecordedRun, itf_of
from kit.model.actors import NetworkModel
from kit.model.declared import NodeModel
from kit.model.timeline import PassedStep, Timeline
from kit.views.default import STATE, rows_of
from kit.views.fragment import Frag
from kit.views.lanes import changes, ends, mermaid, seen, shiviz, svg
from kit.views.panel import Scene, is_shown, scene_at
from kit.views.registry import for_model

Row = dict[str, str]
"""What is known of a node, by the heads of its table."""


def node_rows(scene: Scene, nodes: Collection[str]) -> dict[str, Row]:
    """Of each node its rows of the tables that are its own, and its state: where that is put into
    words, or no table has a row. What all nodes know together is in none of them, unless a model
    without a network has no such table: then its row of the first that has one counts.
    """
    model, rows = scene.model, dict[str, Row]()
    apart = isinstance(model, NetworkModel)  # its nodes know what they hear, and no more
    for table in _tables(scene, own=apart):
        head, *body = (part for part in table.walk() if part.tag == "tr")
        for row in body:
            node = (row.key or "").partition(":")[2].partition(":")[0]
            if node in nodes and (apart or node not in rows):  # the first cell names the node
                cells = zip(_cells(head)[1:], _cells(row)[1:], strict=False)
                rows.setdefault(node, {}).update(cells)
    states = model.readable(scene.state) if apart else own_states(model, scene.state)
    for node in filter(states.__contains__, nodes):
        if isinstance(states[node], str):
            rows.setdefault(node, {})["state"] = states[node]
        elif node not in rows:
            rows[node] = dict(rows_of(states[node]))
    return rows


def _tables(scene: Scene, *, own: bool) -> Iterator[Frag]:
    """The tables of panels; whose rows are a node's own, or that which explains the picture first.

    A row of the picture, or of a state, is no node, but a field.
    """
    views = for_model(scene.model)
    panels = [panel for panel in views.panels if panel.name not in (views.picture, STATE.name)]
    panels = [panel for panel in views.panels if panel.own] if own else panels
    for panel in sorted(panels, key=lambda panel: panel.name != views.table):
        if own or is_shown(panel, scene):
            yield from (part for part in panel.draw(scene).walk() if part.tag == "table")


def _cells(row: Frag) -> list[str]:
    return [cell.text().replace("\u200b", "") for cell in row.kids if isinstance(cell, Frag)]


def own_states(model: Any, state: Any) -> dict[str, Any]:
    """The state of each node; empty where a model has none for each."""
    names = model.names if isinstance(model, NodeModel) else ()
    nodes = getattr(state, "nodes", ())
    fits = isinstance(nodes, tuple) and len(nodes) == len(names)
    return dict(zip(names, nodes, strict=True)) if fits else {}


def seen_by(scene: Scene, node: str, field: str = "node") -> list[tuple[int, str, str]]:
    """What a node did and saw, in order: the step (from 1), its part in it, and what happened.

    Raises BadInput for a node that the run does not tell of; ``field`` is what it calls ``node``.
    """
    known, model, rows = seen(scene), scene.model, []
    if node not in known:
        names = ", ".join(sorted(known))
        if not names and not node:
            allowed = "one of itf, mermaid, shiviz, svg: no node is known to take part in this run"
            raise BadInput("form", "node", allowed)
        allowed = f"one of {names}" if names else "no node, because this run has no lanes"
        raise BadInput(field, node or "nothing", allowed)
    for number in sorted(known[node]):
        step = scene.way()[number]
        said = model.describe(step.before, step.action, step.after)
        rows.append((number + 1, _part(model, step, node), said + _learnt(scene, number, node)))
    return rows


def _part(model: Any, step: PassedStep, node: str) -> str:
    if isinstance(model, RecordedRun):
        return "changes"
    travels, actor = ends(model, step), model.actor_of(step.before, step.action)
    if any(node == target for _, _, target in travels):
        return "receives"
    if isinstance(model, NetworkModel):  # what it sends here has been sent before
        return "does" if node == actor else "hears of"
    kinds = {flow.kind for flow, source, _ in travels if node == source}
    if not kinds:
        return "does"
    arrives = kinds == {"message"} and actor not in ("", node)  # who receives it does this step
    return "is heard" if arrives else "sends"


def _learnt(scene: Scene, number: int, node: str) -> str:
    step, model = scene.way()[number], scene.model
    learnt = changes(model, step).get(node, {})
    was, now = (own_states(model, state).get(node) for state in (step.before, step.after))
    if was != now:
        former, row = (node_rows(_after(scene, n), [node])[node] for n in (number, number + 1))
        learnt = {head: said for head, said in row.items() if former.get(head) != said}
    words = "; ".join(f"{head}: {said}" for head, said in learnt.items())
    return f" [{words}]" if words else ""


def _after(scene: Scene, number: int) -> Scene:
    way = scene.way()[:number]
    if not way:
        return Scene(scene.model, scene.way()[0].before)
    return Scene(scene.model, way[-1].after, way[-1].before, way[-1].action, past=lambda: way)


@checked
def export_run(timeline: Timeline, form: str, *, node: str = "", field: str = "node") -> str:
    """Write the run that is shown, up to its end, as text for other tools.

    ``itf``: its states, for Apalache and Quint. ``shiviz``: a log with vector clocks. ``mermaid``
    and ``svg``: a sequence diagram. With a ``node`` they show only what that node has seen.
    ``node``: the same as lines, with the node's part in each step.

    ``field`` is what errors call ``node``: the option, where a user gave it as one.

    Raises BadInput for another form, an unknown node, a missing node where one is needed, or a node
    where the form has whole states.
    """
    if node and form == "itf":
        raise BadInput(field, node, "no node with itf, because its states are those of all nodes")
    scene = scene_at(timeline, timeline.path()[-1])
    known = seen_by(scene, node, field) if node or form == "node" else []
    numbers = [step - 1 for step, *_ in known] if node else range(len(scene.way()))
    run = scene.model, scene.way(), numbers
    forms: dict[str, Callable[[], str]] = {
        "itf": lambda: itf_of(timeline),
        "mermaid": lambda: mermaid(*run),
        "node": lambda: "".join(f"{step:>5}  {part:<8}  {said}\n" for step, part, said in known),
        "shiviz": lambda: shiviz(scene, numbers),
        "svg": lambda: svg(*run),
    }
    if form not in forms:
        raise BadInput("form", form, f"one of {', '.join(forms)}{nearest(form, [*forms])}")
    return forms[form]()
