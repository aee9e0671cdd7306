"""What documents show of the kit is made from the kit: ``make reference`` renews all of it.

``families`` is the table in ARCHITECTURE.md, made from what each family declares. ``editions`` is
the page of the tables of both editions, and that of releases, ``glossary`` that of words,
``properties`` that of what testers check, ``nodetool`` that of what tools of servers answer.
``course`` is the list of lessons and their minutes, wherever they are told. ``answers`` are the
commands of ``console`` blocks with what they answer, run in docs/example. ``gallery`` is the page
of pictures, ``stories`` the page that needs no installation. ``--check`` says what is not current;
names choose some of them.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from kit.catalogue.glossary import Entry, glossary_anchor, lesson_file, parts, words
from kit.commands.answer import Rows
from kit.commands.cli import main as kit
from kit.commands.editions import editions
from kit.console.server import OWN_KEYSPACE
from kit.lessons import story
from kit.lessons.badges import every_badge
from kit.model.family import Family, families, server_places
from kit.model.registry import build, entries
from kit.protocols.group0.rules.releases import CHANGES
from kit.views.export import BLOCK, DIGITS, LONG, export_stories
from tools import course
from tools.catalogue import catalogue, catalogue_cells
from tools.gallery import table

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "example"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
GALLERY = ROOT / "docs" / "gallery.md"
BESIDE = ROOT / "docs" / "reference" / "editions.md"
RELEASES = ROOT / "docs" / "reference" / "releases.md"
EDITIONS = ROOT / "docs" / "editions.md"
PROPERTIES = ROOT / "docs" / "reference" / "tcm-properties.md"
NODETOOL = ROOT / "docs" / "reference" / "nodetool.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGE = ROOT / "docs" / "three-stories.html"
README, TEACHING = ROOT / "README.md", ROOT / "TEACHING.md"
LESSONS = course.FOLDER / "README.md"
LARGEST_PAGE = 250_000
WIDTH = 80
STORIES = {
    "A node joins": "tcm/bootstrap",
    "A write is lost": "dataplane/anomaly-lost-write",
    "A deleted row comes back": "tablets/off-sessions",
}
BEGIN, END = "<!-- {}: begin -->", "<!-- {}: end -->"
COLUMNS = ("family", "what it is", "models", "joins", "tables of runs", "commands")
MEASURED = re.compile(r", \d+\.\d\d s(, \d+ [kM]B)?(?=$|;)")
"""Seconds and memory of a search: they are another machine's, another time."""
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    """The documents that people read: those at the top, and those below docs and images."""
    below = [path for folder in ("docs", "images") for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *below])


def families_table() -> str:
    """A row for each family, in the order in which lists show them."""
    return _table([COLUMNS, *map(_cells, families())])


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    first, *rest = (f"| {' | '.join(cells)} |" for cells in rows)
    return "\n".join([first, f"|{' --- |' * (first.count('|') - 1)}", *rest])


def _cells(family: Family) -> tuple[str, ...]:
    return (
        f"`kit/protocols/{family.name}`",
        family.title,
        _listed(family.models),
        _listed(family.composes),
        _listed(dict.fromkeys(_tables(family))),
        _listed(family.commands),
    )


def _tables(family: Family) -> Iterator[str]:
    for place in family.trace_tables.values():
        yield from (schema.name for schema in family.load(place))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def beside(text: str) -> str:
    """The tables of both editions, side by side: what stands before their mark stays."""
    answer = editions()
    tables = [
        f"## {part.title}\n\n{_table([tuple(part.heads), *map(tuple, part.rows)])}"
        for part in answer.parts
        if isinstance(part, Rows)
    ]
    return _between(text, "editions", "\n\n".join([*answer.heading, *tables]))


def costs_table() -> str:
    """What the protocols are known not to keep: a row for each cost that a model declares."""
    rows = [
        (f"`{name}`", f"`{cost.property}`", cost.sentence, cost.source)
        for name in entries()
        for cost in build(name).costs
    ]
    return _table([("model", "promise", "what it costs", "source"), *rows])


def releases_table() -> str:
    """Where releases of the server differ."""
    heads = ("what changed", "since", "before", "now", "source")
    rows = ((f"`{c.name}`", c.first, c.earlier, c.after, c.source) for c in CHANGES.values())
    return _table([heads, *rows])


def properties(text: str) -> str:
    """The published catalogue beside what models show: what stands before its mark stays."""
    heads = ("", "subject", "holds here", "a search breaks it without", "remark")
    parts = [
        f"## {title}\n\n{_table([heads, *map(catalogue_cells, rows)])}"
        for title, rows in catalogue()
    ]
    seen = _table([("sight", "scenario"), *((x.sight, f"`{x.scenario}`") for x in every_badge())])
    return _between(text, "properties", "\n\n".join([*parts, f"## Have you seen it?\n\n{seen}"]))


def nodetool(text: str) -> str:
    """Which model answers which command of servers' tools: what stands before its mark stays."""
    servers = {name: family.load(place) for name, (family, place) in server_places().items()}
    forms = {name: tools.understood("nodetool") for name, tools in servers.items()}
    because, known = (dict[tuple[str, ...], dict[str, None]]() for _ in range(2))
    for name, each in forms.items():
        whys: dict[str, dict[str, None]] = {}
        for form in each:
            if form.absent:
                whys.setdefault(form.about, {})[form.usage.removeprefix("nodetool ")] = None
        for why, commands in whys.items():
            because.setdefault((_listed(commands), why), {})[name] = None
        for held in servers[name].tables:
            mark = " (our own)" if held.keyspace == OWN_KEYSPACE else ""
            columns = _listed(held.columns), _listed(held.key.of(held.columns))
            known.setdefault((f"`{held.title}`{mark}", *columns), {})[name] = None
    cells = [["–" if form.absent else "✓" for form in each] for each in forms.values()]
    usages = [f"`{form.usage}`" for form in forms["tcm"]]
    parts = [
        _table([("command", *forms), *zip(usages, *cells, strict=True)]),
        "## Not modelled",
        _rows(("commands", "because", "models"), because),
        f"No server to ask, so not modelled: {_listed(sorted({*entries()} - {*servers}))}.",
        "## Tables",
        _rows(("table", "columns", "key", "models"), known),
    ]
    return _between(text, "nodetool", "\n\n".join(parts))


def glossary(text: str) -> str:
    """The words with meaning, picture and lesson: what stands around their marks stays."""
    heads = ("word", "what it means", "picture", "lesson")
    sections = (
        (f"## {part.title}", part.about, _table([heads, *map(_word_cells, part.words.items())]))
        for part in parts().values()
    )
    text = _between(text, "words", "\n\n".join(line for lines in sections for line in lines))
    absent = [(f"**{word}**", *one.absence.answers) for word, one in words().items() if one.absence]
    heads_of_absent = ("word", "who says so", "who knows it", "does a barrier wait for it?",
                       "may it come back?")  # fmt: skip
    return _between(text, "absences", _table([heads_of_absent, *absent]))


def _word_cells(word: tuple[str, Entry]) -> tuple[str, ...]:
    name, one = word
    file, (source, _, step) = lesson_file(one.lesson), one.picture.partition(" ")
    lesson = f"[{file.name[:2]}](../notebooks/{file.name})" if file else "–"
    picture = f"`{source}`, step {step}" if step else f"[drawing](../images/{source})"
    return f'<a id="{glossary_anchor(name)}"></a>**{name}**', one.means, picture, lesson


def _rows(heads: tuple[str, ...], rows: Mapping[tuple[str, ...], Iterable[str]]) -> str:
    return _table([heads, *((*cells, _listed(names)) for cells, names in rows.items())])


def _between(text: str, name: str, made: str) -> str:
    """The document with ``made`` between the marks of that name.

    Raises:
        ValueError: when the marks are not there, once each and in order.
    """
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if text != f"{before}{begin}{rest}" or end not in rest or begin in rest or end in after:
        raise ValueError(f"a document must hold {begin} and, behind it, {end}, once each")
    return f"{before}{begin}\n{made}\n{end}{after}"


def renewed(text: str) -> str:
    """ARCHITECTURE.md with today's table of families between its marks."""
    return _between(text, "families", families_table())


def answered(text: str) -> str:
    """A document whose ``console`` blocks show what their commands answer today."""
    return CONSOLE.sub(lambda block: f"```console\n{_runs(block[1])}```", text)


def _runs(block: str) -> str:
    """The commands of a block, each with its answer; all run in one folder of example files."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{_answer(command)}" for command in commands)


def _answer(command: str) -> str:
    """What a command says when it is typed in docs/example, and its status unless that is 0."""
    words = shlex.split(command)
    if words[0] == "cat":
        return "".join((EXAMPLE / name).read_text(encoding="utf-8") for name in words[1:])
    out = io.StringIO()
    width = {"COLUMNS": str(WIDTH)}  # else a help text is as wide as somebody's terminal
    with patch.dict(os.environ, width), chdir(EXAMPLE), redirect_stdout(out), redirect_stderr(out):
        status = kit(words[3:])
    said = "".join(f"{MEASURED.sub('', line.rstrip())}\n" for line in out.getvalue().splitlines())
    return f"{said}(exit code {status})\n" if status else said


def stories(path: Path) -> None:
    """Write the page of three stories."""
    told = {name: story(source).timeline for name, source in STORIES.items()}
    export_stories("Cluster metadata, step by step", told, path, limit=LARGEST_PAGE)


def unpacked(page: str) -> str:
    """A page with its packed parts unpacked: what is packed alike may be so in other bytes."""
    packed = re.compile(r'(<script type="text/plain"[^>]*>)([^<]+)')
    return packed.sub(lambda part: f"{part[1]}{unzipped(part[2])!r}", page)


def unzipped(text: str) -> bytes:
    """What stands packed in a page: the inverse of ``packed_text``, and of gzip."""
    blocks = (text[at : at + LONG] for at in range(0, len(text), LONG))
    return gzip.decompress(b"".join(map(_block, blocks)))


def _block(text: str) -> bytes:
    number = 0
    for digit in text:
        number = len(DIGITS) * number + DIGITS.index(digit)
    return number.to_bytes(BLOCK * len(text) // LONG)


def _page() -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / PAGE.name
        stories(path)
        return path.read_text(encoding="utf-8")


def _course() -> Iterator[tuple[Path, str]]:
    yield README, _between(README.read_text("utf-8"), "course", course.readme_list())
    yield LESSONS, _between(LESSONS.read_text("utf-8"), "course", course.lists())
    yield TEACHING, course.taught(TEACHING.read_text("utf-8"))
    for path in sorted(course.FOLDER.glob("*.ipynb")):
        yield path, course.timed(path.read_text("utf-8"))


def made(names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The documents that the chosen parts are in, with their content as it should be."""
    if "families" in names:
        yield ARCHITECTURE, renewed(ARCHITECTURE.read_text(encoding="utf-8"))
    if "editions" in names:
        yield BESIDE, beside(BESIDE.read_text(encoding="utf-8"))
        yield RELEASES, _between(RELEASES.read_text(encoding="utf-8"), "releases", releases_table())
        yield EDITIONS, _between(EDITIONS.read_text(encoding="utf-8"), "costs", costs_table())
    if "glossary" in names:
        yield GLOSSARY, glossary(GLOSSARY.read_text(encoding="utf-8"))
    if "properties" in names:
        yield PROPERTIES, properties(PROPERTIES.read_text(encoding="utf-8"))
    if "nodetool" in names:
        yield NODETOOL, nodetool(NODETOOL.read_text(encoding="utf-8"))
    if "answers" in names:
        for path in documents():
            if CONSOLE.search(text := path.read_text(encoding="utf-8")):
                yield path, answered(text)
    if "course" in names:
        yield from _course()
    if "gallery" in names:
        yield GALLERY, _between(GALLERY.read_text(encoding="utf-8"), "gallery", table())
    if "stories" in names:
        today, now = _page(), PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        yield PAGE, now if unpacked(now) == unpacked(today) else today


def main(arguments: list[str] | None = None) -> int:
    """Run the command; exit code 0 when all is well, 1 when something is not current."""
    parts = (
        "course",
        *("families", "editions", "glossary", "properties", "nodetool", "answers"),
        "gallery",
        "stories",
    )
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}: all")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    chosen = parser.parse_args(arguments)
    old = []
    for path, text in made(chosen.parts or parts):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            old.append(path)
            if not chosen.check:
                path.write_text(text, encoding="utf-8")
    for path in old:
        print(f"{path.relative_to(ROOT)}: {'not current' if chosen.check else 'written'}")
    return int(chosen.check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
