"""What drivers and joiners learn of a cluster, and the drill of a barrier that does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.panels.ring import known_to, ring
from kit.protocols.topology.rules.machines import EDITIONS
from kit.views.fragment import Frag
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.drills import failed, printed, replayed, typed
from tests.protocols.topology.test_seen import in_state, press, starting, until
from tests.views.frames import part

RACKS = ("dc1/r1", "dc1/r2", "dc2/r1", "dc2/r2")


def drawn(timeline: Timeline, name: str) -> tuple[Frag, str]:
    """A tab at the moment that is shown: its picture and its words."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    scene = scene_of(timeline, timeline.at)
    return panel.draw(scene), panel.text(scene)


def rows(timeline: Timeline) -> dict[str, list[str]]:
    """What the driver's tab has in the row of each node."""
    frag, _ = drawn(timeline, "driver")
    found = {}
    for name in timeline.model.names:
        row = part(frag, f"driver:{name}")
        if row is not None:
            found[name] = [one.text() for one in row.walk() if one.tag in ("th", "td")]
    return found


def generations(timeline: Timeline) -> str:
    """The line of CDC generations."""
    line = part(drawn(timeline, "driver")[0], "driver:cdc")
    assert line is not None
    return line.text()


@pytest.mark.spec("G-044")
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_old_driver_sees_exactly_the_normal_and_the_leaving_nodes(edition: Any) -> None:
    """In ``system.local`` and ``system.peers``, with address, datacenter, rack and tokens."""
    timeline = starting("join D", "leave B", edition=edition, racks=RACKS)
    assert rows(timeline) == {
        name: [f"system.{table}", f"10.0.0.{n + 10}", name, *rack.split("/"), f"t:{name}"]
        for n, (name, table, rack) in enumerate(
            zip("ABC", ("local", "peers", "peers"), RACKS, strict=False), 1
        )
    }
    seen = set()
    while timeline.forward() is not None:
        nodes = dict(zip("ABCD", timeline.state.topology.nodes, strict=True))
        shown = rows(timeline)
        assert set(shown) == {
            name for name, node in nodes.items() if node.state in ("normal", "decommissioning")
        }
        owned = {name: f"t:{name}" if node.tokens else "null" for name, node in nodes.items()}
        assert all(cells[-1] == owned[name] for name, cells in shown.items())
        seen.add("".join(sorted(shown)))
    assert seen == {"ABC", "ABCD", "ACD"}


def test_a_driver_sees_a_new_address_once_its_contact_has_heard_of_it() -> None:
    """Nothing else in the row changes."""
    timeline = starting(addresses=1)
    options = (a for a, refusal in timeline.model.options(timeline.state) if refusal is None)
    moved = next(a for a in options if isinstance(a, act.RestartElsewhere) and a.node == "C")
    before = rows(timeline)["C"]
    timeline.do(moved)
    assert rows(timeline)["C"] == before
    timeline.do(act.HearAddress("C"))
    assert rows(timeline)["C"] == [before[0], "10.1.0.13", *before[2:]]


@pytest.mark.spec("D-028", "D-030")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_committed_generation_is_published_by_a_single_command(edition: Any) -> None:
    """While the joiner still boots and whatever nodes have heard: no step of gossip is needed."""
    timeline = until(
        starting("join D", publishing=True, edition=edition), in_state("commit_cdc_generation")
    )
    was = generations(timeline)
    assert was == "cdc_generation_timestamps: 1 from the start"
    until(timeline, lambda s: s.topology.unpublished)
    committed = timeline.state
    assert generations(timeline) == was
    timeline.do(act.PublishGeneration())
    assert generations(timeline) == f"{was}; 2 from t{committed.state_id}"
    assert timeline.state.state_id == committed.state_id + 1
    assert timeline.state.applied == committed.applied
    assert timeline.state.topology.nodes[3].state == "bootstrapping"
    _, history = drawn(timeline, "history")
    assert "a CDC generation is published" in history


@pytest.mark.spec("D-069")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_joiner_knows_the_token_of_a_node_that_is_down(edition: Any) -> None:
    """B died before D joined: D's ring has the token of B, and the sign that B is down."""
    timeline = until(starting("join D", crashes=1, edition=edition), in_state("join_group0"))
    press(timeline, "crash B")
    until(timeline, lambda s: s.topology.nodes[3].tokens)
    while "D" not in known_to(timeline.model, timeline.state):
        press(timeline, "apply D")
    frag, words = drawn(timeline, "token-ring")
    disc = part(frag, "token:B")
    assert disc is not None
    assert "is down" in disc.text()
    known = ring(timeline.model, timeline.state)
    assert "B" not in known_to(timeline.model, timeline.state)
    [(at, *_)] = [each.tokens for each in known.members if each.name == "B"]
    assert at in {hi for _, hi in known.tables[0].rows} & {lo for lo, _ in known.tables[0].rows}
    assert "down, but its token is known: B" in words
    assert "D" in words.split("known to ")[1].split(";")[0]


NAME = "topology/stuck-barrier"


LOG = "grep barrier /var/log/scylla.log"


LOOK = (LOG, "on B", "cat /var/log/scylla.log")


# what is typed -> what does not hold of the grade
WALKS: list[tuple[tuple[str, ...], set[str]]] = [
    ((*LOOK, "restart B"), set()),
    (("restart B",), set()),
    (LOOK, {"operation done"}),
    (("restart C",), {"operation done", "one node"}),
    (("restart A", "restart B", "restart C"), {"one node"}),
    (("restart B", "restart C"), {"one node"}),
    (("on B", "systemctl restart scylla-server"), set()),
]


@pytest.mark.parametrize(("lines", "wrong"), WALKS)
def test_the_drill_wants_only_the_node_that_holds_the_barrier_restarted(
    lines: tuple[str, ...], wrong: set[str]
) -> None:
    """A rolling restart ends the wait as well, and is graded as wrong."""
    drill = typed(NAME, *lines)
    assert set(failed(drill)) == wrong
    assert drill.grade() == replayed(drill, NAME).grade()


def test_the_logs_name_the_node_and_the_request_that_hold_the_barrier() -> None:
    """The coordinator names B; B tells of a request of an older version; C tells of nothing."""
    assert "no answer from B" in printed(typed(NAME, LOG))
    assert "waits for a request at version" in printed(typed(NAME, *LOOK))
    assert printed(typed(NAME, "on C", "cat /var/log/scylla.log")) == ""


def test_status_and_table_show_no_cause_of_a_stuck_barrier() -> None:
    """Every node is up; the row says where the operation is."""
    drill = typed(NAME, "nodetool status")
    assert printed(drill).count("UN ") == 3
    assert printed(drill).count("UJ ") == 1
    assert "write_both_read_old" in printed(typed(NAME, "SELECT * FROM system.topology"))


def test_the_checklist_is_ticked_by_looks_and_by_the_restart() -> None:
    """A look at the coordinator's log, one at the node's, and the restart."""
    steps = typed(NAME, *LOOK).checklist()
    assert [step.done for step in steps] == [True, True, False]
    assert all(step.done for step in typed(NAME, *LOOK, "restart B").checklist())


@pytest.mark.parametrize(
    ("lines", "ticked"),
    [
        (("grep zzz /var/log/scylla.log", "on B", "grep -i zzz /var/log/scylla.log"), []),
        (("grep BARRIER /var/log/scylla.log",), []),
        (("grep -i BARRIER /var/log/scylla.log",), ["coordinator"]),
        (("restart B", *LOOK), ["coordinator", "node", "restart"]),
    ],
)
def test_a_look_without_a_line_is_not_ticked(lines: tuple[str, ...], ticked: list[str]) -> None:
    """A log keeps its lines after the restart."""
    assert [step.name for step in typed(NAME, *lines).checklist() if step.done] == ticked
