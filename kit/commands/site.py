"""``site``: the static pages, served on this machine, or one of them as a file."""

from __future__ import annotations

import logging
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
from kit.errors import BadInput
from kit.site.single import single_page

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
