"""``recover``: what to do about a cluster that lost nodes."""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kit.commands.answer import GAP, Answer, Part, Rows, listed, wrap
from kit.commands.parsing import Command, Word
from kit.edge.paths import source_name
from kit.errors import BadInput, are, counted
from kit.operators.importers.system_tables import read_raft_state
from kit.protocols.group0.rules.releases import release_of, spans
from kit.protocols.recovery import dry_run
from kit.protocols.recovery.rules import availability
from kit.protocols.topology.commands import EDITION, RELEASE, STATUS
from kit.protocols.topology.rules.remedies import numbered

HOLDS, LOST = 0, 1
OFFERED = {True: "offered", False: "not here"}
LEFT = {
    "available": "none is lost, every range has a replica left",
    "of some ranges": "it may be lost, some ranges may have lost every replica",
    "unavailable": "it is lost, every range has lost every replica",
    "not known": "it is not known whether a range has lost every replica",
}
ABOUT = """\
What to do about a cluster that lost nodes: whether group 0 has a quorum, at which levels data is
available, which procedure, leader and order to use, and what is lost in the worst case.
"""
AFTER = """\
FILE is a description in JSON
  {"nodes": [{"name": "A", "dc": "dc1", "rack": "r1", "status": "up", "commit_index": 10},
             {"name": "B", "status": "lost"}, ...], "keyspaces": {"shop": {"dc1": 3}},
   "deaths": [["B"], ...], "upgrade": "done"}
or a dump of system.topology, with options for the dead nodes, the commit indexes and the
replication factors.

In a description, the status is up, down if the node can be restarted, or lost if it never comes
back. Only the nodes and their names are needed. Where datacenters and racks are not given, every
place counts, unless --status has them: then names have to be host ids or addresses. A node that is
joining or leaving has a "state" as in system.topology, and a zero-token node has "tokens": false.
"votes": true or false on each node says which nodes vote. On releases 6.0 to 2025.1 give the
"upgrade_state" of system.topology: without "done", or a row, the topology is gossiped.

The answer depends on which nodes vote, and no release lets you work that out from outside. Ask a
live node:
  SELECT JSON group_id, disposition, server_id, can_vote FROM system.raft_state
    WHERE group_id = the value of raft_group0_id in system.scylla_local
and save the rows (JSON, or CSV with a header) for --raft-state. Each node reports its own view, so
ask several: if two differ, the view from the node with the latest commit index is the newer one.
system.raft_snapshot_config is older, and won't do. Without --raft-state, the answer covers the
worst and the best set of voters that the release could have chosen.

Exits with 0 if group 0 certainly has a quorum, 1 if it has none or if that is not known, and 2 on
bad input.

examples
  python -m kit recover cluster.json
  python -m kit recover cluster.json --raft-state node-a.json --raft-state node-b.json
  python -m kit recover cluster.json --release 2025.3
  python -m kit recover --documented
  python -m kit recover topology.csv --status status.txt --lost 0000000b --commit 0000000a=11 --json
"""


def _recover(given: Namespace) -> Answer:
    if given.documented:
        if given.file is not None:
            raise BadInput("FILE", given.file, "no FILE with --documented")
        rows = tuple(availability.judged_failure(row) for row in availability.FAILURES)
        return Answer(rows, parts=_tables(rows))
    if given.file is None:
        raise BadInput(
            "FILE", "nothing", "a description, a dump of system.topology, or --documented"
        )
    release, late = release_of(given.release, "cluster-repair")
    cluster, warnings = dry_run.open_cluster(
        given.file,
        status=given.status,
        down=given.down,
        lost=given.lost,
        commit=_pairs(given.commit, "--commit", "HOST", 2**62),
        factors=_pairs(given.rf, "--rf", "DATACENTER", 1000),
    )
    advice = dry_run.advise(
        cluster,
        source_name(given.file),
        given.edition,
        given.leader,
        (*late, *warnings),
        release=release,
        views=[read_raft_state(view) for view in given.raft_state],
    )
    which = f"edition {advice.edition}"
    if advice.edition == "server":
        which += f", release {given.release}"
    said = f"{advice.source}: {advice.procedure}: {advice.reason} ({which})"
    status = HOLDS if all(line.holds for line in advice.group0) else LOST
    return Answer(advice, wrap(said, "", GAP), _parts(advice), advice.warnings, status)


def _pairs(words: Sequence[str], option: str, what: str, most: int) -> dict[str, int]:
    pairs: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not name or not re.fullmatch("[0-9]{1,19}", number, re.ASCII) or int(number) > most:
            raise BadInput(option, word, f"{what}=NUMBER, the number from 0 to {most}")
        if name in pairs:
            raise BadInput(option, word, f"each {what} once")
        pairs[name] = int(number)
    return pairs


def _parts(advice: dry_run.RecoveryAdvice) -> Iterator[Part]:
    yield ""
    yield from _group0(advice.group0)
    yield from wrap(_first_names(advice.down), f"{GAP}down, can be restarted: ")
    yield from wrap(_first_names(advice.lost), f"{GAP}lost for good: ")
    if advice.unknown:
        yield from wrap(
            _first_names(advice.unknown), f"{GAP}not known, votes but is not in the file: "
        )
    if advice.elsewhere:
        yield "on other releases, for the same file"
        for release, procedure in spans(advice.elsewhere).items():
            yield f"{GAP}{release}  {procedure}"
    if advice.restart and advice.procedure == "restart":
        if_worst = "if the worst set of voters was chosen, " * advice.group0[-1].holds
        back = f"{counted(advice.restart, 'node')} must come back"
        yield from wrap(f"{if_worst}at least {back}", GAP)
    choices = [
        ("depends" if each.depends else OFFERED[each.offered], each.procedure, each.why)
        for each in advice.choices
    ]
    yield from [Rows(choices, title="procedures")] * bool(choices)
    for keyspace in advice.keyspaces:
        levels = [(_level(each), each.standing) for each in keyspace.levels]
        yield Rows(levels, "levels", f"data in {keyspace.keyspace}: {LEFT[keyspace.replicas_left]}")
    if advice.leader is not None:
        yield ""
        yield from wrap(advice.leader, "recovery leader: ")
        yield from wrap(_first_names(advice.leaders), f"{GAP}may lead: ")
        yield from wrap(_first_names(advice.order), f"{GAP}order: ")
    at = next((n for n, name, _ in numbered(advice.steps) if name in ("replace", "remove")), "")
    dead = f"step {at}: " * bool(at) + "nodes that are down or lost"
    for steps, title in ((advice.steps, "steps"), (advice.remedies, dead)):
        if steps:
            yield Rows(numbered(steps), title=title)
    if advice.worst:
        yield Rows([(text,) for text in advice.worst], "losses", "in the worst case")


def _group0(lines: Sequence[dry_run.QuorumLine]) -> Iterator[str]:
    known_by = [line for line in lines if line.told_by]
    if not known_by:
        cases = "The worst and the best case:" if len(lines) > 1 else "All cases are like this one:"
        yield from wrap(f"it is not known which nodes vote. {cases}", "group 0: ", GAP)
    elif len(lines) > 1:
        yield from wrap("the voters, as these nodes see them:", "group 0: ", GAP)
    for line in lines:
        has = "has a quorum" if line.holds else "has no quorum"
        needed = f"{line.needed} {are(line.needed)} needed"
        if_so = f"if {line.assuming}, " * bool(line.assuming)
        said = f"{has}: {line.live} of {counted(len(line.voters), 'voter')} alive, {needed}"
        if known_by and len(lines) == 1:
            yield from wrap(said, "group 0 ", GAP)
            said = f"{_first_names(line.voters)} (from {line.told_by})"
            yield from wrap(said, f"{GAP}voters: ", GAP * 2)
        else:
            voters = f"{_first_names(line.voters)} {dry_run.verb_for(line.voters, 'vote')}"
            which = f"{line.told_by}: {if_so}{voters}, and" if known_by else f"if {voters},"
            yield from wrap(f"{which} group 0 {said}", GAP, GAP * 2)


def _tables(rows: Iterable[availability.JudgedFailure]) -> Iterator[str]:
    factor = availability.RF
    yield (
        f"schema changes and data in clusters with three nodes per datacenter, RF {factor} in each"
    )
    for each in rows:
        row = each.row
        computed = (
            f"possible: {each.schema} if all vote; with few voters, {each.at_once} if "
            f"nodes die at once, {each.in_turn} if they die one after another"
        )
        back = f", {counted(each.back, 'node')} must come back" if each.back else ""
        unmet = ", ".join(_level(at) for at in each.data if at.standing != "available")
        data = f"not always available at {unmet}" if unmet else "always available at every level"
        places = f"{counted(row.datacenters, 'datacenter')}, {len(row.places)} nodes"
        yield from ("", f"{places}: {row.words} down")
        yield from wrap(row.said, f"{GAP}documents  ")
        yield from wrap(f"schema changes {computed}{back}", f"{GAP}computed   ")
        yield from wrap(f"data {data}", GAP * 6 + " ")


def _level(standing: availability.LevelStanding) -> str:
    return f"{standing.level} {standing.datacenter}".rstrip()


def _first_names(names: Sequence[str]) -> str:
    return dry_run.first_of(names) or listed(())


WORDS = (
    Word("file", "FILE", "a description, or a dump of system.topology", number="?"),
    Word(
        "--documented",
        "",
        "instead of FILE: what the documents say about failures in clusters of 3, 6 "
        "and 9 nodes, and how much of it is true",
    ),
    STATUS,
    Word("--down", "HOST", "a node that can be restarted (repeatable)", several=True),
    Word("--lost", "HOST", "a node that is lost for good (repeatable)", several=True),
    Word("--commit", "HOST=INDEX", "a node's commit index (repeatable)", several=True),
    Word("--rf", "DATACENTER=N", "a datacenter's replication factor (repeatable)", several=True),
    Word("--leader", "HOST", "show what happens if this node leads"),
    Word(
        "--raft-state",
        "FILE",
        "which nodes vote: a dump of system.raft_state as one live node sees it (repeatable)",
        several=True,
    ),
    replace(EDITION, help=EDITION.help.replace("server;", "server and manual;")),
    RELEASE,
)
RECOVER = Command("recover", _recover, WORDS, ABOUT, AFTER)
