"""``make site``: the static folder ``build/site``, every story live in a browser with no server.

The engine there is the kit itself, in a Python for WebAssembly. That and the kit's one compiled
package are fetched here alone, once, by the usual clients of their registries, and held against
their digests. All addresses are relative: any static server below any path will do.
"""

from __future__ import annotations

import argparse
import gzip
import io
import shutil
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from kit.catalogue.course import COURSE, lesson
from kit.console.drill import drills, open_drill
from kit.errors import KitError
from kit.site.lessons import glossary_page, lesson_page
from kit.site.pages import (
    ARCHIVE,
    drill_page,
    listed,
    listed_drills,
    sheet,
    start_page,
    story_page,
    style,
)
from kit.site.worker import whole_story
from kit.views.rendered import RenderedTimeline
from kit.views.shell import Entry, browser_module

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # behind what is there: tests judge copies of the kit
    sys.path.append(str(ROOT))

from tools.bytecode import KIT, LIBRARY  # noqa: E402  # run as a script, the root is not on the path
from tools.core import WHEEL, fetch, ran, unpacked  # noqa: E402  # as above

TARGET = ROOT / "build" / "site"
MOST_BYTES = 12_000_000
"""What a browser fetches at most until a story is live."""


CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
"""Files of the Python; its library is another."""
ENTRIES: tuple[Entry, ...] = ("live", "lesson", "drill")
"""Modules of the pages."""
LEFT_OUT = {"__pycache__", "classroom", "clients", "commands", "spark", "widgets"}
"""Folders of the kit, or of a family, that no page needs."""
BUT = {Path("commands", "__init__.py"), Path("commands", "answer.py")}
"""What a dry run needs of them all the same."""


def engine(target: Path) -> None:
    """Write the Python, the kit and what runs them into a folder, each file compressed."""
    target.mkdir(parents=True)
    with TemporaryDirectory() as folder:
        core, sources = unpacked(Path(folder)), Path(folder, "sources")
        shutil.unpack_archive(core / "python_stdlib.zip", sources / LIBRARY)
        for path in kit_files():
            place = sources / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        compiled(sources)
        files = {name: (core / name).read_bytes() for name in CORE}
        files["python_stdlib.zip"] = _zipped(sources / LIBRARY)
        files["kit.tar"] = _taped(sources, KIT)
    files["msgspec.whl"] = fetch(WHEEL).read_bytes()
    files["worker.js"] = sheet("worker.js").encode()
    for name, data in files.items():
        (target / f"{name}.gz").write_bytes(gzip.compress(data, 9, mtime=0))


def compiled(sources: Path) -> None:
    """Compile sources in place by the Python that will read them; say so where that is not to be.

    Pages compile them then, and take some seconds longer to be live.
    """
    program = "from tools.bytecode import compile_sources\ncompile_sources(places[1])"
    try:
        ran(program, ROOT, sources)
    except KitError as error:
        print(f"{error}: pages compile the kit themselves, and are live later")


def _zipped(folder: Path) -> bytes:
    """A folder as an archive that Python imports from; not compressed, as it is once more."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = zipfile.ZipInfo(str(path.relative_to(folder)))
                archive.writestr(name, path.read_bytes())
    return packed.getvalue()


def _taped(folder: Path, name: str) -> bytes:
    """One folder of a folder as a file that a page unpacks."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted((folder / name).rglob("*")):
            if path.is_file():
                info = tarfile.TarInfo(str(path.relative_to(folder)))
                info.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(info, file)
    return packed.getvalue()


def kit_files() -> Iterator[Path]:
    """The kit's own files that an engine needs."""
    for path in sorted((ROOT / "kit").rglob("*")):
        inside = path.relative_to(ROOT / "kit")
        is_left = path.suffix == ".js" or LEFT_OUT & {*inside.parts}
        if path.is_file() and (not is_left or inside in BUT):
            yield path


def story(name: str, target: Path) -> int:
    """Write a story's page and pack; returns the bytes of the pack."""
    timeline = whole_story(name)
    rendered = RenderedTimeline(timeline)
    page, pack = target / "stories" / f"{name}.html", target / "packs" / f"{name}.pack"
    for path in (page, pack):
        path.parent.mkdir(parents=True, exist_ok=True)
    data = rendered.pack().compressed()
    pack.write_bytes(data)
    page.write_text(story_page(name, timeline.story, rendered), encoding="utf-8")
    return len(data)


def write_lesson(name: str, target: Path) -> frozenset[str]:
    """Write a lesson's page and its packs; returns the names of the pictures that it shows."""
    folder = ROOT / "notebooks"
    page = lesson_page(lesson(name), folder)
    for part in page.parts:
        path = target / "packs" / "lessons" / name / f"{part.number}.pack"
        path.parent.mkdir(parents=True, exist_ok=True)
        with chdir(folder):  # programs name files as the notebook does
            timeline = part.run.timeline()
        path.write_bytes(RenderedTimeline(timeline).pack().compressed())
    (target / "lessons" / f"{name}.html").write_text(page.html, encoding="utf-8")
    return page.pictures


def write_drill(name: str, target: Path) -> None:
    """Write a drill's page and its pack."""
    page, pack = drill_page(name)
    for folder, ending, data in (("drills", "html", page.encode()), ("packs/drills", "pack", pack)):
        path = target / folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def archive(target: Path) -> None:
    """Pack the whole folder into one file of it, for who takes it elsewhere."""
    files = [path for path in sorted(target.rglob("*")) if path.is_file()]
    with zipfile.ZipFile(target / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in files:
            packed.write(path, Path("site") / path.relative_to(target))


def build(
    target: Path,
    names: list[str] | None = None,
    lessons: Sequence[str] | None = None,
    drilled: Sequence[str] | None = None,
) -> None:
    """Write the site into a folder that is emptied first; ``names``: these stories alone.

    ``lessons`` are those that it has, by the names of their notebooks, ``drilled`` its drills
    (None: all).
    """
    begun = time.monotonic()
    for known, given in ((whole_story, names), (lesson, lessons), (open_drill, drilled)):
        for name in given or ():
            known(name)  # of a wrong one one hears before anything is lost
    shutil.rmtree(target, ignore_errors=True)
    engine(target / "engine")
    for entry in ENTRIES:
        (target / f"{entry}.js").write_text(browser_module(entry), encoding="utf-8")
    (target / "site.css").write_text(style(), encoding="utf-8")
    pictures = shutil.copytree(ROOT / "images" / "gallery", target / "gallery")
    course = (ROOT / "images" / "course.svg").read_text(encoding="utf-8")
    start = start_page(course, listed_drills(), {path.name for path in pictures.iterdir()})
    (target / "index.html").write_text(start, encoding="utf-8")
    words = glossary_page((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    (target / "glossary.html").write_text(words.html, encoding="utf-8")
    for folder in ("lessons", "images"):
        (target / folder).mkdir()
    with ProcessPoolExecutor() as pool:
        wanted = names or [one.name for _, stories in listed() for one in stories]
        sizes = dict(zip(wanted, pool.map(story, wanted, [target] * len(wanted)), strict=True))
        taught = [one.name for one in COURSE] if lessons is None else lessons
        shown = pool.map(write_lesson, taught, [target] * len(taught))
        practised = drills() if drilled is None else drilled
        list(pool.map(write_drill, practised, [target] * len(practised)))
        for picture in words.pictures.union(*shown):
            shutil.copy(ROOT / "images" / picture, target / "images")
    archive(target)
    core = sum(path.stat().st_size for path in (target / "engine").iterdir())
    for path in sorted((target / "engine").iterdir()):
        print(f"site: {path.name:<24} {path.stat().st_size:>10,} bytes")
    most = max(sizes, key=sizes.__getitem__)
    print(f"site: {len(sizes)} stories, the largest {sizes[most]:,} bytes ({most})")
    print(f"site: {core:,} bytes until a page is live; {time.monotonic() - begun:.0f} s, {target}")
    if core + sizes[most] > MOST_BYTES:
        raise KitError(f"site: more than {MOST_BYTES:,} bytes until a page is live")


def main() -> int:
    """Build the site; 2 with one line where something cannot be brought."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stories", nargs="*", help="stories to build, by name (default: all)")
    given = parser.parse_args()
    try:
        build(TARGET, given.stories or None)
    except KitError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
