"""One word a thing: names and phrases that were replaced by the field's own do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import ROOT, nodes, offenders, project_files
from tools.reference import documents

PHRASES = {
    "at rest": "stable, or: nothing is left to do",
    "at-rest": "stable",
    "anew": "again",
    "judged anew": "re-validated",
    "row-version": "last-modified",
    "whole-group": "union",
    "both-sets": "joint",
    "plan-recheck": "plan-revalidation",
    "hear-prepared": "receive-prepared",
    "leftovers": "data not owned",
}
NAMES = {
    "olds": "old_replicas",
    "givers": "sources",
    "takers": "targets",
    "anew": "again",
    "learned": "applied",
    "Learn": "Apply, ApplyEpoch",
    "InstantLog": "AtomicLog",
    "Course": "RangeHistory, OperationSpec",
    "Terms": "a parameter, or a field of the model",
    "Ask": "ClientRequest",
    "Holding": "PauseInjection",
    "Reel": "RenderedTimeline",
    "News": "Update",
    "Met": "Delivered",
    "Ended": "Completed",
    "Clean": "Cleanup",
    "Collect": "CollectTombstones",
    "texts_shown": "scenario output",
    "facts_kept": "memo",
}
OWN_WORDS = {
    "guard": {"group0", "topology"},
    "guards": {"group0", "topology"},
    "Gate": {"views"},  # what a picture shows of a barrier; rules say Barrier
    "lamp": {"views", "panels"},  # what a screen shows of a property
}
"""Words that belong to some families alone."""
TEXTS = {".py", ".js", ".css", ".txt", ".md"}
LINES = {
    r"\b(join|leave|remove) ([A-Z]\d?|NODE|n\d+|[\w.]+ --tokens)(?![\w:])": (
        "the operator's word: bootstrap, decommission, removenode"
    ),
    r"\bby epoch \d": "at epoch",
    r"\b(one|rows?|lines?|bars?|chips?|cells?|tokens|tablets) an? (node|row|epoch|step|table|"
    r"tablet|shard|replica|range|operation|manager|datacenter|keyspace|seed|request|rule)\b"
    r"(?! (has|had|in|may|can|by|keeps|wants|owns|holds|is|of))": "per: a row per range",
}
"""What is said otherwise wherever a name, a number or what is counted by follows."""


def _prose() -> list[Path]:
    """The kit's files with words in them, and the documents that explain it."""
    inside = [path for path in project_files() if path.relative_to(ROOT).parts[0] == "kit"]
    explained = [path for path in documents() if path != ROOT / "CHANGELOG.md"]
    return [p for p in inside if p.suffix in TEXTS] + explained


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, with their numbers."""
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def _given(node: ast.AST) -> str | None:
    """The name that a piece of source gives to something."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else None


def test_former_phrases_do_not_come_back() -> None:
    """What the field says otherwise is said its way, on screens, in docs and in code."""
    words = {
        phrase: re.compile(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", re.IGNORECASE)
        for phrase in PHRASES
    }

    def said(path: Path) -> Iterator[str]:
        for number, line in _lines(path):
            for phrase, word in words.items():
                if word.search(line):
                    yield f"line {number}: for {phrase} say {PHRASES[phrase]}"

    assert not offenders(_prose(), said)


def test_former_names_do_not_come_back() -> None:
    """Classes, functions, fields and variables have the names that the vocabulary gives them."""

    def named(path: Path) -> Iterator[str]:
        for node in nodes(path):
            name = (_given(node) or "").lstrip("_")
            if name in NAMES:
                yield f"{name} is {NAMES[name]}"
            if name in OWN_WORDS and not OWN_WORDS[name] & set(path.parts):
                yield f"{name} is a word of {', '.join(sorted(OWN_WORDS[name]))} only"

    assert not offenders([path for path in _prose() if path.suffix == ".py"], named)


def test_operations_and_epochs_are_said_in_one_way() -> None:
    """On screens, in scenario files and notebooks an operation has the operator's word."""
    lines = {re.compile(line): today for line, today in LINES.items()}
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    # There join, leave and remove are what a row of `system.topology` says is asked for.
    slugs = {
        *("the-coordinator", "when-things-fail-halfway", "one-tablet-moves", "every-way-back"),
        *("a-nodes-way-in", "the-queue", "four-small-stories", "two-answers-to-one-question"),
    }
    coordinator = [path for path in notebooks if path.stem[3:] in slugs]
    worlds = {ROOT / "kit/protocols/worlds", ROOT / "docs/reference/side-by-side.md"}
    own = {ROOT / "kit/protocols/topology", *worlds, *coordinator}
    held = [path for path in (*_prose(), *notebooks) if not own & {path, *path.parents}]

    def said(path: Path) -> Iterator[str]:
        for number, line in _lines(path):
            yield from (f"line {number}: say {lines[word]}" for word in lines if word.search(line))

    assert not offenders(held, said)
