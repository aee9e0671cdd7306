r"""Patterns as ``grep`` reads them: regular expressions, which are turned into Python's.

No line may take long: a pattern is short, with few repetitions and none of a group.
They are those of POSIX, with the ``\+``, ``\?``, ``\|``, ``\w`` and ``\<`` of GNU grep.
"""

import re
from collections.abc import Iterator

from kit.errors import BadInput

LONGEST, MOST_REPEATS = 200, 3
ALLOWED = (
    f"a regular expression of at most {LONGEST} characters, with at most {MOST_REPEATS} "
    "repetitions, none of a group"
)
EXTENDED = frozenset("+?{}()|")
"""What means something without a backslash in an extended expression, and with one in a basic."""
CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "xdigit": "0-9a-fA-F",
}
ESCAPES = {
    **{each: each for each in "+?()|"},
    **{each: f"\\{each}" for each in "bBwWsS.*[]^$\\/-"},
    **dict.fromkeys("<>", r"\b"),
}
"""What stands behind a backslash, as Python writes it; all else is refused."""
_TOKEN = re.compile(r"\\\{\d+(?:,\d*)?\\\}|\\.|\[\^?+\]?+(?>\[:[a-z]+:\]|[^]])*+\]|.")
_IN_BRACKETS = re.compile(r"\[:([a-z]+):\]|[]\\[&~|]")


def compiled(pattern: str, letters: str = "") -> re.Pattern[str]:
    """The pattern, compiled, by the letters of grep's options: ``i``, ``w``, ``E``, ``F``.

    Raises BadInput naming one that is none, or that is not read here.
    """
    try:
        if len(pattern) > LONGEST:
            raise KeyError(pattern)
        if "F" in letters:
            text = re.escape(pattern)
        else:
            text = "".join(_parts(_TOKEN.sub(_turned, pattern) if "E" in letters else pattern))
        text = rf"(?<!\w)(?:{text})(?!\w)" if "w" in letters else text
        return re.compile(text, re.IGNORECASE if "i" in letters else 0)
    except (re.error, OverflowError, KeyError) as wrong:
        raise BadInput("pattern", pattern, ALLOWED) from wrong


def _turned(match: re.Match[str]) -> str:
    bare = match[0].replace("\\", "")
    if bare[:1] not in EXTENDED:
        return match[0]
    return bare if bare != match[0] else f"\\{bare}"


def _parts(pattern: str) -> Iterator[str]:
    """Each token as Python writes it. Raises KeyError for what is not read here."""
    tokens, before, repeats = _TOKEN.findall(pattern), "", 0
    for token, after in zip(tokens, [*tokens[1:], ""], strict=False):
        begins = before in ("", "(", "|")
        is_repeat = token in (r"\+", r"\?") or token[:2] + token[-2:] == r"\{\}"
        if token == "*":
            is_repeat = not (begins or before == "^")
        if is_repeat:
            repeats += 1
            if repeats > MOST_REPEATS or begins or before in (")", "*"):
                raise KeyError(token)
            before, part = "*", token.replace("\\", "")
        else:
            is_literal = token in "+?{}()|*" or (token == "^" and not begins)
            is_literal |= token == "$" and after not in ("", r"\)", r"\|")
            before = part = f"\\{token}" if is_literal else _part(token)
        yield part


def _part(token: str) -> str:
    if len(token) == 2:
        return ESCAPES[token[1]]
    if token == "[" or "--" in token:  # of the last Python warns
        raise KeyError(token)
    return f"[{_IN_BRACKETS.sub(_bracketed, token[1:-1])}]" if token[0] == "[" else token


def _bracketed(match: re.Match[str]) -> str:
    return CLASSES[match[1]] if match[1] else f"\\{match[0]}"
