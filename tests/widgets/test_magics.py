"""``%nodetool`` and ``%%cql`` in a shell of IPython: what they answer, and what they do."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import kit
from kit.errors import BadInput, KitError, Refused
from kit.widgets.magics import cql, nodetool
from kit.widgets.player import Player


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell with the extension and a Player of the CMS."""
    made = InteractiveShell()
    made.run_line_magic("load_ext", "kit")
    made.user_ns["cluster"] = Player(kit.build("cms", {"nodes": 4, "members": 3}, ()))
    yield made
    InteractiveShell.clear_instance()


@pytest.mark.spec("B-066")
def test_a_query_cell_returns_a_small_table(shell: InteractiveShell) -> None:
    """The state of log replication and of the CMS, as virtual tables: our own and published."""
    rows = shell.run_cell_magic("cql", "", "SELECT * FROM\n  kit_views.log_replication LIMIT 3;")
    assert isinstance(rows, pd.DataFrame)
    assert [*rows.columns] == ["node_id", "address", "up", "epoch", "behind", "held"]
    assert [*rows["epoch"]] == [1, 1, 1]
    shell.run_line_magic("nodetool", "decommission")
    rows = shell.run_cell_magic("cql", "", "SELECT node_id, behind FROM kit_views.log_replication")
    assert [*rows["behind"]] == [0, 0, 1, 1]
    health = shell.run_line_magic("cql", "SELECT * FROM kit_views.cms_health")
    assert health.loc[0, "can_commit"]
    assert health.loc[0, "members"] == ["A", "B", "C"]
    one = "SELECT kind FROM system_views.cluster_metadata_log WHERE epoch = 2"
    assert [*shell.run_cell_magic("cql", "-h B", one)["kind"]] == ["PREPARE_LEAVE"]


def test_a_command_is_asked_of_a_node_of_a_player(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """The only Player is asked; one of several by its name, a node by its name or address."""
    shell.run_line_magic("nodetool", "cms describe")
    assert "Service State: LOCAL" in capsys.readouterr().out
    shell.run_line_magic("nodetool", "--of cluster -h 10.0.0.14 cms describe")
    assert "Service State: REMOTE" in capsys.readouterr().out
    shell.user_ns["ring"] = kit.Timeline(kit.build("tcm", {}, ()))
    shell.run_line_magic("nodetool", "--of ring ring")
    assert "10.0.0.13 r1   Up     Normal ?    ?    300" in capsys.readouterr().out
    with pytest.raises(BadInput, match="--of: got 'nothing'; allowed: one of cluster, ring"):
        nodetool(shell.user_ns, "status")


def test_a_command_that_changes_something_is_a_step_of_the_player(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the model's action, said in its words; what the model refuses changes nothing."""
    player = shell.user_ns["cluster"]
    shell.run_line_magic("nodetool", "-h D decommission")
    assert capsys.readouterr().out.startswith("D begins to leave: A commits this as epoch 2")
    assert player.timeline.at == 1
    for line in ("decommission", "cms initialize", "cms reconfigure 2", "cms snapshot"):
        with pytest.raises(Refused):
            nodetool(shell.user_ns, line)
    assert player.timeline.at == 1


@pytest.mark.parametrize(
    "line",
    [
        *("", "--of", "--of nobody status", "-h", "-h Z status", "statu", "status; ls", "!ls"),
        *("--of cluster --of ring status", "cms describe " + "x" * 9999, "--of <b> status"),
        *("cms dumplog --start -1", "'", "cms unregister 99", "{cluster} status"),
    ],
)
def test_what_is_no_command_is_one_line(shell: InteractiveShell, line: str) -> None:
    """Nothing that is typed is evaluated, and the error is the kit's own."""
    with pytest.raises(KitError) as raised:
        nodetool(shell.user_ns, line)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "statement",
    [
        *("", "DROP TABLE kit_views.cms_health", "SELECT", "SELECT *", "SELECT * FROM nothing"),
        *(
            "SELECT * FROM kit_views.cms_health; DROP TABLE x",
            "SELECT <b> FROM kit_views.cms_health",
        ),
        *(
            "SELECT * FROM kit_views.cms_health WHERE members",
            "SELECT count(*) FROM kit_views.cms_health",
        ),
        *(
            "SELECT * FROM kit_views.cms_health LIMIT 1e9",
            "SELECT * FROM kit_views.cms_health WHERE x = 1",
        ),
        *("SELECT * FROM kit_views.cms_health WHERE members = 'A' OR 1 = 1", "INSERT INTO x"),
    ],
)
def test_what_is_no_statement_is_one_line(shell: InteractiveShell, statement: str) -> None:
    """Only a SELECT of known columns of one known table is read."""
    with pytest.raises(KitError) as raised:
        cql(shell.user_ns, "", statement)
    assert "\n" not in str(raised.value)


def test_models_without_servers_say_so(shell: InteractiveShell) -> None:
    """Also those whose servers have no tables."""
    shell.user_ns["two"] = kit.build("twophase", {}, ())
    with pytest.raises(Refused, match=r"^not modelled here: the servers of twophase have no tools"):
        nodetool(shell.user_ns, "--of two status")
    shell.user_ns["moved"] = Player("recovery")
    with pytest.raises(Refused, match=r"^not modelled here: there is no CMS"):
        nodetool(shell.user_ns, "--of moved cms describe")


def test_a_shown_table_is_escaped(shell: InteractiveShell) -> None:
    """Frames escape what they hold."""
    rows = cql(shell.user_ns, "", "SELECT * FROM kit_views.cms_health")
    assert "<b>" not in rows.assign(members="<b>x</b>")._repr_html_()
