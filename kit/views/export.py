"""One HTML file that shows a timeline without a kernel, a network or anything else.

The first frame is readable without scripts. With them the page steps, scrubs, plays, switches and
compares branches and asks predictions; acting needs the notebook, and the page says so. Its
content security policy lets nothing in and nothing out.
"""

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from kit.edge.arguments import checked, whole_number
from kit.edge.writing import check_place, write_whole
from kit.errors import KitError, counted
from kit.model.timeline import Timeline
from kit.views.fragment import Frag, escape
from kit.views.frame import readable_frame
from kit.views.panel import Panel
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline
from kit.views.shell import browser_module, shell
from kit.views.store import biggest
from kit.views.styles import page_styles
from kit.views.typeface import FAMILIES

LIMIT = 500_000
PAGE = (
    "body{margin:0}body>header{position:absolute;clip-path:inset(50%)}"
    ".kp.kp{--note:0px;--room:calc(100vh - var(--nav,0px) - var(--note));"
    "min-height:calc(100vh - var(--nav,0px))}"
    ".kp.kp:has(>.kp-left-out){--note:24px}.kp-left-out{height:24px;line-height:24px;"
    "overflow:hidden;white-space:nowrap;text-overflow:ellipsis}"
)
"""A page of its own fills the window, with what is said above the board in one line; its headings
are only heard.
"""
STORIES = (
    ":root{color-scheme:light dark}body{--nav:44px}nav{display:flex;gap:8px;align-items:center;"
    "height:43px;padding:0 12px;overflow-x:auto;white-space:nowrap;"
    f"font:15px {FAMILIES['sans']};"
    "border-bottom:1px solid}nav a{color:inherit;padding:8px}"
    "nav a[aria-current]{font-weight:700;text-decoration:none}"
)
"""A page of several stories lists them above the board."""
ACTING = frozenset({"fork", "copy"})
"""Controls that need a kernel. Actions are shown, and say why they cannot be done."""
DIGITS = "".join(map(chr, range(32, 127))).replace("<", "")
BLOCK, LONG = 9, 11
"""So many bytes are written in so many digits."""
UNPACK = f"""\
const digits = {json.dumps(DIGITS)};
globalThis.bytesIn = (id) => {{
const text = document.getElementById(id).textContent;
const bytes = new Uint8Array(Math.floor(({BLOCK} * text.length) / {LONG}));
for (let end = 0, at = 0; at < text.length; at += {LONG}) {{
let number = 0n;
for (const digit of text.slice(at, at + {LONG}))
number = {len(DIGITS)}n * number + BigInt(digits.indexOf(digit));
const first = end;
end = Math.min(first + {BLOCK}, bytes.length);
for (let i = end - 1; i >= first; i--, number >>= 8n) bytes[i] = Number(number & 255n);
}}
return bytes;
}};
const put = async (tag, id, type = "") => {{
const stream = new Blob([bytesIn(id)]).stream().pipeThrough(new DecompressionStream("gzip"));
const textContent = await new Response(stream).text();
document.head.append(Object.assign(document.createElement(tag), {{ type, textContent }}));
}};
await put("style", "played");
await put("script", "module", "module");
"""
"""What the page runs first: it unpacks the player's rules and module, whose digests the policy has.
"""
CHOOSE = """\
const links = [...document.querySelectorAll("nav a")];
const link = links.find((one) => one.search === location.search) ?? links[0];
link.setAttribute("aria-current", "page");
document.getElementById(`pack${link.search}`).id = "pack";
"""
"""What a page of several stories runs before: its address says which story is told."""


def closed_words() -> str:
    """What is said to a reader of a page who wants to act."""
    return "This page is an export. To act, open the trace in the notebook."


class Exported(Struct, frozen=True):
    """What was written: where, how many bytes, and what was left out."""

    path: Path
    size: int
    left_out: tuple[str, ...]

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        place = Path(os.path.relpath(self.path)).as_posix()
        lacks = f" The page leaves out: {', '.join(self.left_out)}." if self.left_out else ""
        link = f'<a href="{escape(quote(place))}">{escape(place)}</a>'
        return {
            "text/plain": f"The run as a page: {place}." + lacks,
            "text/html": f"<p>The run as a page: {link}.{escape(lacks)}</p>",
        }


@checked
def export_html(
    timeline: Timeline, path: str | os.PathLike[str], *, limit: int = LIMIT, field: str = "path"
) -> Exported:
    """Write a timeline as one HTML page of at most ``limit`` bytes.

    ``field`` is what errors call ``path``: the option, where a user gave it as one.

    If it would be larger, optional panels are left out, then the branches that are not shown, then
    all panels but the first. The page and the result say what was left out.

    Raises BadInput, before any work, when ``path`` cannot be written or ``limit`` is not positive.
    Raises KitError when even the smallest page does not fit. The message names the biggest parts.
    """
    whole_number("limit", limit, 1)
    target = check_place(path, field)
    page, left_out = _fit(timeline, limit)
    write_whole(target, page, field)
    return Exported(target, len(page), left_out)


@checked
def export_stories(
    title: str, stories: Mapping[str, Timeline], path: str | os.PathLike[str], *, limit: int = LIMIT
) -> Exported:
    """Write several timelines as one HTML page of at most ``limit`` bytes that lists them by name.

    Raises BadInput when ``path`` cannot be written or ``limit`` is not positive.
    Raises KitError when the page is larger, because nothing is left out of a page of several
    stories.
    """
    whole_number("limit", limit, 1)
    target = check_place(path, "path")
    rendered = {name: RenderedTimeline(run, closed=closed_words()) for name, run in stories.items()}
    packs = {name: story.pack().ordered().compressed() for name, story in rendered.items()}
    made = _page(title, None, _place([*rendered.values()]), packs)
    if len(made) > limit:
        raise KitError(
            f"page: {len(made):,} bytes, at most {limit:,} are allowed; choose fewer stories"
        )
    write_whole(target, made, "path")
    return Exported(target, len(made), ())


def page(rendered: RenderedTimeline, left_out: Sequence[str] = ()) -> bytes:
    """Return the page that shows a timeline rendered for reading only."""
    note = f"Left out to keep this page small: {', '.join(left_out)}." if left_out else ""
    pack = rendered.pack().ordered().compressed()
    model = rendered.model
    return _page(model.title, model.name, _place([rendered], note), {"": pack})


def stored_page(pack: bytes, title: str) -> bytes:
    """Return the page of a compressed pack that a notebook has kept; it needs scripts."""
    return _page(title, None, shell(idle=ACTING), {"": pack})


def _place(stories: Sequence[RenderedTimeline], note: str = "") -> Frag:
    first = stories[0]
    scene = first.scene(first.timeline.path()[0])
    asks = any(moment.question is not None for each in stories for moment in each.moments)
    idle = ACTING if asks else {*ACTING, "predict"}
    return shell(readable_frame(scene, first.panels, first.views), note, idle=idle)


def _page(title: str, model: str | None, place: Frag, packs: Mapping[str, bytes]) -> bytes:
    """A page of one pack, or of several by the names of their stories; ``model`` as in
    ``page_styles``.
    """
    closed, module, first, nav = escape(closed_words()), browser_module("page"), UNPACK, ""
    (style, played), several = page_styles(model), len(packs) > 1
    style += PAGE + STORIES * several
    texts = {"played": played, "module": module}
    packed = {name: gzip.compress(text.encode(), 9, mtime=0) for name, text in texts.items()}
    if not several:
        packed["pack"] = next(iter(packs.values()))
    else:
        first, links = CHOOSE + UNPACK, ""
        for number, (name, pack) in enumerate(packs.items(), start=1):
            links += f'<a href="?{number}">{escape(name)}</a>'
            packed[f"pack?{number}"] = pack
        nav = f'<nav aria-label="stories">{links}</nav>\n'
    heading = f"<header><h1>{escape(title)}</h1><h2>The run</h2></header>"
    parts = (
        f'<script type="text/plain" id="{name}">{packed_text(data)}</script>\n'
        for name, data in packed.items()
    )
    policy = (
        f"default-src 'none'; script-src '{_digest(first)}' '{_digest(module)}'; "
        f"style-src '{_digest(style)}' '{_digest(played)}'; img-src data:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f'<body>{heading}{nav}<main id="player" data-closed="{closed}">{place.html()}</main>\n'
        f"{''.join(parts)}"
        f'<script type="module">{first}</script></body></html>\n'
    ).encode()


def packed_text(data: bytes) -> str:
    """Bytes as text of a page: in base 94 they take a twelfth less than in base 64, and have no
    tag.
    """
    blocks = (data[at : at + BLOCK] for at in range(0, len(data), BLOCK))
    return "".join(map(_digits, blocks))


def _digits(block: bytes) -> str:
    number, digits = int.from_bytes(block), list[str]()
    for _ in range(-(-LONG * len(block) // BLOCK)):
        number, digit = divmod(number, len(DIGITS))
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _fit(timeline: Timeline, limit: int) -> tuple[bytes, tuple[str, ...]]:
    panels = list(for_model(timeline.model).panels)
    one_branch = False
    left_out: list[str] = []
    while True:
        source = _only_branch(timeline) if one_branch else timeline
        rendered = RenderedTimeline(source, panels=panels, closed=closed_words())
        undrawn = rendered.undrawn
        inner = [f"{counted(undrawn, 'step')} inside long runs"] if undrawn else []
        made = page(rendered, [*inner, *left_out])
        if len(made) <= limit:
            return made, (*inner, *left_out)
        spare = [panel for panel in panels if panel.optional] or panels[1:] * one_branch
        if spare:
            victim = max(spare, key=lambda panel: _weight(rendered, panel))
            panels.remove(victim)
            left_out.append(f"panel {victim.title}")
        elif not one_branch:
            one_branch, others = True, len(timeline.branches()) - 1
            left_out += [counted(others, "other branch", "other branches")] * (others > 0)
        else:
            parts = biggest(rendered.store.texts)
            names = ", ".join(f"{kind} ({count:,} characters)" for kind, count in parts)
            raise KitError(
                f"page: {len(made):,} bytes, at most {limit:,} are allowed; biggest parts: {names}"
            )


def _weight(rendered: RenderedTimeline, panel: Panel) -> int:
    opening, texts = f'<section data-k="panel:{panel.name}"', rendered.store.texts
    tops = (i for i, text in enumerate(texts) if text.startswith(opening))
    return sum(len(texts[i]) for i in set[int]().union(*map(rendered.store.reach, tops)))


def _only_branch(timeline: Timeline) -> Timeline:
    alone = Timeline(timeline.model)
    alone.tell(timeline.story, timeline.premise, timeline)
    for moment in timeline.path()[1:]:
        copied = timeline.moments[moment]
        alone.do(copied.action, fold=copied.fold, model=timeline.model_at(moment))
        if moment in timeline.inquiries:
            alone.inquiries[alone.at] = timeline.inquiries[moment]
    alone.goto(timeline.path().index(timeline.at))
    return alone
