"""Exported pages of clusters whose names mean harm: nothing but text comes of them."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import kit
from kit.views.rendered import RenderedTimeline
from tests.hostile.judging import answered

HARM = (
    *("<x-evil onpwn=1>", '"><x-evil>', "' onpwn='1", '" onpwn="1', "</script><x-evil>"),
    *("</style><x-evil>", "--><x-evil>", "<!--<x-evil>", "]]><x-evil>", "</textarea><x-evil>"),
    *(
        "&lt;x-evil&gt;",
        "javascript:x-evil",
        "{{x-evil}}",
        "${x-evil}",
        "`x-evil`",
        "\\u003cx-evil>",
    ),
    *(
        "<svg/onpwn=1>",
        "<x-evil\u2028>",
        "%3Cx-evil%3E",
        "<x-evil/*",
        "</title><x-evil>",
        "\u202ex-evil",
    ),
    *("constructor", "__proto__", "hasOwnProperty", "{0}", "%s", "{name}", "<7>", "<!--7-->"),
)


class _Harm(HTMLParser):
    """Looks for a tag or an attribute that only a name could have brought."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is odd."""
        if "evil" in tag:
            self.found.append(tag)
        for name, value in attrs:
            link = name in ("href", "src", "action") and "evil" in str(value)
            if name == "onpwn" or link:
                self.found.append(f"{tag} {name}={value}")


def harm_in(text: str) -> list[str]:
    """The tags and attributes of a text that should not be there."""
    parser = _Harm()
    parser.feed(text)
    parser.close()
    return parser.found


def page(chance: Random, folder: Path) -> None:
    """A rehearsal on a ring of such names: the page, its texts and the stored picture hold none."""
    names = [f"{chance.choice(HARM)}{at}" for at in range(4)]
    places = [chance.choice(HARM) for _ in range(2)]
    ring: dict[str, Any] = {
        "nodes": [
            {
                "name": name,
                "tokens": [100 * at + 1],
                "dc": places[at % 2],
                "rack": chance.choice(HARM),
            }
            for at, name in enumerate(names)
        ],
        "keyspaces": [
            {
                "name": chance.choice(HARM),
                "replication": {"class": "SimpleStrategy", "replication_factor": 2},
            }
        ],
    }
    path = folder / "ring.json"
    path.write_text(json.dumps(ring), "utf-8")
    words = "'" + names[1].replace("'", "'\"'\"'") + "'"
    rehearsed = answered(lambda: kit.rehearse(path, f"decommission {words}"))
    if rehearsed is None:
        return
    player = rehearsed.player
    target = folder / "page.html"
    player.export(target)
    shown = RenderedTimeline(player.timeline)
    texts = [target.read_text("utf-8"), player.static(), *shown.pack().texts]
    found = [harm for text in texts for harm in harm_in(text)]
    assert not found, f"{names} {places}: {found[:3]}"
