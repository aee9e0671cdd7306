"""Reading JSON from outside strictly: bounded, UTF-8, each key once, integers of 64 bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from kit.errors import BadInput

LONGEST_INTEGER = 20  # characters of a signed 64-bit integer


def read_text(path: str | Path, field: str, most_bytes: int, form: str = "JSON text") -> str:
    """The text of a file, a byte order mark left out; `form` says what it should hold.

    Never reads more than it may, so that an endless device is refused too.

    Raises:
        BadInput: when the file cannot be read, is too large or is no UTF-8 text.
    """
    allowed = f"a readable file of {form} (UTF-8)"
    try:
        with Path(path).open("rb") as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise BadInput(field, str(path), f"at most {most_bytes} bytes")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(field, str(path), f"{allowed}; {error.strerror or error}") from None
    except ValueError:
        raise BadInput(field, str(path), allowed) from None


def parse_json(text: str, field: str) -> object:
    """The value of a JSON text; ``field`` names the whole text in messages.

    Raises:
        BadInput: for malformed or deeply nested text, a key that occurs twice, an integer beyond
            64 bits, NaN or an infinity.
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise BadInput(field, key, "each key once in an object")
            found[key] = value
        return found

    def bounded(digits: str) -> int:
        # Python itself fails on several thousand digits.
        if len(digits) > LONGEST_INTEGER:
            raise BadInput(field, digits, "integers within signed 64 bits")
        return int(digits)

    def constant(word: str) -> NoReturn:
        raise BadInput(field, word, "numbers that JSON knows")

    try:
        return json.loads(text, object_pairs_hook=once, parse_int=bounded, parse_constant=constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        tail = text[error.pos : error.pos + 20] or "the end of the text"
        raise BadInput(field, tail, f"JSON text; {error.msg} at {place}") from None
    except RecursionError:
        raise BadInput(field, text[:20], "JSON text that is not nested deeply") from None
