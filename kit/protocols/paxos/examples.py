"""Paxos as the kit offers it: its stories, the log that it refines, random walks.

A story is drawn when a person opens it; longer ones with their texts are in ``scenarios``.
"""

from __future__ import annotations

from typing import Any

from kit.model.declared import entry
from kit.model.log import refined_by_logs
from kit.model.model import Refinement
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.paxos.paxos import BARE, Paxos


def refined_by(parameters: Any) -> Refinement:
    """How Paxos refines the log that takes each value in one step (``kit.model.log``)."""
    fine = Paxos(parameters)
    return refined_by_logs(fine, lambda s: [node.log for node in s.nodes], fine.proposed)


SCENARIOS = (
    Scenario(
        "one-value", (
            "A majority promises and accepts, and all nodes learn the value"
        ), {"values": ("x at A",)}
    ),
    Scenario(
        "two-proposers",
        "A and B want epoch 1: B finds x in progress and finishes it",
        script=("ballot A", "deliver A>C prepare 1 1A", "deliver C>A promise 1 1A", "ballot B"),
    ),
    Scenario(
        "members-change",
        "D joins and A leaves: a repair brings accepted values to the new members",
        {"values": ("x at A", "y at C"), "becomes": ("B", "C", "D"), "epochs": 2},
        script=("ballot A", "deliver A>B prepare 1 1A", "deliver B>A promise 1 1A",
                "deliver A>B accept 1 1A x", "begin-change", "repair C"),
    ),
)  # fmt: skip

ENTRY = entry(
    Paxos,
    scenarios=SCENARIOS,
    refinement=refined_by,
    compared={**BARE, "epochs": 2},
    fuzzing=Fuzzing(
        {"members": 5, "epochs": 3, "values": ("x at A", "y at B", "z at C"), "crashes": 2,
         "losses": 2, "copies": 1},
        {"crash": 0.1, "drop": 0.2, "ballot": 0.2},
    ),
)  # fmt: skip
