"""Fragments for places that strip style sheets, scripts and inline SVG: stored notebook output.

An untrusted notebook keeps tables, classes and inline styles but loses ``<svg>``, ``<style>`` and
``data-*``. So a drawing becomes an ``<img>`` whose data URI carries its own style, with its label
as the text alternative, and the few styles a table needs are written on its cells.
"""

from __future__ import annotations

import base64
import re

from kit.views.fragment import Frag, closing, escape, h
from kit.views.palette import LIGHT, OUTLINE, SIGNS, css_variables
from kit.views.picture import SVG_STYLE

CELL = f"text-align:left;padding:2px 14px 2px 0;border-bottom:1px solid {LIGHT['line']}"
STYLES = {
    "table": "border-collapse:collapse;margin:4px 0 10px",
    "caption": f"caption-side:top;text-align:left;font-weight:600;color:{LIGHT['soft']}",
    "tr": "background:#ffffff",
    "th": f"{CELL};font-weight:400;color:{LIGHT['ink']}",
    "td": f"{CELL};color:{LIGHT['ink']}",
    "ul": "list-style:none;margin:0;padding:0",
}
CHIP = (
    f"display:inline-block;padding:0 6px;margin-right:4px;border:1.5px solid {OUTLINE};"
    f"border-radius:11px;background:#ffffff;color:{OUTLINE}"
)
CLASSES = {
    "chip": CHIP,
    "added": f"background:{SIGNS['added']};border-radius:3px;font-weight:600",
    "removed": f"background:{SIGNS['removed']};border-radius:3px;border-style:dashed",
    "chip pending": f"border:3px double {OUTLINE}",
    "changed": f"background:{SIGNS['changed']};color:{OUTLINE};outline:1px solid {OUTLINE}",
    "say": f"margin:4px 0;color:{LIGHT['ink']}",
    "soft": f"color:{LIGHT['soft']}",
    "bulb": f"display:inline-block;width:18px;text-align:center;border:1.5px solid {OUTLINE};"
    f"border-radius:50%;background:{SIGNS['holds']};color:{OUTLINE};margin-right:6px",
    "witness": "font-weight:600;margin-left:8px",
    "badge": f"margin:2px 0;padding:1px 10px;border:1.5px solid {OUTLINE};"
    f"background:{SIGNS['holds']};color:{OUTLINE};width:max-content;max-width:95%",
    "busy": f"background:{SIGNS['changed']}",
    "broken": f"background:{SIGNS['broken']};border-radius:3px",
    "waits": "background:#ffffff;border-style:dashed",
    "milestone": f"background:{SIGNS['next']};color:#ffffff;padding:1px 8px;margin-right:8px",
    "cards": "display:flex;flex-wrap:wrap;gap:6px;margin:4px 0 10px",
    "card": f"border:1.5px solid {LIGHT['edge']};border-radius:6px;padding:4px 8px;max-width:200px",
    "cellar": f"padding:0 6px;border:1.5px solid {OUTLINE};border-radius:3px",
    "leftover": f"border-left:4px solid {SIGNS['removed']};padding-left:6px;font-weight:600",
    "request": "margin:2px 0",
    "told": "padding-left:26px",
    "beside": "display:flex;flex-wrap:wrap;gap:8px 36px",
}
INLINE = frozenset("span b i em strong small code kbd".split())
INTERACTIVE = frozenset("button input select label summary details".split())


def static_html(*frags: Frag) -> str:
    """Return HTML that looks right without any style sheet: for ``text/html`` of a notebook."""
    body = "".join(_write(frag) for frag in frags)
    return f'<div style="background:{LIGHT["bg"]};color:{LIGHT["ink"]};padding:6px">{body}</div>'


def standalone_svg(drawing: Frag, *, lean: bool = False, ground: bool = False) -> str:
    """Return a drawing as an SVG document with its own style, as committed under ``images/``.

    A ``lean`` one carries only the rules that it uses: a notebook holds many small ones. One with
    a ``ground`` can be read on a dark page too.
    """
    body = "".join(_svg(kid) for kid in drawing.kids)
    box = drawing.get("viewBox") or "0 0 100 100"
    left, top, width, height = box.split()
    if ground:
        paper = h("rect", x=left, y=top, width=width, height=height, class_="paper")
        body = _svg(paper) + body
    label = escape(drawing.get("aria-label") or "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{escape(box)}" width="{escape(width)}" '
        f'height="{escape(height)}" role="img" aria-label="{label}">'
        f"<style>{_lean_style(body) if lean else _variables() + SVG_STYLE}</style>{body}</svg>"
    )


def image(drawing: Frag) -> Frag:
    """Turn a drawing into an ``<img>`` with its label as text alternative."""
    data = base64.b64encode(standalone_svg(drawing, lean=True).encode()).decode()
    alt = drawing.get("aria-label") or "drawing"
    return h("img", src=f"data:image/svg+xml;base64,{data}", alt=alt)


def _lean_style(body: str) -> str:
    """The rules whose classes and tags the drawing has, and the variables that they name."""
    there = {f".{name}" for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    there |= set(re.findall(r"<([a-z]+)", body)) | {"svg"}
    rules = [
        rule
        for rule in SVG_STYLE.split("\n")
        if set(re.findall(r"\.?[a-z][a-z-]*", rule.partition("{")[0])) <= there
    ]
    named = set(re.findall(r"var\((--[a-z-]+)\)", "".join(rules)))
    kept = [
        one
        for one in _variables().removeprefix(":root{").removesuffix("}").split(";")
        if one.partition(":")[0] in named
    ]
    return f":root{{{';'.join(kept)}}}{''.join(rules)}"


def _variables() -> str:
    """The light theme's variables, on the root of a drawing."""
    found = re.match(r"\.kp\{(.*?)\}", css_variables())
    assert found is not None
    return f":root{{{found[1]}}}"


def _svg(part: Frag | str) -> str:
    """Write a part of a drawing without what only a live page needs."""
    if isinstance(part, str):
        return escape(part)
    kept = "".join(
        f' {name}="{escape(value)}"'
        for name, value in part.attrs
        if not name.startswith(("data-", "aria-")) and name not in ("tabindex", "role")
    )
    return f"<{part.tag}{kept}>{''.join(_svg(kid) for kid in part.kids)}</{part.tag}>"


def _write(part: Frag | str) -> str:
    if isinstance(part, str):
        return escape(part)
    if part.tag == "svg":
        return _write(image(part))
    if part.tag in INTERACTIVE:
        if part.tag not in ("summary", "details"):
            return ""
        tag = "div" if part.tag == "details" else "p"
        return _write(Frag(tag, (), part.kids, None))
    attrs = "".join(
        f' {name}="{escape(value)}"'
        for name, value in part.attrs
        if not name.startswith("data-") and name not in ("tabindex", "class")
    )
    style = _style(part)
    written = f' style="{style}"' if style else ""
    return f"<{part.tag}{written}{attrs}>{_inside(part)}{closing(part)}"


def _inside(part: Frag) -> str:
    """The children. A style sheet would keep words of neighbours apart; here a space does."""
    written: list[str] = []
    before: Frag | str = ""
    for kid in part.kids:
        if isinstance(before, Frag) and before.tag in INLINE and _begins_a_word(kid):
            written.append(" ")
        written.append(_write(kid))
        before = kid
    return "".join(written)


def _begins_a_word(kid: Frag | str) -> bool:
    return kid[:1].isalnum() if isinstance(kid, str) else kid.tag in INLINE


def _style(part: Frag) -> str:
    names = (part.get("class") or "").split()
    names += [pair for pair in CLASSES if " " in pair and {*pair.split()} <= {*names}]
    rules = [STYLES.get(part.tag, ""), *(CLASSES.get(name, "") for name in names)]
    return ";".join(rule for rule in rules if rule)
