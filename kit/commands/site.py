"""``site``: the static pages, served on this machine, or one of them as a file."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import sys
import webbrowser
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kit.commands.answer import put
from kit.commands.lab import choose_port, port_number
from kit.commands.parsing import Parser
from kit.edge.door import be_brief, door
from kit.edge.writing import check_place, write_whole
from kit.errors import BadInput, KitError
from kit.site.pages import POLICY

BUILT = Path(__file__).resolve().parents[2] / "build" / "site"
LOOPBACK, FIRST_PORT = "127.0.0.1", 8766
ABOUT = """\
Serve the static pages that `make site` builds, on this machine only. Any other server will do.
Or write one page as a file that needs no server.
"""


class Quiet(SimpleHTTPRequestHandler):
    """Sends files, and writes down nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name there
        """Say nothing."""

    def send_head(self) -> Any:
        """Begin to send a file; what can name none is not there, either."""
        try:
            return super().send_head()
        except ValueError:  # a zero byte, or half of a surrogate pair
            return self.send_error(HTTPStatus.NOT_FOUND)


class Pages(ThreadingHTTPServer):
    """Serves pages; who leaves one before it has all of it breaks nothing."""

    def server_activate(self) -> None:
        """Listen as all servers of the kit do."""
        self.socket = door(self.socket)
        super().server_activate()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            logging.getLogger(__name__).exception("a request failed")


def server(folder: Path, port: int = 0) -> Pages:
    """A server of a folder on loopback; 0: any port."""
    return Pages((LOOPBACK, port), partial(Quiet, directory=str(folder)))


def site(argv: Sequence[str]) -> int:
    """Serve the pages until it is stopped, or write one as a file; returns 0.

    Raises BadInput for a folder without them, a port that is none, a story that is not there.
    """
    parser = Parser(prog="python -m kit site", description=ABOUT)
    parser.add_argument("folder", nargs="?", help="the folder with the pages (default: build/site)")
    parser.add_argument("--port", help=f"first port to try (default {FIRST_PORT})")
    parser.add_argument("--open", action="store_true", help="open the first page in a browser")
    story = ("STORY", "OUT")
    parser.add_argument("--single", nargs=2, metavar=story, help="write a story's page as one file")
    given = parser.parse_args(argv)
    folder = Path(given.folder or BUILT)
    if not (folder / "index.html").is_file():
        raise BadInput("folder", str(folder), "a folder with an index.html: `make site` builds it")
    if given.single:
        name, out = given.single
        target = check_place(out, "OUT")
        page = single_page(name, folder)
        write_whole(target, page, "OUT")
        put(f"{target}: {len(page):,} bytes, live in any browser that opens it")
        return 0
    port = choose_port(FIRST_PORT if given.port is None else port_number(given.port))
    with server(folder, port) as pages:
        put(f"open http://{LOOPBACK}:{port}/ (Ctrl-C ends)")
        be_brief()
        if given.open:
            webbrowser.open(f"http://{LOOPBACK}:{port}/")
        try:
            pages.serve_forever()
        except KeyboardInterrupt:
            put("the site is no longer served")
    return 0


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

    def embed(pattern: re.Pattern[str], form: str) -> bytes:
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
        "style-src": _digest(embed(_STYLE, "<style>{}</style>")),
        "script-src": f"{_digest(embed(_SCRIPT, _MODULE))} blob: 'wasm-unsafe-eval'",
        "connect-src": "data:",
    }
    embed(_PACK, "data:;base64,{}")
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
