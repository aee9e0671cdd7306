"""The drills as pages: a Player, and beside it the terminal that one types into."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kit.console.drill import drills, open_drill
from kit.model.registry import scenario_of
from kit.playing.drilling import DrillSession, Terminal
from kit.playing.session import Line
from kit.site.pages import Listed, memory_note, page_of
from kit.views.fragment import escape
from kit.views.frame import readable_frame
from kit.views.shell import shell


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
