"""Make the shipped typeface again, and the widths of its letters, from the fonts' own files.

    python -m tools.typeface NEXT MONO INTER

``NEXT`` and ``MONO`` are the variable fonts of github.com/googlefonts/atkinson-hyperlegible-next
(7925f50f) and of …-next-mono (154d5036), ``INTER`` is InterVariable.woff2 of the npm package
inter-ui 4.1.1. It needs fontTools, which Matplotlib brings, and brotli.
"""

import json
import sys
from collections import defaultdict
from typing import Any

from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

from kit.views.typeface import FOLDER

LETTERS = "".join(map(chr, range(32, 127))) + "\u00a0°±·×÷ßäéöüÄÖÜ–—‘’“”•…−≈≠≤≥∞"
SIGNS = "←↑→↓↔↗↩↺⇧∅■□▲▶▼◇○●★✓✗"
LIKE = {"☐": ("□", 1.0), "▸": ("▶", 0.7), "▾": ("▼", 0.7)}
"""Signs that Inter lacks, and those of it that they look like, how much smaller."""
BREAK = "\u200b"
"""Where a line may end: it has no width."""
WEIGHTS = {"plain": 400, "bold": 700}
"""Between them a weight has any value."""
UP, DOWN = 893, 225
"""How far a line reaches above and below its letters' feet: capitals stay in its middle."""
SIGN_WEIGHT, SIGN_SIZE = 600, 14


def cut(source: str, letters: str, axes: dict[str, Any]) -> TTFont:
    """A font that has these letters only, without hints for old screens."""
    font = TTFont(source, recalcTimestamp=False)
    options = Options(layout_features=["kern", "tnum"], hinting=False, name_IDs=[0, 1, 2, 13, 14])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=map(ord, letters))
    subsetter.subset(font)
    return instantiateVariableFont(font, axes)


def add(font: TTFont, sign: str, like: str, size: float) -> None:
    """Give a font a sign that looks like one it has, but so much smaller, as high in its line."""
    source = font.getBestCmap()[ord(like)]
    name, glyph = f"{source}.{ord(sign):x}", font["glyf"][source]
    rise = (glyph.yMax + glyph.yMin) / 2 * (1 - size)
    pen = TTGlyphPen(font.getGlyphSet())
    font.getGlyphSet()[source].draw(TransformPen(pen, (size, 0, 0, size, 0, rise)))
    font["glyf"][name] = pen.glyph()
    font["hmtx"][name] = tuple(round(each * size) for each in font["hmtx"][source])
    for table in font["cmap"].tables:
        table.cmap[ord(sign)] = name


def advances(font: TTFont) -> dict[str, int]:
    """How wide each letter is, in thousandths of its size; every digit is as wide as the others."""
    units, as_wide = font["head"].unitsPerEm, dict[str, str]()
    features = font["GSUB"].table.FeatureList.FeatureRecord if "GSUB" in font else ()
    for record in (each for each in features if each.FeatureTag == "tnum"):
        for at in record.Feature.LookupListIndex:
            for table in font["GSUB"].table.LookupList.Lookup[at].SubTable:
                as_wide |= getattr(table, "ExtSubTable", table).mapping
    return {
        chr(code): round(font["hmtx"][as_wide.get(glyph, glyph)][0] * 1000 / units)
        for code, glyph in font.getBestCmap().items()
    } | {BREAK: 0}


def grouped(widths: dict[str, int]) -> dict[str, str]:
    """The letters by their widths."""
    groups: dict[int, str] = defaultdict(str)
    for letter, width in sorted(widths.items()):
        groups[width] += letter
    return {str(width): groups[width] for width in sorted(groups)}


def main() -> None:
    """Write the fonts and the table."""
    following, mono, inter = sys.argv[1:]
    between = {"wght": (WEIGHTS["plain"], WEIGHTS["bold"])}
    signs = cut(inter, SIGNS, {"wght": SIGN_WEIGHT, "opsz": SIGN_SIZE})
    for sign, (like, size) in LIKE.items():
        add(signs, sign, like, size)
    sans = cut(following, LETTERS, between)
    # Beside another font's letters a browser makes these as much smaller as theirs are lower.
    as_high = sans["OS/2"].sxHeight / sans["head"].unitsPerEm
    signs["OS/2"].sxHeight = round(as_high * signs["head"].unitsPerEm)
    fonts = {"sans": sans, "mono": cut(mono, LETTERS, between), "signs": signs}
    for name, font in fonts.items():
        if name != "signs":
            font["hhea"].ascent = font["OS/2"].sTypoAscender = font["OS/2"].usWinAscent = UP
            font["hhea"].descent = font["OS/2"].sTypoDescender = -DOWN
            font["OS/2"].usWinDescent = DOWN
        font.flavor = "woff2"
        font.save(FOLDER / f"{name}.woff2")
    of_signs = advances(signs)
    table = {
        name: grouped(of_signs | advances(cut(following, LETTERS, {"wght": weight})))
        for name, weight in WEIGHTS.items()
    }
    text = json.dumps(table, ensure_ascii=False, indent=1)
    (FOLDER / "advances.json").write_text(f"{text}\n", encoding="utf-8")
    print(sum((FOLDER / f"{name}.woff2").stat().st_size for name in fonts), "bytes of woff2")


if __name__ == "__main__":
    main()
