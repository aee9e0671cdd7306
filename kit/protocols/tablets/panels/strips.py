"""Which stage each coordinator and replica stands at, and where the transition stands."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tablets.facts import stages_in_use as facts
from kit.protocols.tablets.facts.stages_in_use import StageInUse
from kit.protocols.tablets.panels.states import diagram
from kit.views.diagrams import END, START, Standing, state_panel
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, heads, moved, scroll

FREE = "no request holds an older version"
COLUMNS = ("reads", "writes", "replicas", "coordinators")


def draw_strips(scene: Scene) -> Frag:
    """Draw a row for each version in use, the newest first: selectors, and who stands there."""
    rows = facts.stages_in_use(scene.model, scene.state)
    before = _before(scene)
    return scroll(
        "stages in use",
        [h("p", bulb(sign, "drain"), f" {words}", class_="lamp") for sign, words in _drain(scene)],
        h(
            "table",
            h("caption", "Stages in use, the committed one first"),
            heads("version", *COLUMNS),
            h("tbody", [_row(row, before.get(row.index)) for row in reversed(rows)]),
        ),
    )


def _drain(scene: Scene) -> Iterator[tuple[str, str]]:
    """Requests that hold an older version, with a sign: barriers wait, or pass over them."""
    held = facts.awaited_versions(scene.model, scene.state)
    for each in held:
        for words in each.requests:
            if words in each.passed:
                yield "·", f"version {each.version} is held by {words}: excluded, no barrier waits"
                continue
            dead = ", whose coordinator is gone" * (words in each.orphans)
            yield "!", f"a barrier waits: version {each.version} is held by {words}{dead}"
    shards = tuple(facts.awaited_shards(scene.model, scene.state))
    for title, at in shards:
        yield "!", f"a barrier waits: {title} began by an older stage, on {' and '.join(at)}"
    if not (held or shards):
        yield "✓", FREE


def _before(scene: Scene) -> dict[int, StageInUse]:
    if scene.before is None:
        return {}
    return {row.index: row for row in facts.stages_in_use(scene.model, scene.before)}


def _row(row: StageInUse, before: StageInUse | None) -> Frag:
    return h(
        "tr",
        h("th", h("b", str(row.version)), " ", h("small", _stage(row)), scope="row"),
        [h("td", words) for words in _cells(row)],
        k=f"stage:{row.index}",
        class_=moved(before is not None and before != row),
        data_of=f"state:{row.stage}",
    )


def _stage(row: StageInUse) -> str:
    return f"{row.stage}, {row.note}" if row.note else row.stage


def _cells(row: StageInUse) -> tuple[str, str, str, str]:
    reads, writes = (", ".join(group) for group in (row.reads, row.writes))
    old, new = row.selectors
    return (
        f"{old}: {reads}" if old else reads,
        f"{new}: {writes}" if new else writes,
        ", ".join(_replica(row, name) for name in row.replicas),
        "; ".join((*(f"{name} from here on" for name in row.planners), *row.requests)),
    )


def _replica(row: StageInUse, name: str) -> str:
    return f"{name} (no replica)" if name in row.without else name


def strips_text(scene: Scene) -> str:
    """Write a line for each version in use, the newest first."""
    rows = facts.stages_in_use(scene.model, scene.state)
    lines = (*map(_line, reversed(rows)), *(words for _, words in _drain(scene)))
    return "\n".join(f"  {line}" for line in lines)


def _line(row: StageInUse) -> str:
    cells = zip(COLUMNS, _cells(row), strict=True)
    said = "; ".join(f"{name} {words}" for name, words in cells if words)
    return f"{row.version} {_stage(row)}: {said}"


def standing(scene: Scene) -> Standing:
    """Where the latest transition stands; before the first, its diagram at its start."""
    way = facts.path(scene.model, scene.state)
    ends = (END,) * way.ended
    return Standing(diagram(way.kind, scene.model.edition), (START, *way.stages, *ends))


STRIPS = Panel("strips", "Who stands at which stage", draw_strips, strips_text, tab="Strips")
STATES = state_panel("states", "The transition's stages", standing, tab="Diagram")
