"""The model of a truncate in the registry, with the scenario worth seeing."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.tablets.truncate.model import Truncate
from kit.protocols.tablets.truncate.parameters import SAFEGUARDS, TruncateParameters

ENTRY = Entry(
    name="truncate",
    title=Truncate.title,
    parameters=TruncateParameters,
    build=Truncate,
    safeguards=SAFEGUARDS,
    scenarios=(
        Scenario(
            "late-truncate",
            "A truncate RPC is late and arrives after new rows were written: its session is closed",
            {"nodes": 2, "replicas": "A B"},
            script=(
                "truncate",
                "open session",
                "apply A",
                "apply B",
                "barrier",
                "delay A",
                "send A",
                "send B",
                "close session",
                "apply A",
                "apply B",
                "barrier",
                "write",
                "arrive A",
            ),
        ),
    ),
    fuzzing=Fuzzing({"nodes": 3, "late": 2, "changes": 1, "moves": 1}),
)
