"""A join: its messages, the rows of host ids, what each process is at, every check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kit.protocols.topology.facts import joining as facts
from kit.views.fragment import Frag, h
from kit.views.messages import MESSAGES
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, bulb, heads, moved, scroll
from kit.views.promises import LAMPS, scene_verdicts
from kit.views.registry import Views


def _table(
    key: str, label: str, head: Sequence[str], rows: Iterable[Sequence[str]], old: set[str]
) -> Frag:
    """A table whose rows have keys by their first cell; those that are not ``old`` are marked."""
    return scroll(
        label,
        h(
            "table",
            heads(*head),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", row[0], scope="row", data_of=row[0]),
                        [h("td", cell) for cell in row[1:]],
                        k=f"{key}:{row[0]}",
                        class_=moved(bool(old) and "|".join(row) not in old),
                    )
                    for row in rows
                ],
            ),
        ),
    )


def _host_cells(scene: Scene, before: bool = False) -> list[tuple[str, ...]]:
    state = scene.before if before else scene.state
    if state is None:
        return []
    return [
        (
            row.host,
            row.state,
            "member" if row.member else "–",
            ", ".join(row.features) or "–",
            str(row.attempt or "–"),
            row.reason or "–",
        )
        for row in facts.hosts(state)
    ]


def _joined(rows: Iterable[Sequence[str]]) -> set[str]:
    return {"|".join(row) for row in rows}


def draw_hosts(scene: Scene) -> Frag:
    """Draw the rows of ``system.topology`` that a join touches."""
    head = ("host id", "node_state", "group 0", "supported_features", "asked by start", "error")
    old = _joined(_host_cells(scene, before=True))
    return _table("host", "host ids", head, _host_cells(scene), old)


def hosts_text(scene: Scene) -> str:
    """Write a line for each host id."""
    return "\n".join("  " + "; ".join(row) for row in _host_cells(scene))


def draw_processes(scene: Scene) -> Frag:
    """Draw what each process is at."""
    rows = [(row.name, row.doing) for row in facts.processes(scene.model, scene.state)]
    old = scene.before and [
        (row.name, row.doing) for row in facts.processes(scene.model, scene.before)
    ]
    table = _table("process", "processes", ("node", "what it is at"), rows, _joined(old or ()))
    return h("div", table, h("p", _tried(scene), k="tried", class_="soft"))


def _tried(scene: Scene) -> str:
    """The retry counter: calls that were made again stand out by their number."""
    made = facts.tried(scene.way())
    return (
        f"Calls so far: JOIN_NODE_QUERY {made.queries}, JOIN_NODE_REQUEST {made.requests}, "
        f"JOIN_NODE_RESPONSE {made.responses}."
    )


def processes_text(scene: Scene) -> str:
    """Write a line for each process."""
    rows = facts.processes(scene.model, scene.state)
    return "\n".join([*(f"  {row.name}: {row.doing}" for row in rows), f"  {_tried(scene)}"])


def draw_checks(scene: Scene) -> Frag:
    """Draw every check with a tick, or what it would reject."""
    return scroll(
        "checks",
        h(
            "table",
            h("caption", "as they would end if they were made now"),
            heads("check", "made by", "joiner"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", row.name, scope="row"),
                        h("td", row.by),
                        h("td", bulb(*(("!", "fails") if row.fails else ("✓", "passes")))),
                        k=f"check:{row.name}",
                    )
                    for row in facts.checks(scene.model, scene.state)
                ],
            ),
        ),
    )


def checks_text(scene: Scene) -> str:
    """Write a line for each check."""
    return "\n".join(
        f"  {row.name} ({row.by}): {'fails' if row.fails else 'passes'}"
        for row in facts.checks(scene.model, scene.state)
    )


def draw_status(scene: Scene) -> Frag:
    """Draw how far the joiner is, who coordinates, which feature is enabled."""
    names = ("joiner", "coordinator", "feature")
    said = facts.status(scene.state)
    return h(
        "ul",
        [badge(name, words) for name, words in zip(names, said, strict=True)],
        class_="badges",
        aria_label="status",
    )


def status_text(scene: Scene) -> str:
    """Write the badges as one line."""
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    verdict = f"BROKEN: {'; '.join(broken)}" if broken else "all properties hold"
    return ", ".join((*facts.status(scene.state), verdict))


STATUS = Panel("status", "Status", draw_status, status_text, still=True)
HOSTS = Panel("hosts", "Host ids in group 0", draw_hosts, hosts_text, still=True)
PROCESSES = Panel("processes", "What each node is at", draw_processes, processes_text, tab="Nodes")
CHECKS = Panel("checks", "What is checked, and by whom", draw_checks, checks_text, tab="Checks")
VIEWS = Views(
    (STATUS, HOSTS, MESSAGES, PROCESSES, CHECKS, LAMPS),
    picture="messages",
    table="hosts",
    badges="status",
    wide=True,
)
