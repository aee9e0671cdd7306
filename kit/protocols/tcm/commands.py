"""``plan``: a dry run of an operation on somebody's own ring. ``survive``: who must stay up.
``metadata``: what the metadata log of a real cluster tells.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.commands.answer import GAP, UNBROKEN, WIDTH, Answer, Part, Rows, fits, listed, put, wrap
from kit.commands.parsing import RING_WORDS, Command, Word, whole
from kit.commands.rings import replicated
from kit.edge.paths import source_name
from kit.edge.writing import check_place
from kit.errors import BadInput, about, counted
from kit.masks import majority
from kit.model.registry import edition_of, one_of
from kit.operators.importers import metadata_log
from kit.operators.importers.metadata_log import Log
from kit.operators.importers.opening import Imported
from kit.operators.importers.ringfile import checked_nodes, read_stored
from kit.operators.workload import DRY_RUN_AS_JSON, DRY_RUN_IN_WORDS, PLACEMENTS, check_work
from kit.protocols.tcm.dry_run import plan as planning
from kit.protocols.tcm.dry_run.history import forced_notes, operations_of
from kit.protocols.tcm.dry_run.metadata_log import PREPARED, MetadataHistory, history_of
from kit.protocols.tcm.dry_run.opening import SHARED, Keyspaces, RingSource, as_it_stands, opened
from kit.protocols.tcm.facts.moment import Loss, losses_of
from kit.protocols.tcm.parameters import OPTIONS, operation_of, parse_operation, read_words
from kit.protocols.tcm.rules.operations import EDITIONS, LEVELS, Operation
from kit.ring.ranges import Bounds, label
from kit.ring.sizes import Stored

ACCEPTED, REFUSED = 0, 1
MOST_NAMED = 12
"""Ranges that are locked, nodes that data come from."""
MOST_STACKED = 12
"""Ranges shown one below the other, where their replicas do not fit beside them."""
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Cells = tuple[str, str, str]
"""A changed range as it is shown, with its two groups."""
PLAN_HELP = """\
usage: python -m kit plan RINGFILE OPERATION [--while OPERATION]... [--edition EDITION]
                          [--barrier LEVEL] [--force] [--with FILE]... [--keyspace KS={...}]...
                          [--sizes FILE] [--json]

Rehearse an operation of Apache Cassandra with CEP-21 on a ring (for ScyllaDB there are recover,
topology and tablets): every event it commits with the read and write tables after it, the ranges
it locks, the data to copy, and which nodes must know each event before the next one.

OPERATION is one of
  bootstrap NODE --tokens T,... [--dc DC] [--rack RACK]
  decommission NODE
  move NODE --tokens T,...
  replace OLD NEW [--dc DC] [--rack RACK]
  removenode NODE          the node is dead; the other nodes stream
  assassinate NODE         the node is dead; nothing is streamed
join, leave and remove are read as bootstrap, decommission and removenode

options
  --tokens T,...       whole numbers, also negative ones: --tokens -5,7
  --dc, --rack         the newcomer's place (default: that of the first node by name, or of the
                       node that it replaces)
  --while OPERATION    an operation that is already prepared and still in flight, in quotes;
                       may be given several times
  --edition EDITION    server (the default): prepare, start, mid, finish, a majority in each DC;
                       documents: every part of the plan is a separate event
  --barrier LEVEL      which answers a step waits for, instead of the edition's own level:
                       ALL, EACH_QUORUM (server), QUORUM (documents), LOCAL_QUORUM, ONE or
                       NODE_LOCAL
  --force              decommission even if too few nodes remain for some keyspace
  --with FILE          another file of the same cluster, such as the text of nodetool status;
                       may be given several times
  --keyspace KS={...}  a keyspace and its replication, which nodetool does not print:
                       'ks={"class": "SimpleStrategy", "replication_factor": 3}'; repeatable
  --sizes FILE         bytes per node or range, to show how many bytes are streamed; default: the
                       loads that nodetool prints
  --json               the same answer as JSON

RINGFILE is the text of nodetool ring or describering, a dump of the system tables (JSON or CSV),
or a ring file:
              {"epoch": 0, "nodes": [{"name": "n1", "tokens": [100], "dc": "dc1", "rack": "r1"}],
               "keyspaces": [{"name": "ks", "replication": {"class": "SimpleStrategy",
                                                            "replication_factor": 1}}]}
A sizes file: {"nodes": {"n1": 5000}, "ranges": {"ks": [[null, 100, 2000]]}}, either or both

Exits with 0 if the operation is accepted, 1 if the protocol refuses it or it halts on the way, and
2 on bad input. If a file says who is up, that is taken into account.

examples
  python -m kit plan ring.json bootstrap n5 --tokens 350
  python -m kit plan ring.json replace n3 n9 --sizes sizes.json
  python -m kit plan ring.json decommission n3 --while "bootstrap n5 --tokens 350" --json
"""


ESTIMATED = "bytes are estimates: each load of nodetool, spread over its node's ranges by width"
PLAN_OPTIONS = (
    OPTIONS
    | dict.fromkeys(("--while", "--with", "--keyspace"), "several")
    | dict.fromkeys(("--edition", "--sizes", "--barrier"), "once")
    | dict.fromkeys(("--json", "--help"), "flag")
)


def plan(argv: list[str]) -> int:
    """Rehearse an operation on a ring file; 0 when it is accepted, 1 when refused or halted."""
    words, given = read_words(argv, PLAN_OPTIONS)
    if "--help" in given or "-h" in words:
        put(PLAN_HELP.rstrip())
        return ACCEPTED
    edition = edition_of(given.get("--edition", "server"), tuple(EDITIONS), "--edition")
    if not words:
        option = next(filter(given.__contains__, OPTIONS), None)
        allowed = "a ring file, then an operation (plan --help)"
        raise BadInput("option" if option else "RINGFILE", option, allowed)
    ring = replicated(words[0], given["--with"], given["--keyspace"])
    check_work(ring, DRY_RUN_AS_JSON if "--json" in given else DRY_RUN_IN_WORDS)
    operation = operation_of(words[1:], given)
    in_flight = operations_of(ring) + tuple(map(_in_flight, given["--while"]))
    stored = _stored(given.get("--sizes"), ring)
    if (level := given.get("--barrier")) not in (None, *LEVELS):
        raise BadInput("--barrier", level, one_of(level, list(LEVELS)))
    given_too: Any = {"in_flight": in_flight, "edition": edition, "stored": stored, "level": level}
    report = planning.dry_run(ring, operation, up=ring.up, down=ring.down, **given_too)
    copies = report.pending or any(step.streams for step in report.steps)
    guessed = (ESTIMATED,) if copies and stored and "--sizes" not in given else ()
    warnings = (*ring.warnings, *forced_notes(ring), *report.warnings, *guessed)
    report = replace(report, warnings=warnings)
    conflicts = ((c.keyspace, label(c.range), f"held by {c.operation}") for c in report.conflicts)
    answer = Answer(
        planning.json_parts(report),
        [
            *wrap(f"{_verdict(report)} (Cassandra, edition {edition})", "", GAP),
            *(wrap(report.reason, GAP) if report.reason else ()),
        ],
        _step_parts(report) if report.accepted else [_once(conflicts, "ranges")],
        report.warnings,
        REFUSED if report.reason else ACCEPTED,
    )
    return answer.put(as_json="--json" in given)


def _in_flight(text: str) -> Operation:
    try:
        return parse_operation(text)
    except BadInput as error:
        raise about(f"--while {text}", error) from None


def _stored(path: str | None, given: Imported) -> Stored | None:
    if path is not None:
        return read_stored(path, given)
    loads = {name: size for name, size in given.loads.items() if name in given.ring.names}
    return Stored(checked_nodes(loads, given)) if loads else None


def _verdict(report: planning.PlanReport) -> str:
    if not report.accepted:
        return f"{report.operation}: refused"
    first, last = report.steps[0].epoch, report.steps[-1].epoch
    epochs = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    events = "halts after " * bool(report.reason) + counted(len(report.steps), "event")
    return f"{report.operation}: accepted, {events}, {epochs}"


def _once(rows: Iterable[Sequence[str]], what: str, indent: str = GAP) -> Rows:
    short, above = [], ""
    for first, *rest in rows:
        short.append(("" if first == above else first, *rest))
        above = first
    return Rows(short, what, indent=indent)


def _step_parts(report: planning.PlanReport) -> Iterator[Part]:
    locks = []
    for keyspace, locked in report.locks.items():
        if locked:
            named = GAP.join(label(each).replace(" ", UNBROKEN) for each in locked[:MOST_NAMED])
            locks.append((keyspace, named + _more(len(locked) - MOST_NAMED, GAP)))
    yield Rows(locks, title="locks until the end" if locks else "locks nothing")
    tables = report.before
    waits: tuple[planning.Wait, ...] = ()
    for step in report.steps:
        yield from ("", f"epoch {step.epoch}: {step.name}")
        copies = [f"{GAP}copy", *_copied(step.streams)] if step.streams else []
        said = [*_waits(step, waits), *copies, *_changes(tables, step.keyspaces)]
        yield from said or [f"{GAP}changes no range"]
        tables, waits = step.keyspaces, step.barriers
    if report.pending:
        yield from ("", "then it halts; before the next step this has to be copied")
        yield from _copied(report.pending)
    yield ""
    every = [*(copy for step in report.steps for copy in step.streams), *report.pending]
    yield from _sum(every)
    if report.remedy:
        yield _numbered(report.remedy)


def _more(number: int, gap: str = " ") -> str:
    return f"{gap}and {number:,} more" if number > 0 else ""


def _waits(step: planning.PlanStep, before: tuple[planning.Wait, ...]) -> Iterator[Part]:
    if not step.barriers:
        return
    heading = f"{GAP}wait until epoch {step.epoch - 1} is applied by"
    if step.barriers == before:
        usual = all(2 * wait.needed - len(wait.replicas) in (1, 2) for wait in before)
        yield f"{heading} the same {'majorities' if usual else 'replicas'}"
        return
    rows = []
    for wait in step.barriers:
        where = f" in {wait.dc}" if wait.dc else ""
        needed = f"{wait.needed} of {listed(wait.replicas)}{where}"
        rows.append((wait.keyspace, label(wait.range), needed))
    yield heading
    yield _once(rows, "barriers", indent=GAP * 2)


def _copied(copies: tuple[planning.Copy, ...]) -> Iterator[Part]:
    rows = [
        (copy.keyspace, label(copy.range), *size, f"{listed(copy.sources)} → {copy.target}")
        for copy, size in zip(copies, _sizes_of([[copy] for copy in copies]), strict=True)
    ]
    yield _once(rows, "copies", indent=GAP * 2)


def _changes(
    before: dict[str, planning.Tables], after: dict[str, planning.Tables]
) -> Iterator[Part]:
    together: dict[tuple[int, int], list[str]] = {}
    for name, tables in after.items():
        if tables.reads:
            together.setdefault((id(before[name]), id(tables)), []).append(name)
    for names in together.values():
        was, now = _groups(before[names[0]]), _groups(after[names[0]])
        if rows := _rows(was, now):
            yield from _table(listed(names), [cells for _, cells in rows])
        rest = len(now) - sum(stays for stays, _ in rows)
        same = counted(rest, "other range" if rows else "range")
        yield f"{GAP}{same} unchanged" if rows else f"{GAP}{listed(names)}: {same} unchanged"


def _groups(tables: planning.Tables) -> dict[Bounds, Pair]:
    pairs = zip(tables.reads, tables.writes, strict=True)
    return {(left, right): (reads, writes) for (left, right, reads), (_, _, writes) in pairs}


def _rows(was: dict[Bounds, Pair], now: dict[Bounds, Pair]) -> list[tuple[bool, Cells]]:
    runs: list[list[tuple[bool, Cells]]] = []
    reach = float("-inf")
    for range_ in sorted({*was, *now}, key=_place):
        left, right = _place(range_)
        if left >= reach:
            runs.append([])
        reach = max(reach, right)
        before, after = was.get(range_), now.get(range_)
        if before is not None and after is not None:
            if any(set(a) != set(b) for a, b in zip(before, after, strict=True)):
                reads, writes = map(_marked, before, after)
                runs[-1].append((True, (f"{GAP}{label(range_)}", reads, writes)))
        else:
            reads, writes = map(listed, after or before or ((), ()))
            sign = "−" if after is None else "+"
            runs[-1].append((after is not None, (f"{sign} {label(range_)}", reads, writes)))
    return [row for run in runs for row in sorted(run, key=itemgetter(0))]


def _place(range_: Bounds) -> tuple[float, float]:
    left, right = range_
    return (float("-inf") if left is None else left, float("inf") if right is None else right)


def _marked(was: tuple[str, ...], now: tuple[str, ...]) -> str:
    before, after = set(was), set(now)
    came = [name if name in before else f"+{name}" for name in now]
    return listed([*came, *(f"−{name}" for name in was if name not in after)])


def _table(names: str, rows: Sequence[Cells]) -> Iterator[Part]:
    heads = (f"{GAP}{names}", "reads", "writes")
    if fits([heads, *rows], WIDTH - len(GAP)):
        yield Rows(rows, "ranges", heads=heads)
        return
    yield f"{GAP * 2}{names}"
    for range_, reads, writes in rows[:MOST_STACKED]:
        yield f"{GAP}{range_}"
        yield from wrap(reads, f"{GAP * 4}reads   ")
        yield from wrap(writes, f"{GAP * 4}writes  ")
    if (rest := len(rows) - MOST_STACKED) > 0:
        yield f"{GAP}… and {rest:,} more ranges; --json has all"


def _sum(copies: Sequence[planning.Copy]) -> Iterator[Part]:
    if not copies:
        yield "in total: nothing is copied"
        return
    received: dict[str, list[planning.Copy]] = {}
    for copy in copies:
        received.setdefault(copy.target, []).append(copy)
    rows, sizes = [], _sizes_of(received.values())
    for (target, mine), size in zip(received.items(), sizes, strict=True):
        counts = Counter(name for copy in mine for name in copy.sources)
        shown = [f"{name} ({count:,})" for name, count in counts.most_common(MOST_NAMED)]
        source = f"from {listed(shown)}{_more(len(counts) - MOST_NAMED)}"
        rows.append((f"{target} receives", counted(len(mine), "range"), *size, source))
    total = f", {_bytes(copies)}" if sizes[0] else " (--sizes FILE shows how many bytes)"
    yield f"in total: {counted(len(copies), 'range')} to copy{total}"
    yield Rows(rows, "nodes")


def _sizes_of(parts: Collection[Sequence[planning.Copy]]) -> list[tuple[str, ...]]:
    known = any(copy.bytes is not None for copies in parts for copy in copies)
    return [(_bytes(copies),) if known else () for copies in parts]


def _bytes(copies: Iterable[planning.Copy]) -> str:
    sizes = [copy.bytes for copy in copies]
    if not (known := [size for size in sizes if size is not None]):
        return "bytes unknown"
    least = "" if len(known) == len(sizes) else "at least "
    return least + counted(sum(known), "byte")


# -- survive ---------------------------------------------------------------------------------------

SURVIVE_ABOUT = """\
A node is down and no operation is planned: which nodes must stay up? Each line names a quorum that
is broken now, or that one more death would break, and the nodes whose death would break it.
"""
SURVIVE_AFTER = """\
Exits with 0 if any one node can die next, 1 if some must stay up or a range has no quorum now, and
2 on bad input. `python -m kit plan --help` shows a ring file.

examples
  python -m kit survive ring.json
  python -m kit survive ring.json --down n3 --json
  python -m kit survive ring.txt --with status.txt --keyspace KS={...}
"""


BROKEN = "Quorums that are broken or that one more death would break"
HEADS = ("keyspace", "level", "no quorum now", "must stay up (ranges that need it)")


class Survival(Struct, frozen=True):
    """The promises that one more death would break.

    ``down`` are the nodes that answer nobody now; ``must_stay_up`` every other node whose death
    would take a quorum from some range, in the order of the ring file; ``losses`` say which quorum
    of which keyspace, with the number of ranges. ``warnings`` are lines to read first.
    """

    down: tuple[str, ...]
    must_stay_up: tuple[str, ...]
    losses: tuple[Loss, ...]
    warnings: tuple[str, ...] = ()

    @property
    def broken(self) -> int:
        """Ranges that have no quorum now, of the level that has the most of them."""
        return max((loss.broken for loss in self.losses), default=0)

    def summary(self) -> str:
        """The answer in one line."""
        now = f"{', '.join(self.down) or 'no node'} down"
        lost = f"{counted(self.broken, 'range')} without a quorum; " if self.broken else ""
        if not self.must_stay_up:
            last = "one more death takes no other quorum" if lost else "any one node can die next"
            return f"{now}: {lost}{last}"
        who = counted(len(self.must_stay_up), "node")
        return f"{now}: {lost}{who} must stay up: {', '.join(self.must_stay_up)}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A row of text for each quorum that is broken, or that one more death would break."""
        return [_cells(loss) for loss in self.losses if not loss.ok]

    def __repr__(self) -> str:
        return f"Survival({self.summary()})"

    def answer(self) -> Answer:
        """The report as ``python -m kit survive`` gives it; 1 when a node has to stay up."""
        rows = Rows(self.rows(), "quorums", indent="", heads=HEADS, caption=BROKEN)
        quorums = [{**msgspec.to_builtins(each), "nodes": dict(each.nodes)} for each in self.losses]
        lists = {name: getattr(self, name) for name in ("down", "must_stay_up", "warnings")}
        return Answer(
            {**lists, "quorums": quorums},
            wrap(self.summary(), "", GAP),
            ("", rows) if rows.rows else (),
            self.warnings,
            1 if self.must_stay_up or self.broken else 0,
        )

    def _repr_html_(self) -> str:
        return self.answer().html()


def survive(
    ring: RingSource, *, down: str | Iterable[str] = (), keyspaces: Keyspaces = ()
) -> Survival:
    """Say which nodes must stay up, with the ring as it is and nothing planned.

    ``ring`` and ``keyspaces`` are as in ``kit.rehearse``; ``down`` names nodes that are down beside
    those that the files tell. QUORUM is judged everywhere, LOCAL_QUORUM in each datacenter that
    has its own factor; operations in flight count with both of their groups, in both editions.
    """
    given = opened(ring, keyspaces)
    return survival(given, (down,) if isinstance(down, str) else tuple(down))


def survival(given: Imported, down: Iterable[str]) -> Survival:
    """The same of an opened ring; BadInput for a node that it lacks, or one that is too large."""
    names = given.ring.names
    for name in (also := tuple(down)):
        if name not in names:
            raise BadInput("down", name, one_of(str(name), list(names)))
    check_work(given, PLACEMENTS)
    down_too = {*given.down, *also}
    dead = tuple(name for name in dict.fromkeys((*names, *given.down)) if name in down_too)
    snapshot, shares = as_it_stands(given)
    lost = losses_of(snapshot, dead)
    breaking = {name for loss in lost for name, _ in loss.nodes}
    must_stay_up = tuple(name for name in snapshot.metadata.ring.names if name in breaking)
    counted_in = (
        f"{operation.title} is in flight: replicas before and after it count, in its own ranges"
        for operation in operations_of(given)
    )
    warnings = (*given.warnings, *forced_notes(given), *counted_in, *(SHARED,) * shares)
    return Survival(dead, must_stay_up, lost, warnings)


def _cells(loss: Loss) -> tuple[str, str, str, str]:
    side = "" if loss.side == "reads and writes" else f" of {loss.side}"
    ranges = f"{counted(loss.broken, 'range')}, such as {loss.broken_first}"
    nodes = ", ".join(f"{name} ({number:,})" for name, number in loss.nodes)
    names = ", ".join(loss.keyspaces)
    return names, f"{loss.level}{side}", ranges if loss.broken else "–", nodes or "–"


def _survive(given: Namespace) -> Answer:
    ring = replicated(given.file, vars(given)["with"], given.keyspace)
    return survival(ring, given.down).answer()


DOWN = Word(
    "--down",
    "NODE",
    "a node that is down, in addition to those in the files (repeatable)",
    several=True,
)
SURVIVE = Command("survive", _survive, (*RING_WORDS, DOWN), SURVIVE_ABOUT, SURVIVE_AFTER)


# -- metadata --------------------------------------------------------------------------------------

METADATA_ABOUT = """\
The metadata log of a real cluster: every epoch in words, and the members and the operations under
way at any epoch. Or compare two files of the same kind: two logs, directories or views of the
service. Or ask whether the service (CMS) has a quorum with some nodes down, and what to do.
"""
METADATA_AFTER = """\
FILE is what nodetool cms dumplog, dumpdirectory (with --tokens) or describe printed, or rows of
system_views.cluster_metadata_log or cluster_metadata_directory as the table that cqlsh prints, as
JSON or as CSV. Other forms of CQL output are not read.

dumplog reads the distributed log at QUORUM: every node gives the same answer, and no node gives one
after the CMS has lost its majority. So two logs show two moments. To compare two nodes, use
describe or, at the same epoch, dumpdirectory, which is compared in full. The text of a
transformation is shown but never compared; Is Member, LOCAL and REMOTE only say which node was
asked.

Exits with 0, or with 1 if two files differ or an epoch is out of order, or with 2 on bad input.

examples
  python -m kit metadata log.txt directory.txt --at 41
  python -m kit metadata log.txt --html history.html
  python -m kit metadata monday.txt tuesday.txt
  python -m kit metadata describe.txt --down 10.0.0.1
"""


def _metadata(given: Namespace) -> Answer:
    files = [(source_name(path), metadata_log.read_metadata(path)) for path in given.files]
    kinds = [type(dumped) for _, dumped in files]
    if len(files) == 2 and kinds[0] is kinds[1]:
        for option in ("at", "html", "down"):
            if getattr(given, option) not in (None, []):
                raise BadInput(f"--{option}", getattr(given, option), "one log")
        return _compared(*files)
    if kinds == [metadata_log.ServiceView]:
        (_, view), *_ = files
        assert isinstance(view, metadata_log.ServiceView)
        return _service(view, {*given.down})
    if given.down:
        raise BadInput("--down", given.down[0], "one text of cms describe")
    if given.html is not None:
        check_place(given.html, "--html", inputs=tuple(given.files))
    history = history_of(files)
    if given.html is not None:
        # Pictures take a while to load.
        from kit.protocols.tcm.dry_run.time_machine import RealLog
        from kit.views.export import export_html

        export_html(RealLog(history).read_through(), given.html, field="--html")
    odd = any(epoch.standing == "out of order" for epoch in history.epochs)
    shown = _at(history, given.at) if given.at is not None else _epochs(history)
    return replace(shown, warnings=history.warnings, status=REFUSED if odd else ACCEPTED)


def _service(view: metadata_log.ServiceView, down: set[str]) -> Answer:
    for name in sorted(each for each in down if "," in each):
        raise BadInput("--down", name, "one address; give --down once for each node")
    known = {each: {each, each.rpartition(":")[0].strip("[]")} for each in view.members}
    dead = tuple(each for each, names in known.items() if names & down)
    up, needed = len(known) - len(dead), majority(len(known)) if known else 0
    remedy = tuple(service_remedy(dead, missing := needed - up))
    said = f"{up} of {counted(len(known), 'member')} up, {needed} needed"
    said = f"the CMS has {'no' if missing > 0 else 'a'} quorum: {said}"
    if not known:
        said = "this view does not tell the members of the CMS"
    elif not down:
        said = f"a quorum of the CMS is {needed} of {len(known)}: --down says which are down"
    return Answer(
        {"view": dict(view.values), "down": dead, "missing": max(missing, 0), "remedy": remedy},
        ["one node's own view"],
        [Rows([*view.values]), said, _numbered(remedy)],
        [f"{each} is no member of the CMS" for each in sorted(down.difference(*known.values()))],
        REFUSED if missing > 0 else ACCEPTED,
    )


def service_remedy(dead: Sequence[str], missing: int) -> Iterator[str]:
    """The lines for members of the CMS that are down; ``missing`` is how many a quorum lacks.

    Sources: published ``ReconfigureCMS``, ``Startup`` (RESET), ``CMSOperations``.
    """
    who = ", ".join(dead)
    if missing > 0:
        yield f"start {who} again: {missing} at least"
        yield "until then data is served, but no change of schema, nodes or CMS is committed"
        yield "so don't try removenode, assassinate, a replacement or cms reconfigure before"
        yield (
            "if they are gone for good, the last resort: dump the metadata of a live node with the "
            "newest Epoch (by JMX, with unsafe_tcm_mode), and start it again with "
            "-Dcassandra.unsafe_boot_with_clustermetadata=FILE; the dump must have it as a member"
        )
    elif dead:
        yield f"start {who} again"
        yield "if one is gone for good, nodetool removenode ID: first another takes its place there"
        yield "nodetool cms reconfigure --status shows how far; --resume or --cancel if it stopped"


def _numbered(remedy: Sequence[str]) -> Rows:
    rows = [(f"{at}", what) for at, what in enumerate(remedy, 1)]
    return Rows(rows, title="what to do (server)" if rows else "")


def _epochs(history: MetadataHistory) -> Answer:
    first, last = history.epochs[0].epoch, history.epochs[-1].epoch
    rows = [(str(epoch.epoch), epoch.time, epoch.say) for epoch in history.epochs]
    under_way = _under_way(history, last)
    return Answer(
        {"epochs": history.epochs, "warnings": history.warnings},
        [f"{counted(len(rows), 'epoch')}, {first} to {last}"],
        [Rows(rows, "epochs", newest=True), *([under_way] if under_way.rows else [])],
    )


def _under_way(history: MetadataHistory, epoch: int) -> Rows:
    flights, cms = history.at(epoch)[1], history.reconfiguration(epoch)
    rows = [(history.title(flight, epoch), f"last step: {flight.steps[-1]}") for flight in flights]
    rows += [("perhaps " * (cms == PREPARED) + "a change of the CMS", cms)] * bool(cms)
    at = f" at epoch {epoch}"
    return Rows(rows, title=f"under way{at}" if rows else f"nothing is under way{at}")


def _at(history: MetadataHistory, epoch: int) -> Answer:
    members, flights = history.at(history.known(epoch))
    nodes = [
        (
            member.name,
            f"node {member.node}",
            member.state,
            f"{member.dc or '?'} {member.rack or '?'}",
            "tokens not known" if member.tokens is None else counted(len(member.tokens), "token"),
        )
        for member in members
    ]
    cms = history.reconfiguration(epoch) or None
    return Answer(
        {"epoch": epoch, "members": members, "under_way": flights, "cms": cms},
        [f"epoch {epoch}"],
        [_under_way(history, epoch), Rows(nodes, "nodes", "nodes")],
    )


def _compared(
    first: tuple[str, metadata_log.DumpedMetadata], second: tuple[str, metadata_log.DumpedMetadata]
) -> Answer:
    (name, dumped), (other, another) = first, second
    unlike = [*metadata_log.differences(dumped, another)]
    rows = [(what, f"{name}: {was}", f"{other}: {now}") for what, was, now in unlike]
    data = {"files": (name, other), "differences": unlike}
    said = f"{name} and {other} {'differ' if unlike else 'have the same content'}"
    if not unlike and isinstance(dumped, Log) and isinstance(another, Log):
        said += _shared_epochs(name, dumped, other, another)
    verdict = wrap(said, "", GAP)
    return Answer(data, verdict, [Rows(rows, "differences")], (), REFUSED if unlike else ACCEPTED)


def _shared_epochs(name: str, log: Log, other: str, another: Log) -> str:
    first, second = ([entry.epoch for entry in each.rows] for each in (log, another))
    (begin, end), (since, until) = ((min(each), max(each)) for each in (first, second))
    if (begin, end) == (since, until):
        return ""
    both = f"{max(begin, since)} to {min(end, until)}"
    return f" in epochs {both}: {name} has {begin} to {end}, {other} has {since} to {until}"


LOG_WORDS = (
    Word("files", "FILE", "a log, a directory, or views", number="+"),
    Word("--at", "EPOCH", "show the nodes and operations at that epoch", read=whole),
    Word("--html", "OUT", "also write an HTML page to step through"),
    Word("--down", "ADDRESS", "with cms describe: a node that is down (repeatable)", several=True),
)
METADATA = Command("metadata", _metadata, LOG_WORDS, METADATA_ABOUT, METADATA_AFTER)
