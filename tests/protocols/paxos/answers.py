"""A right answer to every exercise on Paxos."""

from __future__ import annotations

from typing import Any


def finish_for_another() -> list[str]:
    """C accepts x and says so to B, which proposes it."""
    of_a = ["ballot A", "deliver A>C prepare 1 1A", "deliver C>A promise 1 1A"]
    half = ["deliver A>C accept 1 1A x", "ballot B", "deliver B>C prepare 1 1B"]
    of_b = ["deliver C>B promise 1 1B x 1A", "deliver B>C accept 1 1B x"]
    return [*of_a, *half, *of_b, "deliver C>B accepted 1 1B"]


def same_ballot() -> list[str]:
    """Each promises ballot 1 to the other, then accepts the other's value in it."""
    ends = (("A", "B", "x"), ("B", "A", "y"))
    asked = [f"deliver {a}>{b} prepare 1 1" for a, b, _ in ends]
    promised = [f"deliver {b}>{a} promise 1 1" for a, b, _ in ends]
    accepted = [f"deliver {a}>{b} accept 1 1 {value}" for a, b, value in ends]
    heard = [f"deliver {b}>{a} accepted 1 1" for a, b, _ in ends]
    return ["ballot A", "ballot B", *asked, *promised, *accepted, *heard]


RIGHT: dict[str, Any] = {"finish-for-another": finish_for_another, "same-ballot": same_ballot}
