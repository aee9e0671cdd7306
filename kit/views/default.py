"""The default views: any struct state as a keyed table, with what changed marked; nodes that send
one another messages on a stage; the nodes of a recorded run.

A model written in a notebook has a player at once; views of its own may come later.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import counted
from kit.views.fragment import Frag, h
from kit.views.labels import shortened
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll, soft
from kit.views.stage import Character, Stage, stage_panel

LIMIT = 200
"""Rows the table shows; beyond, only the rows that changed, and a count of the others."""
LONGEST = 10_000
"""Items of a tuple; of a longer one the first ``LIMIT`` are told."""
SMALL = {type(None), bool, int, str, float}
"""Types of values that stand side by side in a cell."""
ON_DISK = 3
"""Values of a node's state that stand on its disk; the table has all."""


def rows_of(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, text) for every leaf of a state: ``votes[2]``, ``log.entries`` and so on."""
    parts = _parts(value, path)
    if parts is None:
        yield path or "value", _words(value)
    else:
        for place, part in parts:
            yield from rows_of(part, place)


def compared(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Yield (path, whether its text changed) for every leaf that both of two states have.

    What a step left as it was is the same object in both, and needs no texts.
    """
    now = _parts(after, path)
    then = now if before is after else _parts(before, path)
    if then is None and now is None:
        yield path or "value", before is not after and _words(before) != _words(after)
    elif then is not None and now is not None:
        former = dict(then)
        for place, part in now:
            if place in former:
                yield from compared(former[place], part, place)


def _parts(value: Any, path: str) -> list[tuple[str, Any]] | None:
    if isinstance(value, dict):
        return [(f"{path}.{name}" if path else name, item) for name, item in value.items()]
    if isinstance(value, Struct):
        names = value.__struct_fields__
        return [(f"{path}.{name}" if path else name, getattr(value, name)) for name in names]
    if isinstance(value, tuple) and len(value) <= LONGEST and not {*map(type, value)} <= SMALL:
        return [(f"{path}[{i}]", item) for i, item in enumerate(value)]
    return None


def draw_table(scene: Scene) -> Frag:
    """Draw a row per leaf of the state; a changed row also shows its former value."""
    now, then = _now_and_then(scene)
    moved = {path for path, text in now.items() if then and then.get(path) != text}
    paths = list(now) if len(now) <= LIMIT else [path for path in now if path in moved]
    rest, title = len(now) - len(paths), scene.model.title
    rows = [_row(path, now[path], then.get(path), path in moved) for path in paths]
    head, body = heads("field", "value"), h("tbody", rows)
    table = h("table", h("caption", title), head, body, class_="state")
    unchanged = soft(f"{counted(rest, 'more field')} did not change." if rest else "", "rest")
    return scroll(f"state of {title}", table, unchanged)


def table_text(scene: Scene) -> str:
    """Write the table, a line per leaf; ``*`` marks what changed."""
    now, then = _now_and_then(scene)
    return "\n".join(
        f"{'*' if then and then.get(path) != text else ' '} {path} = {text}"
        for path, text in now.items()
    )


def _now_and_then(scene: Scene) -> tuple[dict[str, str], dict[str, str]]:
    readable = scene.model.readable
    then = {} if scene.before is None else dict(rows_of(readable(scene.before)))
    return dict(rows_of(readable(scene.state))), then


def _row(path: str, text: str, former: str | None, changed: bool) -> Frag:
    was = h("small", f" was {former}", class_="soft") if changed and former is not None else None
    now = h("span", text, class_="changed" if changed else None)
    return h("tr", h("th", path, scope="row"), h("td", now, was), k=f"field:{path}")


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if type(value) in SMALL:
        return str(value)
    if isinstance(value, tuple):
        if len(value) > LONGEST:
            first = ", ".join(map(_words, value[:LIMIT]))
            return f"({first}, and {len(value) - LIMIT:,} more, which are not compared)"
        return f"({', '.join(_words(item) for item in value)})"
    try:
        return msgspec.json.encode(value).decode()
    except TypeError:
        return repr(value)


def _actor(scene: Scene, name: str, state: Any) -> Character:
    says = [f"{path} {text}" for path, text in rows_of(state)]
    first = tuple(says[:ON_DISK])
    return Character(name, scene.model.spot(name), holds=first, title=f"{name}: {', '.join(says)}")


def _actors(scene: Scene) -> Stage:
    m, nodes = scene.model, scene.state.nodes
    drawn = (_actor(scene, name, state) for name, state in zip(m.names, nodes, strict=True))
    return Stage(m.names, tuple(drawn), lines=ON_DISK)


ACTORS = stage_panel("actors", "Nodes", _actors)
STATE = Panel("state", "State", draw_table, table_text, still=True)

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
