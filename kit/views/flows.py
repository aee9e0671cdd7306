"""What travels in a step, as a list that the page reads and as lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from kit.engine.flows import Flow
from kit.views.fragment import Frag, h


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
                data_around=flow.around or None,
            )
            for flow in flows
        ],
    )


def flow_lines(flows: Iterable[Flow]) -> list[str]:
    """Write a line for everything that travels: ``B → X: streams (100, 150]``."""
    return [flow.text for flow in flows]
