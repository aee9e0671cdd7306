"""A page of the site as one file: what it fetches lies in it, so that it works from a disk."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from kit.errors import BadInput, KitError
from kit.site.pages import POLICY

END = "</body></html>\n"
_STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_SCRIPT = re.compile(r'<script type="module" src="([^"]+)"></script>')
_MODULE = '<script type="module">{}</script>'
_PACK = re.compile(r'(?<= data-pack=")([^"]+)(?=")')
_POLICY = re.compile(r'(?<=http-equiv="Content-Security-Policy" content=")([^"]+)(?=")')
_HOME = re.compile(r'<a href="[./]+/(index\.html)">[^<]*</a>')


def single_page(name: str, site: Path) -> str:
    """The page of a story with style, module, pack and engine in it; ``site`` has been built.

    Raises BadInput for a story that the site does not have, KitError for files of another kit.
    """
    stories = site / "stories"
    page = stories / f"{name}.html"
    if page not in stories.rglob("*.html"):
        raise BadInput("story", name, f"one of those in {stories}, where `make site` writes them")
    text = page.read_text(encoding="utf-8")

    def put(pattern: re.Pattern[str], form: str) -> bytes:
        nonlocal text
        match = pattern.search(text)
        file = (page.parent / match[1]).resolve() if match else site
        if match is None or not file.is_file():
            raise KitError(f"story: {page} and the files next to it differ: run `make site` again")
        data = file.read_bytes()
        inside = data.decode() if form.startswith("<") else _letters(data)
        text = f"{text[: match.start()]}{form.format(inside)}{text[match.end() :]}"
        return data

    own = {
        "style-src": _digest(put(_STYLE, "<style>{}</style>")),
        "script-src": f"{_digest(put(_SCRIPT, _MODULE))} blob: 'wasm-unsafe-eval'",
        "connect-src": "data:",
    }
    put(_PACK, "data:;base64,{}")
    policy = "; ".join(map(" ".join, (POLICY | own).items()))
    text = _HOME.sub("", _POLICY.sub(lambda _: policy, text))
    held = (
        f'<script type="text/plain" id="{file.name}">{_letters(file.read_bytes())}</script>'
        for file in sorted((site / "engine").iterdir())
    )
    return text.removesuffix(END) + "".join(held) + END


def _letters(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _digest(text: bytes) -> str:
    return f"'sha256-{_letters(hashlib.sha256(text).digest())}'"
