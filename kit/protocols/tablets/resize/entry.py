"""The model of a table's resize in the registry, with the scenarios worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.tablets.resize.model import Resize
from kit.protocols.tablets.resize.parameters import ResizeParameters
from kit.protocols.tablets.resize.safeguards import SAFEGUARDS

SCENARIOS = (
    Scenario(
        "table-splits",
        "A table grows: its replicas divide their storage, then each tablet becomes two",
        {"tablets": ("A B",), "nodes": 2},
    ),
    Scenario(
        "table-merges",
        "A table shrinks: the odd sibling follows the even one, then both become one",
        {"tablets": ("A B", "A C"), "grows": 0, "shrinks": 1},
    ),
    Scenario(
        "split-is-revoked",
        "A table grows and shrinks again before it is split: the decision is revoked",
        {"tablets": ("A B",), "nodes": 2, "shrinks": 1},
        script=("grow", "resize", "shrink", "resize"),
    ),
)
ENTRY = Entry(
    name="resize",
    title=Resize.title,
    parameters=ResizeParameters,
    build=Resize,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    fuzzing=Fuzzing(
        {"tablets": ("A B", "B C"), "grows": 1, "shrinks": 2, "moves": 1, "repairs": 1}
    ),
)
