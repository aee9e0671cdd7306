"""What a message is about, without its sentence: the field, the value given, key words."""

from __future__ import annotations

import re


def like(pinned: str) -> str:
    """A pattern for messages that name a field, a value and key words, in this order.

    They are parted by ``|``: ``like("nodes | 0 | 1 to 1000")``, and ``like("nodes |")`` for the
    field alone. What has no ``|`` is a key word. So a sentence may be worded better without a test
    that fails.
    """
    first, *words = (re.escape(part.strip()) for part in pinned.split("|"))
    return ".*".join([rf"(?<![\w-]){first}:" if first and words else first, *words])


def line_with(text: object, *words: str) -> str:
    """The first line of a text that holds each of these words; empty where there is none."""
    lines = (line for line in str(text).splitlines() if all(word in line for word in words))
    return next(lines, "")


def says(message: object, pinned: str) -> bool:
    """Whether a message, or an error's, is about that."""
    return re.search(like(pinned), str(message), re.DOTALL) is not None
