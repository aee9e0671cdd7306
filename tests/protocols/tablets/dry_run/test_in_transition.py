"""Questions about tablets in transition: what is to come counts, and what requests use now."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.report import tablets_report
from kit.protocols.tablets.dry_run.what_if import drain, lose
from tests.commands.calling import call
from tests.protocols.tablets.dry_run.test_command import DUMP, SIZES, TOPOLOGY, host
from tests.protocols.tablets.dry_run.test_opening import described, edited, opened


def at_stage(folder: Path, stage: str) -> OpenedTablets:
    """The fixture, whose first tablet moves from host 1 to host 4, at another stage."""
    return opened(tablets=edited(folder, "tablets", 0, stage=stage))


@pytest.mark.parametrize(
    ("stage", "held"),
    [("streaming", (3, 1)), ("cleanup_target", (4, 0)), ("end_migration", (3, 1))],
)
def test_a_drain_counts_replicas_as_if_each_transition_were_over(
    stage: str, held: tuple[int, int], tmp_path: Path
) -> None:
    """On the way back the old replica counts."""
    cluster = at_stage(tmp_path, stage)
    before = sum(
        place.host == host(1)
        for table in cluster.maps.values()
        for tablet in table.tablets
        for place in tablet.replicas
    )
    first, fourth = (drain(cluster, host(number)) for number in (1, 4))
    assert (first.replicas, fourth.replicas) == (before - 4 + held[0], held[1])
    assert (first.in_transition, fourth.in_transition) == (1, 1)
    moved = [move for move in fourth.moves if move.table == "shop.orders"]
    failed = [stuck for stuck in fourth.stuck if stuck.table == "shop.orders"]
    assert len(moved) + len(failed) == held[1]


@pytest.mark.parametrize("stage", ["streaming", "cleanup_target", ""])
def test_a_report_says_that_transitions_are_counted_as_over(stage: str, tmp_path: Path) -> None:
    """Without a transition it does not say so."""
    over = {} if stage else dict.fromkeys(("new_replicas", "session", "transition"), "")
    dump = str(edited(tmp_path, "tablets", 0, stage=stage, **over))
    first = call("tablets", dump, *TOPOLOGY, "--json").json["nodes"][0]
    assert (first["host"], first["tablets"]) == (host(1), 4 if stage else 5)
    said = call("tablets", dump, *TOPOLOGY).out
    assert ("counted as if each transition had succeeded" in said) == bool(stage)


def test_a_loss_costs_a_quorum_only_while_the_stage_uses_the_lost_replica(tmp_path: Path) -> None:
    """Host 1 leaves, and requests need it in streaming, not in use_new."""
    first = {
        stage: next(
            (
                tablet
                for tablet in lose(at_stage(tmp_path, stage), [host(1), host(2)]).lost
                if (tablet.table, tablet.tablet) == ("shop.orders", 0)
            ),
            None,
        )
        for stage in ("streaming", "use_new")
    }
    assert first["streaming"] is not None
    assert (first["streaming"].replicas, first["streaming"].alive) == (4, 2)
    assert first["streaming"].without_quorum == ("reads", "writes")
    assert first["use_new"] is None


@pytest.mark.parametrize(("factor", "lost"), [(None, 0), (2, 0), (3, 0), (4, 3)])
def test_a_loss_is_judged_by_the_keyspaces_replication_factor(
    factor: int | None, lost: int, tmp_path: Path
) -> None:
    """Of four replicas asked for three are needed, though only three are there."""
    schema = {} if factor is None else {"schema": described(tmp_path, f"'dc1': {factor}")}
    tablets = lose(opened(**schema), [host(3)]).lost
    orders = {each.tablet for each in tablets if each.table == "shop.orders"}
    assert len(orders) == lost
    assert all(each.without_quorum == ("reads", "writes") for each in tablets if lost)


@pytest.mark.parametrize(
    ("stage", "leaving", "pending"),
    [
        ("allow_write_both_read_old", (0, [0]), (None, [])),
        ("streaming", (0, [0]), (None, [1])),
        ("write_both_read_new", (None, [0]), (1, [1])),
        ("use_new", (None, []), (1, [1])),
        ("cleanup_target", (0, [0]), (None, [])),
    ],
)
def test_a_token_is_served_by_the_shards_that_its_stage_selects(
    stage: str,
    leaving: tuple[int | None, list[int]],
    pending: tuple[int | None, list[int]],
    tmp_path: Path,
) -> None:
    """A replica that takes no reads or writes has no shard for them."""
    words = str(edited(tmp_path, "tablets", 0, stage=stage)), "shard", str(-(2**63))
    orders = next(each for each in call("tablets", *words, "--json").json if each["stage"])
    hosts = {each["host"]: (each["reads"], each["writes"]) for each in orders["hosts"]}
    assert (hosts[host(1)], hosts[host(4)]) == (leaving, pending)
    assert (hosts[host(2)], hosts[host(3)]) == ((1, [1]), (0, [0]))
    line = next(line for line in call("tablets", *words).out.splitlines() if "00000004" in line)
    assert ("no reads" in line, "no writes" in line) == (pending[0] is None, not pending[1])


def test_drain_and_lose_say_that_a_tablet_is_in_transition(tmp_path: Path) -> None:
    """A lost tablet's line names its stage, and that only writes lack a quorum."""
    dump = str(edited(tmp_path, "tablets", 0, stage="write_both_read_new"))
    said = call("tablets", dump, "drain", host(1), *TOPOLOGY, *SIZES).out
    assert "1 tablet in transition, judged as if the transition were over" in said
    said = call("tablets", dump, "lose", host(1), host(2), *TOPOLOGY, *SIZES).out
    assert "in write_both_read_new; no quorum for writes" in " ".join(said.split())


def test_replicas_of_a_node_that_has_left_count_as_lost_until_rebuilt(tmp_path: Path) -> None:
    """So one more loss costs as much as two would."""
    cluster = opened(topology=edited(tmp_path, "topology", 1, node_state="left", tokens=""))
    assert lose(cluster, ()).lost == lose(opened(), [host(2)]).lost
    assert lose(cluster, [host(1)]).no_quorum == lose(opened(), [host(1), host(2)]).no_quorum > 0
    node = next(node for node in tablets_report(cluster).nodes if node.host == host(2))
    assert (node.role, node.up) == ("left", False)
    assert {move.kind for move in drain(cluster, host(2)).moves} == {"rebuild_v2"}


@pytest.mark.parametrize(
    ("changed", "said", "unsaid"),
    [
        ({"node_state": "left", "tokens": ""}, "", "if they never come back"),
        ({"tokens": "{}"}, "join_ring: false, as it has no tokens", "copies data"),
        ({"node_state": "normal"}, "replace_node_first_boot: " + host(2), "join_ring"),
    ],
)
def test_the_steps_are_those_of_the_node(
    changed: dict[str, str], said: str, unsaid: str, tmp_path: Path
) -> None:
    """Who has left is replaced already, and one without tokens is replaced by one without."""
    topology = str(edited(tmp_path, "topology", 1, **changed))
    lines = call("tablets", DUMP, "--topology", topology, "lose", host(2)).out
    assert said in " ".join(lines.split())
    assert unsaid not in lines


def test_where_several_nodes_are_dead_the_majority_is_asked_about_first() -> None:
    """Without one nothing can be replaced; one dead node of five leaves it."""
    first = [call("tablets", DUMP, "lose", *map(host, dead)).out for dead in ((2,), (2, 3))]
    assert ["1   ask" in lines or "1  ask" in lines for lines in first] == [False, True]


def test_data_without_a_replica_is_restored(tmp_path: Path) -> None:
    """A replacement copies nothing there, so a backup is needed; else none is spoken of."""
    only = str(edited(tmp_path, "tablets", 1, replicas=f"[({host(1)}, 0)]"))
    assert "restore a backup" in call("tablets", only, "lose", host(1)).out
    assert "a backup" not in call("tablets", DUMP, "lose", host(1)).out


@pytest.mark.parametrize(("release", "said"), [("5.2", True), ("5.4", True), ("6.0", False)])
def test_a_release_without_tablets_is_told(release: str, said: bool) -> None:
    """A dump of tablets comes from a later one, or from an experiment."""
    warned = call("tablets", DUMP, "lose", host(1), "--release", release).out
    assert ("name the release that it runs" in warned) is said
