"""What travels in a step: the list that the page reads, lines of text, the markers that move."""

from __future__ import annotations

from collections.abc import Iterable

from kit.engine.flows import Flow, FlowKind
from kit.views.fragment import Frag, h

SHAPES: dict[FlowKind, str] = {
    "entry": "M-7-7h14v14h-14zM-4-2h8M-4 2h8",
    "data": "M0-8a8 8 0 1 0 .01 0z",
    "request": "M-7-8L9 0L-7 8z",
    "answer": "M0-9L9 0L0 9L-9 0z",
    "refusal": "M-7-7L7 7M-7 7L7-7",
    "message": "M-9-6h18v12h-18zM-9-6L0 1L9-6",
}
"""A shape for each kind, around its middle; the colour beside it is in flows.css."""


def draw_flows(flows: Iterable[Flow]) -> Frag:
    """List what travels: a sentence each, and beside it what the browser needs to show it.

    The list is not part of a frame; equal steps of a history share one.
    """
    return h(
        "ul",
        [
            h(
                "li",
                flow.text,
                data_kind=flow.kind,
                data_from=flow.from_key,
                data_to=flow.to_key,
                data_label=flow.label,
                data_leg=flow.leg,
                data_around=flow.around,
            )
            for flow in flows
        ],
    )


def flow_lines(flows: Iterable[Flow]) -> list[str]:
    """Write a line for everything that travels: ``B → X: streams (100, 150]``."""
    return [flow.text for flow in flows]


def flow_markers() -> Frag:
    """Draw what the browser copies to let it travel: one marker a kind, in a layer of their own."""
    return h(
        "div",
        [
            h("svg", h("path", d=shape), h("text"), class_=f"kp-flow {kind}", data_kind=kind)
            for kind, shape in SHAPES.items()
        ],
        class_="kp-flows",
        aria_hidden="true",
    )
