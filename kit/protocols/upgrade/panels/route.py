"""Tabs of the topology upgrade: the route at each node, and how a new node joins."""

from __future__ import annotations

from kit.protocols.upgrade.facts import topology as facts
from kit.protocols.upgrade.rules.topology_state import ROUTE
from kit.views.actions import mark
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button, bulb, table_part, table_row

NO_JOINS = "No node is on its way into the cluster."


def draw_route(scene: Scene) -> Frag:
    """Draw two cells per member: POST as a button, and what GET answers."""
    return table_part(
        "route",
        ROUTE,
        ("node", "POST", "GET"),
        (
            table_row(
                f"route:{each.node}",
                each.node,
                act_button(
                    f"POST at {each.node}",
                    f"route:{each.node}:button",
                    f"do:{mark(scene.model, each.action)}",
                    scene.closed or each.refusal or None,
                ),
                h("code", each.state),
            )
            for each in facts.route(scene.model, scene.state)
        ),
    )


def route_text(scene: Scene) -> str:
    """Write the route, and a line per member: whether POST is taken, what GET answers."""
    lines = [
        f"  {each.node}: POST {'refused: ' + each.refusal if each.refusal else 'taken'}; "
        f"GET {each.state}"
        for each in facts.route(scene.model, scene.state)
    ]
    return "\n".join([f"  {ROUTE}", *lines])


def draw_joins(scene: Scene) -> Frag:
    """Draw the flow chart of a join with the branch of now lit, and who is on its way."""
    on_way = facts.joins(scene.model, scene.state)
    branches = facts.chart(scene.state)
    return h(
        "div",
        h(
            "ul",
            [
                h(
                    "li",
                    bulb("✓", "now") if taken else bulb("·", "not now"),
                    f" {when} → ",
                    h("strong", then) if taken else then,
                    k=f"join-way:{at}",
                    class_=None if taken else "soft",
                )
                for at, (when, then, taken) in enumerate(branches)
            ],
            aria_label="how a node joins",
        ),
        table_part(
            "joins",
            "Nodes on their way",
            ("node", "joins by", "waits"),
            (
                table_row(f"join:{each.node}", each.node, each.way, each.waits or "–")
                for each in on_way
            ),
        )
        if on_way
        else h("p", NO_JOINS, class_="soft"),
    )


def joins_text(scene: Scene) -> str:
    """Write a line per branch, that of now marked, and one per node on its way."""
    branches = [
        f"  {'✓' if taken else '·'} {when} → {then}"
        for when, then, taken in facts.chart(scene.state)
    ]
    on_way = [
        f"  {each.node}: {each.way}{f', waits: {each.waits}' if each.waits else ''}"
        for each in facts.joins(scene.model, scene.state)
    ]
    return "\n".join([*branches, *(on_way or [f"  {NO_JOINS}"])])


ROUTE_CELLS = Panel("route", "POST and GET of the route", draw_route, route_text, tab="Route")
JOINS = Panel("joins", "How a node joins", draw_joins, joins_text, tab="Joins")
