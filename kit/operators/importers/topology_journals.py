"""Journals of a topology coordinator: the lines that name its states, in the order of time.

A journal holds whatever a server says. Of the coordinator three kinds of line are read, in the
server's wording: ``entered `…` transition state``, ``updating topology state: …`` and ``executing
global topology command …, excluded nodes: …``. Beside them stand those of ``LINES``, and what
failed (by the line's level, or by its words where a journal has no levels). All other lines are
counted, by why. Times are those of journalctl (short, with or without fractions, or ISO) or of the
server's own log, also behind a container's time.

Times of journalctl's short form have no year. Within one journal January comes behind December; of
several journals the years are those by which all of them together last the shortest time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, toml
from msgspec.structs import replace

from kit.edge.paths import source_name
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.nodetool import HOST_ID, bad_line
from kit.operators.importers.ringfile import LARGEST_FILE

LOGGER, BALANCER = "raft_topology - ", "load_balancer - "
_SAYS = re.compile(
    r"(?:^|[\s\]:])(?P<logger>raft_topology|load_balancer|storage_service|topology_state_machine"
    r"|tablets|raft_group0|group0_client|range_streamer|stream_session|repair|init) - (?P<said>.*)"
)
"""Loggers that tell of topology operations. Source: published server, its loggers."""
_GRADE = re.compile(r"(?:^|[\s!])(TRACE|DEBUG|INFO|WARN|ERR)(?:ING|OR)?\b")
HEAD = 120  # characters in which a line has its level
_FAILS = re.compile(
    r"\b(?:fail\w*|errors?|exceptions?|reject\w*|abort\w*|cancel\w*|refus\w*|stalled|timed out"
    r"|unable to|cannot|can't|no request can proceed)\b|_error\b",
    re.IGNORECASE,
)
_STRONG = re.compile(r"\bsc_(?:groups_manager|coordinator|state_machine) - ")
MOST_LINES, LONGEST_REASON = 5_000_000, 2000  # of a journal; characters
Kind = Literal["entered", "updated", "command", "failed", "said"]
OF_COORDINATOR = ("entered", "updated", "command")
Clock = Literal["without a year", "without a zone", "with a zone"]
LEAP = 2000
"""The year of times that have none: each day of any year is one of it."""
YEAR, HALF_A_YEAR = timedelta(days=366), timedelta(days=183)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_KINDS: dict[Kind, re.Pattern[str]] = {
    "entered": re.compile(r"entered [`'\"]?(?P<words>[a-z0-9_ ]{1,60}?)[`'\"]? transition state"),
    "updated": re.compile(r"updating topology state(?: with mixed change)?: (?P<words>.*\S)"),
    "command": re.compile(
        r"executing global topology command (?P<words>[a-z_]{1,60}), "
        r"excluded nodes: (?P<excluded>.*)"
    ),
}
_SHORT = re.compile(
    rf"(?P<month>{'|'.join(_MONTHS)}) +(?P<day>[0-9]{{1,2}}) "
    r"(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?) (?P<host>\S{1,255}) "
)
_ISO = re.compile(
    r"(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?) (?P<host>\S{1,255})? *"
)
_LEVEL = re.compile(r"(?:TRACE|DEBUG|INFO|WARN|ERROR) +")
_DAY = rf"({'|'.join(_MONTHS)}) +(\d{{1,2}})|(\d{{4}}-\d\d-\d\d)"
_DATE = re.compile(rf"^(?:{_DAY})(?=[ T]\d\d:)", re.MULTILINE | re.ASCII)
ALLOWED = "a journal with lines such as raft_topology - entered `join group0` transition state"
TIMES = "a line that starts with its time, as in journalctl or in the server's own log"
_TABLE = toml.decode((Path(__file__).parent / "data" / "journal_lines.toml").read_bytes())
LINES: dict[str, dict[str, Any]] = _TABLE["line"]
ASKS: dict[str, tuple[str, str]] = _TABLE["ask"]
"""What kinds of line mean; what they leave open, with the command that tells it."""
_NAMES, _FORMS = [*LINES], re.compile("|".join(f"({kind['form']})" for kind in LINES.values()))


class JournalEntry(Struct, frozen=True):
    """One line that names a state, a change of the tables, a command to all nodes, or a failure.

    ``words`` are the transition state with ``_`` between its words, the reason of the change, or
    the command; of what *failed*, or is only *said*, the line, behind its logger where that is not
    ``raft_topology``. A command passes over ``excluded`` host ids. ``host`` wrote the line (or the
    file's name). ``time`` is in UTC where its zone is known, ``seconds`` since the first line;
    ``of`` is its kind in ``LINES``.
    """

    source: str
    line: int
    time: str
    host: str
    kind: Kind
    words: str
    excluded: tuple[str, ...] = ()
    seconds: float = 0.0
    of: str = ""


class _Timed(Struct, frozen=True):
    """An entry with its clock and time; without a year that is one of ``LEAP`` and ``turns``."""

    clock: Clock
    at: datetime
    entry: JournalEntry
    turns: int = 0


def read_journals(
    paths: Iterable[str | Path], left_out: Counter[str] | None = None
) -> tuple[JournalEntry, ...]:
    """The entries of the journals of one or more hosts, in the order of time.

    ``left_out`` is given the numbers of all other lines, by what they are.

    Raises BadInput for no file, one that cannot be read, a journal without any such line, one with
    a time that is none, journals whose times cannot be compared, the same journal twice.
    """
    if not (given := [Path(path) for path in paths]):
        raise BadInput("journal", "no file", ALLOWED)
    names = [source_name(path) for path in given]
    sources = names if len(set(names)) == len(names) else list(map(str, given))
    texts = [read_text(path, "journal", LARGEST_FILE) for path in given]
    return parse_journals(zip(sources, texts, strict=True), left_out)


def parse_journals(
    texts: Iterable[tuple[str, str]], left_out: Counter[str] | None = None
) -> tuple[JournalEntry, ...]:
    """As ``read_journals``, from pairs of the source's name and its text."""
    others = Counter[str]() if left_out is None else left_out
    lines: list[_Timed] = []
    sources: dict[str, str] = {}
    for source, text in texts:
        if text in sources:
            raise BadInput(source, f"the lines of {sources[text]}", "each journal once")
        sources[text] = source
        if text.count("\n") > MOST_LINES:
            raise BadInput(source, "more lines", f"at most {MOST_LINES} lines")
        entries = list(_entries(text, source, left := Counter[str]()))
        others.update(left)
        if not entries:
            here = f"; lines here: {', '.join(f'{n:,} {what}' for what, n in left.items())}"
            raise BadInput(source, "no line that tells of it", ALLOWED + here * bool(left))
        lines += entries
    clocks = {timed.clock: timed.entry for timed in lines}
    if len(clocks) > 1:
        places = sorted((clock, f"{e.source} line {e.line}") for clock, e in clocks.items())
        (clock, first), (other, second) = places[:2]
        allowed = f"times {clock} as in {first}, so that they can be compared"
        raise BadInput(second, f"times {other}", allowed)
    if "without a year" in clocks:
        lines = _with_years(_closest_together(lines))
    lines.sort(key=lambda timed: timed.at)  # those of one time keep their order
    return tuple(
        replace(timed.entry, seconds=(timed.at - lines[0].at).total_seconds()) for timed in lines
    )


def is_journal(text: str) -> bool:
    """Whether some line of a text is of the logger of a coordinator, or of its balancer."""
    return LOGGER in text or BALANCER in text


def _check_dates(text: str, source: str) -> None:
    for month, day, whole in dict.fromkeys(_DATE.findall(text)):
        try:
            if month:
                datetime(LEAP, _MONTHS.index(month) + 1, int(day))  # only whether it is one
            else:
                datetime.fromisoformat(whole)
        except ValueError:
            odd = (m for m in _DATE.finditer(text) if m.groups("") == (month, day, whole))
            at = next(odd).start()
            number = text.count("\n", 0, at) + 1
            line = text[at : at + 100].split("\n", maxsplit=1)[0]
            raise bad_line(source, number, line, f"{TIMES}; that day does not exist") from None


def _entries(text: str, source: str, others: Counter[str]) -> Iterator[_Timed]:
    _check_dates(text, source)
    turns = 0
    before: datetime | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not (says := _SAYS.search(line)):
            level = _GRADE.search(line[:HEAD])
            error = "at level ERROR " if level and level[1] == "ERR" else ""
            strong = "strongly consistent tables (not modelled)"
            of = strong if _STRONG.search(line[:HEAD]) else "other loggers"
            others.update([f"{error}of {of}"] * bool(line.strip()))
            continue
        head, said = line[: says.start("logger")], says["said"].strip()
        of_coordinator = _KINDS if says["logger"] == LOGGER[:-3] else {}
        matches = ((kind, form.fullmatch(said)) for kind, form in of_coordinator.items())
        kind, words = next((pair for pair in matches if pair[1]), ("said", None))
        name = words["words"] if words else said
        form = _FORMS.match(line, says.start("logger"))
        of = _NAMES[form.lastindex - 1] if form and form.lastindex else ""
        if words is None:
            kind, why = _beside(says["logger"], head, said, of)
            if why:
                others[why] += 1
                continue
            name = name if of_coordinator else f"{says['logger']}: {said}"
        try:
            clock, at, stamp, host = _time(head, source, number, line)
        except BadInput:
            if words is None:
                others["without a time"] += 1
                continue
            raise
        if clock == "without a year":
            turns += before is not None and before - at > HALF_A_YEAR
            before = at
        excluded = _hosts(words, source, number, line) if words and kind == "command" else ()
        if kind == "entered":
            name = name.replace(" ", "_")
        elif len(name) > LONGEST_REASON:
            name = name[: LONGEST_REASON - 1] + "…"
        entry = JournalEntry(source, number, stamp, host or source, kind, name, excluded, of=of)
        yield _Timed(clock, at, entry, turns)


def _beside(logger: str, head: str, said: str, of: str) -> tuple[Kind, str]:
    level = grade[1] if (grade := _GRADE.search(head)) else ""
    if level in ("TRACE", "DEBUG"):
        return "said", f"at level {level}"
    own = logger in (LOGGER[:-3], "load_balancer", "topology_state_machine")
    fails = _FAILS.search(said) and not said.startswith("race while changing state")
    if level == "ERR" or (fails and (own or level != "INFO")):
        return "failed", ""
    is_kept = of or (own and level == "WARN")
    return "said", "" if is_kept else f"of {logger} without a state, change, command or failure"


def _closest_together(lines: list[_Timed]) -> list[_Timed]:
    """The lines, where journals that begin early in a year come behind those that begin late.

    Which ones do so makes them last the shortest time together; as they stand, if that is as short.
    """

    def moment(timed: _Timed) -> datetime:
        return timed.at + timed.turns * YEAR

    latest_first = sorted(lines, key=moment, reverse=True)
    begins = {timed.entry.source: moment(timed) for timed in latest_first}

    ends = {timed.entry.source: moment(timed) for timed in reversed(latest_first)}
    in_order = sorted(begins, key=begins.__getitem__)
    latest = [*accumulate(map(ends.__getitem__, in_order), max)]
    # Those before each cut are moved behind the last end of all.
    spans = [latest[-1] - begins[in_order[0]]] + [
        max(latest[-1], latest[at - 1] + YEAR) - begins[in_order[at]]
        for at in range(1, len(in_order))
    ]
    later = {*in_order[: spans.index(min(spans))]}
    return [replace(t, turns=t.turns + (t.entry.source in later)) for t in lines]


def _with_years(lines: list[_Timed]) -> list[_Timed]:
    """The lines with years that follow one another; a leap year where a line is of February 29.

    Raises BadInput for a February 29 in two years that follow one another.
    """
    leaps = [timed.turns for timed in lines if (timed.at.month, timed.at.day) == (2, 29)]
    first = LEAP - leaps[0] if leaps else LEAP + 1
    dated = []
    for timed in lines:
        try:
            at = timed.at.replace(year=first + timed.turns)
        except ValueError:
            said = f"{timed.entry.source} line {timed.entry.line}"
            raise BadInput(said, timed.entry.time, "February 29 only in leap years") from None
        dated.append(replace(timed, at=at))
    return dated


def _hosts(words: re.Match[str], source: str, number: int, line: str) -> tuple[str, ...]:
    text = words["excluded"].strip()
    inner = text[1:-1].strip() if text[:1] == "{" and text[-1:] == "}" else "?"
    hosts = [host.strip().lower() for host in inner.split(",")] if inner else []
    if not all(re.fullmatch(HOST_ID, host) for host in hosts):
        raise bad_line(source, number, line, "excluded nodes: {HOST-ID, …}")
    return tuple(hosts)


def _time(head: str, source: str, number: int, line: str) -> tuple[Clock, datetime, str, str]:
    short = _SHORT.match(head)
    try:
        if short:
            month = _MONTHS.index(short["month"]) + 1
            text = f"{LEAP}-{month:02}-{int(short['day']):02}T{short['time']}"
            stamp = f"{short['month']} {int(short['day']):02} {short['time']}"
            return "without a year", datetime.fromisoformat(text), stamp, short["host"]
        own = _LEVEL.match(head)
        iso = _ISO.match(head, own.end() if own else 0)
        if iso:
            # A container's log has its own time before the server's line, and no host.
            own = own or _LEVEL.match(head, iso.start("host"))
            host = "" if own else iso["host"] or ""
            at = datetime.fromisoformat(iso["stamp"].replace(",", "."))
            if iso["zone"] is None:
                return "without a zone", at, at.isoformat(" "), host
            at = at.astimezone(UTC)
            return "with a zone", at, at.isoformat(" ").replace("+00:00", "Z"), host
    except (ValueError, OverflowError):
        pass
    raise bad_line(source, number, line, TIMES)
