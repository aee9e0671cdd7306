"""The gallery: each model that tells a story, at the step of its first one where most is to see.

``make screenshots`` takes the pictures into ``images/gallery/``, ``make reference`` writes
``docs/gallery.md``, which shows them. A picture holds the step that it shows as a text of its own,
so that a test knows when it is out of date.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from textwrap import shorten

from msgspec import Struct
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from kit.model.registry import Entry, entries
from kit.views.export import export_html
from kit.views.panel import scene_of
from kit.views.registry import for_model
from kit.views.shell import marks_help
from kit.views.store import FragmentStore

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.programs import chromium  # noqa: E402  # run as a script, the root is not on the path
from tools.screenshots import NO_BROWSER, Shot, browsing, photograph, played  # noqa: E402  # as above

FOLDER = ROOT / "images" / "gallery"
SHOT = Shot(840, 560, "light", "middle")
COLOURS = 160
MOST_SAID = 110
SHOWS = "shows"
"""The name of the text in a picture that says which step it shows."""


class Telling(Struct, frozen=True):
    """A step of a story, and what is said of it."""

    model: str
    title: str
    story: str
    step: int
    last: int
    said: str

    @property
    def file(self) -> str:
        """The name of its picture."""
        return f"{self.model.replace('_', '-')}.png"

    @property
    def address(self) -> str:
        """What a picture of it holds as its text."""
        return f"{self.model}/{self.story} {self.step}"

    @property
    def alternative(self) -> str:
        """The picture in words."""
        words = shorten(self.said.replace("[", "(").replace("]", ")"), MOST_SAID, placeholder=" …")
        return f"{self.title}, step {self.step} of {self.last}: {words}"


def telling(entry: Entry) -> Telling:
    """The step of a model's first story with most parts in its picture, new ones counted twice."""
    story = entry.scenarios[0].name
    timeline = played(f"{entry.name}/{story}")
    views, store = for_model(timeline.model), FragmentStore()
    [picture] = [panel for panel in views.panels if panel.name == views.picture]
    before: set[int] = set()
    seen = []
    for moment in timeline.moments:
        parts = store.reach(store.add(picture.draw(scene_of(timeline, moment.id))))
        seen.append(len(parts) + len(parts - before))
        before = parts
    step = max(range(1, len(seen)), key=seen.__getitem__)
    said = timeline.moments[step].say
    return Telling(entry.name, entry.title, story, step, len(seen) - 1, said)


@cache
def all_told() -> tuple[Telling, ...]:
    """Of every model that tells a story, in the order of lists."""
    return tuple(telling(entry) for entry in entries().values() if entry.scenarios)


def table() -> str:
    """What the page of the gallery shows: what marks mean, and each picture with its words."""
    marks = "\n".join(f"| {mark} | {meaning} |" for mark, meaning in marks_help())
    pictures = "\n\n".join(map(_shown, all_told()))
    return f"| mark | meaning |\n| --- | --- |\n{marks}\n\n{pictures}"


def _shown(one: Telling) -> str:
    opens = f"`python -m kit play {one.model}/{one.story}` tells the whole story."
    picture = f"![{one.alternative}](../images/gallery/{one.file})"
    return f"## {one.title}\n\n{picture}\n\n{opens}"


def small(shot: bytes, address: str, path: Path) -> None:
    """Write a picture with few colours, which the player has anyway, and what it shows."""
    told = PngInfo()
    told.add_text(SHOWS, address)
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=told)


def main() -> int:
    """Take all pictures; 1 when there is no browser."""
    program = chromium()
    if program is None:
        print(f"gallery: {NO_BROWSER}")
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as folder, browsing(program) as browser:
        for one in all_told():
            path = export_html(played(f"{one.model}/{one.story}"), Path(folder) / "page.html").path
            small(photograph(browser, path, SHOT, one.step), one.address, FOLDER / one.file)
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"gallery: {len(all_told())} pictures, {size:,} bytes, {FOLDER.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
