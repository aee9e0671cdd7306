"""A join: its messages, the rows of host ids, what each process is at, every check."""

from __future__ import annotations

from kit.protocols.topology.facts import joining as facts
from kit.views.declared import Badges, Column, Note, Table, of_state, panel_of, status
from kit.views.messages import MESSAGES
from kit.views.panel import Scene
from kit.views.parts import lamp
from kit.views.promises import LAMPS, judged
from kit.views.registry import Views

HOSTS = (
    Column("host id", "host"),
    Column("node_state", "state"),
    Column("group 0", lambda row: "member" if row.member else ""),
    Column("supported_features", "features"),
    Column("asked by start", lambda row: row.attempt or ""),
    Column("error", "reason"),
)


def _tried(scene: Scene) -> str:
    """The retry counter: calls that were made again stand out by their number."""
    made = facts.tried(scene.way())
    return (
        f"Calls so far: JOIN_NODE_QUERY {made.queries}, JOIN_NODE_REQUEST {made.requests}, "
        f"JOIN_NODE_RESPONSE {made.responses}."
    )


def _badges(scene: Scene) -> Badges:
    """How far the joiner is, who coordinates, which feature is enabled."""
    for name, words in zip(
        ("joiner", "coordinator", "feature"), facts.status(scene.state), strict=True
    ):
        yield name, words, ""


VIEWS = Views(
    (
        status(_badges, wording=lambda s: ", ".join((*facts.status(s.state), judged(s)))),
        panel_of(
            "hosts",
            "Host ids in group 0",
            Table(
                lambda scene: facts.hosts(scene.state),
                "host:{0.host}",
                HOSTS,
                of="{0.host}",
                line=lambda row: "; ".join(str(column.cell(row)) for column in HOSTS),
            ),
            still=True,
        ),
        MESSAGES,
        panel_of(
            "processes",
            "What each node is at",
            Table(
                of_state(facts.processes),
                "process:{0.name}",
                (Column("node", "name"), Column("what it is at", "doing")),
                of="{0.name}",
                line="{0.name}: {0.doing}",
            ),
            Note(_tried, "tried"),
            tab="Nodes",
        ),
        panel_of(
            "checks",
            "What is checked, and by whom",
            Table(
                of_state(facts.checks),
                "check:{0.name}",
                (
                    Column("check", "name"),
                    Column("made by", "by"),
                    Column("joiner", lambda row: lamp(not row.fails, "passes", "fails")),
                ),
                caption="as they would end if they were made now",
                line=lambda row: f"{row.name} ({row.by}): {'fails' if row.fails else 'passes'}",
            ),
            tab="Checks",
        ),
        LAMPS,
    ),
    picture="messages",
    table="hosts",
    badges="status",
    wide=True,
)
