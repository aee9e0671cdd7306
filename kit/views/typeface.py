"""The typeface, and how wide its letters are: Atkinson Hyperlegible Next and Mono, signs of Inter.

``kit/views/type`` has a subset of each, its licence and a table of advances, as written by
``tools/typeface.py``. Where a page cannot load fonts, as in a stored drawing, Arial is as wide.
"""

import base64
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "type"
NEXT, MONO = "Atkinson Hyperlegible Next", "Atkinson Hyperlegible Mono"
FAMILIES = {"sans": f"{NEXT},Arial,sans-serif", "mono": f"{MONO},{NEXT},monospace"}
FILES = {"sans": NEXT, "signs": f"{NEXT};unicode-range:U+2190-2205,U+2500-27ff", "mono": MONO}
"""The files, and of what family each is, perhaps only for some letters."""
FALLBACKS = "′‖⇄◉◎◐✕✚✝🔒"
"""Signs of the kit that it lacks; a reader's system has them."""
X_HEIGHT = 0.496
"""How high a small letter is; a browser makes another font's letters as large."""
ELSE = 1000
"""How wide a letter is that it lacks, in thousandths of its size."""


@cache
def faces() -> str:
    """The rules that give a document the typeface, with the fonts in them."""
    rules = ""
    for file, chosen in FILES.items():
        data = base64.b64encode((FOLDER / f"{file}.woff2").read_bytes()).decode()
        source = f"url(data:font/woff2;base64,{data})"
        rules += f"@font-face{{font-family:{chosen};font-weight:400 700;src:{source}}}"
    return rules


@cache
def advances(kind: str) -> Mapping[str, int]:
    """How wide each letter of ``plain`` or ``bold`` is, in thousandths of its size."""
    tables = json.loads((FOLDER / "advances.json").read_text(encoding="utf-8"))
    return {letter: int(width) for width, letters in tables[kind].items() for letter in letters}
