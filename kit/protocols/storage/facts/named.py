"""What a broken promise names: nodes, requests, and the messages between them, by their keys.

Whatever shows one of them carries its key, so that all of them can be lit together.
"""

from __future__ import annotations

import re

from kit.protocols.storage.plans import Plans

_WORD = re.compile(r"[^\s,;:{}()]+")


def request_key(number: int) -> str:
    """The key of a request; that of a node is its name."""
    return f"request:{number}"


def message_key(number: int, replica: str) -> str:
    """The key of a request's message to a replica, and of the answer."""
    return f"message:{number}:{replica}"


def about(m: Plans, witness: str) -> frozenset[str]:
    """The keys of the nodes and requests that a witness names, and of the messages between them."""
    words = {word.rstrip(".") for word in _WORD.findall(witness)}
    replicas = [name for name in m.history.replicas if name in words]
    coordinators = [ask.coordinator for ask in m.workload if ask.coordinator in words]
    titles = (m.title_of(number) for number in range(len(m.workload)))
    numbers = [number for number, title in enumerate(titles) if re.search(rf"\b{title}\b", witness)]
    return frozenset(
        (
            *replicas,
            *coordinators,
            *map(request_key, numbers),
            *(message_key(number, name) for number in numbers for name in replicas),
        )
    )
