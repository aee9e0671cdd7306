"""What commands that read files answer, on record: each line of ``answered.txt`` after a ``$``.

The files are those of ``tests/fixtures``; ``STORY:STEP`` is a dump of that moment of a story.
Answers that a person has worked out stand in the tests of each command; these tables have many
more, so that whatever changes an answer is seen. KIT_REWRITE=1 writes them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.model.scenario import file_named, open_file
from kit.protocols.topology.topology import Topology
from tests.commands.calling import Answer, call
from tests.protocols.topology.dry_run.moments import dump

RECORD = Path(__file__).with_name("answered.txt")
FIXTURES = Path(__file__).parents[1] / "fixtures"
MOMENT = re.compile(r"\w+/[\w-]+:[0-9]+")
TIME_GOES_ON = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T[0-9:+]{14}")


def parts() -> Iterator[tuple[str, list[str]]]:
    """Each command on record, and the lines of its answer."""
    lines = RECORD.read_text("utf-8").splitlines()
    firsts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    for first, last in zip(firsts, [*firsts[1:], len(lines)], strict=True):
        yield lines[first].removeprefix("$ "), lines[first + 1 : last]


def answered(command: str, folder: Path) -> list[str]:
    """The answer: its text, indented, then its status and a digest of its JSON."""
    words = [dumped(w, folder) if MOMENT.fullmatch(w) else w for w in shlex.split(command)]
    told = call(*words)
    lines = [f"  {line}".rstrip() for line in _still(told, folder).splitlines()]
    said = _still(call(*words, "--json"), folder)
    digest = hashlib.blake2b(said.encode(), digest_size=4).hexdigest()
    return [*lines, f"  exit code {told.status}; JSON {digest}"]


def _still(answer: Answer, folder: Path) -> str:
    """What is said, without the time of now and a folder that is never the same."""
    said = TIME_GOES_ON.sub("NOW", answer.out + answer.err)
    return said.replace(str(folder), "").replace(str(FIXTURES), "")


def dumped(moment: str, folder: Path) -> str:
    """A dump of a moment of a story of the topology."""
    story, _, step = moment.partition(":")
    timeline = open_file(file_named(story))
    state = timeline.moments[timeline.path()[int(step)]].state
    assert isinstance(timeline.model, Topology)
    return dump(folder, int(step), timeline.model, state)


@pytest.mark.parametrize(("command", "answer"), [*parts()], ids=[command for command, _ in parts()])
def test_it_is_answered_as_on_record(
    command: str, answer: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the letter, as text and as JSON, refusals too."""
    monkeypatch.chdir(FIXTURES)
    assert answered(command, tmp_path) == answer


def test_the_record_is_written_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command stands there once."""
    commands = [command for command, _ in parts()]
    assert len({*commands}) == len(commands)
    if os.environ.get("KIT_REWRITE") == "1":
        monkeypatch.chdir(FIXTURES)
        lines = (line for each in commands for line in (f"$ {each}", *answered(each, tmp_path)))
        RECORD.write_text("".join(f"{line}\n" for line in lines), "utf-8")
