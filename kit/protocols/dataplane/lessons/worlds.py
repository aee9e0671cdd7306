"""One story in two worlds, side by side: metadata in a log, and metadata by gossip."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.scenario import Script, ScriptLine, ScriptStep, file_named, parse, read, run

WIDTH = 48
MODES = ("log", "gossip")


class Worlds(Struct, frozen=True):
    """What each command did in the two worlds; empty where a world has no such step."""

    rows: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        lines = [_beside("with a log", "by gossip"), _beside("-" * WIDTH, "-" * WIDTH)]
        for command, left, right in self.rows:
            lines += [f"> {command}", *_wrapped(left, right)]
        return "\n".join(lines)

    __repr__ = __str__


def both_worlds(story: str) -> Worlds:
    """Play a scenario file of requests with a log, and by gossip.

    The commands are the same; only gossip has the ticks for which it waits.

    Raises:
        BadInput: for an unknown file, or a command that one of the worlds does not know.
    """
    script = parse(read(file_named(f"dataplane/{story}")), story)
    commands = [line for step in script.steps for line in step.commands]
    log, gossip = (_shown(script, mode, commands) for mode in MODES)
    return Worlds(tuple((line.text, log.get(line, ""), gossip.get(line, "")) for line in commands))


def _shown(script: Script, mode: str, commands: list[ScriptLine]) -> dict[ScriptLine, str]:
    """What each command shows in one world."""
    done = [line for line in commands if mode == "gossip" or line.text != "tick"]
    header = [line for line in script.header if not line.text.startswith("mode ")]
    header.append(ScriptLine(header[-1].number, f'mode "{mode}"'))
    steps = tuple(ScriptStep((line,), ()) for line in done)
    _, shown = run(replace(script, header=tuple(header), steps=steps))
    return {line: " ".join(texts) for line, texts in zip(done, shown, strict=True)}


def _wrapped(left: str, right: str) -> list[str]:
    pairs = zip_longest(wrap(left, WIDTH), wrap(right, WIDTH), fillvalue="")
    return [_beside(left, right) for left, right in pairs]


def _beside(left: str, right: str) -> str:
    return f"{left:<{WIDTH}} | {right}".rstrip()
