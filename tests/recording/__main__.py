"""Hold models against what is recorded: ``python -m tests.recording twophase``.

To see what differs, write all lines of the old commit with ``--dump FILE`` there, and compare here
with ``--against FILE``: it prints the first line that differs of each type of action.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from time import process_time

from kit.model.registry import entry_of
from tests.recording.records import blocks_of, differences, rewrite, table
from tests.recording.walking import COLUMNS

LONGEST_SHOWN = 400


def lines(model: str, given: Namespace) -> Iterator[str]:
    """All that a model says in its looks, a line each: look, column, type of action, text."""
    for look in table()[model].looks:
        if look.deep == given.deep and given.look in look.about:
            for line in look.visit(model).lines():
                if line.column in given.only:
                    text = line.text.replace("\n", "⏎")
                    yield f"{model}: {look.about}\t{line.column}\t{line.kind}\t{text}"


def first_differences(was: Iterator[str], now: Iterator[str]) -> Iterator[str]:
    """The first lines that differ, for each look, column and type of action."""
    kept: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    for side, side_lines in enumerate((was, now)):
        for line in side_lines:
            *key, text = line.rstrip("\n").split("\t", 3)
            kept.setdefault(tuple(key), ([], []))[side].append(text)
    for key, pairs in kept.items():
        for old, new in zip_longest(*pairs, fillvalue="(nothing)"):
            if old != new:
                at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
                cut = max(0, at - LONGEST_SHOWN // 2)
                shown = slice(cut, cut + LONGEST_SHOWN)
                yield f"{' · '.join(key)}\n  was {old[shown]}\n  is  {new[shown]}"
                break


def main(words: list[str]) -> int:
    """Do what the words say; 1 where something differs."""
    parser = ArgumentParser(prog="python -m tests.recording", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="without any: all")
    parser.add_argument("--deep", action="store_true", help="the large configurations instead")
    parser.add_argument("--rewrite", action="store_true", help="record what the models say now")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="write all lines")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with such lines")
    parser.add_argument("--only", nargs="+", choices=COLUMNS, default=COLUMNS)
    parser.add_argument("--look", default="", help="the looks whose name has these words, for dump")
    given = parser.parse_args(words)
    models = given.models or list(table())
    for model in models:
        entry_of(model)  # says which there are
    if given.dump:
        with given.dump.open("w", encoding="utf-8") as file:
            for model in models:
                file.writelines(f"{line}\n" for line in lines(model, given))
        return 0
    if given.against:
        with given.against.open(encoding="utf-8") as file:
            asked = (
                line
                for line in file
                if line.split(":", 1)[0] in models
                and line.split("\t", 2)[1] in given.only
                and given.look in line.split("\t", 1)[0]
            )
            now = (line for model in models for line in lines(model, given))
            found = list(first_differences(asked, now))
        print("\n".join(found) or "same")
        return bool(found)
    differ = False
    for model in models:
        begun = process_time()
        blocks = dict(blocks_of(model, deep=given.deep))
        if given.rewrite:
            rewrite(model, blocks)
        told = list(differences(model, blocks.items()))
        differ |= bool(told)
        print(f"{model}: {'recorded' if given.rewrite else 'differs' if told else 'same'}", end="")
        print(f" ({len(blocks)} blocks, {process_time() - begun:.1f} s)")
        print("".join(f"  {line}\n" for line in told), end="", flush=True)
    return differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
