"""Files that several processes write, or that a killed one was writing: whole, and nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.edge.writing import check_place, held, write_all, write_whole
from kit.errors import BadInput
from kit.lessons import progress
from kit.lessons.badges import badges

KEEPS = """
import sys
from kit.lessons import progress
for number in range(int(sys.argv[2])):
    progress.keep(f"{sys.argv[1]}-{number}")
"""
KILLED = """
import resource, signal, sys
from kit.edge.writing import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # a file that grows too large ends the process
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
write_whole(sys.argv[1], "x" * 1_000_000)
"""


def started(code: str, *words: str, **variables: str) -> subprocess.Popen[bytes]:
    """A process that runs some code."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.Popen(command, env={**os.environ, **variables})


def test_kernels_of_one_learner_keep_all_that_is_solved(tmp_path: Path) -> None:
    """Three of them note exercises in one file at the same time, and none is lost."""
    mine = tmp_path / "solved.json"
    kernels = [started(KEEPS, name, "15", KIT_SOLVED=str(mine)) for name in "abc"]
    assert [kernel.wait() for kernel in kernels] == [0, 0, 0]
    wanted = {f"{name}-{number}" for name in "abc" for number in range(15)}
    assert {*progress.names_in(mine, "file")} == wanted
    assert [each.name for each in tmp_path.iterdir()] == ["solved.json"]


def test_a_learner_who_ends_holds_the_file_no_longer(tmp_path: Path) -> None:
    """A process that is killed while it holds the file lets the next one in."""
    mine = tmp_path / "solved.json"
    code = (
        "import os, sys; from kit.edge.writing import held\n"
        "with held(sys.argv[1], b'[]', 'file'): os.kill(os.getpid(), 9)"
    )
    assert started(code, str(mine)).wait() == -9
    progress.keep_names(mine, ["one"], "file")
    assert progress.names_in(mine, "file") == ["one"]


def test_badges_are_added_to_those_that_others_have_kept(tmp_path: Path) -> None:
    """What another notebook has put into the file stays there."""
    kept = tmp_path / "badges.json"
    progress.keep_names(kept, ["something else"], "kept")
    badges(kept=kept)
    assert progress.names_in(kept, "kept") == ["something else"]


def test_nothing_is_held_where_nothing_may_be_written(tmp_path: Path) -> None:
    """A folder, and a link, are named as what they are."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in (tmp_path, tmp_path / "link"):
        with pytest.raises(BadInput, match="a writable place"), held(place, b"", "file"):
            raise AssertionError
    assert [each.name for each in tmp_path.iterdir()] == ["link"]


def test_a_killed_writer_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its file is as it was, and after the next write nothing else lies beside it."""
    place = tmp_path / "out"
    write_whole(place, "old")
    assert started(KILLED, str(place)).wait() < 0
    assert place.read_text("utf-8") == "old"
    write_whole(place, "new")
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_only_what_nobody_writes_any_more_is_taken_away(tmp_path: Path) -> None:
    """A file under the name of one that is being written goes, all other hidden files stay."""
    left, own = tmp_path / ".kit-0123456789abcdef", tmp_path / ".kit-solved.json"
    for each in (left, own):
        each.write_text("x", "utf-8")
    check_place(tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == [own.name]
    left.write_text("x", "utf-8")
    with held(left, b"", "file"):
        check_place(tmp_path / "out")
        assert left.exists()
    left.unlink()
    left.symlink_to(own)
    check_place(tmp_path / "out")
    assert own.exists()


@pytest.mark.parametrize("second", ["folder", "missing/file", "\ud800"])
def test_files_are_written_together_or_not_at_all(second: str, tmp_path: Path) -> None:
    """Where the second of two cannot be written, the first is as it was."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "first").write_text("old", "utf-8")
    with pytest.raises(BadInput, match="a writable place"):
        write_all([(tmp_path / "first", "new"), (tmp_path / second, "new")], "file")
    with pytest.raises(BadInput, match="a writable place"):
        write_all([(tmp_path / "first", "new"), (tmp_path / "other", "\ud800")], "file")
    assert (tmp_path / "first").read_text("utf-8") == "old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["first", "folder"]
    written = write_all([(tmp_path / "first", "new"), (tmp_path / "other", b"new")], "file")
    assert [each.read_text("utf-8") for each in written] == ["new", "new"]
