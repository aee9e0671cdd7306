"""Commands that are typed: what a line may be, what it means, what may follow.

A family gives its *forms*, each a line of fixed words and slots: ``nodetool removenode {host_id}``.
A slot names what may stand there: the values of the moment, one or several with commas between,
or any text. A statement of CQL has its quotes and comments, and its words are read in any case. Any
other line has those of a shell, which minds the case; only the kit's own words do not. Lines are
compared with the forms; nothing is ever evaluated.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import one_of

LONGEST_LINE = 2000  # characters
NOTHING = "nothing"
MARKS = "=,;()"
LOOKING = (
    *("on ", "ssh ", "nodetool status", "nodetool describecluster", "nodetool ring"),
    *("nodetool gossipinfo", "nodetool cms d", "nodetool cms reconfigure --status"),
    *("select ", "grep ", "cat ", "journalctl", "get ", "curl -x get", "curl http", "wait"),
)
"""How commands begin that change nothing by an operator's hand."""
HAPPEN, WAIT = "happen ", "wait"
"""How those begin that are no operator's at all, and what lets the cluster go on."""
UNQUOTED = re.compile(r"-?[0-9]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""Values that CQL writes without quotes: numbers and UUIDs."""
_WORD = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|[=,;]|[^\s=,;'"]+""")
_CQL_WORD = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|[=,;()]|[^\s=,;()'"]+""")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_SLOT = re.compile(r"\{([a-z_]+)\}")
_PART = re.compile(r"""\{[a-z_]+\}|'[^']*'|[=,;()]|[^\s=,;()]+""")
_BEGINNINGS = ["ALTER", "DELETE", "INSERT", "SELECT", "TRUNCATE", "UPDATE"]
_VERBS = rf"(?:{'|'.join(_BEGINNINGS)})\b"
_JOINING = ";", "&", "&&", "||"
_STATEMENT = re.compile(rf"\s*{_VERBS}", re.IGNORECASE)
_SUDO = re.compile(rf"\s*sudo\s+(?:-u\s+\S+\s+)?(?!(?i:{_VERBS}))(?P<said>[^-\s].*)")
_CQLSH = re.compile(r"\s*cqlsh(?!\S)(?P<rest>.*)")
_EXECUTE = re.compile(r"""\s+(?:-e|--execute)[\s=]\s*(?:"([^"]*)"|'([^']*)')\s*(?:\s#.*)?""")
"""Lines that only say how something else is run."""
_UNITS = "systemctl", "journalctl"
_CQL_COMMENT = re.compile(r"(?:--|//).*|/\*.*?\*/")
_SHELL_COMMENT = re.compile(r"(?<!\S)#.*")
_SMALL_NAME = re.compile(r"[a-z][a-z0-9_]*")

Given: TypeAlias = Mapping[str, str | tuple[str, ...]]


class Bare(str):
    """A value of CQL that was typed without quotes: a number or a UUID."""

    __slots__ = ()


class Slot(Struct, frozen=True):
    """A place of a form, and the words that may stand there.

    ``about`` says it in a word or two. ``values`` gives the allowed texts of a moment; without it
    any text may stand there. ``many``: several, with commas between. ``quoted``: in quotes, unless
    it is a number or a UUID; ``is_text``: be it one of these. ``options`` may stand there, or none
    of them: by their names, whether a value stands behind each.
    """

    about: str
    values: Callable[[Any], Iterable[str]] | None = None
    many: bool = False
    quoted: bool = False
    is_text: bool = False
    options: Mapping[str, bool] = {}


class Form(Struct, frozen=True):
    """A command: its words with slots in braces, what it is for, and what answers it.

    ``answer(moment, given)`` gets what is in the slots by their names. A form that is
    ``offered`` has a button where its slots have few values. ``own``: no real tool has this word.
    ``absent``: it is read, and says that the model has nothing like that.
    """

    text: str
    about: str
    answer: Callable[[Any, Given], Any]
    offered: bool = True
    own: bool = False
    absent: bool = False

    @property
    def meaning(self) -> str:
        """The purpose of a word, and whether it is the kit's own."""
        return f"{self.about} (own word)" if self.own else self.about

    @property
    def looks(self) -> bool:
        """Whether who types it only looks."""
        return self.text.casefold().startswith(LOOKING)

    @property
    def is_statement(self) -> bool:
        """Whether it is a statement of CQL, in which only single quotes are those of a text."""
        return _STATEMENT.match(self.text) is not None

    @property
    def usage(self) -> str:
        """The form as a person reads it: slots in capitals."""
        return _SLOT.sub(lambda part: part[1].upper(), self.text)


class _Typed(Struct, frozen=True):
    """A word of a line, and the quotes in which it stood, if any."""

    text: str
    quote: str = ""


class _Reading(Struct, frozen=True):
    """How far a form goes with a line: words that fit, what it wants next, what was given."""

    fits: int
    wanted: tuple[str, ...] = ()
    about: str = ""
    given: dict[str, str | tuple[str, ...]] | None = None


class Grammar:
    """The forms of a drill, and the slots that they name."""

    def __init__(self, forms: Iterable[Form], slots: Mapping[str, Slot]) -> None:
        self.forms = tuple(forms)
        self.slots = dict(slots)

    def read(self, line: str, moment: Any) -> tuple[Form, Given]:
        """The form that a line is of, and what is in its slots.

        Raises BadInput naming the first word that no form has there, and what is allowed.
        """
        if not (words := _words(line)):
            raise BadInput("command", NOTHING, one_of("", self._firsts()))
        readings: list[tuple[_Reading, Form]] = []
        for form in sorted(self.forms, key=lambda form: form.absent):
            reading = self._reading(form, words, moment)
            if reading.given is not None:
                return form, reading.given
            if not form.absent:
                readings.append((reading, form))
        if not (furthest := max(reading.fits for reading, _ in readings)):
            raise _unknown(words[0].text, self._firsts())
        raise _misfit(words, furthest, [pair for pair in readings if pair[0].fits == furthest])

    def complete(self, line: str, moment: Any) -> tuple[str, ...]:
        """Every line that goes on from this one by a word; none where the line fits no form."""
        text = line.lstrip()
        bare = _QUOTED.sub(lambda part: ";" * len(part[0]), text)
        last = text[bare.index("'") :] if "'" in bare else re.split(r"[\s=,;()]", bare)[-1]
        stem = text[: len(text) - len(last)]
        try:
            words = _words(stem)
        except BadInput:
            return ()
        lines: dict[str, None] = {}
        for form in self.forms:
            reading = self._reading(form, words, moment)
            if reading.fits == len(words) and not form.absent:
                for word in reading.wanted:
                    if word.casefold().startswith(last.casefold()):
                        lines.setdefault(stem + word)
        return tuple(lines)

    def offers(self, moment: Any, most: int = 6) -> Iterator[tuple[Form, tuple[str, ...]]]:
        """Every form that is offered, with its lines where all slots have at most ``most``."""
        for form in self.forms:
            if form.offered:
                yield form, tuple(self._lines(form, moment, most))

    def _lines(self, form: Form, moment: Any, most: int) -> Iterator[str]:
        names = _SLOT.findall(form.text)
        lines = [form.text]
        for name in names:
            slot = self.slots[name]
            if not (values := list(_values(slot, moment))) or len(values) > most:
                return
            texts = [", ".join(values)] if slot.many else values
            lines = [line.replace(f"{{{name}}}", text) for line in lines for text in texts]
        yield from lines

    def _firsts(self) -> list[str]:
        there = (form for form in self.forms if not form.absent)
        return list(dict.fromkeys(_parts(form.text)[0] for form in there))

    def _reading(self, form: Form, words: Sequence[_Typed], moment: Any) -> _Reading:
        at, given = 0, dict[str, str | tuple[str, ...]]()
        for part in _parts(form.text):
            named = _SLOT.fullmatch(part)
            slot = self.slots[named[1]] if named else None
            if slot and form.absent:  # whatever is asked for, the model has nothing like that
                slot = Slot(slot.about, many=slot.many, options=slot.options)
            end, value = _taken(form, slot, part, words, at, moment)
            if value is None:
                wanted = (part,) if slot is None else tuple(_values(slot, moment))
                return _Reading(end, wanted, "" if slot is None else slot.about)
            at = end
            if named:
                former = given.get(named[1], ())  # options may stand in several places
                given[named[1]] = (*former, *value) if isinstance(value, tuple) else value
        return _Reading(at, given=None if at < len(words) else given)


@cache
def _parts(text: str) -> tuple[str, ...]:
    return tuple(_PART.findall(text))


def _values(slot: Slot, moment: Any) -> Iterator[str]:
    values = slot.options if slot.values is None else slot.values(moment)
    return (f"'{value}'" for value in values) if slot.quoted else iter(values)


def _taken(
    form: Form, slot: Slot | None, part: str, words: Sequence[_Typed], at: int, moment: Any
) -> tuple[int, str | tuple[str, ...] | None]:
    """The place behind the words that a part takes, and what they say; None: they do not fit."""
    if slot and slot.options:
        return _options(slot.options, words, at)
    if at >= len(words):
        return at, None
    if slot is None:
        return (at + 1, part.strip("'")) if _is_part(form, part, words[at]) else (at, None)
    known = None if slot.values is None else {each.casefold(): each for each in slot.values(moment)}
    texts: list[str] = []
    while at < len(words):
        listed = slot.many and not form.is_statement  # a shell takes the quotes away
        each = words[at].text.split(",") if listed and words[at].quote else [words[at].text]
        standing = [_standing(form, slot, replace(words[at], text=text), known) for text in each]
        if None in standing:
            break
        texts += (text for text in standing if text is not None)
        at += 1
        if not slot.many or at >= len(words) or words[at].text != ",":
            return at, (tuple(texts) if slot.many else texts[0])
        at += 1
    return at, None


def _options(
    known: Mapping[str, bool], words: Sequence[_Typed], at: int
) -> tuple[int, tuple[str, ...] | None]:
    options: list[str] = []
    while at < len(words) and _is_option(words[at]):
        text = words[at].text
        while text:
            name = text if text.startswith("--") else text[:2]
            rest = text.removeprefix(name)
            if name not in known:
                return at, None
            if known[name] and not rest:
                at += 1
                if at >= len(words):
                    return at, None
                rest = words[at].text
            options.append(f"{name}={rest}" if known[name] else name)
            text = f"-{rest}" if rest and not known[name] else ""
        at += 1
    return at, tuple(options)


def _is_option(word: _Typed) -> bool:
    return not word.quote and word.text.startswith("-") and len(word.text) > 1


def _is_part(form: Form, part: str, word: _Typed) -> bool:
    if part.startswith("'"):
        in_quotes = word.quote == "'" if form.is_statement else word.quote
        return bool(in_quotes) and word.text == part[1:-1]
    if form.is_statement and word.quote:
        return False
    if form.is_statement or form.own:
        return word.text.casefold() == part.casefold()
    # what a unit is if it does not say it
    is_service = form.text.startswith(_UNITS)
    return (word.text.removesuffix(".service") if is_service else word.text) == part


def _standing(form: Form, slot: Slot, word: _Typed, known: Mapping[str, str] | None) -> str | None:
    """The meaning of a word in a slot, by ``known`` values in small letters; None: it has none."""
    is_bare = not slot.is_text and UNQUOTED.fullmatch(word.text)
    if not word.quote and (word.text in MARKS or (slot.quoted and not is_bare)):
        return None
    if form.is_statement and word.quote and (word.quote == "'") != slot.quoted:
        return None
    if known is None and _is_option(word) and not (form.is_statement or form.own):
        return None
    if known is None:
        return Bare(word.text) if slot.quoted and not word.quote else word.text
    value = known.get(word.text.casefold())
    is_exact = value == word.text or UNQUOTED.fullmatch(word.text)
    return value if is_exact or not word.quote else None


def _words(line: str) -> list[_Typed]:
    """The words of a line; ``;`` at the end, ``=`` behind an option and comments say nothing.

    A name of CQL may be in double quotes, and have blanks around its dot.

    Raises BadInput for a line that is too long, several lines, a quote that is not closed.
    """
    if len(line) > LONGEST_LINE:
        allowed = f"one command, of at most {LONGEST_LINE:,} characters"
        raise BadInput("line", f"{len(line):,} characters", allowed)
    if "\n" in line.strip():
        raise _several(line)
    line = _unwrapped(line)
    words: list[_Typed] = []
    at, end = 0, len(line.rstrip())
    is_statement = _STATEMENT.match(line) is not None
    word, comment = (_CQL_WORD, _CQL_COMMENT) if is_statement else (_WORD, _SHELL_COMMENT)
    while at < end:
        if line[at].isspace():
            at += 1
            continue
        if says_nothing := comment.match(line, at):
            at = says_nothing.end()
            continue
        match = word.match(line, at)
        if match is None:
            raise BadInput("quotes", line[at:], f"a closing {line[at]}")
        text, at = match[0], match.end()
        if text == "=" and words and words[-1].text.startswith("--"):
            continue
        quote = text[0] if text[0] in "'\"" else ""
        text = text[1:-1].replace("''", "'") if quote else text
        if is_statement and quote == '"' and _SMALL_NAME.fullmatch(text):
            quote = ""
        before = words[-1] if words else _Typed("")
        is_name = is_statement and not (quote or before.quote)
        if is_name and (text.startswith(".") or before.text.endswith(".")):
            words[-1] = _Typed(before.text + text)
        else:
            words.append(_Typed(text, quote))
    while words and words[-1] == _Typed(";"):
        words.pop()
    several = next((each for each in words if not each.quote and each.text in _JOINING), None)
    if several:
        raise _several(several.text)
    return words


def _unwrapped(line: str) -> str:
    """What ``sudo`` or ``cqlsh`` is to run. Raises BadInput where cqlsh is given no statement."""
    match = _SUDO.fullmatch(line)
    line = match["said"] if match else line
    if not (opened := _CQLSH.fullmatch(line)):
        return line
    if not (given := _EXECUTE.fullmatch(opened["rest"])):
        allowed = "-e and one statement in quotes; a statement can also be typed without cqlsh"
        raise BadInput("cqlsh", opened["rest"].strip() or NOTHING, allowed)
    statement = given[1] or given[2] or ""
    if not _STATEMENT.match(statement):
        allowed = f"a statement that begins with {one_of(statement, _BEGINNINGS)}"
        raise BadInput("cqlsh -e", statement, allowed)
    return statement


def _several(what: str) -> BadInput:
    return BadInput("line", what, "one command on one line")


def _unknown(word: str, known: list[str]) -> BadInput:
    near = get_close_matches(word.casefold(), [each.casefold() for each in known], n=1)
    meant = next((each for each in known if [each.casefold()] == near), "")
    ask = f" Did you mean {meant}?" if meant else ""
    return BadInput("command", word, f"a command of this drill.{ask} help lists them")


def _misfit(words: Sequence[_Typed], at: int, readings: list[tuple[_Reading, Form]]) -> BadInput:
    before = " ".join(word.text for word in words[:at]).rstrip(":")
    word = words[at].text if at < len(words) else NOTHING
    typed = "" if word is NOTHING else word
    # by what they are: fixed words are no values of a slot that may stand there, too
    wanted: dict[str, dict[str, None]] = {}
    for reading, _ in readings:
        wanted.setdefault(reading.about, {}).update(dict.fromkeys(reading.wanted))
    values_of_slots = {value for about, values in wanted.items() if about for value in values}
    fixed = [each for each in wanted.pop("", {}) if each not in values_of_slots]
    wanted |= {"": dict.fromkeys(fixed)} if fixed else {}
    pairs = ((about, one_of(typed, [*of]) if of else "") for about, of in wanted.items())
    allowed = [": ".join(filter(None, pair)) for pair in pairs]
    usages = " or ".join(dict.fromkeys(form.usage for _, form in readings[:3]))
    if not allowed:
        return BadInput(before, word, f"nothing more: {usages}")
    return BadInput(before, word, f"{'; or '.join(allowed)} ({usages})")
