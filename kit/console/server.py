"""What a server's command line understands in a drill, and what it prints: ``nodetool``, ``cqlsh``,
``systemctl``, ``ssh``, ``grep``, ``journalctl``, ``curl``.

``Servers`` has the words that all drills share; a drill says what its model knows of a server.
"""

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, partial
from glob import escape
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.console.drill import CommandReply, DrillMoment
from kit.console.forms import Bare, Form, Given, Slot
from kit.console.logs import GREP, JOURNAL, grep, journal, options_in, timeless, whole
from kit.errors import BadInput, Refused
from kit.model.declared import Act
from kit.model.flows import ServerHost, ServerLine, ServerLog, address_of, host_id
from kit.model.timeline import PassedStep
from kit.ring.replication import Keyspace
from kit.ring.tokens import TokenSpace

LOG_FILE = "/var/log/scylla.log"
CONFIGURATION = "/etc/scylla/scylla.yaml"
STATUS_HEAD = ("--", "Address", "Load", "Tokens", "Owns", "Host ID", "Rack")
CLUSTER_HEAD = (
    "Cluster Information:",
    "\tName: drill",
    "\tPartitioner: org.apache.cassandra.dht.Murmur3Partitioner",
    "\tSchema versions:",
)
TITLES = ("Status=Up/Down", "|/ State=Normal/Leaving/Joining/Moving")
SERVER = "scylla-server"
API = "http://localhost:10000"
"""Where a server's own routes answer."""

Row = Mapping[str, Any]
"""Cells by their columns."""


class Command(Struct, frozen=True):
    """A command of the vocabulary, and the method of ``Servers`` that answers it.

    Without one, it is an action of the model (``Servers.does``). ``given`` is what its words say
    besides its slots.
    """

    text: str
    about: str
    answer: str = ""
    offered: bool = True
    own: bool = False
    given: Mapping[str, str] = {}


SELECTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("SELECT {columns}", "", {}),
    ("SELECT JSON {columns}", " as JSON", {"json": "JSON"}),
    ("SELECT COUNT(*)", ", counted", {}),
)
FILTERS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("", "", {}),
    (" ALLOW FILTERING", ", by any column", {"filters": "ALLOW"}),
)
PARTS_OF_TABLES = {
    "": "read a system table of this node",
    " WHERE {column} = {value}": "some rows of a system table",
    " WHERE {column} IN ({values})": "the rows with one of these values",
    " LIMIT {limit}": "the first rows of a system table",
    " WHERE {column} = {value} LIMIT {limit}": "the first of some rows",
    " WHERE {column} IN ({values}) LIMIT {limit}": "the first of these rows",
}
JOURNALS = (
    "journalctl _COMM=scylla",
    f"journalctl -u {SERVER}",
    "journalctl {lines} _COMM=scylla {lines}",
)
READS = "lines of this node's log that match a pattern"
WHOLE = "the whole log of this node"


def log_commands(file: str, *journals: str, whole: str = WHOLE) -> Iterator[Command]:
    """What reads the log of a server: its file, ``whole`` or in part, and what gives the same."""
    searches = " {pattern}", " {options} {pattern}"
    for at, search in enumerate(searches):
        about = "the same by options" if at else READS
        yield Command(f"grep{search} {file}", about, "grep", not at)
    yield Command(f"cat {file}", whole, "grep")
    more = *journals, "journalctl {lines}"
    for begun in (f"cat {file}", *more):
        about = "the same lines by options" if "{lines}" in begun else whole
        if begun in more:
            yield Command(begun, about, "grep", offered=False)
        for at, search in enumerate(searches):
            what = "the same by options" if at else "some lines of that log"
            yield Command(f"{begun} | grep{search}", what, "grep", offered=False)


def _alike(about: str, answer: str, *texts: str) -> Iterator[Command]:
    """Commands that mean the same; the first is offered."""
    return (Command(text, about, answer, not at) for at, text in enumerate(texts))


DC_SIZES = "{dc_size}", "{other_dc_size}", "{third_dc_size}"
_CMS = "nodetool cms"
_RECONFIGURE = f"{_CMS} reconfigure"
_CANCEL = "nodetool cancel {operation}"
_IGNORE = "--ignore {machine}"
_BEGIN = "nodetool cms initialize"
_BEGUN = f"{_BEGIN} {_IGNORE}", f"{_BEGIN} -i {{machine}}"
_LEFT_OUT = f"{_RECONFIGURE} {{size}} {_IGNORE}", f"{_RECONFIGURE} {_IGNORE} {{size}}"
_PARTS = "", " --start {start}", " --end {end}", " --start {start} --end {end}"
_DUMPS = [f"nodetool cms dumplog{part}" for part in _PARTS]
_ABORTS = "nodetool abortbootstrap --node {node_id}", "nodetool abortbootstrap --ip {machine}"
_JMX = "jmx cancelInProgressSequences {node_id} {sequence}"
VOCABULARY = (
    Command("on {node}", "go to a machine", "on", own=True),
    Command("ssh {machine}", "go to a machine, by its name or address", "ssh", offered=False),
    Command("nodetool status", "which nodes are up, as this node sees it", "status"),
    Command("nodetool describecluster", "the schema versions of the cluster", "describe"),
    Command("nodetool ring", "who owns which token, as this node knows it", "ring"),
    Command("nodetool gossipinfo", "what this node has heard about the other nodes", "gossipinfo"),
    Command("nodetool decommission", "this node leaves the cluster"),
    Command("nodetool assassinate {machine}", "take a dead node out at once"),
    Command("nodetool removenode {host_id}", "the other nodes take out a dead node"),
    *_alike("undo what a node is doing (documents)", "cancel", f"{_CANCEL} {{machine}}", _CANCEL),
    *_alike("undo a bootstrap (server)", "abort", *_ABORTS),
    Command("nodetool move --abort", "undo this node's move (server)", "abort_move"),
    Command(_JMX, "undo any operation (server)", "cancel_sequence", own=True),
    *_alike("the CMS, as this node knows it", "describe_cms", f"{_CMS} describe", _CMS),
    Command("nodetool cms reconfigure {size}", "how many members each datacenter has"),
    *(
        Command(f"{_RECONFIGURE} {sizes}", "members by datacenter", "by_datacenter", False)
        for sizes in (" ".join(DC_SIZES[:many]) for many in (1, 2, 3))
    ),
    *_alike("leave a node out", "reconfigure_without", *_LEFT_OUT),
    Command("nodetool cms reconfigure --status", "how far along the change is", "change_status"),
    *_alike("continue the change", "", f"{_RECONFIGURE} --resume", f"{_RECONFIGURE} -r"),
    *_alike("give up the change", "", f"{_RECONFIGURE} --cancel", f"{_RECONFIGURE} -c"),
    Command("nodetool cms snapshot", "every node stores a snapshot", "snapshot"),
    Command(_BEGIN, "start the log with this node"),
    *_alike("start the log without asking one node", "", *_BEGUN),
    Command("nodetool cms abortinitialization --initiator {machine}", "give up starting the log"),
    Command("nodetool cms unregister {node_id}", "forget a node that has left"),
    Command("nodetool cms resumedropaccordtable {value}", "continue to drop a table"),
    *_alike("the log, read from a quorum of the CMS", "dumplog", *_DUMPS),
    Command("nodetool cms dumpdirectory", "all nodes, as this node knows them", "dumpdirectory"),
    Command(f"{_CMS} dumpdirectory --tokens", "nodes and their tokens", "dumpdirectory_tokens"),
    Command("firewall drop {addresses}", "all live nodes refuse these addresses", "drop", own=True),
    *(
        Command(f"{verb} FROM {{table}}{some}{end}", what + way + how, "select", False, given=a | b)
        for verb, way, a in SELECTS
        for some, what in PARTS_OF_TABLES.items()
        for end, how, b in FILTERS
    ),
    *(
        each
        for word in ("restart", "stop", "start")
        for each in (
            Command(f"{word} {{node}}", f"{word} the server of a node", word, own=True),
            Command(f"systemctl {word} {SERVER}", f"{word} the server here", word, offered=False),
        )
    ),
    *log_commands(LOG_FILE, *JOURNALS),
    Command(f"cat {CONFIGURATION}", "the configuration of this node", "configuration"),
    Command("happen {event} {node}", "an event that no operator causes", "happen", own=True),
)


NEEDS = {
    "grep": ("log", "this model does not include what servers log"),
    "select": ("tables", "the model has no system tables"),
    "happen": ("events", "the model has nothing like that"),
    **dict.fromkeys(("stop", "restart"), ("stops", "no server stops in this model")),
    "start": ("starts", "no server starts in this model"),
}
"""What a method of ``Servers`` needs of a drill, and why a command is not there without it."""
NOT_MODELLED = "not modelled here: "
NO_TOKENS = "the model does not say which tokens a node owns"
UNTOLD = "?"
FILTERING = (
    "Cannot execute this query as it might involve data filtering and thus may have unpredictable "
    "performance. If you want to execute this query despite the performance unpredictability, use "
    "ALLOW FILTERING"
)
"""What servers say of a condition that is not on a key from its beginning."""
OWN_KEYSPACE = "kit_views"
"""Where tables stand that no server has."""
VIRTUAL = ("system_views", OWN_KEYSPACE)
"""Where tables stand whose rows are made when they are read."""


class TableKey(Struct, frozen=True):
    """The columns that tell the rows of a table apart, in their order: the first is the partition
    key, and so many behind it are ``clustering`` ones (``descending``: the greatest first). Those
    that are ``static`` say the same in every row of a partition.
    """

    clustering: int = 0
    descending: bool = False
    static: tuple[str, ...] = ()

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns of the key, the partition key first."""
        return tuple(columns)[: self.clustering + 1]


FITTING = {
    "STRING": ("text", "timestamp"),
    "INTEGER": ("int", "bigint", "timestamp"),
    "UUID": ("uuid", "timeuuid"),
}
"""The types of columns that each kind of a constant fits."""
COUNTED, JSON = ("count",), "[json]"
"""The columns of a read that counts rows, and of one that shows them as JSON."""


def needs_filtering(keyspace: str, key: Sequence[str], where: Collection[str]) -> bool:
    """Whether by conditions on these columns a server could read more rows than it returns.

    Those of a key are found: of its partition, and of what follows in the order of its columns.
    Virtual tables are read as a whole.
    """
    return keyspace not in VIRTUAL and {*where} != {*key[: len(where)]}


_COLUMN = re.compile(r"(\w+) ([a-z]+(?:<.+?>)?)( static)?(?:, |; |$)")


@cache
def declared(text: str) -> tuple[Mapping[str, str], TableKey]:
    """Columns as CQL declares them, with their types; those of the key stand before a ``;``."""
    every = _COLUMN.findall(text)
    clustering = len(_COLUMN.findall(text.partition(";")[0])) - 1
    static = tuple(name for name, _, is_static in every if is_static)
    return {name: kind for name, kind, _ in every}, TableKey(clustering, static=static)


def row_of(text: str, values: Iterable[Any]) -> Row:
    """The cells of a row of declared columns, in their order."""
    return dict(zip(declared(text)[0], values, strict=True))


class NodeTable(Struct, frozen=True):
    """A system table: its name, its columns (``declared``), and the rows that a node has.

    Its key is as published servers define it; ``descending``: the greatest row comes first.
    """

    name: str
    declaration: str
    rows: Callable[[DrillMoment, int], Iterable[Row]]
    keyspace: str = "system"
    descending: bool = False

    @property
    def title(self) -> str:
        """Its name, as a statement has it."""
        return f"{self.keyspace}.{self.name}"

    @property
    def types(self) -> Mapping[str, str]:
        """The CQL type of each column."""
        return declared(self.declaration)[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, the key first."""
        return tuple(self.types)

    @property
    def key(self) -> TableKey:
        """The columns that tell its rows apart."""
        return replace(declared(self.declaration)[1], descending=self.descending)

    def check_constant(self, column: str, value: str) -> None:
        """Raises Refused, as the server does, for a value that is not of a column's type."""
        is_number = value.removeprefix("-").isdecimal()
        constant = ("INTEGER" if is_number else "UUID") if isinstance(value, Bare) else "STRING"
        if (kind := self.types[column]) not in FITTING[constant]:
            wrong = f"Invalid {constant} constant ({value})"
            raise Refused(f'{wrong} for "{column}" of type {kind}')


class UserTable(Struct, frozen=True):
    """A table of users: where it is, and its columns with their CQL types, the key first."""

    keyspace: str
    name: str
    columns: Mapping[str, str]


class KnownRing(Struct, frozen=True):
    """The ring as a node knows it: its token space, and the tokens of each member by its place."""

    space: TokenSpace
    tokens: Mapping[int, tuple[int, ...]]


class TableAnswer(Struct, frozen=True):
    """The rows of a read, and its lines as cqlsh prints them."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    lines: tuple[str, ...]


class Servers:
    """The servers of a drill: who is where, who reaches whom, what their tools answer.

    ``log`` is what they log, as a ``unit`` of systemd, ``tables`` are their system tables,
    ``events`` the first words of what happens to nodes by no operator's hand, ``stops`` and
    ``starts`` make actions of a node's name. ``does`` gives a command the verb of the action that
    it is, in which ``*`` stands for a word, at its end for any words, and ``{here}`` for the
    machine that one is on. ``lacks`` gives beginnings of commands why the model has nothing like
    that; nor has it anything where no method answers. ``operations`` are the kinds of what a node
    may be at, each with its name in JMX.
    """

    log: ServerLog
    unit = SERVER
    tables: Sequence[NodeTable] = ()
    events: Sequence[str] = ()
    stops: Callable[[str], Any]
    starts: Callable[[str], Any]
    does: Mapping[str, str] = {}
    operations: Mapping[str, str] = {}
    lacks: Mapping[str, str] = {
        "nodetool cms": "there is no CMS",
        "nodetool gossipinfo": "this model does not include what nodes gossip",
        "nodetool ring": NO_TOKENS,
    }

    # What a drill says of its model

    def hosts(self, now: DrillMoment) -> Sequence[ServerHost]:
        """Every machine, in the order of nodes."""
        return [ServerHost(address_of(at), host_id(at)) for at in range(len(now.model.names))]

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether a node's server answers its own tools."""
        return bool(now.state.nodes[at].is_up)

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether tools tell of a node."""
        return True

    def is_unroutable(self, now: DrillMoment, at: int) -> bool:
        """Whether a node's machine is gone, too."""
        return False

    def reached(self, now: DrillMoment, at: int) -> Container[int]:
        """The nodes that a node takes to be up, itself among them: all that are."""
        return {each for each in range(len(now.model.names)) if self.is_up(now, each)}

    def version(self, now: DrillMoment, at: int) -> str:
        """The schema version of a node."""
        return ""

    def letter(self, now: DrillMoment, at: int) -> str:
        """The state of a member: normal (N), joining (J), leaving (L), moving (M)."""
        return "N"

    def tokens(self, now: DrillMoment, at: int) -> str:
        """How many tokens a member has, where the model says so."""
        return UNTOLD

    def members(self, now: DrillMoment) -> Iterator[tuple[int, str, str]]:
        """Each member as the asked node knows it: its place, its state, how many tokens it has."""
        at = (each for each in range(len(now.model.names)) if self.is_member(now, each))
        return ((each, self.letter(now, each), self.tokens(now, each)) for each in at)

    def schema(self, now: DrillMoment, at: int) -> tuple[tuple[Keyspace, ...], Sequence[UserTable]]:
        """The keyspaces and the tables of users, as a node knows them."""
        return (), ()

    def known_ring(self, now: DrillMoment, at: int) -> KnownRing | None:
        """The owners of tokens, as a node knows them; None where nodes have none."""
        return None

    # What the tools answer

    def answering(self, now: DrillMoment, tool: str) -> int:
        """The number of the machine that one is on. Raises Refused where its server is down."""
        if not self.is_up(now, now.here):
            raise Refused(f"{tool} on {now.place}: connection refused, the server is down")
        return now.here

    def on(self, now: DrillMoment, given: Given) -> CommandReply:
        """Another machine."""
        at = now.number(given["node"])
        if self.is_unroutable(now, at):
            address = self.hosts(now)[at].address
            raise Refused(f"ssh: connect to host {address}: no route to host")
        return CommandReply(place=now.model.names[at])

    def ssh(self, now: DrillMoment, given: Given) -> CommandReply:
        """Another machine, by its name or its address."""
        return self.on(now, {"node": self.machine(now, given)})

    def machine(self, now: DrillMoment, given: Given) -> str:
        """The node that is named, or whose address is."""
        by_address = {host.address: now.model.names[at] for at, host in enumerate(self.hosts(now))}
        machine = str(given["machine"])
        return str(by_address.get(machine, machine))

    def numbered(self, now: DrillMoment, given: Given) -> str:
        """The node of a number."""
        return str(now.model.names[int(str(given["node_id"])) - 1])

    def acted(self, now: DrillMoment, given: Given, command: str) -> CommandReply:
        """The action that a command is: one that is permitted before one that is not.

        Raises Refused where there is nothing like that to do now.
        """
        self.answering(now, "nodetool")
        words = {"here": now.place, **given}
        if "machine" in given:
            words["machine"] = self.machine(now, given)
        if "node_id" in given:
            words["machine"] = self.numbered(now, given)
        if "host_id" in given:
            words["machine"] = now.model.names[self._host_ids(now).index(str(given["host_id"]))]
        like = self.does[command].format_map({k: escape(str(v)) for k, v in words.items()}).split()
        options = now.model.options(now.state)
        of_kind = [each for each in options if _fits(now.model.verb(each[0]).split(), like)]
        if not of_kind:
            raise Refused(f"{command.format_map(given)}: {self.idle(now, given, command)}")
        return CommandReply(actions=(min(of_kind, key=lambda option: option[1] is not None)[0],))

    def idle(self, now: DrillMoment, given: Given, command: str) -> str:
        """Why there is nothing to do now that is a command."""
        return "nothing like that can be done in this model now"

    def status(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool status``, as this node sees the others."""
        up = self.reached(now, self.answering(now, "nodetool"))
        by_dc: dict[str, list[tuple[str, ...]]] = {}
        hosts = self.hosts(now)
        for at, letter, count in self.members(now):
            state, host = "DU"[at in up] + letter, hosts[at]
            row = (state, host.address, "?", count, "?", host.host_id, host.rack)
            by_dc.setdefault(host.dc, [STATUS_HEAD]).append(row)
        lines: list[str] = []
        for dc, rows in sorted(by_dc.items()):
            heading = f"Datacenter: {dc}"
            lines += [heading, "=" * len(heading), *TITLES, *aligned(rows)]
        return CommandReply(tuple(lines))

    def versions(self, now: DrillMoment) -> tuple[dict[str, list[str]], list[str]]:
        """The addresses that this node reaches by their schema versions, and all others."""
        up = self.reached(now, self.answering(now, "nodetool"))
        versions: dict[str, list[str]] = {}
        unreachable = []
        for at, host in enumerate(self.hosts(now)):
            if not self.is_member(now, at) and at != now.here:
                continue
            if at in up:
                versions.setdefault(self.version(now, at), []).append(host.address)
            else:
                unreachable.append(host.address)
        return versions, unreachable

    def describe(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool describecluster``: the schema versions of those that are reached."""
        versions, unreachable = self.versions(now)
        known = (f"{each}: [{', '.join(versions[each])}]" for each in sorted(versions))
        lost = (f"UNREACHABLE: [{', '.join(unreachable)}]",) if unreachable else ()
        return CommandReply((*CLUSTER_HEAD, *(f"\t\t{each}" for each in (*known, *lost))))

    def select(self, now: DrillMoment, given: Given) -> CommandReply:
        """Rows of a system table of this node."""
        return CommandReply(self.read(now, self.answering(now, "cqlsh"), given).lines)

    def read(self, now: DrillMoment, at: int, given: Given) -> TableAnswer:
        """``columns`` of a node's ``table``, of rows whose ``column`` has a ``value`` or one of
        several ``values``, as ``json``; without columns, how many rows there are.

        Raises BadInput for a column that the table has not, Refused for a value of another type,
        and for a column off the key without ``filters``.
        """
        [table] = [each for each in self.tables if each.title == given["table"]]
        wanted = tuple(given.get("columns", "*"))
        columns = table.columns if wanted == ("*",) else wanted
        only = str(given.get("column", ""))
        for name in filter(None, (*columns, only)):
            if name not in table.columns:
                known = ", ".join(table.columns)
                raise BadInput("column", name, f"* or {known} of {given['table']}")
        value = given.get("values", given.get("value", ""))
        values = (value,) if isinstance(value, str) else value
        for each in values if only else ():
            table.check_constant(only, each)
        key, where = table.key.of(table.columns), (only,) if only else ()
        if "filters" not in given and needs_filtering(table.keyspace, key, where):
            raise Refused(FILTERING)
        rows = [row for row in table.rows(now, at) if not only or str(row.get(only)) in values]
        if "columns" not in given:
            columns, rows = COUNTED, [dict.fromkeys(COUNTED, len(rows))]
        if "limit" in given:
            rows = rows[: whole("LIMIT", given["limit"], 1)]
        printed = json_rows if "json" in given else cql_rows
        return TableAnswer(columns, rows, tuple(printed(columns, rows)))

    def grep(self, now: DrillMoment, given: Given) -> CommandReply:
        """The lines of this node's log that match ``pattern``; without it all."""
        return CommandReply(self.searched(now, given))

    def searched(self, now: DrillMoment, given: Given) -> tuple[str, ...]:
        """The same lines; behind each stands whether its words are the kit's own."""
        every = [line for each in self.written(now) for line in each if line.node == now.place]
        which = options_in(given, "lines")
        mine = journal(every, which, self.unit)
        lines = [*grep(mine, str(given.get("pattern", "")), options_in(given, "options"))]
        return (*(timeless(which) if lines else ()), *lines)

    def reads(self, now: DrillMoment, given: Given) -> tuple[tuple[str, ...], bool]:
        """These lines, and whether there is one to read: a count is none."""
        lines = self.searched(now, given)
        return lines, bool(lines) and "-c" not in options_in(given, "options")

    def written(self, now: DrillMoment) -> tuple[tuple[ServerLine, ...], ...]:
        """The log lines of all servers, at each moment of the run."""
        steps = [PassedStep(a.state, b.action, b.state, ()) for a, b in pairwise(now.run)]
        return self.log.lines(now.model, now.run[0].state, steps)

    def happen(self, now: DrillMoment, given: Given) -> CommandReply:
        """An event at a node that no operator causes, if the model has it now.

        Raises BadInput when it has not, naming those that it has.
        """
        m, verb = now.model, f"{given['event']} {given['node']}"
        if (option := m.find(now.state, verb)) is None:
            raise BadInput("happen", verb, possible(now, self.events))
        return CommandReply(actions=(option[0],))

    # What starts and stops a server

    def server(self, now: DrillMoment, given: Given) -> str:
        """The node that is named, or the one that one is on. Raises Refused for a lost one."""
        name = str(given.get("node", now.place))
        self.on(now, {"node": name})
        return name

    def turned(self, now: DrillMoment, name: str, *, on: bool) -> tuple[Any, ...]:
        """The actions of the model by which a server starts, or stops."""
        return ((self.starts if on else self.stops)(name),)

    def stop(self, now: DrillMoment, given: Given) -> CommandReply:
        """The server stops; its disk stays."""
        name = self.server(now, given)
        if not self.is_up(now, now.number(name)):
            raise Refused(f"{name} is already down: there is nothing to stop")
        stops = self.turned(now, name, on=False)
        return CommandReply(actions=stops, said=_stopped(name, stops))

    def start(self, now: DrillMoment, given: Given) -> CommandReply:
        """The server starts."""
        name = self.server(now, given)
        if self.is_up(now, now.number(name)):
            raise Refused(f"{name} is already up: there is nothing to start")
        return CommandReply(actions=self.turned(now, name, on=True))

    def restart(self, now: DrillMoment, given: Given) -> CommandReply:
        """Stop and start: two steps, between which the node is down."""
        name = self.server(now, given)
        stops = [each for each in self.turned(now, name, on=False) if now.has(each)]
        turns = (*stops, *self.turned(now, name, on=True))
        return CommandReply(actions=turns, said=_stopped(name, stops))

    # What may be typed

    def _host_ids(self, now: DrillMoment) -> list[str]:
        return [host.host_id for host in self.hosts(now)]

    def _dc_sizes(self, now: DrillMoment) -> list[str]:
        dcs = dict.fromkeys(host.dc for host in self.hosts(now))
        return [f"{dc}:{number}" for dc in dcs for number in _numbers(now)]

    def absence(self, command: Command) -> str:
        """Why the model has nothing of what a command is about; empty: the command is answered."""
        lacks = *self.lacks.items(), ("nodetool cms resumedrop", "no model has Accord")
        of = (why for words, why in lacks if command.text.startswith(words))
        answered = command.text in self.does or (command.answer and hasattr(self, command.answer))
        return next(of, self._missing(command) if answered else "the model has nothing like that")

    def _missing(self, command: Command) -> str:
        needed, why = NEEDS.get(command.answer, ("", ""))
        shared = getattr(Servers, command.answer, None)
        is_shared = getattr(type(self), command.answer, None) is shared
        return why if needed and is_shared and not getattr(self, needed, ()) else ""

    def understood(self, *beginnings: str) -> tuple[Form, ...]:
        """The commands of the vocabulary that begin with these words, in this order.

        Those of nodetool that are not modelled say so.
        """
        return tuple(
            self._form(each)
            for words in beginnings
            for each in VOCABULARY
            if each.text.startswith(words)
        )

    def completed(self, *forms: Form) -> tuple[Form, ...]:
        """These forms, and behind them all of the vocabulary that they do not have.

        So no drill leaves unknown what another one understands.
        """
        typed = {form.text for form in forms}
        own = {form.text for form in forms if not form.absent}
        there = (form for form in forms if not (form.absent and form.text in own))
        return (*there, *(self._form(each) for each in VOCABULARY if each.text not in typed))

    def _form(self, command: Command) -> Form:
        if why := self.absence(command):
            refuse = partial(self.refused, why=f"{NOT_MODELLED}{why}")
            return Form(command.text, why, refuse, False, command.own, absent=True)
        is_action = command.text in self.does or not command.answer
        acted = partial(self.acted, command=command.text)
        answer = acted if is_action else getattr(self, command.answer)
        more = command.given
        said = (lambda now, given: answer(now, {**given, **more})) if more else answer
        return Form(command.text, command.about, said, command.offered, command.own)

    def logs(self, file: str, whole: str) -> tuple[Form, ...]:
        """The commands that read the log of a server that writes it there."""
        return tuple(map(self._form, log_commands(file, f"journalctl -u {self.unit}", whole=whole)))

    def refused(self, now: DrillMoment, given: Given, why: str) -> CommandReply:
        """The answer, in words, to a command about something that the model has not."""
        raise Refused(why)

    def reading(
        self, text: str, about: str, offered: bool = True, **given: str | tuple[str, ...]
    ) -> Form:
        """A statement that reads a table, and says more of it than its slots do."""
        return Form(text, about, lambda now, typed: self.select(now, {**typed, **given}), offered)

    @staticmethod
    def route(
        method: str, path: str, about: str, answer: Callable[[DrillMoment, Given], CommandReply]
    ) -> tuple[Form, ...]:
        """A route of the server's own: asked as documents write it, and with ``curl``."""
        typed = [f"{method} {path}", f"curl -X {method} {API}{path}"]
        typed += [f"curl {API}{path}"] if method == "GET" else []
        return tuple(Form(text, about, answer, not at) for at, text in enumerate(typed))

    def slots(self, **more: Slot) -> dict[str, Slot]:
        """The slots in the commands of the vocabulary, and in a drill's own."""
        tables = [table.title for table in self.tables]
        names = tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

        def machines(now: DrillMoment) -> list[str]:
            return [*now.model.names, *(host.address for host in self.hosts(now))]

        return {
            "node": Slot("a node", lambda now: now.model.names),
            "machine": Slot("a node or its address", machines),
            "pattern": Slot("a pattern"),
            "options": Slot("an option", options=GREP),
            "lines": Slot("an option", options=JOURNAL),
            "event": Slot("what happens", lambda now: self.events),
            "table": Slot("a system table", lambda now: tables),
            "columns": Slot("columns", lambda now: ("*", *names), many=True),
            "column": Slot("a column", lambda now: names),
            "value": Slot("a value in quotes, a number or a UUID", quoted=True),
            "values": Slot("values in quotes, numbers or UUIDs", quoted=True, many=True),
            "limit": Slot("how many rows"),
            "size": Slot("a number", _numbers),
            **{each[1:-1]: Slot("such as dc1:3", self._dc_sizes) for each in DC_SIZES},
            "start": Slot("the first epoch"),
            "end": Slot("the last epoch"),
            "node_id": Slot("a node's number", _numbers),
            "host_id": Slot("a node's host id", self._host_ids),
            "addresses": Slot("addresses", many=True),
            "operation": Slot("an operation", lambda now: self.operations),
            "sequence": Slot("its name in JMX", lambda now: self.operations.values()),
            **more,
        }


def _stopped(name: str, stops: Iterable[Any]) -> dict[Any, str]:
    return dict.fromkeys(stops, f"The server on {name} stops. Its disk stays.")


def _fits(verb: Sequence[str], like: Sequence[str]) -> bool:
    most = len(verb) if like[-1] == "*" else len(like)
    return len(like) <= len(verb) <= most and all(map(fnmatchcase, verb, like))


def _numbers(now: DrillMoment) -> list[str]:
    return [str(at + 1) for at in range(len(now.model.names))]


def possible(now: DrillMoment, words: Iterable[str]) -> str:
    """The verbs with these first words that can be done now."""
    verbs = map(now.model.verb, now.model.actions(now.state))
    return ", ".join(verb for verb in verbs if verb.split()[0] in words) or "nothing now"


def by_verb(act: Act, about: str, unless: Callable[[Any], str | bool] = lambda node: "") -> Form:
    """The command that is an action of the model at a node, and is typed as its verb.

    ``unless`` says of a node why its server does not do it.
    """

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        name = str(given["node"])
        if why := unless(now.state.nodes[now.number(name)]):
            raise Refused(f"{name} {why}")
        return CommandReply(actions=(act(**given),))

    return Form(str(act.verb), about, answer, own=True)


def aligned(rows: Sequence[Sequence[str]], gap: str = " ") -> Iterator[str]:
    """Rows of cells in columns, as nodetool prints them, or with more between them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield gap.join(map(str.ljust, row, widths)).rstrip()


def cql_rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Rows as cqlsh prints them: a heading, a line, the rows, their count."""
    cells = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield " " + " | ".join(map(str.ljust, columns, widths)).rstrip()
    yield f"-{'-+-'.join('-' * width for width in widths)}-"
    yield from (" " + " | ".join(map(str.rjust, row, widths)) for row in cells[1:])
    yield from ("", f"({len(rows)} rows)")


def json_rows(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """The same as ``SELECT JSON`` shows them."""
    return cql_rows((JSON,), [{JSON: json_row(columns, row)} for row in rows])


def json_row(columns: Sequence[str], row: Row) -> str:
    """These cells of a row, as ``SELECT JSON`` has them; a set is a list."""

    def plain(value: Any) -> Any:
        return sorted(value) if isinstance(value, set) else str(value)

    return json.dumps({name: row.get(name) for name in columns}, default=plain)


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        texts = ", ".join(f"'{each}'" for each in value)
        return f"{{{texts}}}" if isinstance(value, list) else f"[{texts}]"
    if isinstance(value, set):  # of numbers
        return f"{{{', '.join(map(str, sorted(value)))}}}"
    return "null" if value is None else str(value)
