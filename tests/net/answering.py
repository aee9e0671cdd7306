"""A question of the record, asked of the code that stands now.

A question is plain data: ``kind`` and what belongs to it. An answer is a few named texts, or plain
data where the command line prints JSON. What differs from run to run (seconds, memory, folders) is
left out.
"""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from tests.net import places
from tests.net.words import Words

Question = dict[str, Any]
Answer = dict[str, Any]
TIMED = re.compile(r"(?m), \d+\.\d\d s(, [\d,]+ (?:bytes?|kB|MB|GB))?$")
WHERE = {
    **dict.fromkeys(("argv", "off", "model", "judges"), "words"),
    "path": "paths",
    "parameters": "parameters",
    "files": "files",
}
os.environ["COLUMNS"] = "100"


def said_now(question: Question, item: str, words: Words) -> Question:
    """The question in the words of now."""
    found = dict(question)
    for field, where in WHERE.items():
        if field in found:
            found[field] = words.say(found[field], item, where)
    return found


def answer(question: Question) -> Answer:
    """What the kit says; an error of it is an answer, too."""
    try:
        return _KINDS[question["kind"]](question)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def called(argv: list[str], files: Mapping[str, str]) -> Answer:
    """A command in this process; a word ``@name`` is a file of this name."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        words = [str(folder / word[1:]) if word.startswith("@") else word for word in argv]
        with chdir(folder), redirect_stdout(out), redirect_stderr(err):
            status = places.main(words)
    told = [stream.getvalue().replace(f"{name}/", "") for stream in (out, err)]
    return {"status": status, "out": _plain(told[0], argv), "err": told[1]}


def _plain(out: str, argv: list[str]) -> Any:
    """JSON as data, without the seconds; a text without seconds and memory."""
    if "--json" not in argv or not out.strip():
        return TIMED.sub(", SECONDS", out) if argv[:1] in (["check"], ["fuzz"]) else out
    found = json.loads(out)
    if isinstance(found, dict) and "seconds" in found:
        found["seconds"] = 0
    return found


def _call(question: Question) -> Answer:
    return called(question["argv"], question.get("files", {}))


def _search(question: Question) -> Answer:
    model, found = places.searched(question, question["parameters"], tuple(question["off"]))
    broken = found.violation
    told = {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": found.complete,
        "unreached": list(found.unreached),
        "unjudged": list(found.unjudged),
        "violation": broken and broken.property,
    }
    if broken is not None:
        told |= {
            "length": len(broken.actions),
            "witness": broken.witness,
            "run": [model.verb(action) for action in broken.actions],
        }
    return {"out": told}


def _scenario(question: Question) -> Answer:
    """A scenario file as it would be written now, and as it is played."""
    path = places.scenario_path(question["path"])
    played = called(["play", str(path)], {})
    played["out"] = played["out"].replace(str(path.parent), "/" + path.parent.parent.name)
    return {"text": places.rewritten(path), **played}


def _scenarios(_: Question) -> Answer:
    return {"out": sorted(places.scenario_name(path) for path in places.scenario_files())}


def _trace(question: Question) -> Answer:
    """An old trace file, opened as it is."""
    return called(["play", "@trace.json"], {"trace.json": question["trace"]})


def _walk(question: Question) -> Answer:
    """A seeded walk, walked again."""
    model = places.build(question["model"], question["parameters"], tuple(question["off"]))
    walk = places.Walker(model, steps=question["steps"]).walk(question["seed"])
    told = {"verdict": walk.verdict, "witness": walk.witness, "reached": list(walk.reached)}
    run = [model.verb(action) for action in walk.actions]
    return {"out": {**told, "taken": list(walk.taken), "run": run}}


_KINDS = {
    "call": _call,
    "search": _search,
    "scenario": _scenario,
    "scenarios": _scenarios,
    "trace": _trace,
    "walk": _walk,
}
