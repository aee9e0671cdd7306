"""``topology``: what a coordinator would do next on one's own tables; a journal's history."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kit.commands.answer import GAP, Answer, Part, Rows, listed, wrap
from kit.commands.parsing import Command, Word, whole
from kit.edge.arguments import checked
from kit.edge.reading import read_text
from kit.edge.writing import check_place
from kit.errors import BadInput, counted, shorten
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.snapshots import MARK, is_snapshot
from kit.operators.importers.topology_journals import LINES, is_journal, read_journals
from kit.protocols.group0.rules.releases import CHANGES, NEWEST, release_of, spans
from kit.protocols.topology.dry_run import history
from kit.protocols.topology.dry_run.report import NextStep, NodeLine, TopologyReport, coordinator
from kit.protocols.topology.rules.machines import EDITIONS, Edition

if TYPE_CHECKING:  # what takes a while to load
    from kit.widgets.player import Player

GOES_ON, STANDS = 0, 1
SHORT = 8  # letters of a host id, or as many more as tell nodes apart
MOST_NAMED = 6
EDGES = {"happy": "then", "rollback": "fails", "rejected": "rejected"}
ABOUT = """\
Reads a dump of system.topology and shows its state, what the coordinator would do next, what it
waits for, and the queue of requests with the reason for each. Coordinators' journals are shown as a
history.
"""
AFTER = """\
DUMP is what cqlsh writes for COPY system.topology TO 'file' WITH HEADER = TRUE, or shows for
SELECT JSON * FROM system.topology. It can also be a snapshot of scylla-tablets, as a folder or a
.tar.gz. LOG is a journal, or a server's own log, with lines such as
raft_topology - entered `write both read old` transition state.

Exits with 0 when the coordinator can continue or has nothing to do, 1 when it waits for nodes or
rejects requests, or when something fails in a journal, and 2 on bad input. If you do not say which
nodes are down, all count as up.

examples
  python -m kit topology topology.csv --status status.txt
  python -m kit topology topology.csv --requests requests.csv --down 0000000b --json
  python -m kit topology tablet_snap_261124_100000.tar.gz --anonymize
  python -m kit topology node-a.log node-b.log --html history.html
"""


def _topology(given: Namespace) -> Answer:
    whole = [path for path in given.files if not is_snapshot(path)]
    texts = [read_text(path, "DUMP|LOG", LARGEST_FILE) for path in whole]
    if texts and len(texts) == len(given.files) and all(map(is_journal, texts)):
        return _history(given)
    if given.html is not None:
        raise BadInput("--html", given.html, "journals; a dump shows only one moment")
    if len(given.files) > 1:
        raise BadInput("DUMP|LOG", given.files[1], "one dump, or only journals")
    files = {"requests": given.requests, "status": given.status}
    rest = {"down": given.down, "rf": given.rf, "edition": given.edition}
    rest["anonymize"] = given.anonymize
    rest["release"], late = release_of(given.release, "last-node")
    report = coordinator(given.files[0], **files, **rest)
    short = short_names(node.host_id for node in report.nodes)
    return Answer(
        marked(report, given.anonymize),
        wrap(_state(report, short), "", GAP),
        _parts(report, short),
        (*late, *report.warnings),
        GOES_ON if report.goes_on else STANDS,
    )


def marked(data: object, anonymized: bool) -> object:
    """An answer's data, in which it says so where names are pseudonyms."""
    return {"anonymized": MARK, "answer": data} if anonymized else data


def _history(given: Namespace) -> Answer:
    for option in ("requests", "status", "down", "rf", "anonymize"):
        if getattr(given, option):
            raise BadInput(f"--{option}", getattr(given, option), "nothing besides journals")
    if given.html is not None:
        check_place(given.html, "--html", inputs=tuple(given.files))
    left_out = Counter[str]()
    entries = read_journals(given.files, left_out)
    stays = history.passages(entries, given.edition)
    if given.html is not None:
        from kit.protocols.topology.dry_run.journal import journal_timeline
        from kit.views.export import export_html

        export_html(journal_timeline(stays, given.edition), given.html, field="--html")
    failed = any(stay.failed for stay in stays)
    kinds, unknown = history.kinds(entries), history.not_told(entries)
    data = {"passages": stays, "left_out": dict(left_out), "kinds": kinds, "not_known": unknown}
    warnings = (f"not shown: {history.said_of(left_out)}",) * bool(left_out)
    parts = chain(_passages(stays), _meanings(kinds, unknown))
    return Answer(data, "", parts, warnings, STANDS if failed else GOES_ON)


def _meanings(kinds: Mapping[str, int], unknown: Mapping[str, str]) -> Iterator[str]:
    yield from ("", "what the lines mean") if kinds else ()
    for name, n in kinds.items():
        of = f"{name} ({counted(n, 'line')}): "
        yield from wrap(of + LINES[name]["means"], GAP, GAP * 2)
    yield from ("", "not known, and what would tell") if unknown else ()
    for what, tells in unknown.items():
        yield from (*wrap(f"{what}:", GAP, GAP * 2), *wrap(tells, GAP * 2, GAP * 3))


@checked
def replay_journal(
    logs: str | Path | Sequence[str | Path], *, edition: Edition = "server"
) -> Player:
    """A Player for the history in the journals of a cluster's coordinators.

    Raises BadInput for a file that cannot be read or is not such a journal.
    """
    from kit.protocols.topology.dry_run.journal import journal_timeline
    from kit.widgets.player import Player

    stays = history.topology_history(logs, edition=edition)
    return Player(journal_timeline(stays, edition), controls=False)


def _passages(stays: Iterable[history.Passage]) -> Iterator[str]:
    coordinator = None
    for (host, _, edge, _), same in groupby(stays, _alike):
        first, *more = same
        if host != coordinator:
            yield from [] if coordinator is None else [""]
            label = f"{'another ' if coordinator else ''}coordinator: "
            yield f"{'' if host == history.OTHERS else label}{host}"
            coordinator = host
        lasted = [each.seconds for each in (first, *more) if each.seconds is not None]
        took = f", {sum(lasted):.1f} s" if lasted else ""
        way = f" ({edge})" if edge not in ("", "happy") else ""
        times = f", {len(more) + 1:,} times until {more[-1].time}" if more else ""
        yield from wrap(f"{first.time}  {first.place}{way}{times}{took}", GAP)
        said = Counter(what for each in (first, *more) for what in each.said)
        for what, n in said.items():
            yield from wrap(f"{what} ({n:,} times)" if n > 1 else what, GAP * 3, GAP * 4)


def _alike(passage: history.Passage) -> tuple[str, ...]:
    apart = "" if passage.edge == "again" else passage.time
    return passage.host, passage.state, passage.edge, apart


def short_names(hosts: Iterable[str]) -> dict[str, str]:
    """The first letters of each host id, as few as tell all of them apart."""
    names = list(hosts)
    size = SHORT
    while len({name[:size] for name in names}) < len(names):
        size += 1
    return {name: name[:size] for name in names}


# -- a dump in words -------------------------------------------------------------------------------


def _state(report: TopologyReport, short: Mapping[str, str]) -> str:
    versions = f"version {report.version}, fence version {report.fence_version}"
    what = report.transition_state or "no transition"
    if report.operation is not None:
        of = f" of {short[report.node]}" if report.node else ""
        what = f"{report.operation}{of}, {report.transition_state or 'no transition state'}"
    edition = f"edition {report.edition} {report.release}".rstrip()
    session = ", a session is open" if report.session else ""
    return f"{report.source}: {what}; {versions}{session} ({edition})"


def _parts(report: TopologyReport, short: Mapping[str, str]) -> Iterator[Part]:
    for what in report.not_modelled:
        yield from wrap(what, f"{GAP}not modelled: ")
    if report.states:
        # Each marked where it is the current one, with its selectors and its edges.
        states = [
            (
                f"{'▶' if state.current else ' '} {state.state or '(none)'}",
                f"reads {state.reads}, writes {state.writes}",
                "; ".join(f"{EDGES[kind]} → {to}" for kind, to in sorted(state.leads.items())),
            )
            for state in report.states
        ]
        yield Rows(states, title="states", indent="")
        for state in report.states:
            yield from wrap(state.about, GAP) if state.current else ()
    yield ""
    yield from _cases(report, short)
    steps = {name: _step(step, short, "", is_any=False) for name, step in report.elsewhere.items()}
    for names, said in spans({name: " ".join(lines) for name, lines in steps.items()}).items():
        yield from wrap(said, f"{GAP}on {names}: ", GAP * 2)
    queue = [
        (
            entry.kind,
            short.get(entry.node or "", "all nodes"),
            entry.standing,
            entry.reason
            + (f": {_hosts(entry.waits_for, short)}" if entry.waits_for else "")
            + (f" ({entry.parameters})" if entry.parameters else ""),
        )
        for entry in report.queue
    ]
    case = "" if report.known else ", with all nodes up"
    yield Rows(queue, "requests", f"queue{case}" if queue else "queue: empty")
    counts = Counter(node.state for node in report.nodes)
    said = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    nodes = [
        (short[node.host_id], node.state, counted(node.tokens, "token"), more)
        for node in report.nodes
        if (more := _notes_on(node)) or len(report.nodes) <= MOST_NAMED
    ]
    yield Rows(nodes, "nodes", f"{counted(len(report.nodes), 'node')}: {said}")
    if report.unknown_columns:
        rows = [
            (name, "null" if value is None else shorten(value))
            for name, value in report.unknown_columns.items()
        ]
        yield Rows(rows, "columns", "columns unknown to this kit")


def _cases(report: TopologyReport, short: Mapping[str, str]) -> Iterator[str]:
    if report.known:
        down = report.cases[0].down
        yield f"next, with {_hosts(down, short)} down" if down else "next, with all nodes up"
        yield from _step(report.cases[0], short, GAP, is_any=False)
        banned = {node.host_id for node in report.nodes if node.ignored}
        waits = report.cases[0].waits_for if report.release else ()
        if back := tuple(host for host in waits if host not in banned):
            yield f"{GAP}Start {_hosts(back, short)} again; for a node that is lost, see recover."
        elif waits:
            yield f"{GAP}What is ignored is banned: first replace or remove it (see recover)."
        return
    yield "next, case by case, because nothing says which nodes are up (see --status and --down)"
    for step in report.cases:
        who = f"{_hosts(step.down, short)} down" if step.down else "all nodes up"
        yield f"{GAP}{'one of ' if len(step.down) > 1 else ''}{who}"
        yield from _step(step, short, GAP * 2, is_any=True)
    if report.indifferent:
        yield from wrap(
            f"no difference if these are down: {_hosts(report.indifferent, short)}", GAP, GAP * 2
        )


def _step(step: NextStep, short: Mapping[str, str], indent: str, *, is_any: bool) -> list[str]:
    is_that = is_any and step.waits_for == step.down
    who = "that node" if is_that else _hosts(step.waits_for, short)
    if step.waits_for and step.work:
        fails = step.fails or step.work[0]
        before = "".join(f"{each}, then " for each in step.work[: step.work.index(fails)])
        said = f"{before}{fails} needs {who}; otherwise: {step.otherwise}"
    elif step.work:
        said = f"{', then '.join(step.work)}; then {step.leads_to or 'the same step again'}"
        if step.reason != f"{step.work[0]} comes next":
            said = f"{said}: {step.reason}"
    else:
        leads = f" → {step.leads_to}" if step.leads_to else ""
        waits = f"; waits for {who}" if step.waits_for else ""
        subject = filter(None, (step.decision, step.request, step.node and short[step.node]))
        said = f"{' '.join(subject)}{leads}: {step.reason}{waits}"
    return wrap(said, indent, indent + GAP)


def _notes_on(node: NodeLine) -> str:
    said = [
        "down" if node.up is False else "",
        "ignored" if node.ignored else "",
        f"asks for {node.request}" if node.request else "",
        f"cleanup {node.cleanup}" if node.cleanup in ("needed", "running") else "",
        "in transition" if node.state not in ("none", "normal", "left") else "",
    ]
    return ", ".join(filter(None, said))


def _hosts(hosts: tuple[str, ...], short: Mapping[str, str]) -> str:
    named = listed(short.get(host, host) for host in hosts[:MOST_NAMED])
    more = len(hosts) - MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


# -- the words of the command line -----------------------------------------------------------------


EDITION = Word(
    "--edition",
    "",
    "server: as in the published server; documents: as in the documents (default: server)",
    "server",
    choices=EDITIONS,
)
RELEASE = Word(
    "--release",
    "R",
    f"the release of the server, such as 2026.1 or 2026.2.4 (default: {NEWEST}, the newest; "
    "python -m kit releases shows where they differ)",
    NEWEST,
)
STATUS = Word("--status", "FILE", "the output of nodetool status, which shows which nodes are up")
ANONYMIZE = Word(
    "--anonymize",
    "",
    "for snapshots: replace hosts, addresses, keyspaces, tables, datacenters and racks with "
    "pseudonyms before anything is written or shown",
)
WORDS = (
    Word("files", "DUMP|LOG", "a dump, a snapshot or journals", number="+"),
    Word("--requests", "FILE", "a dump of system.topology_requests"),
    STATUS,
    Word(
        "--down",
        "HOST",
        "a node that is down: a host id, its first letters, or an address from --status; the "
        "others are up unless --status says otherwise (repeatable)",
        several=True,
    ),
    Word(
        "--rf",
        "N",
        "replicas in each datacenter of a keyspace that must stay RF-rack-valid",
        0,
        read=whole,
    ),
    EDITION,
    RELEASE,
    ANONYMIZE,
    Word("--html", "OUT", "with journals: also write a page to step through"),
)
TOPOLOGY = Command("topology", _topology, WORDS, ABOUT, AFTER)


def releases(release: str | None = None) -> Answer:
    """The differences between published releases of the server, or the behaviour of one of them.

    Raises BadInput for a release that is not supported.
    """
    if release is None:
        heads = ("what changed", "since", "before, and since then")
        rows = [
            row
            for each in CHANGES.values()
            for row in ((each.name, each.first, each.earlier), ("", "", each.after))
        ]
        said = f"{counted(len(CHANGES), 'change')}; server without a release is {NEWEST}"
        return Answer(list(CHANGES.values()), [said], [Rows(rows, heads=heads)])
    of_each = {name: change.said(release) for name, change in CHANGES.items()}
    does = {name: what for name, what in of_each.items() if what}
    missing = {CHANGES[name].on for name in of_each.keys() - does.keys()}
    later = {name: each.first for name, each in CHANGES.items() if name in missing}
    named = listed((f"{name} ({first})" for name, first in later.items()), "")
    rest = wrap(f"not there yet, nor what builds on it: {named}") if later else []
    data = {"release": release, "does": does, "not_yet": later}
    return Answer(data, [f"{release}:"], [Rows([*does.items()]), *rest])


RELEASES = Command(
    "releases",
    lambda given: releases(given.release),
    (Word("release", "RELEASE", "what this release does (default: where all differ)", number="?"),),
    "Where published releases of ScyllaDB differ, for everything that this kit plays or answers.",
)
