"""What earlier versions called the things of this family: old traces and scenario files say it."""

from __future__ import annotations

from kit.engine.former import Former
from kit.protocols.tcm.words import ALSO

_WORDS = {"clean": "cleanup", "collect": "collect-tombstones"}
_PLANNED = {"write by epoch": "write at epoch", "read by epoch": "read at epoch"}
FORMER = Former(
    actions={**_WORDS, "learn": "apply"},
    verbs={**_WORDS, **ALSO, **_PLANNED},
    said={"verb": ALSO},
    parameters={"reading": "acknowledgement", "shape": "edition", "behind": "lag"},
    unsaid={"behind": -1},
    narrowing=frozenset({"behind"}),  # of requests alone; today's bounds nodes and messages, too
    values={
        "acknowledgement": {"whole-group": "union", "both-sets": "joint"},
        "exchange": {"row-version": "last-modified"},
        "lag": {"-1": "null"},
        "repair": {False: "none", True: "answered"},
    },
    safeguards={"plan-recheck": "plan-revalidation"},
)
