"""Cases of operators as text data: what is certain, what is not known, which steps are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import bad, call, written

CASES = [
    part.split("\n")
    for part in Path(__file__).with_name("cases.txt").read_text("utf-8").strip().split("\n\n")
    if not part.startswith("#")
]
NODE = re.compile(r"([a-z0-9]+)(?:@(\S+?)/(\S+?))?([-*]?)(?:=(\w+))?")
DEAD = {"": "up", "-": "down", "*": "lost"}
HEAD = """Datacenter: {}
=============
Status=Up/Down
|/ State=Normal/Leaving/Joining/Moving
-- Address Load Tokens Owns Host ID Rack
"""


def node(text: str) -> dict[str, Any]:
    """A node of a description."""
    match = NODE.fullmatch(text)
    assert match, text
    name, dc, rack, dead, state = match.groups()
    given = {"name": name, "status": DEAD[dead]}
    given |= {key: each for key, each in (("dc", dc), ("rack", rack)) if each and each != "-"}
    if state == "zero":
        return given | {"tokens": False}
    return given | ({"state": state} if state else {})


def view(text: str) -> list[dict[str, Any]]:
    """The rows of a dump of ``system.raft_state``."""
    return [
        {
            "group_id": f"{0:08x}-0000-11f0-8000-000000000001",
            "disposition": "CURRENT",
            "server_id": host(word.strip("~")),
            "can_vote": not word.startswith("~"),
        }
        for word in text.split()
    ]


def host(name: str) -> str:
    """The host id of a node, which begins with its name in hexadecimal digits."""
    return f"{name.encode().hex():0<12.12}"[:8] + f"-0000-4000-8000-{name.encode().hex():0<12.12}"


def listed(lines: list[str]) -> str:
    """What ``nodetool status`` prints of lines such as ``UN a1 east r1``."""
    rows = [line.split() for line in lines]
    text = ""
    for dc in dict.fromkeys(row[2] for row in rows):
        text += HEAD.format(dc)
        for letters, name, _, rack in (row for row in rows if row[2] == dc):
            text += f"{letters} 10.0.0.{rows.index([letters, name, dc, rack])} 1 KB 1 ? "
            text += f"{host(name)} {rack}\n"
    return text


@pytest.mark.parametrize("lines", CASES, ids=[lines[0] for lines in CASES])
def test_a_case_is_answered_as_worked_out(lines: list[str], tmp_path: Path) -> None:
    """The procedure, the exit code, and what is said; host ids stand for the names of the case."""
    parts = [tuple(line.partition(" ")[::2]) for line in lines[1:]]
    of = {key: [text for word, text in parts if word == key] for key, _ in parts}
    nodes = [node(word) for word in of["nodes"][0].split()]
    names = {each["name"] for each in nodes} | {*" ".join(of.get("view", [])).split()}
    cluster: dict[str, Any] = {"nodes": [{**each, "name": host(each["name"])} for each in nodes]}
    if "rf" in of:
        dc, _, factor = of["rf"][0].partition("=")
        cluster["keyspaces"] = {"ks": {dc: int(factor)}}
    if "upgrade" in of:
        cluster["upgrade"] = of["upgrade"][0]
    words = [written(tmp_path, cluster, "cluster.json"), "--release", of["release"][0]]
    for at, text in enumerate(of.get("view", [])):
        words += ["--raft-state", written(tmp_path, view(text), f"view{at}.json")]
    if "status" in of:
        words += ["--status", written(tmp_path, listed(of["status"]), "status.txt")]
    answer = call("recover", *words)
    assert call("recover", *words, "--json").json["procedure"] == of["="][0]
    assert answer.status == ("!" in of)
    said = " ".join(answer.out.split())
    for name in sorted(names):
        said = said.replace(host(name.strip("~")), name.strip("~"))
    at = 0
    for sign, text in parts:
        if sign == "+":
            at = said.find(text, at)
            assert at >= 0, (text, said)
        assert sign != "-" or text not in said, text


def test_a_status_of_other_nodes_is_refused(tmp_path: Path) -> None:
    """A node that the file does not have may vote; names that are no hosts tell nothing."""
    cluster = {"nodes": [{"name": host("a")}, {"name": host("b")}]}
    status = written(tmp_path, listed(["UN a d r1", "UN b d r1", "DN c d r1"]), "status.txt")
    line = bad("recover", written(tmp_path, cluster), "--status", status)
    assert host("c") in line
    assert "add it, as it may vote" in line
    names = written(tmp_path, {"nodes": [{"name": "A"}]}, "names.json")
    assert "that the file has as a name" in bad("recover", names, "--status", status)


DUMP = """host_id,node_state,topology_request,tokens,transition_state,version,fence_version
{0},normal,,"{{'1'}}",,14,14
{1},normal,,"{{'2'}}",,14,14
{2},normal,,"{{'3'}}",,14,14
"""


@pytest.mark.parametrize(
    ("words", "places", "said"),
    [
        ("--lost 10.0.0.2 --rf east=2 --rf west=1", "east/r1 east/r1 west/r1", "LOCAL_QUORUM west"),
        ("--lost {c} --rf west=1", "east/r1 east/r1 west/r1", "it is lost, every range"),
        ("--lost 10.0.0.1 --rf east=2", "east/r1 east/r1 west/r1", "none is lost, every range"),
        ("--down 10.0.0.2 --rf east=2", "east/r1 east/r1 west/r1", "none is lost, every range"),
        ("--lost 10.0.0.2 --commit 10.0.0.0=7", "east/r1 east/r1 east/r2", "(east/r2)"),
    ],
)
def test_a_dump_without_places_takes_those_of_the_status(
    words: str, places: str, said: str, tmp_path: Path
) -> None:
    """By host id; nodes may be named by their addresses there (scylladb#6564, #10208)."""
    hosts = [host(name) for name in "abc"]
    (tmp_path / "topology.csv").write_text(DUMP.format(*hosts), "utf-8")
    rows = [
        f"UN {name} {place.replace('/', ' ')}"
        for name, place in zip("abc", places.split(), strict=True)
    ]
    status = written(tmp_path, listed(rows), "status.txt")
    options = words.format(c=host("c")).split()
    answer = call("recover", str(tmp_path / "topology.csv"), "--status", status, *options)
    assert answer.status == 0
    assert said in " ".join(answer.out.split())
    assert "dc1" not in answer.out


def test_a_dump_without_places_or_status_knows_none(tmp_path: Path) -> None:
    """Whatever datacenter has replicas is accepted, and it is not known how its data stand."""
    hosts = [host(name) for name in "abc"]
    (tmp_path / "topology.csv").write_text(DUMP.format(*hosts), "utf-8")
    words = [str(tmp_path / "topology.csv"), "--lost", hosts[2], "--rf", "east=2", "--json"]
    found = call("recover", *words).json
    assert found["unplaced"] == hosts
    standing = {each["level"]: each["standing"] for each in found["keyspaces"][0]["levels"]}
    assert (standing["ONE"], standing["ALL"]) == ("available", "not known")
    assert json.dumps(found).count("dc1") == 0
