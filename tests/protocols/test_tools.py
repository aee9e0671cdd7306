"""What the tools of servers answer, over every model that has servers and all its scenarios."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.console.cassandra import MetadataServers
from kit.console.drill import CommandReply, DrillMoment, done, drills, open_drill
from kit.console.forms import Grammar
from kit.console.server import FILTERING, OWN_KEYSPACE, VOCABULARY, Servers
from kit.errors import BadInput, Refused
from kit.model.family import server_places
from kit.model.registry import build
from kit.model.scenario import file_named, files, open_file, read
from kit.model.timeline import Timeline
from kit.operators.importers.metadata_log import KINDS, parse_metadata
from kit.operators.importers.nodetool import parse_ring_text, parse_status_text
from kit.ring.topology import Node
from tests.views.frames import after, go_on

READ = Path(__file__).with_name("tools.txt").read_text(encoding="utf-8")
PUBLISHED = {
    name.removeprefix("own "): tuple(re.split(r",\s+", fields.strip()))
    for name, fields in re.findall(r"^(\w.*?): (.*(?:\n .*)*)", READ, re.MULTILINE)
}
OWN = set(re.findall(r"^own (\S+):", READ, re.MULTILINE))
MODELS = rf"^model (?:{'|'.join(server_places())})$"
STORIES = sorted(
    name for name, path in files().items() if re.search(MODELS, read(path), re.MULTILINE)
)


def servers(timeline: Timeline) -> Servers:
    """The servers of a model."""
    family, place = server_places()[timeline.model.name]
    answering: Servers = family.load(place)
    return answering


def moments(timeline: Timeline) -> Iterator[DrillMoment]:
    """Every moment of a run, on each machine in turn."""
    run, names = tuple(timeline.moments[at] for at in timeline.path()), timeline.model.names
    for many in range(1, len(run) + len(names)):
        yield DrillMoment(timeline.model, run[:many], names[many % len(names)])


def answer(tools: Servers, now: DrillMoment, line: str) -> CommandReply:
    """What a line prints, and does."""
    form, given = Grammar(tools.understood("nodetool", "SELECT"), tools.slots()).read(line, now)
    reply: CommandReply = form.answer(now, given)
    return reply


def typed(tools: Servers, now: DrillMoment, line: str) -> tuple[str, ...]:
    """What a line prints."""
    return answer(tools, now, line).lines


def fields(line: str, printed: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The fields of each block, in order; the labels of a view."""
    text = "\n".join(printed)
    if line.endswith("describe"):
        return [tuple(re.findall(r"^([A-Z].*?): ?.*$", text, re.MULTILINE)[1:])]
    blocks = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    return [tuple(re.findall(r"^  (\w+)", block, re.MULTILINE)) for block in blocks]


def wanted(line: str, block: tuple[str, ...]) -> tuple[str, ...]:
    """The published fields that a block has to have: some are there only at times."""
    known = PUBLISHED[line]
    needed = ("generation", "heartbeat", "TOKENS") if "gossipinfo" in line else known
    names = [name for name in known if name in needed or name in block]
    return (*names, *(name for name in block if name == "multi_step_operation"))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", STORIES)
def test_the_tools_print_the_published_fields_in_order(name: str) -> None:
    """At each moment on each machine; importers of real clusters' output read it."""
    timeline = open_file(file_named(name))
    tools = servers(timeline)
    for now in moments(timeline):
        if not tools.is_up(now, now.here):
            if not getattr(tools, "has_left", lambda now, name: "")(now, now.place):
                with pytest.raises(Refused, match="server is down"):
                    typed(tools, now, "nodetool status")
            continue
        for line in ("nodetool status", "nodetool ring", *PUBLISHED):
            if line.startswith("nodetool"):
                answered(tools, now, line)
            elif line in {table.title for table in tools.tables}:
                answered(tools, now, f"SELECT * FROM {line}")
        for table in tools.tables:
            assert table.columns == PUBLISHED.get(table.title, table.columns), table.title
            assert (table.title in OWN) == (table.keyspace == OWN_KEYSPACE), table.title
            assert table.title in PUBLISHED or table.keyspace == "system", table.title


PARSED = {"nodetool status": parse_status_text, "nodetool ring": parse_ring_text}


def answered(tools: Servers, now: DrillMoment, line: str) -> None:
    """A command prints what is published, or says why not."""
    try:
        printed = typed(tools, now, line)
    except Refused as error:
        assert re.search("^not modelled here: |QUORUM|no CMS$", str(error)), line  # noqa: PT017  # or not
        return
    text = "\n".join(printed) + "\n"
    if line.startswith("SELECT"):
        columns = tuple(map(str.strip, printed[0].split("|")))
        assert columns == PUBLISHED[line.rsplit(maxsplit=1)[-1]], line
    elif printed and line in PARSED:
        assert PARSED[line](text, line).nodes, line
    elif line in PUBLISHED:
        for block in fields(line, printed):
            assert block == wanted(line, block), (line, now.place)
        if printed and "gossip" not in line:
            parse_metadata(text, line)


EXACT = re.findall(
    r"^== (\S+) (\d+) (\S+) \$ (.*)\n((?:(?!== ).*\n)*)",
    Path(__file__).with_name("printed.txt").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def moment(story: str, steps: int, place: str) -> tuple[Servers, DrillMoment]:
    """A moment of a story, after so many steps, on a machine; 0: at its end."""
    timeline = open_file(file_named(story))
    run = tuple(timeline.moments[at] for at in timeline.path())
    return servers(timeline), DrillMoment(
        timeline.model, run[: steps + 1 if steps else None], place
    )


@pytest.mark.parametrize(("story", "steps", "place", "line", "text"), EXACT)
def test_a_tool_prints_what_a_person_has_checked(
    story: str, steps: str, place: str, line: str, text: str
) -> None:
    """To the letter, at a moment of a story."""
    tools, now = moment(story, int(steps), place)
    assert "\n".join(typed(tools, now, line)).strip("\n") == text.strip("\n")


@pytest.mark.parametrize(("nodes", "tokens"), [(1, ["100"]), (2, ["200", "100", "200"])])
def test_a_ring_of_more_than_one_token_begins_with_the_last(nodes: int, tokens: list[str]) -> None:
    """Cassandra's ``nodetool ring`` shows so that it goes around."""
    timeline = Timeline(build("tcm", {"nodes": nodes, "rf": 1}))
    now = DrillMoment(timeline.model, (timeline.now,), "A")
    printed = typed(servers(timeline), now, "nodetool ring")
    assert [line.split()[-1] for line in printed[4:]] == tokens


def test_dumplog_is_the_same_on_every_node_and_describe_is_not() -> None:
    """A node that lags has another epoch; entries above a gap are counted as pending."""
    tools, now = moment("tcm/entry-above-a-gap", 0, "A")
    pending, epochs = set[str](), set[tuple[str, ...]]()
    for many in range(1, len(now.run) + 1):
        each = [DrillMoment(now.model, now.run[:many], name) for name in now.model.names]
        assert len({typed(tools, at, "nodetool cms dumplog") for at in each}) == 1
        views = [
            typed(tools, at, "nodetool cms describe") for at in each if tools.is_up(at, at.here)
        ]
        pending |= {line for view in views for line in view if "Pending" in line}
        epochs.add(tuple(line for view in views for line in view if line.startswith("Epoch")))
    assert pending == {"Local Pending Count: 0", "Local Pending Count: 1"}
    assert any(len({*known}) > 1 for known in epochs)


@pytest.mark.parametrize(
    "line",
    [
        "nodetool cms describe",
        "nodetool cms dumplog",
        "SELECT epoch FROM system_views.cluster_metadata_log",
    ],
)
def test_the_log_is_refused_where_nodes_only_gossip(line: str) -> None:
    """With a log, all three commands answer."""
    for mode in ("gossip", "log"):
        timeline = Timeline(build("dataplane", {"mode": mode}))
        run = tuple(timeline.moments[at] for at in timeline.path())
        now = DrillMoment(timeline.model, run, timeline.model.names[0])
        if mode == "log":
            printed = typed(servers(timeline), now, line)
            assert (printed == ()) is ("dumplog" in line)
            continue
        with pytest.raises(Refused, match="not modelled here: there is no log where nodes only"):
            typed(servers(timeline), now, line)


def test_a_removed_node_without_a_replica_is_down() -> None:
    """B, far from the range: up before the removal is committed, down after."""
    given = {"nodes": 6, "token": 300, "rf": 3, "operations": ("removenode B",)}
    timeline = Timeline(build("dataplane", given))
    model, tools = timeline.model, servers(timeline)
    assert model.names.index("B") >= model.replicas
    go_on(timeline, "removenode B")
    run = tuple(timeline.moments[at] for at in timeline.path())
    for many, down in ((1, ""), (2, "B")):
        now = DrillMoment(model, run[:many], "C")
        up = [tools.is_up(now, at) for at in range(len(model.names))]
        assert up == [name != down for name in model.names]


def test_a_crashed_replica_is_down_and_no_other_node_is() -> None:
    """B crashed; the metadata say nothing of it."""
    timeline = after("dataplane", {"crashes": 1}, "crash B")
    run = tuple(timeline.moments[at] for at in timeline.path())
    now, tools = DrillMoment(timeline.model, run, "A"), servers(timeline)
    names = timeline.model.names
    assert [name for at, name in enumerate(names) if not tools.is_up(now, at)] == ["B"]


def test_without_a_cms_quorum_the_log_is_refused_and_views_are_not() -> None:
    """Describe, the directory and status still answer."""
    tools, last = moment("cms/majority-lost", 0, "C")
    runs = (last.run[:many] for many in range(1, len(last.run)))
    lost = next(run for run in runs if not last.model.has_quorum(run[-1].state))
    now = DrillMoment(last.model, lost, "C")
    with pytest.raises(Refused, match=r"QUORUM.*missing A, B"):
        typed(tools, now, "nodetool cms dumplog")
    with pytest.raises(Refused, match="QUORUM"):
        typed(tools, now, "SELECT epoch FROM system_views.cluster_metadata_log")
    assert "Is Member: true" in typed(tools, now, "nodetool cms describe")
    assert typed(tools, now, "nodetool cms dumpdirectory")
    assert any(line.startswith("DN 10.0.0.11 ") for line in typed(tools, now, "nodetool status"))


def test_a_node_with_a_new_address_is_down_where_the_old_address_is_known() -> None:
    """The node itself shows the new one."""
    given = {"nodes": 2, "members": 2, "changes": 0, "edition": "server", "addresses": 1}
    timeline = after("cms", given, "new-address A")
    run = tuple(timeline.moments[at] for at in timeline.path())
    seen = {
        name: typed(servers(timeline), DrillMoment(timeline.model, run, name), "nodetool status")
        for name in timeline.model.names
    }
    rows = {name: [line.split()[:2] for line in lines[5:]] for name, lines in seen.items()}
    assert rows["A"] == [["UN", "10.0.0.111"], ["UN", "10.0.0.12"]]
    assert rows["B"] == [["DN", "10.0.0.11"], ["UN", "10.0.0.12"]]


def test_a_node_that_is_called_by_its_address_has_that_address() -> None:
    """All others have an address by their place."""
    names = ("192.0.2.1", "fd00::7", "C")
    timeline = after(
        "tcm", {"members": tuple(Node(name, (100 * at,)) for at, name in enumerate(names))}
    )
    now = DrillMoment(timeline.model, (timeline.moments[0],), "C")
    lines = typed(servers(timeline), now, "nodetool status")[5:]
    assert [line.split()[1] for line in lines] == ["192.0.2.1", "fd00::7", "10.0.0.13"]


@pytest.mark.parametrize("name", server_places())
def test_every_command_of_nodetool_is_understood_by_every_model(name: str) -> None:
    """A command that is not modelled says so, and is not offered."""
    family, place = server_places()[name]
    forms = family.load(place).understood("nodetool")
    timeline = Timeline(build(name, {}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), timeline.model.names[0])
    assert [form.text for form in forms] == [
        each.text for each in VOCABULARY if each.text.startswith("nodetool")
    ]
    for form in (form for form in forms if form.absent):
        assert not form.offered, form.text
        with pytest.raises(Refused, match=f"^not modelled here: {re.escape(form.about)}$"):
            form.answer(now, {})


DCS = {"nodes": 5, "dcs": 2, "edition": "server", "orders": 2, "longest": 12}


@pytest.mark.parametrize(
    ("name", "parameters", "place", "line", "verb"),
    [
        ("cms", {"nodes": 4, "members": 3}, "B", "nodetool decommission", "decommission A B A B"),
        ("cms", {"edition": "server"}, "C", "nodetool cms reconfigure 2", "reconfigure A 2 A"),
        ("cms", {}, "A", "nodetool cms reconfigure --resume", "advance A A"),
        ("cms", {}, "A", "nodetool cms reconfigure -r", "advance A A"),
        ("cms", {"edition": "server"}, "A", "nodetool cms reconfigure dc1:2", "reconfigure A 2 A"),
        ("cms", DCS, "A", "nodetool cms reconfigure dc2:1 dc1:2", "resize A dc1:2,dc2:1 A"),
        ("cms", DCS, "A", "nodetool cms reconfigure dc2:2 dc1:2", "resize A dc1:2,dc2:2 A"),
        ("cms", DCS, "A", "nodetool cms reconfigure dc1:2", "reconfigure A 2 A"),
        ("cms", DCS, "A", "nodetool cms reconfigure dc2:2", "resize A dc2:2 A"),
        ("cms", {"nodes": 6, "members": 5}, "B", "nodetool decommission", "decommission A B A B C"),
        ("commit", {"events": ("snapshot at B",)}, "B", "nodetool cms snapshot", "submit r1 A"),
        ("tcm", {"operations": ["decommission C"]}, "C", "nodetool decommission", "decommission C"),
        ("topology", {"operations": ["leave B"]}, "B", "nodetool decommission", "leave B"),
    ],
)
def test_a_command_of_nodetool_is_an_action_of_the_model(
    name: str, parameters: dict[str, object], place: str, line: str, verb: str
) -> None:
    """Each row: what is typed where, and the verb of the action."""
    model = build(name, parameters, ())
    timeline = Timeline(model)
    now = DrillMoment(model, (timeline.moments[0],), place)
    [action] = answer(servers(timeline), now, line).actions
    assert model.verb(action) == verb


@pytest.mark.parametrize(
    ("line", "until", "verb"),
    [
        ("nodetool cms initialize", "initialize B", "initialize B"),
        ("nodetool cms initialize --ignore 10.0.0.13", "initialize B", "initialize B C"),
        ("nodetool cms initialize -i 10.0.0.13", "initialize B", "initialize B C"),
        ("nodetool cms abortinitialization --initiator 10.0.0.11", "abort A", "abort A"),
    ],
)
def test_nodetool_initializes_and_aborts_a_migration(line: str, until: str, verb: str) -> None:
    """Typed on B, while C is down."""
    timeline = Timeline(build("migration", {"crashes": 1}, ()))
    while timeline.model.find(timeline.state, until) is None:
        timeline.do(timeline.suggest())
    go_on(timeline, "crash C")
    run = tuple(timeline.moments[at] for at in timeline.path())
    [action] = answer(servers(timeline), DrillMoment(timeline.model, run, "B"), line).actions
    assert timeline.model.verb(action) == verb


def test_the_cms_gets_the_size_asked_for_in_each_datacenter() -> None:
    """Once resumed it goes there by itself; a datacenter named twice is refused."""
    timeline = Timeline(build("cms", DCS, ()))
    tools = servers(timeline)

    def ask(line: str) -> tuple[str, ...]:
        run = tuple(timeline.moments[at] for at in timeline.path())
        reply = answer(tools, DrillMoment(timeline.model, run, "A"), f"nodetool cms {line}")
        for action in reply.actions:
            done(timeline, action)
        return reply.lines

    ask("reconfigure dc1:2 dc2:1")
    ask("reconfigure -r")
    assert ask("reconfigure --status")[0] == "ACTIVE: [/10.0.0.12:7000]"
    go_on(timeline, "catch-up B A")
    while move := timeline.model.suggest(timeline.state):
        timeline.do(move)
    members = timeline.model.newest(timeline.state)
    names = timeline.model.named(members.readers)
    assert (names, members.by_dc) == (("A", "B", "C"), "dc1:2,dc2:1")
    with pytest.raises(BadInput, match="each datacenter once"):
        ask("reconfigure dc1:1 dc1:2")


def test_nodetool_shows_a_migration_from_gossip_to_the_log() -> None:
    """The old version has no CMS; an upgraded node is in gossip, migrates, and follows the log."""
    timeline = Timeline(build("migration", {}, ()))
    tools, model = servers(timeline), timeline.model

    def describe(place: str) -> dict[str, str]:
        run = tuple(timeline.moments[at] for at in timeline.path())
        lines = typed(tools, DrillMoment(model, run, place), "nodetool cms describe")
        return dict(line.partition(":")[::2] for line in lines)

    for line in ("describe", "dumplog", "dumpdirectory"):
        with pytest.raises(Refused, match="B runs the old version, which has no CMS"):
            typed(tools, DrillMoment(model, tuple(timeline.moments), "B"), f"nodetool cms {line}")
    seen = []
    while not (view := model.migrated(timeline.state)):
        timeline.do(timeline.suggest())
        if timeline.state.nodes[0].is_new:
            view = describe("A")
            seen.append([view[each].strip() for each in ("Service State", "Is Migrating")])
    assert [list(key) for key in dict.fromkeys(map(tuple, seen))] == [
        ["GOSSIP", "false"],
        ["GOSSIP", "true"],
        ["LOCAL", "false"],
    ]
    run = tuple(timeline.moments[at] for at in timeline.path())
    now = DrillMoment(model, run, "B")
    log = parse_metadata("\n".join(typed(tools, now, "nodetool cms dumplog")), "log")
    kinds = [entry.kind for entry in log.rows]
    assert kinds == ["PRE_INITIALIZE_CMS", "INITIALIZE_CMS", "FINISH_ADD_TO_CMS"]
    assert (
        typed(tools, now, "nodetool cms dumpdirectory").count("  state                 JOINED") == 3
    )
    first = DrillMoment(model, run[:1], "B")
    assert "  STATUS:?:NORMAL" in typed(tools, first, "nodetool gossipinfo")
    assert f"  STATUS:{now.state.nodes[1].epoch}:NORMAL" in typed(tools, now, "nodetool gossipinfo")


def test_a_command_that_is_not_modelled_says_so_whatever_its_number() -> None:
    """Before the number is looked at."""
    timeline = Timeline(build("schema", {"nodes": 2}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), "A")
    for line in ("reconfigure 9", "reconfigure dc7:1", "unregister 7"):
        with pytest.raises(Refused, match="not modelled here: "):
            typed(servers(timeline), now, f"nodetool cms {line}")


def test_only_a_node_that_has_left_is_unregistered() -> None:
    """The directory has D as LEFT before; afterwards D cannot be named."""
    given = {"nodes": 4, "members": 3, "edition": "server", "orders": 2, "longest": 9}
    timeline = Timeline(build("cms", given, ()))
    tools = servers(timeline)

    def now() -> DrillMoment:
        run = tuple(timeline.moments[at] for at in timeline.path())
        return DrillMoment(timeline.model, run, "A")

    def states() -> list[str]:
        lines = typed(tools, now(), "nodetool cms dumpdirectory")
        return [line.split()[1] for line in lines if line.startswith("  state")]

    go_on(timeline, "decommission A D A B", "depart A D A B")
    assert states() == ["JOINED", "JOINED", "JOINED", "LEFT"]
    with pytest.raises(Refused, match=r"^nodetool cms unregister 1: nothing like that"):
        answer(tools, now(), "nodetool cms unregister 1")
    [action] = answer(tools, now(), "nodetool cms unregister 4").actions
    timeline.do(action)
    assert states() == ["JOINED", "JOINED", "JOINED"]
    with pytest.raises(Refused, match=r"^nodetool cms unregister 4: nothing like that"):
        answer(tools, now(), "nodetool cms unregister 4")


@pytest.mark.parametrize(
    ("edition", "node", "kind", "state"),
    [
        ("server", "B", "PREPARE_SIMPLE_CMS_RECONFIGURATION", "JOINED"),  # it hands over first
        ("server", "D", "PREPARE_LEAVE", "LEAVING"),
        ("documents", "B", "PREPARE_LEAVE", "LEAVING"),
    ],
)
def test_the_server_reconfigures_the_cms_before_a_member_leaves(
    edition: str, node: str, kind: str, state: str
) -> None:
    """The server would reject the leave of a member; the documents do not."""
    given = {"nodes": 4, "members": 3, "edition": edition, "orders": 1, "longest": 9}
    timeline = after("cms", given, f"decommission A {node} A B")
    run = tuple(timeline.moments[at] for at in timeline.path())
    tools, now = servers(timeline), DrillMoment(timeline.model, run, "A")
    log = "SELECT kind FROM system_views.cluster_metadata_log"
    assert kind in [line.strip() for line in typed(tools, now, log)]
    lines = typed(tools, now, "nodetool cms dumpdirectory")
    states = [line.split()[1] for line in lines if line.startswith("  state")]
    assert states["ABCD".index(node)] == state


def test_a_snapshot_is_refused_where_the_run_has_none_left() -> None:
    """A run has the snapshots that its events name, each once."""
    timeline = Timeline(build("commit", {"events": ("snapshot at B",)}, ()))
    tools, [first] = servers(timeline), timeline.moments
    with pytest.raises(Refused, match="no “snapshot at A” left"):
        answer(tools, DrillMoment(timeline.model, (first,), "A"), "nodetool cms snapshot")
    [action] = answer(
        tools, DrillMoment(timeline.model, (first,), "B"), "nodetool cms snapshot"
    ).actions
    timeline.do(action)
    now = DrillMoment(timeline.model, tuple(timeline.moments), "B")
    with pytest.raises(Refused, match="no “snapshot at B” left"):
        answer(tools, now, "nodetool cms snapshot")


def test_members_that_are_down_make_the_log_unreadable() -> None:
    """In models commit and schema. A node that is cut off shows as down, and can be aborted."""
    timeline = after("commit", {"crashes": 2}, "crash A", "crash B")
    now = DrillMoment(timeline.model, tuple(timeline.moments), "D")
    with pytest.raises(Refused, match=r"QUORUM.*missing A, B"):
        typed(servers(timeline), now, "nodetool cms dumplog")
    timeline = after("schema", {"nodes": 2, "restarts": 1}, "stop A")
    now = DrillMoment(timeline.model, tuple(timeline.moments), "B")
    with pytest.raises(Refused, match=r"QUORUM.*missing A"):
        typed(servers(timeline), now, "nodetool cms dumplog")
    tools, now = moment("cms/silent-joiner-in-the-log", 4, "B")
    assert now.state.cut == "B"
    [joiner] = [line for line in typed(tools, now, "nodetool status") if "10.0.0.13" in line]
    assert joiner.startswith("DJ")
    [undone] = answer(tools, now, "nodetool abortbootstrap --ip X").actions
    assert now.model.verb(undone) == "cancel X"


def test_a_bootstrap_of_a_live_node_is_not_aborted() -> None:
    """Named by its address or by its number."""
    tools, now = moment("cms/silent-joiner-in-the-log", 3, "B")
    for line in ("--ip 10.0.0.13", "--node 3"):
        with pytest.raises(
            Refused, match=r"Can't abort bootstrap for NodeId\{id=3\} - it is alive"
        ):
            answer(tools, now, f"nodetool abortbootstrap {line}")


def test_a_command_that_the_model_refuses_gives_the_models_reason() -> None:
    """At once, or when the action is done."""
    timeline = Timeline(build("cms", {"nodes": 1}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), "A")
    [action] = answer(servers(timeline), now, "nodetool decommission").actions
    with pytest.raises(Refused, match="no other node would be left"):
        done(timeline, action)
    for word, why in (("-c", "no node is half added"), ("--resume", "no change of the members")):
        with pytest.raises(Refused, match=f"^nodetool cms reconfigure {word}: {why}"):
            answer(servers(timeline), now, f"nodetool cms reconfigure {word}")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nodetool cms foo", "nodetool cms: got 'foo'; allowed: one of describe,"),
        ("nodetool cms dumplog --start x", "--start: got 'x'; allowed: a number"),
        ("nodetool cms dumplog --end " + "9" * 20, "--end: got "),
        ("nodetool cms reconfigure 9", "nodetool cms reconfigure: got '9'"),
        ("nodetool assassinate '; rm -rf /'", "nodetool assassinate: got "),
        ("SELECT * FROM system.peers", "SELECT * FROM: got 'system.peers'"),
        ("SELECT kind FROM kit_views.log_replication", "column: got 'kind'; allowed: * or node_id"),
        ("SELECT * FROM kit_views.log_replication WHERE epoch = up", "got 'up'"),
        ("SELECT * FROM kit_views.log_replication LIMIT -1", "LIMIT: got '-1'"),
        ("SELECT * FROM kit_views.log_replication ALLOW ALL", "got 'ALL'"),
    ],
)
def test_a_malformed_command_is_refused_with_its_place(line: str, says: str) -> None:
    """The error names the place, what is there and what is allowed."""
    timeline = Timeline(build("cms", {}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), "A")
    with pytest.raises(BadInput, match=re.escape(says)):
        typed(servers(timeline), now, line)


ID = "0000000a-0000-4000-8000-00000000000a"
CONSTANTS = {"text": "'x'", "int": "1", "bigint": "1", "uuid": ID, "timeuuid": ID}


@pytest.mark.parametrize(
    ("table", "column", "value", "constant", "kind"),
    [
        ("kit_views.log_replication", "epoch", "'1'", "STRING", "bigint"),
        ("kit_views.log_replication", "held", "1", "INTEGER", "set<bigint>"),
        ("system_views.gossip_info", "dc_version", "'1'", "STRING", "int"),
        ("system_views.cluster_metadata_log", "kind", "1", "INTEGER", "text"),
        ("system_views.cluster_metadata_directory", "node_id", ID, "UUID", "int"),
        ("system_views.cluster_metadata_directory", "host_id", f"'{ID}'", "STRING", "uuid"),
        ("system_views.cluster_metadata_directory", "rack", ID, "UUID", "text"),
    ],
)
def test_a_value_of_another_type_than_its_column_is_refused(
    table: str, column: str, value: str, constant: str, kind: str
) -> None:
    """In the server's words; values of the right type find rows."""
    timeline = Timeline(build("cms", {}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), "A")
    said = value.strip("'")
    wrong = f'Invalid {constant} constant ({said}) for "{column}" of type {kind}'
    with pytest.raises(Refused, match=re.escape(wrong)):
        typed(servers(timeline), now, f"SELECT * FROM {table} WHERE {column} = {value}")
    with pytest.raises(Refused, match=re.escape(wrong)):
        typed(servers(timeline), now, f"SELECT COUNT(*) FROM {table} WHERE {column} IN ({value})")
    right = (
        "kit_views.log_replication WHERE epoch = 1",
        f"system_views.cluster_metadata_directory WHERE host_id = {ID}",
        "system_views.cluster_metadata_directory WHERE rack = 'r1'",
    )
    for each in right:
        assert "(0 rows)" not in typed(servers(timeline), now, f"SELECT * FROM {each}"), each


# behind FROM -> how many rows there are
COUNTS = {
    "": 3,
    " WHERE rack IN ('r1')": 3,
    " WHERE rack IN ('r1', 'r3', 'r1')": 3,
    " WHERE rack IN ('r2', 'r3')": 0,
    " where node_id in (1,2 , 9);": 2,
    " WHERE node_id IN (1, 2, 3) LIMIT 1": 3,
    f" WHERE host_id IN ({ID})": 1,
    " WHERE rack = 'r9'": 0,
}


@pytest.mark.parametrize("rest", COUNTS)
def test_count_and_in_choose_the_right_rows(rest: str) -> None:
    """A count is a row of its own; a limit is one of rows that are printed."""
    timeline = Timeline(build("cms", {"nodes": 3}, ()))
    now = DrillMoment(timeline.model, (timeline.moments[0],), "A")
    table = "system_views.cluster_metadata_directory"
    lines = typed(servers(timeline), now, f"SELECT COUNT(*) FROM {table}{rest}")
    assert [*lines] == [" count", "-------", f"     {COUNTS[rest]}", "", "(1 rows)"]
    shown = 1 if "LIMIT" in rest else COUNTS[rest]
    rows = typed(servers(timeline), now, f"SELECT * FROM {table}{rest}")
    assert rows[-1] == f"({shown} rows)"


EVERY = {"*"}
# model, table -> the columns by which its rows are found; by any other one it is searched
FOUND_BY: dict[tuple[str, str], set[str]] = {
    ("raft_upgrade", "system.scylla_local"): {"key"},
    ("topology", "system.topology"): {"key"},
    ("recovery", "system.raft_state"): {"group_id"},
    ("recovery", "system.discovery"): {"key"},
    ("cms", "system_views.cluster_metadata_directory"): EVERY,
    ("cms", "kit_views.log_replication"): EVERY,
}


@pytest.mark.parametrize(("model", "table"), FOUND_BY)
@pytest.mark.parametrize("form", ["= {}", "IN ({})", "= {} LIMIT 2"])
@pytest.mark.parametrize("select", ["*", "JSON *", "COUNT(*)"])
def test_a_select_by_another_column_than_the_key_needs_allow_filtering(
    model: str, table: str, form: str, select: str
) -> None:
    """Virtual tables need none."""
    timeline = Timeline(build(model, {}, ()))
    tools, now = servers(timeline), DrillMoment(timeline.model, (timeline.moments[0],), "A")
    [asked] = [each for each in tools.tables if each.title == table]
    constants = {name: CONSTANTS[k] for name, k in asked.types.items() if k in CONSTANTS}
    finding = {*constants} if FOUND_BY[model, table] == EVERY else FOUND_BY[model, table]
    for column, constant in constants.items():
        line = f"SELECT {select} FROM {table} WHERE {column} {form.format(constant)}"
        allowed = typed(tools, now, f"{line} ALLOW FILTERING;")
        if column in finding:
            assert typed(tools, now, line) == allowed, line
        else:
            with pytest.raises(Refused, match=FILTERING):
                typed(tools, now, line)


REAL = {
    *("ALTER", "DELETE", "INSERT", "SELECT", "TRUNCATE", "UPDATE", "GET", "POST"),
    *("nodetool", "addtocmstool", "cat", "curl", "grep", "journalctl", "ssh", "systemctl"),
}


def test_every_word_of_no_real_tool_is_marked_as_the_kits_own() -> None:
    """In every drill: operators shouldn't look for such a word on a real server."""
    forms = {form for name in drills() for form in open_drill(name).grammar.forms}
    own = {form.text.split()[0] for form in forms if form.own}
    assert own >= {"upgrade", "install", "restart", "happen"}
    assert {form.text.split()[0] for form in forms if not form.own} == REAL
    assert own.isdisjoint(REAL)


def test_every_event_of_the_log_has_a_published_kind() -> None:
    """Among them those of a join, a move, a cancel and an assassination."""
    timelines = [open_file(file_named(name)) for name in STORIES if name.startswith(("cms", "tcm"))]
    kinds = {
        kind
        for timeline in timelines
        if isinstance(tools := servers(timeline), MetadataServers)
        for now in [*moments(timeline)][-1:]
        if getattr(now.model, "has_quorum", lambda s: True)(now.state)
        and getattr(now.model, "ordered", True)
        for _, kind, _, _ in tools.entries(now)
    }
    assert kinds <= {*KINDS}
    assert {"START_JOIN", "MID_MOVE", "CANCEL_SEQUENCE", "ASSASSINATE"} < kinds


@pytest.mark.parametrize(
    ("model", "given", "script", "nodes"),
    [
        ("cms", {"newcomers": 1}, ("bootstrap A C A", "advance A A", "catch-up B A"),
         {2: 3, 3: 2}),
        ("cms", {"nodes": 3, "edition": "server"}, ("reconfigure A 2 A",), {}),
        ("commit", {"nodes": 3, "members": 1, "events": ("replace C D at A",)},
         ("submit r1 A", "ballot A", "propose A", "learn A"), {1: 4}),
        ("schema", {"race": "none", "joins": 1}, ("ask-seed X A", "bootstrap X"), {3: 4}),
    ],
    ids=["cms", "cms of the server", "commit", "schema"],
)  # fmt: skip
def test_a_dumped_log_names_nodes_by_number(
    model: str, given: dict[str, object], script: tuple[str, ...], nodes: dict[int, int]
) -> None:
    """The importer reads which node each event is about."""
    timeline = after(model, given, *script)
    now = DrillMoment(timeline.model, tuple(timeline.moments), "A")
    log = parse_metadata("\n".join(typed(servers(timeline), now, "nodetool cms dumplog")), "log")
    assert {each.epoch: each.node for each in log.rows if each.node} == nodes


@pytest.mark.parametrize("off", [(), ("S-80",)], ids=["ordered", "gossip"])
@pytest.mark.parametrize(
    ("verbs", "running"),
    [
        ((), "A B"),
        (("ask-seed X A",), "A B X"),
        (("stop B",), "A"),
        (("ask-seed X A", "stop B"), "A X"),
        (("ask-seed X A", "bootstrap X", "stop X"), "A B"),
    ],
)
def test_the_server_of_a_joiner_runs_only_after_asking_a_seed(
    verbs: tuple[str, ...], running: str, off: tuple[str, ...]
) -> None:
    """A node that is down does not run."""
    given = {"nodes": 2, "race": "none", "joins": 1, "restarts": 1}
    timeline = after("schema", given, *verbs, off=off)
    now = DrillMoment(timeline.model, tuple(timeline.moments), "A")
    names = timeline.model.names
    up = [name for at, name in enumerate(names) if servers(timeline).is_up(now, at)]
    assert up == running.split()


MODELS_OF_SCYLLA = {"raft_upgrade", "topology_upgrade", "topology", "recovery", "recovery_mode"}
LOOKS = (
    "journalctl -u scylla-server",
    "journalctl -u scylla-server | grep barrier",
    "journalctl _COMM=scylla -g barrier",
    "cat /var/log/scylla.log",
    "nodetool cms describe",
)


@pytest.mark.parametrize(
    "name", [each for each in drills() if each.partition("/")[0] in MODELS_OF_SCYLLA]
)
def test_every_drill_understands_the_whole_vocabulary(name: str) -> None:
    """A look that its model does not have is not modelled, and no unknown word."""
    under_way = open_drill(name)
    assert {each.text for each in VOCABULARY} <= {form.text for form in under_way.grammar.forms}
    for line in LOOKS:
        error = under_way.enter(line).error
        assert not error or error.startswith("not modelled here: "), line
