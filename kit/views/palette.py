"""The look: colours, and what each stands for.

*Colour is who, fill is how, ink is now, vermilion is a broken promise.* Seven hues tell nodes
apart, each with a letter beside it; from eight nodes on there are none. Ink outlines what the step
changed. *Dashed* is planned or not yet so. All else is grey. ``tests/views/eyes.py`` measures the
hues for every kind of eye.

Source: WCAG 2.2 (contrast).
"""

from collections.abc import Mapping, Sequence

from kit.views.typeface import FAMILIES

HUES = {
    "a": ("#ffc52c", "#14181f", "#8a6200", "#ffc52c"),
    "b": ("#97c8ff", "#14181f", "#2163a3", "#97c8ff"),
    "c": ("#ad70b0", "#14181f", "#84458a", "#d6a6d9"),
    "d": ("#12846d", "#ffffff", "#0b6b57", "#56c9ae"),
    "e": ("#105086", "#ffffff", "#105086", "#86b8ea"),
    "f": ("#67221f", "#ffffff", "#67221f", "#e39a93"),
    "g": ("#8fa05a", "#14181f", "#5a6a28", "#b8c787"),
}
"""Of each hue the fill, the ink on it, and its edge on light and on dark ground."""

SHADE = "#8881"
"""A little darker than the ground, or lighter: what lies below shines through."""

LIGHT = {
    "bg": "#fbfbf9",
    "raised": "#ffffff",
    "faint": SHADE,
    "ink": "#14181f",
    "soft": "#545c69",
    "line": "#dde1e6",
    "edge": "#7a828e",
    "broken": "#b83a0b",
    "on-broken": "#ffffff",
}

DARK = {
    "bg": "#14171c",
    "raised": "#1b1f26",
    "faint": SHADE,
    "ink": "#eef0f3",
    "soft": "#a6aeba",
    "line": "#323843",
    "edge": "#8a93a0",
    "broken": "#ff8a57",
    "on-broken": "#14171c",
}

SHADES = {"plain": "#ffffff", "added": LIGHT["line"], "removed": "#aeb6c0", "changed": "#eef0f2"}
"""Fills of charts and of tables that Graphviz lays out; words say what each is."""

MATPLOTLIB = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), LIGHT["bg"]),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), LIGHT["ink"]),
    **dict.fromkeys(("axes.edgecolor", "patch.edgecolor"), LIGHT["ink"]),
    "patch.force_edgecolor": True,
    "axes.prop_cycle": f"cycler(color=['{LIGHT['ink']}'])",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "savefig.dpi": 110,
}
"""The look of charts, as Matplotlib has it: ink on the light ground, no frame."""
SMALL = 8
"""The letters inside a chart, in points."""
_INKED = f'fontname="Helvetica", color="{LIGHT["ink"]}", fontcolor="{LIGHT["ink"]}", arrowsize=0.6'
GRAPHVIZ = "; ".join(
    [f'bgcolor="{LIGHT["raised"]}"', *(f"{part} [{_INKED}]" for part in ("graph", "node", "edge"))]
)
"""The look of what Graphviz draws; each drawing has letters of one of the sizes below."""
LETTERS, NOTE_LETTERS, TABLE_LETTERS, GRAPH_LETTERS = 11, 12, 13, 14
"""The letters of drawings, in their units and, at least, in pixels."""
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
"""The place of a legend, outside the axes."""

LIFTED = "0 6px 24px #0003"
"""The shadow below what lies over the board."""

_MIXED = "color-mix(in srgb,CanvasText {}%,Canvas)"
FORCED = {
    "bg": "Canvas",
    "ink": "CanvasText",
    "line": _MIXED.format(25),
    **dict.fromkeys(("raised", "faint", "on-broken"), "var(--bg)"),
    **dict.fromkeys(("soft", "edge"), "var(--ink)"),
    "broken": "var(--ink)",
}
"""Where the reader has chosen the colours: theirs, and shades between ink and ground for fills."""


NO_HUES: Mapping[str, str] = {}


def hues(names: Sequence[str]) -> Mapping[str, str]:
    """The class that gives each name of a cast its hue, by order of name; of many names none."""
    kinds = (f"h-{hue}" for hue in HUES)
    return dict(zip(sorted(names), kinds, strict=False)) if len(names) <= len(HUES) else {}


def variables(colours: Mapping[str, str], prefix: str = "--") -> str:
    """Write colours as the variables of a style rule."""
    return "".join(f"{prefix}{name}:{colour};" for name, colour in colours.items())


HUE_RULES = tuple(
    f".h-{hue}{{{variables({'h': fill, 'on': ink, 'ed': f'var(--x{hue})'})}}}"
    for hue, (fill, ink, *_) in HUES.items()
)
"""A rule for the class of each hue: its fill, the ink on it, its edge."""
_LIGHT = LIGHT | {f"x{hue}": edge for hue, (_, _, edge, _) in HUES.items()}
_DARK = DARK | {f"x{hue}": edge for hue, (*_, edge) in HUES.items()}
_BOTH = {name: f"light-dark({_LIGHT[name]},{_DARK[name]})" for name in _LIGHT} | {"faint": SHADE}
_HUED = f".kp :is({','.join(f'.h-{hue}' for hue in HUES)})"
_NO_HUE = f"{_HUED}{{{variables(dict.fromkeys(('h', 'on', 'ed'), 'initial'))}}}"
_FORCED = f"@media(forced-colors:active){{.kp.kp.kp{{{variables(FORCED)}}}{_NO_HUE}}}\n"


def resolved(sheet: str) -> str:
    """A sheet in which shadows have theirs: only few variables are sent."""
    return sheet.replace("var(--lifted)", LIFTED)


def page_colours() -> str:
    """Return the rules that give a page its colours and letters; it follows the reader's system."""
    own = f"{variables(_BOTH | FAMILIES)}color-scheme:light dark"
    return f".kp{{{own}}}{''.join(HUE_RULES)}\n{_FORCED}"


def lab_colours() -> str:
    """Return what JupyterLab needs beside: it says its theme on the body, which wins."""
    themes = {"true": "light", "false": "dark"}
    said = (
        f'[data-jp-theme-light="{is_light}"] :is(.kp,.kit-player){{color-scheme:{theme}}}\n'
        for is_light, theme in themes.items()
    )
    return f"{''.join(said)}.kit-player{{{variables({'edge': _BOTH['edge']})}}}\n"


def image_colours() -> str:
    """Return the rule that gives an image of its own letters and the light theme's colours."""
    return f":root{{{variables(_LIGHT | FAMILIES)}}}"


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
