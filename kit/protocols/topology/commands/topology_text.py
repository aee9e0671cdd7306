"""A dump or a journal in words, for a terminal: the state, what comes next, the queue with why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kit.commands.layout import GAP, columns, limited, listed, wrap
from kit.errors import counted, shorten
from kit.protocols.topology.dry_run.history import Passage
from kit.protocols.topology.dry_run.report import NextStep, NodeLine, StateLine, TopologyReport

SHORT = 8  # letters of a host id, or as many more as tell nodes apart
MOST_NAMED = 6
EDGES = {"happy": "then", "rollback": "fails", "rejected": "rejected"}


def as_text(report: TopologyReport) -> str:
    """The whole answer."""
    short = short_names(node.host_id for node in report.nodes)
    lines = wrap(_state(report, short), "", GAP)
    lines += [line for text in report.warnings for line in wrap(text, f"{GAP}warning: ")]
    lines += [line for what in report.not_modelled for line in wrap(what, f"{GAP}not modelled: ")]
    if report.states:
        lines += ["", "states", *_diagram(report.states)]
    lines += ["", *_cases(report, short)]
    lines += ["", *_queue(report, short)]
    lines += ["", *_nodes(report.nodes, short)]
    if report.unknown_columns:
        lines += ["", "columns that this kit does not know"]
        rows = [(name, _plain(value)) for name, value in report.unknown_columns.items()]
        lines += limited(columns(rows), "columns")
    return "\n".join(lines)


def history_text(passages: Iterable[Passage]) -> str:
    """A journal: a line for each entry into a state, what was committed and asked below it."""
    lines: list[str] = []
    coordinator = None
    for passage in passages:
        if passage.host != coordinator:
            was = "coordinator" if coordinator is None else "another coordinator"
            lines += [*([""] if lines else []), f"{was}: {passage.host}"]
            coordinator = passage.host
        took = "" if passage.seconds is None else f", {passage.seconds:.1f} s"
        edge = f" ({passage.edge})" if passage.edge not in ("", "happy") else ""
        lines += wrap(f"{passage.time}  {passage.state or 'before any state'}{edge}{took}", GAP)
        for what in passage.said:
            lines += wrap(what, GAP * 3, GAP * 4)
    return "\n".join(lines)


def short_names(hosts: Iterable[str]) -> dict[str, str]:
    """The first letters of each host id, as few as tell all of them apart."""
    names = list(hosts)
    size = SHORT
    while len({name[:size] for name in names}) < len(names):
        size += 1
    return {name: name[:size] for name in names}


def _state(report: TopologyReport, short: Mapping[str, str]) -> str:
    versions = f"version {report.version}, fence version {report.fence_version}"
    if report.operation is None:
        what = report.transition_state or "no transition"
    else:
        of = f" of {short[report.node]}" if report.node else ""
        what = f"{report.operation}{of}, {report.transition_state or 'no transition state'}"
    session = ", a session is open" if report.session else ""
    return f"{report.source}: {what}; {versions}{session} (edition {report.edition})"


def _diagram(states: Iterable[StateLine]) -> list[str]:
    """A line for each state, the current one marked, with its selectors and its edges."""
    rows = []
    for state in states:
        leads = [f"{EDGES[kind]} → {target}" for kind, target in sorted(state.leads.items())]
        mark = "▶" if state.current else " "
        uses = f"reads {state.reads}, writes {state.writes}"
        rows.append((f"{mark} {state.state or '(none)'}", uses, "; ".join(leads)))
    return columns(rows, "")


def _cases(report: TopologyReport, short: Mapping[str, str]) -> list[str]:
    if report.known:
        down = report.cases[0].down
        heading = f"next, with {_hosts(down, short)} down" if down else "next, with all nodes up"
        return [heading, *_step(report.cases[0], short, GAP, is_any=False)]
    lines = ["next; nothing tells who is up, so for each case (--status FILE or --down HOST says)"]
    for step in report.cases:
        who = f"one of {_hosts(step.down, short)} down" if step.down else "all nodes up"
        who = who.removeprefix("one of ") if len(step.down) == 1 else who
        lines += [f"{GAP}{who}", *_step(step, short, GAP * 2, is_any=True)]
    if report.indifferent:
        lines += wrap(f"no difference: {_hosts(report.indifferent, short)} down", GAP, GAP * 2)
    return lines


def _step(step: NextStep, short: Mapping[str, str], indent: str, *, is_any: bool) -> list[str]:
    """What comes next; ``is_any``: where any one of those named is down."""
    if step.waits_for and step.work:
        who = (
            "that node" if is_any and step.waits_for == step.down else _hosts(step.waits_for, short)
        )
        said = f"{step.work[0]} needs {who}; without: {step.otherwise}"
    elif step.work:
        said = f"{', then '.join(step.work)}; then {step.leads_to or 'the same again'}"
    else:
        leads = f" → {step.leads_to}" if step.leads_to else ""
        waits = f"; waits for {_hosts(step.waits_for, short)}" if step.waits_for else ""
        subject = f" {step.request}" if step.request else ""
        subject += f" {short[step.node]}" if step.node else ""
        said = f"{step.decision}{subject}{leads}: {step.reason}{waits}"
    return wrap(said, indent, indent + GAP)


def _queue(report: TopologyReport, short: Mapping[str, str]) -> list[str]:
    if not report.queue:
        return ["queue: empty"]
    rows = [
        (
            f"{entry.kind} {entry.parameters}".rstrip(),
            short.get(entry.node or "", "all nodes"),
            entry.standing,
            entry.reason + (f": {_hosts(entry.waits_for, short)}" if entry.waits_for else ""),
        )
        for entry in report.queue
    ]
    case = "" if report.known else ", with all nodes up"
    return [f"queue{case}", *limited(columns(rows), "requests")]


def _nodes(nodes: tuple[NodeLine, ...], short: Mapping[str, str]) -> list[str]:
    """How many nodes are in each state, and those of which there is more to say."""
    counts = Counter(node.state for node in nodes)
    heading = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    rows = [
        (short[node.host_id], node.state, counted(node.tokens, "token"), said)
        for node in nodes
        if (said := _said(node)) or len(nodes) <= MOST_NAMED
    ]
    return [f"{counted(len(nodes), 'node')}: {heading}", *limited(columns(rows), "nodes")]


def _said(node: NodeLine) -> str:
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


def _plain(value: object) -> str:
    return "null" if value is None else shorten(value)
