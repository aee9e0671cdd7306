r"""Which lines of a log ``grep`` and ``journalctl`` print, by what operators type.

Patterns are the regular expressions of POSIX, with the ``\+``, ``\?``, ``\|``, ``\w`` and ``\<`` of
GNU grep; they are turned into Python's. No line may take long: a pattern is short, with few
repetitions and none of a group.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from kit.console.forms import Given
from kit.errors import BadInput
from kit.model.flows import ServerLine

MOST_DIGITS = 20
GREP = {
    **dict.fromkeys(("-A", "-B", "-C", "-m"), True),
    **dict.fromkeys(map("-{}".format, "cEFinovw"), False),
}
JOURNAL = {
    **dict.fromkeys(("-g", "-n", "-o", "-p", "-S", "-U", "-u", "--since", "--until"), True),
    **dict.fromkeys(("--grep", "--lines", "--output", "--priority", "--unit"), True),
    **dict.fromkeys(("-r", "--reverse", "--no-pager"), False),
}
"""Their options, and whether a value stands behind each."""
SHORT = {
    **{f"--{name}": f"-{name[0]}" for name in ("grep", "output", "priority", "unit")},
    "--lines": "-n",
    "--reverse": "-r",
    "-S": "--since",
    "-U": "--until",
}
TIMELESS = "(no line here has a time or a priority: {names} leaves none out)"


def options_in(given: Given, slot: str) -> dict[str, str]:
    """The options in a slot, each by one of its names, with its value."""
    pairs = (each.partition("=") for each in given.get(slot, ()))
    return {SHORT.get(name, name): value for name, _, value in pairs}


def grep(lines: Sequence[ServerLine], pattern: str, options: Mapping[str, str]) -> Iterator[str]:
    """The lines that match, as ``grep`` prints them; behind each what ``ServerLine.marked`` says.

    Raises BadInput for a pattern or a number that is none.
    """
    search = compiled(pattern, "".join(options))
    most = whole("-m", options["-m"]) if "-m" in options else len(lines)
    fits = (bool(search.search(str(line))) != ("-v" in options) for line in lines)
    hits = [at for at, is_one in enumerate(fits) if is_one][:most]
    if "-c" in options:
        yield str(len(hits))
        return

    def numbered(at: int, text: str) -> str:
        return f"{at + 1}{':' if at in hits else '-'}{text}" if "-n" in options else text

    if "-o" in options:
        for at in hits if "-v" not in options else ():
            parts = (match[0] for match in search.finditer(str(lines[at])))
            yield from (numbered(at, part) for part in parts if part)
        return
    before, after = (
        min(whole(name, options.get(name, options.get("-C", 0))), len(lines))
        for name in ("-B", "-A")
    )
    is_near = not {"-A", "-B", "-C"}.isdisjoint(options)
    near = {n for at in hits for n in range(at - before, at + after + 1)}
    shown = [at for at in range(len(lines)) if at in near]
    for at in shown:
        if is_near and at > shown[0] and at - 1 not in near:
            yield "--"
        yield numbered(at, lines[at].marked)


def journal(
    lines: Sequence[ServerLine], options: Mapping[str, str], unit: str
) -> Sequence[ServerLine]:
    """The lines that ``journalctl`` has of a unit; none of them has a time or a priority.

    Raises BadInput for another unit, another form than that of ``-o cat``, a number that is none.
    """
    for name, only in (("-u", unit), ("-o", "cat")):
        value = options.get(name, only)
        if value.removesuffix(".service") != only:
            raise BadInput(name, value, only)
    search = compiled(options.get("-g", ""))
    lines = [line for line in lines if search.search(str(line))]
    if "-n" in options:
        lines = lines[max(len(lines) - whole("-n", options["-n"]), 0) :]
    return lines[::-1] if "-r" in options else lines


def timeless(options: Mapping[str, str]) -> Iterator[str]:
    """That options leave no line out, which would tell lines by their times or priorities."""
    names = " and ".join(each for each in ("--since", "--until", "-p") if each in options)
    if names:
        yield TIMELESS.format(names=names)


def whole(field: str, given: object, least: int = 0) -> int:
    """A number that somebody types. Raises BadInput for none, or one below ``least``."""
    text, begins = str(given), f"a number from {least} on" if least else "a number"
    is_number = text.isascii() and text.isdecimal() and len(text) < MOST_DIGITS
    if not is_number or int(text) < least:
        raise BadInput(field, text, f"{begins} with fewer than {MOST_DIGITS} digits")
    return int(text)


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
