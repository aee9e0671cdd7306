"""The pages of the site: where to begin, one for each story and drill. They ask nobody anything.

A drill is a Player, and beside it the terminal that one types into.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from kit.catalogue.course import COURSE, TRACKS
from kit.console.drill import drills, open_drill
from kit.model.family import families
from kit.model.registry import entries, entry_of, scenario_of
from kit.model.scenario import files, title_of
from kit.playing.drilling import DrillSession, Terminal
from kit.playing.session import Line
from kit.views.fragment import escape
from kit.views.frame import readable_frame
from kit.views.palette import page_colours
from kit.views.rendered import RenderedTimeline
from kit.views.shell import shell
from kit.views.styles import terminal_style, widget_style

ARCHIVE = "site.zip"
"""The file of the site that has all the others."""
FOLDER = Path(__file__).resolve().parent / "browser"
POLICY = {
    **dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'"),
    **dict.fromkeys(("style-src", "connect-src"), "'self'"),
    "script-src": "'self' blob: 'wasm-unsafe-eval'",
    "worker-src": "blob:",
    "img-src": "'self' data:",
    "font-src": "data:",
}
"""What pages may load: what lies beside them, and WebAssembly."""


@cache
def sheet(name: str) -> str:
    """The text of a browser file of this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def style() -> str:
    """The style sheet of all pages."""
    colours = page_colours().replace(".kp", ":root")
    return widget_style() + terminal_style() + colours + sheet("site.css")


class Listed(Struct, frozen=True):
    """A story or a drill of the list: its name, what it is called, what it is about."""

    name: str
    title: str
    about: str


def listed() -> Iterator[tuple[str, list[Listed]]]:
    """Every story, by the title of its family: the scenarios of its models, then its files."""
    for family in families():
        own = [
            Listed(f"{entry.name}/{each.name}", each.title, entry.title)
            for entry in map(entry_of, family.models)
            for each in entry.scenarios
        ]
        known = {each.name for each in own}
        rest = (name for name in files() if name.startswith(f"{family.name}/"))
        own += [Listed(name, title_of(name), "") for name in rest if name not in known]
        if own:
            yield family.title, own


def start_page(drawing: str, drills: Iterable[Listed] = (), pictures: Collection[str] = ()) -> str:
    """The gallery, then the course: its map and its lessons, then drills, then all stories by
    family.

    ``drawing`` is the map as SVG, ``pictures`` are the names of the files in the folder of the
    gallery.
    """
    title = "Cluster metadata, step by step"
    parts = [_list("Drills", "drills", drills)]
    parts += [_list(family, "stories", stories) for family, stories in listed()]
    course = f'<div class="map">{_map(drawing)}</div>{"".join(_lessons())}'
    whole = f'<a href="{ARCHIVE}" download>The whole site as one archive</a>'
    serve = "Unpack it and serve it with any file server, such as python -m http.server."
    body = (
        f'<main class="start"><h1>{escape(title)}</h1>{"".join(_gallery(pictures))}'
        f"{course}{''.join(parts)}<p>{whole}. {escape(serve)}</p></main>"
    )
    return page_of(title, body, "")


def _list(title: str, folder: str, pages: Iterable[Listed]) -> str:
    items = (
        f'<li><a href="{folder}/{each.name}.html">{escape(each.title)}</a> '
        f"<span>{escape(each.about)}</span></li>"
        for each in pages
    )
    return f"<section><h2>{escape(title)}</h2><ul>{''.join(items)}</ul></section>"


def _map(drawing: str) -> str:
    """The map with its links to lessons: they are in the list too, so that keys pass them by."""
    files = "|".join(re.escape(each.file) for each in COURSE)
    linked = re.sub(
        rf'xlink:href="({files})"',
        lambda link: f'tabindex="-1" href="lessons/{link[1].removesuffix(".ipynb")}.html"',
        drawing[drawing.index("<svg") :],
    )
    alt = "A map of the course. Each arrow shows what you need first. The lessons are listed below."
    return linked.replace("<svg ", f'<svg role="group" aria-label="{alt}" ', 1)


def _lessons() -> Iterator[str]:
    for title in TRACKS.values():
        items = "".join(
            f'<li value="{each.number}">'
            f'<a href="lessons/{each.name}.html">{escape(each.title)}</a></li>'
            for each in COURSE
            if each.track == title
        )
        yield f"<section><h2>{escape(title)}</h2><ol>{items}</ol></section>"


def _gallery(pictures: Collection[str]) -> Iterator[str]:
    if pictures:
        yield '<section class="gallery" aria-label="Gallery">'
        for entry in entries().values():
            file = f"{entry.name.replace('_', '-')}.png"
            if entry.scenarios and file in pictures:
                story = entry.scenarios[0]
                yield (
                    f'<a href="stories/{entry.name}/{story.name}.html">'
                    f'<img src="gallery/{file}" alt="{escape(story.title)}" loading="lazy" '
                    f'width="840" height="560"><span>{escape(entry.title)}</span></a>'
                )
        yield "</section>"


def story_page(name: str, title: str, rendered: RenderedTimeline) -> str:
    """The page of a story: its first frame, to be read at once; where its pack and engine are."""
    scene = rendered.scene(rendered.timeline.path()[0])
    place = shell(readable_frame(scene, rendered.panels, rendered.views))
    starts = "The engine is starting. You can keep reading."
    nav = (
        f'<nav aria-label="stories">'
        f'<a href="../../index.html">all stories</a>'
        f"<span>{escape(rendered.model.title)}</span><b>{escape(title)}</b>"
        f'<span id="engine" role="status">{starts}</span></nav>'
    )
    picture = f'<div class="kit-drawer"></div><div id="player">{place.html()}</div>'
    stage = f'<main class="kit-player">{picture}</main>'
    data = {
        "story": name,
        "pack": f"../../packs/{name}.pack",
        "engine": "../../engine/",
        "live": "Live: every button works.",
        "opening": "The run of this link is being opened.",
        "failed": "This browser cannot start the engine. The story can be read, but not changed.",
        "lost": (
            "This browser cannot start the engine, so the run of this link is not shown. Reload "
            "the page to try again."
        ),
    }
    script = '<script type="module" src="../../live.js"></script>'
    return page_of(title, nav + stage + script, "../../", data)


def memory_note() -> str:
    """The place where a page says that its browser remembers nothing of it."""
    unkept = "This browser remembers nothing: what you do here is lost when you leave."
    return f'<span id="note" role="status" data-unkept="{escape(unkept)}"></span>'


def page_of(
    title: str,
    body: str,
    root: str,
    data: Mapping[str, str] = MappingProxyType({}),
    *,
    styled: bool = False,
) -> str:
    """A page: its body with data for its script; ``styled`` is one whose parts have own styles."""
    own = {"style-src-attr": "'unsafe-inline'"} if styled else {}
    policy = "; ".join(map(" ".join, {**POLICY, **own}.items()))
    attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="{root}site.css"></head>\n'
        f"<body{attributes}>{body}</body></html>\n"
    )


def listed_drills() -> Iterator[Listed]:
    """Every drill: its name, what it is called, and the story in which it is drilled."""
    for name in drills():
        about = scenario_of(name)[1].title if "/" in name else ""
        yield Listed(name, open_drill(name).kind.title, about)


def drill_page(name: str) -> tuple[str, bytes]:
    """The page of a drill, and the pack of its beginning.

    Raises BadInput for a name that no drill has.
    """
    drill, line = open_drill(name), Line()
    session = DrillSession(drill.timeline, line)
    terminal = Terminal(drill, session)
    rendered = session.rendered
    scene = rendered.scene(drill.timeline.at)
    picture = shell(readable_frame(scene, rendered.panels, rendered.views)).html()
    root = "../" * (1 + name.count("/"))
    nav = (
        f'<nav aria-label="drills">'
        f'<a href="{root}index.html">all drills</a>'
        f'<a id="again" href="">start again</a>'
        f"<b>{escape(drill.kind.title)}</b>"
        f'<span id="engine" role="status">The engine is starting. You can type.'
        f"</span>{memory_note()}</nav>"
    )
    room = (
        '<main id="room" class="kit-drill-room kit-unasked"><div class="kit-drill">'
        f'<div class="kit-player"><div id="player">{picture}</div></div>'
        f'<div id="terminal" class="kit-beside">{terminal.shell}</div></div></main>'
        f'<script type="module" src="{root}drill.js"></script>'
    )
    data = {
        "drill": name,
        "pack": f"{root}packs/drills/{name}.pack",
        "engine": f"{root}engine/",
        "parts": msgspec.json.encode(terminal.parts()).decode(),
        "live": "Live: your commands take effect.",
        "failed": "This browser cannot start the engine. Your commands have no effect.",
    }
    return page_of(drill.kind.title, nav + room, root, data), line.pack
