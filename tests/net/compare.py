"""``python -m tests.net.compare [--all] [--long] [--only GLOB] [--whole]``: what has changed.

Asks the code that stands now all that the record holds, and prints every item whose answer differs
from the old one as it would be said now (``words.toml``). Ends with 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from difflib import unified_diff
from fnmatch import fnmatchcase
from itertools import zip_longest
from time import perf_counter
from typing import Any

from tests.net import places
from tests.net.answering import answer, said_now
from tests.net.questions import SECTIONS
from tests.net.record import Item, read
from tests.net.words import Words

WIDEST = 160
PATHS = {"scenarios": "paths"}


def main() -> int:
    """Compare, and say what differs."""
    options = _options()
    shares = {"quick"} | ({"all"} if options.all or options.long else set())
    shares |= {"long"} if options.long else set()
    words = Words.read()
    print(f"the kit in {places.KIT}, {len(words.renames)} words renamed")
    counts: Counter[str] = Counter()
    for section in SECTIONS:
        began, before = perf_counter(), counts.total()
        for item in read(section):
            name = item["item"]
            if not any(fnmatchcase(name, glob) for glob in options.only):
                continue
            if item["share"] not in shares:
                counts["left out"] += 1
                continue
            verdict = _compared(item, words, whole=options.whole)
            counts[verdict] += 1
        if counts.total() > before:
            print(f"  {section}: {perf_counter() - began:.0f} s", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    return 1 if counts["different"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.net.compare", description=__doc__)
    parser.add_argument("--all", action="store_true", help="also searches up to 17 s each")
    parser.add_argument("--long", action="store_true", help="also those that take longer")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="GLOB", help="only these items")
    parser.add_argument("--whole", action="store_true", help="print whole differences")
    return parser.parse_args()


def _compared(item: Item, words: Words, *, whole: bool) -> str:
    """``same``, ``same but for the layout``, ``different`` or ``accepted``; tells a difference."""
    name, old = item["item"], item["answer"]
    question = said_now(item["question"], name, words)
    now = answer(question)
    verdict, told = "same", []
    for field in ["error"] if "error" in now else dict.fromkeys([*old, *now]):
        was = old.get(field)
        wanted = words.say(was, name, PATHS.get(question["kind"], "output"))
        if question["kind"] == "scenarios":
            wanted = sorted(wanted)
        whole_now = now.get(field)
        if wanted == whole_now and _text(wanted) == _text(whole_now):
            continue
        told_now = words.without_added(_text(whole_now))
        # Other words are of another length: columns and line ends move. Only where words changed.
        moved = was != wanted or question != item["question"] or told_now != whole_now
        if moved and _loose(wanted) == _loose(told_now):
            verdict = "same but for the layout" if verdict == "same" else verdict
            continue
        verdict = "different"
        told += _difference(field, _text(wanted), _text(told_now), whole=whole)
    if verdict != "different":
        return verdict
    if words.why_accepted(name) is not None:
        return "accepted"
    print(f"{name}: {_asked(question)}")
    print("\n".join(told))
    return verdict


def _text(told: Any) -> str:
    return told if isinstance(told, str) else json.dumps(told, indent=1, ensure_ascii=False)


def _loose(told: Any) -> str:
    """Without what only the widths of words decide, and the order of what is allowed."""
    text = re.sub(r"([-─═_=])\1+", r"\1", " ".join(_text(told).split()))
    return re.sub(r"(?<=one of )[^;()\"]+", lambda hit: ", ".join(sorted(hit[0].split(", "))), text)


def _difference(field: str, old: str, now: str, *, whole: bool) -> list[str]:
    if whole:
        found = unified_diff(old.splitlines(), now.splitlines(), "was", "now", lineterm="", n=2)
        return [f"    {line}" for line in found]
    pairs = zip_longest(old.splitlines(), now.splitlines())
    for number, (one, other) in enumerate(pairs, start=1):
        if one != other:
            return [
                f"    {field}, line {number}",
                f"      was {_short(one)}",
                f"      now {_short(other)}",
            ]
    return [f"    {field}: line ends, or a last line"]


def _short(line: str | None) -> str:
    return (
        "(no such line)" if line is None else line if len(line) <= WIDEST else line[:WIDEST] + "…"
    )


def _asked(question: dict[str, Any]) -> str:
    """How to ask it on the command line, nearly."""
    match question["kind"]:
        case "call":
            return f"python -m kit {shlex.join(question['argv'])}"
        case "scenario":
            return f"python -m kit play {places.SCENARIOS.name}/{question['path']}"
        case "trace":
            return "python -m kit play TRACE (python -m tests.net.trace ITEM prints it)"
        case kind:
            rest = {key: one for key, one in question.items() if key != "kind" and one}
            return f"{kind} {json.dumps(rest)}"


if __name__ == "__main__":
    sys.exit(main())
