"""The command line in a process of its own: statuses, pipes, encodings, start-up."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.calling import TEN, call, ring_of, written
from tests.saying import says

ROOT = Path(__file__).parents[2]
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": 2}


def kit(
    *words: str, encoding: str = "utf-8", stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m kit``."""
    return subprocess.run(
        [sys.executable, "-m", "kit", *words],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)},
    )


def test_statuses(tmp_path: Path) -> None:
    """0, 1 and 2 reach the shell; bad input leaves stdout empty and one line on stderr."""
    ring = written(tmp_path, ring_of(TEN[:3]))
    fine = kit("plan", ring, "bootstrap", "x", "--tokens", "-5,7", "--json")
    assert (fine.returncode, fine.stderr) == (0, b"")
    assert json.loads(fine.stdout)["accepted"]
    refused = kit("plan", ring, "decommission", "n1", "--json")
    assert (refused.returncode, refused.stderr) == (1, b"")
    assert json.loads(refused.stdout)["accepted"] is False
    bad = kit("plan", ring, "decommission", "n9")
    assert (bad.returncode, bad.stdout) == (2, b"")
    [line] = bad.stderr.decode().splitlines()
    assert says(line, "kit: node | 'n9' | n1, n2, n3")


def test_a_ring_from_a_pipe(tmp_path: Path) -> None:
    """A ring file may be a pipe; what cannot be decoded there is bad input as well."""
    content = json.dumps(ring_of(TEN[:3]))
    answer = kit("ring", "/dev/stdin", "--json", stdin=content)
    assert answer.returncode == 0
    assert answer.stdout.decode() == call("ring", written(tmp_path, content), "--json").out
    assert kit("ring", "/dev/stdin", stdin=content[:-9]).returncode == 2


@pytest.mark.parametrize("command", ["plan", "ring", "show"])
def test_broken_pipe(tmp_path: Path, command: str) -> None:
    """A reader that has seen enough is no error: nothing is said on stderr."""
    nodes = [{"name": f"n{i}", "tokens": list(range(i, 64000, 640))} for i in range(640)]
    ring = written(tmp_path, ring_of(nodes))
    words = {"plan": [ring, "decommission", "n3", "--json"], "ring": [ring], "show": ["tcm"]}[
        command
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "kit", command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


def test_nowhere_to_write() -> None:
    """Output that cannot be written ends with one line, not with a traceback."""
    with Path(os.devnull).open("rb") as only_to_read:
        answer = subprocess.run(
            [sys.executable, "-m", "kit", "models", "--json"],
            stdout=only_to_read,
            stderr=subprocess.PIPE,
            check=False,
            cwd=ROOT,
        )
    assert answer.returncode == 2
    assert answer.stderr == b"kit: output: Bad file descriptor\n"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Whatever stdout can encode: texts and JSON come out; plain signs stand for ours."""
    nodes = [{"name": name, "tokens": [i]} for i, name in enumerate(("nö", "\N{SNOWMAN}", "c"))]
    ring = written(tmp_path, ring_of(nodes, {"ks": SIMPLE_2}))
    words = ["plan", ring, "decommission", "nö"]
    answer = kit(*words, encoding=encoding)
    assert (answer.returncode, answer.stderr) == (0, b"")
    out = answer.stdout.decode(encoding)
    if encoding.startswith("utf"):
        assert "\N{SNOWMAN}, c, −nö" in out
    else:
        assert "\\u2603, c, -n" in out
        assert "−" not in out
    data = kit(*words, "--json", encoding=encoding)
    assert json.loads(data.stdout.decode(encoding)) == call(*words, "--json").json
    bad = kit("plan", ring, "decommission", "\N{SNOWMAN}x", encoding=encoding)
    assert bad.returncode == 2
    assert len(bad.stderr.decode(encoding).splitlines()) == 1


LOADED = """
import sys
from kit.model.family import families
for family in families():
    for _, place in family.commands.values():
        family.load(place)
sys.exit("ipywidgets" in sys.modules)
"""


def test_commands_load_without_a_player() -> None:
    """What draws in a notebook takes a second to load: only who needs it waits for it."""
    assert subprocess.run([sys.executable, "-c", LOADED], check=False, cwd=ROOT).returncode == 0


def test_quick_to_the_counterexample() -> None:
    """From the shell a broken safeguard is found within three seconds, start-up included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = kit("check", "tcm", "--off", "pending-in-metadata", "--json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert answer.returncode == 1
    # Processor time: what else runs on the machine is not the kit's.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3


def test_a_large_ring_is_planned_quickly(tmp_path: Path) -> None:
    """64 nodes of 16 tokens, and 1,000 of 4, are planned within three seconds of processor."""
    for count, each in ((64, 16), (1000, 4)):
        step = 2**64 // (count * each)
        nodes = [
            {
                "name": f"n{i}",
                "tokens": [-(2**63) + step * (k * count + i) + 7 for k in range(each)],
                "dc": f"dc{i % 2 + 1}",
                "rack": f"r{i % 3}",
            }
            for i in range(count)
        ]
        network = {"class": "NetworkTopologyStrategy", "dc1": 3, "dc2": 3}
        ring = written(tmp_path, ring_of(nodes, {"ks": network}))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert kit("plan", ring, "bootstrap", "x", "--tokens", "1,2,3,4", "--json").returncode == 0
        assert kit("plan", ring, "replace", "n3", "x").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert after.ru_utime - before.ru_utime < 6
