"""Rows that have no order by their format may come in any: no answer of a command changes.

Lines of a journal, statements of a schema and rows of ``nodetool ring`` have an order, and keep it.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands.calling import call
from tests.examples import examples
from tests.operators.samples import FOLDER

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOPOLOGY, TABLETS = FIXTURES / "topology", FIXTURES / "tablets"
STATUS_ROW = re.compile(r"[UD?][NLJMX] ")
KEYSPACE = 'shop={"class": "NetworkTopologyStrategy", "amsterdam": 2, "bergen": 2}'

Shuffle = Callable[[str, Random], str]
Word = str | tuple[Path | str, Shuffle] | tuple[Path, "Snapshots"] | tuple[str, ...]
"""A word of the command line; a file (or its text) with what shuffles it; words in any order; a
snapshot with what makes another of it, its rows shuffled and its files in another order.
"""


class Snapshots(NamedTuple):
    """How a snapshot is written again: as a folder, or as an archive."""

    packed: bool

    def written(self, given: Path, folder: Path, random: Random | None) -> str:
        """The path of the new one."""
        files = sorted(given.iterdir())
        if random:
            random.shuffle(files)
        texts = {each.name: each.read_bytes().decode().replace("\r\n", "\n") for each in files}
        if random:
            texts = {name: csv_rows(text, random) for name, text in texts.items() if text}
        if not self.packed:
            snapshot = folder / "snapshot"
            snapshot.mkdir(exist_ok=True)
            for name, text in texts.items():
                (snapshot / name).write_text(text, "utf-8")
            return str(snapshot)
        path = folder / "snapshot.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name, text in texts.items():
                info = tarfile.TarInfo(f"any/{name}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
        return str(path)


FOLDERS, ARCHIVES = Snapshots(packed=False), Snapshots(packed=True)


def csv_rows(text: str, random: Random) -> str:
    """The rows of CSV below its header."""
    head, *rows = text.splitlines()
    random.shuffle(rows)
    return "\n".join([head, *rows]) + "\n"


def status_rows(text: str, random: Random) -> str:
    """The nodes of each datacenter in what ``nodetool status`` prints, and the datacenters."""
    parts = re.split(r"(?m)^(?=Datacenter: )", text)
    random.shuffle(parts[1:])
    shuffled = []
    for part in [parts[0], *random.sample(parts[1:], len(parts) - 1)]:
        lines = part.splitlines()
        places = [at for at, line in enumerate(lines) if STATUS_ROW.match(line)]
        rows = [lines[at] for at in places]
        random.shuffle(rows)
        for at, row in zip(places, rows, strict=True):
            lines[at] = row
        shuffled.append("\n".join(lines) + "\n")
    return "".join(shuffled)


def json_rows(text: str, random: Random) -> str:
    """A list of rows, or the lists and maps of an object of which none has an order."""
    if "\n{" in text:  # as SELECT JSON prints them
        lines = text.splitlines()
        random.shuffle(lines)
        return "\n".join(lines)
    return json.dumps(unordered(json.loads(text), random))


def unordered(value: Any, random: Random, *, key: str = "") -> Any:
    """The same in another order; ``deaths`` are in that of time, members of one are not."""
    if isinstance(value, dict):
        pairs = [(name, unordered(each, random, key=name)) for name, each in value.items()]
        random.shuffle(pairs)
        return dict(pairs)
    if isinstance(value, list):
        members = [unordered(each, random) for each in value]
        if key not in ("deaths", "ranges"):
            random.shuffle(members)
        return members
    return value


RING = json.dumps({
    "nodes": [
        {"name": name, "tokens": [at * 100, at * 100 + 50], "dc": f"dc{at % 2 + 1}",
         "rack": f"r{at % 3}"}
        for at, name in enumerate(("n5", "n1", "n4", "n2", "n3", "n6"))
    ],
    "keyspaces": [
        {"name": "ks", "replication": {"class": "NetworkTopologyStrategy", "dc2": 2, "dc1": 3}},
        {"name": "all", "replication": {"class": "SimpleStrategy", "replication_factor": 3}},
    ],
})  # fmt: skip
SIZES = json.dumps({"nodes": {"n1": 5000, "n2": 4000, "n3": 1, "n4": 7, "n5": 100, "n6": 3}})


def lost(statuses: str, **more: Any) -> str:
    """A description of nodes in two datacenters and their racks: u(p), d(own), l(ost)."""
    full = {"u": "up", "d": "down", "l": "lost"}
    nodes = [
        {"name": chr(90 - at), "dc": f"dc{at % 2 + 1}", "rack": f"r{at % 3}",
         "status": full[letter], "commit_index": 9}
        for at, letter in enumerate(statuses)
    ]  # fmt: skip
    return json.dumps(
        {"nodes": nodes, "keyspaces": {"ks": {"dc2": 2, "dc1": 3}, "b": {"dc1": 1}}} | more
    )


VIEW = json.dumps([
    {"group_id": "00000000-1111-11f0-8000-000000000001", "disposition": disposition,
     "server_id": f"0000000{at}-0000-4000-8000-00000000000{at}", "can_vote": at != 3}
    for disposition in ("CURRENT", "PREVIOUS") for at in (1, 2, 3, 9)
])  # fmt: skip
HOSTS = ("--down", "00000002"), ("--down", "00000003")
CSV, JSON, STATUS = csv_rows, json_rows, status_rows
SNAPSHOT = FIXTURES / "snapshots" / "tablet_snap_260301_101500"
SERIES: Word = tuple(str(path) for path in sorted((FIXTURES / "snapshots").iterdir()))
DUMP: Word = (TOPOLOGY / "topology.csv", CSV)
OTHERS: tuple[Word, ...] = (
    (TABLETS / "tablets.csv", CSV),
    "--topology", (TABLETS / "topology.csv", CSV),
    "--sizes", (TABLETS / "sizes.csv", CSV),
    "--loads", (TABLETS / "loads.csv", CSV),
    "--schema", str(TABLETS / "schema.cql"),
)  # fmt: skip
CASES: dict[str, tuple[Word, ...]] = {
    "ring": ("ring", (RING, JSON)),
    "ring, dumps": (
        "ring", (FOLDER / "dumps" / "nodes.json", JSON),
        "--with", (FOLDER / "dumps" / "keyspaces.json", JSON),
    ),
    "ring, dumps as CSV": (
        "ring", (FOLDER / "dumps" / "peers.csv", CSV),
        "--with", str(FOLDER / "dumps" / "local.txt"),
        "--with", (FOLDER / "dumps" / "keyspaces.csv", CSV),
    ),
    "ring, status": (
        "ring", str(FOLDER / "scylla" / "ring.txt"), "--keyspace", KEYSPACE,
        "--with", (FOLDER / "scylla" / "status.txt", STATUS),
    ),
    "plan, bootstrap": ("plan", (RING, JSON), "bootstrap", "n9", "--tokens", "275"),
    "plan, move": ("plan", (RING, JSON), "move", "n3", "--tokens", "275,277"),
    "plan, replace": ("plan", (RING, JSON), "replace", "n3", "n9", "--sizes", (SIZES, JSON)),
    "plan, decommission": ("plan", (RING, JSON), "decommission", "n3", "--force"),
    "metadata": ("metadata", (FOLDER.parent / "metadata" / "log.json", JSON), "--at", "38"),
    "survive": ("survive", (RING, JSON)),
    "survive, down": ("survive", (RING, JSON), ("--down n3", "--down n2", "--down n6")),
    "survive, dumps": (
        "survive", (FOLDER / "dumps" / "nodes.json", JSON),
        "--with", (FOLDER / "dumps" / "keyspaces.json", JSON),
    ),
    "topology": ("topology", DUMP),
    "topology, all": (
        "topology", DUMP, "--requests", (TOPOLOGY / "requests.csv", CSV),
        ("--down 00000002", "--down 00000003"),
    ),
    "topology, documents": ("topology", DUMP, "--edition", "documents", "--down", "00000001"),
    "topology, journals": (
        "topology", (f"{TOPOLOGY / 'journal-a.log'}", f"{TOPOLOGY / 'journal-b.log'}"),
    ),
    "tablets, balance": ("tablets", *OTHERS, "balance"),
    "tablets, resize": ("tablets", *OTHERS, "resize"),
    "tablets, lose": ("tablets", *OTHERS, "lose", ("00000001", "00000003")),
    "tablets": ("tablets", *OTHERS),
    "tablets, repair": ("tablets", *OTHERS, "repair"),
    "tablets, status": (
        "tablets", (TABLETS / "tablets.csv", CSV), "--topology", (TABLETS / "topology.csv", CSV),
        "--status", (TABLETS / "status.txt", STATUS), "balance",
    ),
    "tablets, snapshot": ("tablets", (SNAPSHOT, FOLDERS), "balance"),
    "tablets, pseudonyms": ("tablets", (SNAPSHOT, FOLDERS), "--anonymize"),
    "tablets, archive": ("tablets", (SNAPSHOT, ARCHIVES), "lose", ("7a2d", "c83e")),
    "tablets, snapshots": ("tablets", SERIES),
    "topology, snapshot": ("topology", (SNAPSHOT, FOLDERS)),
    "topology, archive": ("topology", (SNAPSHOT, ARCHIVES), "--anonymize"),
    "explain, snapshots": ("explain", SERIES),
    "explain, pseudonyms": ("explain", SERIES, "--anonymize"),
    "explain, dump": ("explain", (SNAPSHOT / "system_tablets.csv", CSV)),
    "explain, journals": (
        "explain", (f"{TOPOLOGY / 'journal-a.log'}", f"{TOPOLOGY / 'journal-b.log'}"),
    ),
    "recover": ("recover", (lost("uuuulll"), JSON)),
    "recover, half": ("recover", (lost("lluudll"), JSON)),
    "recover, one datacenter": ("recover", (lost("ulululul", keyspaces={}), JSON)),
    "recover, documents": ("recover", (lost("ulululdl"), JSON), "--edition", "documents"),
    "recover, deaths": ("recover", (lost("ullul", deaths=[["X", "Y"], ["V"]]), JSON)),
    "recover, dump": (
        "recover", DUMP, ("--lost 00000001", "--lost 00000002"), ("--commit 00000003=7",),
        "--rf", "dc1=3", "--raft-state", (VIEW, JSON),
    ),
}  # fmt: skip


def words_of(case: Sequence[Word], folder: Path, random: Random | None) -> list[str]:
    """The command line, with its files written into a folder; shuffled where chance is given."""
    words: list[str] = []
    for at, word in enumerate(case):
        if isinstance(word, str):
            words.append(word)
        elif isinstance(word[-1], Snapshots):
            words.append(word[1].written(Path(word[0]), folder, random))
        elif len(word) == 2 and callable(word[1]):
            given, shuffle = word
            text = given.read_text("utf-8") if isinstance(given, Path) else str(given)
            path = folder / f"{at}{given.suffix if isinstance(given, Path) else '.json'}"
            path.write_text(shuffle(text, random) if random else text, encoding="utf-8")
            words.append(str(path))
        else:
            several = [str(each) for each in word]
            if random:
                random.shuffle(several)
            words += " ".join(several).split()
    return words


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@examples(8)
@given(random=st.randoms(use_true_random=False))
def test_no_answer_depends_on_the_order_of_rows(
    name: str, form: tuple[str, ...], random: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same status and the same words, to the letter, but for the numbers of lines."""
    folder = tmp_path_factory.getbasetemp() / "rows"
    folder.mkdir(exist_ok=True)
    expected = in_order(name, form, folder)
    assert expected[0] in (0, 1), expected
    assert answered(*words_of(CASES[name], folder, random), *form) == expected


@cache
def in_order(name: str, form: tuple[str, ...], folder: Path) -> tuple[int, str, str]:
    """The answer to the rows as they are."""
    return answered(*words_of(CASES[name], folder, None), *form)


def answered(*words: str) -> tuple[int, str, str]:
    """An answer; the line that a warning is about moves with its row, and time goes on."""
    answer = call(*words)
    moving = r"(?<=line )[0-9]+|[0-9]{4}(-[0-9]{2}){2}T[0-9:+]{14}"
    said = [re.sub(moving, "N", text) for text in (answer.out, answer.err)]
    return answer.status, said[0], said[1]
