"""Debian's Firefox without a window, driven by what it speaks itself: WebDriver BiDi."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.waiting import until

LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """A page of it; ``wrong`` has the errors that its console told."""

    def __init__(self, loop: IOLoop, line: WebSocketClientConnection) -> None:
        self.loop, self.line, self.numbers = loop, line, count(1)
        self.wrong: list[str] = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.page = self.ask("browsingContext.create", type="tab")["context"]

    def ask(self, method: str, **given: Any) -> Any:
        """What comes of a command."""
        number = next(self.numbers)
        text = json.dumps({"id": number, "method": method, "params": given})
        self.loop.run_sync(lambda: self.line.write_message(text))
        while True:
            said = self.loop.run_sync(self.line.read_message)
            assert said is not None, f"Firefox has gone before it answered {method}"
            heard = json.loads(said)
            if heard.get("method") == "log.entryAdded" and heard["params"]["level"] == "error":
                self.wrong.append(heard["params"]["text"])
            if heard.get("id") == number:
                assert heard["type"] == "success", heard
                return heard["result"]

    def open(self, address: str) -> None:
        """Go to a page, and wait until it is loaded."""
        self.ask("browsingContext.navigate", context=self.page, url=address, wait="complete")

    def value(self, code: str) -> Any:
        """What an expression gives, also one that promises."""
        told = self.ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({code}) ?? null))()",
            target={"context": self.page},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        return json.loads(told["result"]["value"])

    def wait(self, selector: str) -> None:
        """Wait until the page has such an element."""
        until(lambda: self.value(f"!!document.querySelector({json.dumps(selector)})"), selector)

    def click(self, selector: str) -> None:
        """Press an element, once it is there."""
        self.wait(selector)
        self.value(f"void document.querySelector({json.dumps(selector)}).click()")


@contextmanager
def begun(program: Path, profile: Path) -> Iterator[Firefox]:
    """A Firefox with a new profile, until the end of the block."""
    command = [
        program,
        "--headless",
        "--no-remote",
        "--profile",
        profile,
        "--remote-debugging-port=0",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = next(filter(None, map(LISTENS.search, process.stderr)), None)
            assert found, "this Firefox does not speak WebDriver BiDi"
            loop = IOLoop(make_current=False)
            yield Firefox(loop, loop.run_sync(lambda: websocket_connect(f"{found[1]}/session")))
        finally:
            process.terminate()
