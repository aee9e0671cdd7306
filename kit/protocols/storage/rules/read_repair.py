"""Read repair: what a read writes back before its client has the answer, and to whom.

Four kinds, as a switch:

- ``none``: nothing. Two reads, one after the other, may see a write and then not see it.
- ``answered``: the newest cell goes to those that answered, at once. They are a read quorum of the
  plan by which the read is judged; a pending replica is none of them. So what was read may be gone
  when reads move.
- ``mismatch``: only when answers differ, the cell is written by the plan that the coordinator knows
  now, pending replicas included, and the read waits for a write quorum of it; whoever returned the
  cell counts. Equal answers write nothing, also where they are no write quorum: a single replica
  has nobody to differ from.
- ``blocking``: the same whenever those that returned the cell are no write quorum of the plan.

With ``blocking`` the quorum reads of a key never go back in time. Source: the published code's
``BlockingReadRepair`` and its write plan (``mismatch``: equal digests repair nothing); for what
``answered`` loses, the public report "Monotonic reads are violated during topology changes and
tablet migration" (scylladb/scylladb, issue 20458); M. Herlihy and J. Wing on one order of all
requests, H. Attiya, A. Bar-Noy and D. Dolev (1995) on reads that write back.
"""

from __future__ import annotations

from typing import Literal

from kit.protocols.storage.rules.levels import AnswerQuota, enough

ReadRepair = Literal["none", "answered", "mismatch", "blocking"]
WAITING_KINDS: tuple[ReadRepair, ...] = ("mismatch", "blocking")
"""The kinds in which a read waits until what it found is written back."""


def waits(
    kind: ReadRepair, wanted: tuple[AnswerQuota, ...], holders: int, kept: int, answered: int
) -> bool:
    """Whether a read with enough answers must write back before its client has the answer.

    ``wanted`` is what a write of the read's level needs now; ``answered``, ``holders`` and ``kept``
    (masks) are who answered, who of them returned the newest cell, and whose holding it counts.
    """
    if kind not in WAITING_KINDS or (kind == "mismatch" and holders == answered):
        return False
    return not enough(wanted, kept)


def targets(wanted: tuple[AnswerQuota, ...]) -> int:
    """To whom the cell is sent, unless they are known to hold it: all that could count (a mask)."""
    group = 0
    for quota in wanted:
        group |= quota.replicas
    return group


def holding(holders: int, newest_seen: int, seen: int, own: int) -> int:
    """Who returned the newest cell (a mask), after replica ``own`` returned the cell ``seen``."""
    if seen < newest_seen:
        return holders
    return own if seen > newest_seen else holders | own
