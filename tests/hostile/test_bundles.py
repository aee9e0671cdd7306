"""Folders and archives that are no snapshots, or want to harm: one line each, nothing written."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.edge import limits
from kit.edge.bundles import read_bundle
from tests.commands.calling import bad, call
from tests.examples import examples
from tests.hostile.judging import answered

NAME = "system_tablets.csv"
SNAPSHOTS = Path(__file__).parents[1] / "fixtures" / "snapshots"
FOLDER = SNAPSHOTS / "tablet_snap_260301_101500"


def member(name: str, content: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A member of an archive: a regular file, but for ``fields`` of its header."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def packed(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    """An archive of these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # a mode
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


GOOD = tuple(member(f"snap/{path.name}", path.read_bytes()) for path in sorted(FOLDER.iterdir()))
WHOLE = packed(*GOOD)
PLAIN = packed(*GOOD, mode="w")
BOMB = gzip.compress(bytes(8 << 20), mtime=0)
HARMFUL = {
    "leads out": (packed(member(f"../{NAME}")), "without .."),
    "leads out in the middle": (packed(member(f"snap/../../{NAME}")), "without .."),
    "absolute": (packed(member(f"/tmp/{NAME}")), "not absolute ones"),
    "absolute elsewhere": (packed(member(f"C:/{NAME}")), "not absolute ones"),
    "backslashes": (packed(member(f"..\\{NAME}")), "not absolute ones"),
    "a terminal's words": (packed(member(f"snap/\x1b[2J{NAME}")), "printable"),
    "symbolic link": (
        packed(member(f"snap/{NAME}", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
        "this is a symbolic link",
    ),
    "hard link": (
        packed(member(f"snap/{NAME}", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
        "this is a hard link",
    ),
    "device": (packed(member(f"snap/{NAME}", b"", type=tarfile.CHRTYPE)), "this is a device"),
    "pipe": (packed(member(f"snap/{NAME}", b"", type=tarfile.FIFOTYPE)), "this is a pipe"),
    "unknown kind": (packed(member(f"snap/{NAME}", b"", type=b"Z")), "an unknown kind"),
    "nested": (packed(member(f"snap/{NAME}", WHOLE)), "not archives themselves"),
    "nested beside": (packed(*GOOD, member("snap/more.tar", PLAIN)), "not archives themselves"),
    "twice": (packed(*GOOD, member(f"other/{NAME}")), "each name once"),
    "bomb": (BOMB, "at most 2 MB unpacked"),
    "cut gzip": (WHOLE[:-20], "cut short"),
    "cut tar": (PLAIN[:700], "the archive ends earlier"),
    "tar without its end": (PLAIN[: PLAIN.rindex(b"\n") + 1], "cut short"),
    "no tar": (gzip.compress(b"table_id;last_token\n", mtime=0), "this file holds no tar archive"),
    "spoiled gzip": (WHOLE[:40] + b"?" + WHOLE[41:], "can be unpacked"),
    "spoiled header": (PLAIN[:100] + b"9" + PLAIN[101:], "with its checksum"),
    "many members": (packed(*(member(f"snap/{at}.csv") for at in range(1001))), "at most 1000"),
    "without tablets": (packed(member("snap/system_topology.csv")), f"{NAME} among the files"),
    "empty": (packed(), "this file holds no tar archive"),
}


@pytest.mark.parametrize("name", HARMFUL)
@pytest.mark.parametrize("command", ["tablets", "topology"])
def test_a_bad_archive_gets_one_line(name: str, command: str, tmp_path: Path) -> None:
    """It says what is wrong, ends with 2, and nothing is written beside the archive."""
    content, said = HARMFUL[name]
    path = tmp_path / "snap.tar.gz"
    path.write_bytes(content)
    assert said in bad(command, str(path))
    assert "(not shown" in bad(command, str(path), "--anonymize")
    assert [each.name for each in tmp_path.iterdir()] == ["snap.tar.gz"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_forms_of_tar_are_read(mode: str, form: int, tmp_path: Path) -> None:
    """With long names and times that need extended headers, below any folder; as a folder is."""
    path = tmp_path / "snap.tar"
    with tarfile.open(path, mode, format=form) as archive:  # type: ignore[call-overload]  # a mode
        folder = "/".join(["very-long-folder"] * (5 if form == tarfile.USTAR_FORMAT else 12))
        archive.add(FOLDER, arcname=folder)
    expected = call("tablets", str(FOLDER)).out.replace(FOLDER.name, "snap.tar")
    assert call("tablets", str(path)).out == expected


def test_what_follows_packed_the_same_way_goes_on(tmp_path: Path) -> None:
    """Two gzip streams after one another are one archive, as gzip has it."""
    path = tmp_path / "snap.tar.gz"
    half = len(PLAIN) // 2
    path.write_bytes(gzip.compress(PLAIN[:half]) + gzip.compress(PLAIN[half:]))
    bundle = read_bundle(path, "snapshot", (NAME,))
    assert bundle.files[NAME].content == (FOLDER / NAME).read_bytes()


ENCODINGS: dict[str, tuple[Callable[[str], bytes], str]] = {
    "utf-16": (lambda text: text.encode("utf-16"), "this is UTF-16, or not text at all"),
    "utf-16 without a mark": (lambda text: text.encode("utf-16-le"), "this is UTF-16"),
    "utf-32": (lambda text: text.encode("utf-32-be"), "this is UTF-16, or not text at all"),
    "latin-1": (lambda text: (text + "Málaga").encode("latin-1"), "byte 0xe1 in line"),
    "NUL in a row": (lambda text: text.replace("\n", "\0\n", 1).encode(), "byte 0x00 in line 1"),
    "NUL at the end": (lambda text: text.encode() + bytes(3), "byte 0x00 in line"),
    "two marks": (lambda text: BOM_UTF8 * 2 + text.encode(), "one byte order mark (this has two)"),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.iterdir()))
def test_a_file_that_is_no_utf_8_gets_one_line(name: str, file: str, tmp_path: Path) -> None:
    """In an archive and in a folder: it names the file and what is allowed, with no name of it."""
    encode, said = ENCODINGS[name]
    contents = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    contents[file] = encode((FOLDER / file).read_text("utf-8"))
    folder, archive = tmp_path / "snap", tmp_path / "snap.tar.gz"
    folder.mkdir()
    for each, content in contents.items():
        (folder / each).write_bytes(content)
    archive.write_bytes(packed(*(member(f"snap/{each}", c) for each, c in contents.items())))
    for source in (folder, archive):
        line = bad("tablets", str(source))
        assert f"'{source.name}/{file}'; allowed: text in UTF-8" in line
        assert said in line
        hidden = bad("tablets", str(source), "--anonymize")
        assert f"snapshot-1/{file}: got '(not shown: --anonymize)'" in hidden
        assert said in hidden


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    """Every file of a snapshot may begin with one."""
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(BOM_UTF8 + path.read_bytes())
    expected = call("tablets", str(FOLDER)).out.replace(FOLDER.name, tmp_path.name)
    assert call("tablets", str(tmp_path)).out == expected


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    """A snapshot that was unpacked may hold one that leads anywhere."""
    (tmp_path / NAME).symlink_to("/etc/hostname")
    assert "a file (this is a symbolic link)" in bad("tablets", str(tmp_path))


def test_a_folder_of_very_many_files_is_none(tmp_path: Path) -> None:
    """Nobody waits for a folder of everything."""
    for number in range(limits.MOST_MEMBERS + 1):
        (tmp_path / f"{number}").touch()
    assert "at most 1000 files" in bad("tablets", str(tmp_path))


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """What is no file in a folder is refused before it is opened."""
    os.mkfifo(tmp_path / NAME)
    assert "a file (this is a pipe (FIFO))" in bad("tablets", str(tmp_path))


@examples(200)
@given(
    at=st.integers(0, len(PLAIN) - 1),
    what=st.binary(min_size=1, max_size=12),
    cut=st.integers(0, 3),
    packing=st.sampled_from(["", "gz", "xz"]),
)
def test_a_spoiled_archive_is_read_or_refused(
    at: int, what: bytes, cut: int, packing: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands in it: files of the names that are wanted, or one line."""
    spoiled = PLAIN[:at] + what + PLAIN[at + cut :]
    pack = {"": bytes, "gz": gzip.compress, "xz": lzma.compress}[packing]
    path = tmp_path_factory.getbasetemp() / "spoiled.tar"
    path.write_bytes(pack(spoiled))
    bundle = answered(lambda: read_bundle(path, "snapshot", (NAME,)))
    assert bundle is None or set(bundle.files) <= {NAME}
