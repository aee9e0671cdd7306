"""Who is in group 0: members, voters, the leader and its term; the badges say it shortly."""

from __future__ import annotations

from kit.errors import are, counted
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.panels.matrix import role
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges, heads, scroll
from kit.views.promises import scene_verdicts


def draw_configuration(scene: Scene) -> Frag:
    """Draw a row per member, and how many voters a majority is."""
    up, count, needed = facts.quorum(scene.state)
    voters = f"{up} of {counted(count, 'voter')} up, {needed} {are(needed)} needed"
    return scroll(
        "configuration",
        h("p", f"term {scene.state.term}; {voters}"),
        h(
            "table",
            heads("member", "role", "server", "stored", "commit", "applied"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", row.name, scope="row", data_of=row.name),
                        h("td", role(row)),
                        h("td", _server(row)),
                        [h("td", str(index)) for index in (row.stored, row.commit, row.applied)],
                        k=f"member:{row.name}",
                    )
                    for row in facts.nodes(scene.model, scene.state)
                ],
            ),
        ),
    )


def configuration_text(scene: Scene) -> str:
    """Write who leads and who votes."""
    up, count, needed = facts.quorum(scene.state)
    rows = facts.nodes(scene.model, scene.state)
    return "\n".join(
        [
            f"  term {scene.state.term}; {up} of {count} voters up, {needed} needed",
            *(f"  {row.name}: {role(row)}; {_server(row)}" for row in rows),
        ]
    )


def _server(row: facts.MemberRow) -> str:
    """Where the member's server of the group runs (Raft in Scylla, "The group 0")."""
    return "on shard 0" if row.up else "off; comes up on shard 0"


def draw_status(scene: Scene) -> Frag:
    """Draw the badges: term and leader, the log's length, quorum, who is wrong about leading."""
    state, names = scene.state, scene.model.setup.names
    up, _, needed = facts.quorum(state)
    wrong = [row.name for row in facts.nodes(scene.model, state) if row.deposed]
    leads = bool(state.up >> state.leader & 1)
    return badges(
        len(state.log),
        badge("leader", f"term {state.term}: {names[state.leader]} leads")
        if leads
        else badge("leader", f"! {names[state.leader]} led, and is down", "broken"),
        badge("quorum", "✓ quorum") if up >= needed else badge("quorum", "! no quorum", "broken"),
        badge("deposed", f"… {', '.join(wrong)} deposed", "busy") if wrong else None,
        counts="index",
    )


def status_text(scene: Scene) -> str:
    """Write the badges as one line."""
    state = scene.state
    broken = [verdict.title for verdict in scene_verdicts(scene) if not verdict.ok]
    verdict = f"BROKEN: {'; '.join(broken)}" if broken else "all properties hold"
    leader = scene.model.setup.names[state.leader]
    return f"index {len(state.log)}, term {state.term} of {leader}, {verdict}"


CONFIGURATION = Panel(
    "configuration",
    "Configuration and voters",
    draw_configuration,
    configuration_text,
    tab="Voters",
)
STATUS = Panel("status", "Status", draw_status, status_text, still=True)
