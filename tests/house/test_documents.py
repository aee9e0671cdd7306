"""What the documents say can be done is done here: links, commands and code in all of them."""

from __future__ import annotations

import ast
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from pkgutil import resolve_name
from textwrap import dedent

import pytest

from kit.commands.cli import main as kit
from tests.house.source import ROOT, offenders, python_files
from tools.reference import EXAMPLE, documents

PAGES = [path for path in documents() if path.name != "CHANGELOG.md"]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OTHERS = {"cd", "pip", "conda", "git", "cp", "open"}
"""Programs of other people that a block may name."""


def text_of(name: str) -> str:
    """A document without its recipes, which ``test_recipes`` does in a copy of the checkout."""
    text = (ROOT / name).read_text(encoding="utf-8")
    before, _, rest = text.partition("\n## Recipes\n")
    return before + rest.partition("\n## House rules\n")[2]


def blocks(name: str, language: str) -> Iterator[str]:
    """The code blocks of a document in one language."""
    for found, body in BLOCK.findall(text_of(name)):
        if found == language:
            yield body


def commands(name: str) -> list[tuple[list[str], str]]:
    """The commands that a document names, in blocks and in its text, with the remark behind."""
    text = text_of(name)
    inline = re.findall(r"(?<!`)`((?:python -m kit|make) [^`]+)`", BLOCK.sub("", text))
    lines = [line for block in blocks(name, "sh") for line in block.splitlines() if line]
    return [
        (shlex.split(line, comments=True), line.partition("  #")[2]) for line in [*inline, *lines]
    ]


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_link_leads_somewhere() -> None:
    """Every file, picture and heading that a document links to is there."""

    def broken(path: Path) -> Iterator[str]:
        for link in LINK.findall(BLOCK.sub("", path.read_text(encoding="utf-8"))):
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                yield link

    assert not offenders(PAGES, broken)


def missing(mark: str) -> bool:
    """Whether something in code marks names a file, a module or a method that is not there."""
    if re.fullmatch(r"(?:kit|tests|tools|docs(?!/dev)|notebooks|images|\.ci)/[\w./*-]*", mark):
        return not list(ROOT.glob(mark.rstrip("/")))
    if re.fullmatch(r"kit\.[\w.]+", mark):
        return not _resolves(mark)
    if found := re.fullmatch(r"([A-Z]\w+)\.(\w+)", mark):
        owners = rf"^class {found[1]}\b(?:(?!^class ).)*^    (?:def )?{found[2]}[(:]"
        texts = (path.read_text(encoding="utf-8") for path in python_files("kit"))
        return not any(re.search(owners, text, re.MULTILINE | re.DOTALL) for text in texts)
    return False


def _resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_place_that_is_named_is_there() -> None:
    """Each file, folder, module and method that a document names exists."""

    def lost(path: Path) -> Iterator[str]:
        marks = re.findall(r"(?<!`)`([^`\n]+)`", text_of(str(path.relative_to(ROOT))))
        yield from filter(missing, marks)

    assert missing("kit/nowhere.py")
    assert missing("kit.model.nowhere")
    assert missing("Timeline.nowhere")
    assert not offenders(PAGES, lost)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A folder with the files that the documents' commands read."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "example"))


@pytest.mark.spec("H-022")
@pytest.mark.parametrize("name", NAMES)
def test_every_command_runs(name: str, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of a document runs as written, on the files shown, and ends as is said there."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for words, remark in commands(name):
        if words[0] == "make":
            assert words[1] in targets, words
        elif words[:3] == ["python", "-m", "kit"]:
            runs(words[3:], remark, example, monkeypatch)
        else:
            assert words[0] in OTHERS, words


def runs(words: list[str], remark: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command of the kit, but one that serves, or needs a site.

    A word in capitals stands for something of the reader's.
    """
    if words[0] in ("lab", "class", "serve", "site") or any(
        re.fullmatch("[A-Z]{3,}", word) for word in words
    ):
        return
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with (
        chdir(ROOT if any("scenarios/" in word for word in words) else folder),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = kit(words)
    expected = int((re.findall(r"exit code (\d)", remark) or ["0"])[0])
    assert (status, err.getvalue()) == (expected, ""), words
    assert out.getvalue() or "--html" in words


def excerpt(block: str) -> str | None:
    """The file that a block is an excerpt of: its first line says so."""
    named = re.match(r" *# ([\w/]+\.py)\n", block)
    return named[1] if named else None


@pytest.mark.parametrize("name", [name for name in NAMES if any(blocks(name, "python"))])
def test_every_piece_of_python_runs(name: str, example: Path) -> None:
    """Each Python block of a document runs as it stands, or is in the file that it names."""
    for block in blocks(name, "python"):
        if path := excerpt(block):
            shown = dedent(block).partition("\n")[2]
            assert shown in dedent((ROOT / path).read_text("utf-8").replace("\n    ", "\n"))
        else:
            with chdir(example):
                exec(compile(ast.parse(block), name, "exec"), {})
