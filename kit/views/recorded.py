"""A recorded run in the Player: the nodes that its maps name, what each variable says of them."""

from kit.views.fragment import Frag, h
from kit.views.labels import shortened
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

CELL = 180.0  # pixels


def draw_nodes(scene: Scene) -> Frag:
    """Draw a row for each node and a column for each variable; what changed is marked."""
    now, then = (scene.model.table(each) for each in (scene.state, scene.before or scene.state))
    columns = list(dict.fromkeys(column for _, column in (*now, *then)))
    rows = []
    for node in scene.model.nodes:
        cells = [h("th", node, scope="row")]
        for place in ((node, column) for column in columns):
            said, was = (shortened(table.get(place, "–"), CELL) for table in (now, then))
            former = f"was {was}" if now.get(place) != then.get(place) else None
            words = h("span", said, class_="changed" if former else None)
            small = h("small", " ", former, class_="soft") if former else None
            cells.append(h("td", words, small, title=now.get(place)))
        rows.append(h("tr", cells, k=f"n:{node}", data_of=node))
    head, caption = heads("node", *columns), h("caption", scene.model.title)
    return scroll("Nodes", h("table", caption, head, h("tbody", rows), class_="state"))


NODES = Panel("nodes", "Nodes", draw_nodes, still=True, shown=lambda s: bool(s.model.nodes))
