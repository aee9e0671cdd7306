"""The look: colours, and what each stands for.

The colours are the Okabe-Ito set. Green is a promise that is kept, and nothing else. Orange, sky
blue and yellow are only fills inside a dark outline, never text, lines or lamps; every colour has
a letter or a shape beside it. *Dashed* is planned or not yet so. Sources: Okabe and Ito, "Color
Universal Design" (the set); WCAG 2.2 (contrast). ``tests/views/eyes.py`` measures
them for every kind of eye.
"""

from collections.abc import Mapping

OKABE_ITO = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "purple": "#cc79a7",
}

OUTLINE = "#17191c"

SIGNS = {
    "added": OKABE_ITO["sky"],
    "removed": OKABE_ITO["orange"],
    "holds": OKABE_ITO["green"],
    "broken": OKABE_ITO["vermillion"],
    "next": OKABE_ITO["blue"],
    "changed": OKABE_ITO["yellow"],
}
"""Fills with a meaning; every pair of them must stay apart for every kind of eye."""

STATES = {"pending": "added", "leaving": "removed"}
"""Where a thing stands, with the sign whose colour it has: it comes, it goes.

The sheet of a family names the state, not the sign.
"""

RACKS = {
    "square": "#cdd3dc",
    "diamond": "#ecdcc3",
    "triangle": "#cfe3ea",
    "hexagon": "#ddd0ea",
    "pentagon": "#f2d5d5",
}
"""Faint grounds of the shapes that tell racks apart; a circle has none."""

SHADE = "#8881"
"""A little darker than the ground, or lighter: what lies below shines through."""

LIFTED = "0 6px 24px #0003"
"""The shadow below what lies over the board."""

INK_ON = {**dict.fromkeys(SIGNS, OUTLINE), "next": "#ffffff"}
"""The text colour on each fill."""

# Each theme has two greys: of quiet words and edges, and of what only parts or fills.
LIGHT = {
    "bg": "#ffffff",
    "raised": SHADE,
    "ink": "#1c1f24",
    "soft": "#565d68",
    "line": "#d5d9e0",
    "edge": "#565d68",
    "accent": "#0072b2",
    "back": "#a8528a",
    "chip": "#ffffff",
}

DARK = {
    "bg": "#15181d",
    "raised": SHADE,
    "ink": "#e9ecf1",
    "soft": "#a9b1bd",
    "line": "#363c46",
    "edge": "#a9b1bd",
    "accent": "#7db7e8",
    "back": OKABE_ITO["purple"],
    "chip": "#dfe4ea",
}

_MIXED = "color-mix(in srgb,CanvasText {}%,Canvas)"
FORCED = {
    "bg": "Canvas",
    "ink": "CanvasText",
    "line": _MIXED.format(25),
    "accent": "Highlight",
    **dict.fromkeys(("raised", "chip"), "var(--bg)"),
    **dict.fromkeys(("soft", "edge", "back", "outline"), "var(--ink)"),
    **dict.fromkeys(SIGNS, "var(--line)"),
    "broken": _MIXED.format(45),
    "next": "var(--accent)",
    "on-next": "HighlightText",
}
"""Where the reader has chosen the colours: theirs, and shades between ink and ground for fills."""


def variables(colours: Mapping[str, str], prefix: str = "--") -> str:
    """Write colours as the variables of a style rule."""
    return "".join(f"{prefix}{name}:{colour};" for name, colour in colours.items())


_SIGNS = f"{variables(SIGNS)}--on-next:{INK_ON['next']};"
_LIGHT = f"{variables(LIGHT)}color-scheme:light"
_DARK = f"{variables(DARK)}color-scheme:dark"
_FORCED = f"@media(forced-colors:active){{.kp.kp.kp{{{variables(FORCED)}}}}}\n"


def resolved(sheet: str) -> str:
    """A sheet in which states, racks and shadows have theirs: only few variables are sent."""
    for state, sign in STATES.items():
        sheet = sheet.replace(f"var(--{state})", f"var(--{sign})")
    sheet = sheet.replace("var(--lifted)", LIFTED)
    for sign, ink in INK_ON.items():
        if ink == OUTLINE:
            sheet = sheet.replace(f"var(--on-{sign})", "var(--outline)")
    for rack, colour in RACKS.items():
        sheet = sheet.replace(f"var(--{rack})", colour)
    return sheet


def page_colours() -> str:
    """Return the rules that give a page its colours; it follows the reader's system."""
    return (
        f".kp{{--outline:{OUTLINE};{_SIGNS}{_LIGHT}}}\n"
        f"@media(prefers-color-scheme:dark){{.kp{{{_DARK}}}}}\n{_FORCED}"
    )


def lab_colours() -> str:
    """Return what JupyterLab needs beside: it says its theme on the body, which wins."""
    return (
        f'[data-jp-theme-light="true"] .kp{{{_LIGHT}}}\n'
        f'[data-jp-theme-light="false"] .kp{{{_DARK}}}\n'
        f".kit-player{{{variables({sign: SIGNS[sign] for sign in ('broken', 'next')})}}}\n"
    )


def image_colours() -> str:
    """Return the rule that gives an image of its own the light theme's colours."""
    return f":root{{--outline:{OUTLINE};{_SIGNS}{_LIGHT}}}"


def contrast(colour: str, other: str) -> float:
    """Return the WCAG contrast ratio of two ``#rrggbb`` colours, from 1 to 21."""
    low, high = sorted((_luminance(colour), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def linear(colour: str) -> list[float]:
    """Return how much red, green and blue light a ``#rrggbb`` colour is, each from 0 to 1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def _luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
