"""The topology upgrade: three boxes of progress over the nodes, gossip beside the table, the route,
how a node joins.
"""

from collections.abc import Iterator
from operator import itemgetter

from kit.model.flows import token_of
from kit.protocols.upgrade import topology_upgrade
from kit.protocols.upgrade.panels import UPGRADE, of_cluster
from kit.protocols.upgrade.rules import BUILDING, DONE, FEATURE, NOT_UPGRADED, ROUTE, join_way
from kit.views.actions import mark
from kit.views.declared import Badges, Column, Drawn, Note, Table, panel_of
from kit.views.fragment import Frag, h
from kit.views.gate import Gate, awaited_gates
from kit.views.panel import Scene
from kit.views.parts import act_button, bulb
from kit.views.registry import staged
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card

# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    there = ((at, node) for at, node in enumerate(s.nodes) if node.standing != "outside")
    cards = [Card(f"card:{name}", "normal", name) for name in m.named(s.rows)]
    if s.has_generation:
        cards.append(Card(topology_upgrade.GENERATIONS, "CDC generation"))
    return Stage(
        m.names,
        tuple(_character(scene, at, node) for at, node in there),
        tape=tuple(cards),
        standing=of_cluster(scene),
        has_strip=True,
        tape_key=topology_upgrade.TABLE,
    )


def _character(scene: Scene, at: int, node: topology_upgrade.TopologyNode) -> Character:
    name, leads = scene.model.names[at], scene.state.leader == at
    version = "newer version" if node.is_new else "older version"
    knows = "building" if node.view == BUILDING else node.view.replace("_", " ")
    kept = ["has a row"] * (scene.state.rows >> at & 1) + ["reads the table"] * node.reads_table
    made = leads and scene.state.has_generation and scene.state.upgrade_state == BUILDING
    standing = node.standing if node.is_up else "down"
    return Character(
        name,
        f"n:{name}",
        "down" if not node.is_up else "up" if node.standing == "normal" else "joining",
        leads=leads,
        tag=standing,
        holds=(
            *[version] * (not node.is_new),
            f"knows: {knows}",
            kept[-1] if kept else "by gossip",
            *["made a generation"] * made,
        ),
        title=f"{'★' * leads}{name} · {version.removesuffix(' version')} · {standing}, {node.view}",
    )  # fmt: skip


def gates(scene: Scene) -> Iterator[Gate]:
    """The answers that the build waits for: a row for each member; then who has to apply that it is
    done, and each request that waits, for the node that leads or could. Else what refusals tell.
    """
    m, s, named = scene.model, scene.state, scene.model.named
    what, knows, there = m.label(s, topology_upgrade.Generation()), "a row", s.rows
    if s.upgrade_state == DONE:
        there = s.where(lambda node: node.view == DONE)
        what, knows = "done everywhere", f"applied {DONE}"
    if s.upgrade_state == NOT_UPGRADED:
        yield from awaited_gates(scene)
    else:
        yield Gate("topology", what, knows, named(s.normal & there), named(s.normal & ~there),
                   s.normal.bit_count())  # fmt: skip
    leads = 1 << s.leader if s.leader != topology_upgrade.NOBODY else s.answering
    for name in named(s.where(lambda node: node.standing == "queued")):
        if refusal := m.why_not(s, topology_upgrade.Serve(name)):
            what = m.label(s, topology_upgrade.Serve(name))
            yield Gate(f"n:{name}", what, "", (), named(leads), 1, refusal.reason)


# -- tables ----------------------------------------------------------------------------------------


def _gossiped(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for number, (name, node) in enumerate(zip(scene.model.names, scene.state.nodes, strict=True)):
        tokens = f"tokens {{{token_of(number)}}}"
        row = f"normal, {tokens}" if scene.state.rows >> number & 1 else ""
        gossip = "BOOT" if node.standing == "joining" else ""
        if node.standing == "normal":
            gossip = f"NORMAL{'' if node.is_up else ' (down)'}, {tokens}"
        if gossip or row:
            yield name, gossip, row


def _generations(scene: Scene) -> str:
    return (
        f"system.cdc_generations_v3: {'1' if scene.state.has_generation else 'no'} new generation"
    )


def _feature(scene: Scene) -> str:
    return f"{FEATURE}: {'enabled' if scene.state.has_feature else 'not enabled'}"


def _route(scene: Scene) -> Iterator[tuple[str, str, Frag]]:
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        if node.standing == "normal":
            refusal = scene.model.why_not(scene.state, topology_upgrade.Post(name))
            why = "the node is down" if not node.is_up else refusal.reason if refusal else ""
            yield name, why, h("code", node.view if node.is_up else "no answer")


def _post(scene: Scene, row: tuple[str, str, Frag]) -> Frag:
    name, why, _ = row
    act = f"do:{mark(scene.model, topology_upgrade.Post(name))}"
    return act_button(f"POST at {name}", f"route:{name}:button", act, scene.closed or why or None)


def _answers(row: tuple[str, str, Frag]) -> str:
    name, why, state = row
    return f"{name}: POST {f'refused: {why}' if why else 'accepted'}; GET {state.text()}"


def _joins(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        if node.standing == "joining":
            yield name, "old way", ""
        if node.standing == "queued":
            refusal = scene.model.why_not(scene.state, topology_upgrade.Serve(name))
            yield name, "request", refusal.reason if refusal else ""


def _branches(s: topology_upgrade.Cluster) -> tuple[tuple[str, str, bool], ...]:
    """The flow chart of a join: question and answer, what follows, whether it is taken now.

    A cluster that exists is joined here, so that discovery finds a group.
    """
    old = join_way(True, s.upgrade_state) == "old way"
    request = "JOIN_NODE_REQUEST: queued until the upgrade is done"
    return (
        ("discovery finds no group", "the node creates a cluster with the new topology", False),
        (f"a member answers {NOT_UPGRADED}", "the old way: GROUP0_MODIFY_CONFIG, then gossip", old),
        ("a member answers something else", request, not old),
    )


def _chart(scene: Scene) -> Frag:
    lit = [
        h("li", bulb("✓", "now"), f" {when} → ", h("strong", then), k=f"join-way:{at}")
        if taken
        else h("li", bulb("·", "not now"), f" {when} → ", then, k=f"join-way:{at}", class_="soft")
        for at, (when, then, taken) in enumerate(_branches(scene.state))
    ]
    return h("ul", lit, aria_label="how a node joins")


def _badges(scene: Scene) -> Badges:
    enabled = scene.state.has_feature
    yield (
        "feature",
        "all are upgraded" if enabled else "not all are upgraded",
        "busy" * (not enabled),
    )
    waiting = [name for name, _, waits in _joins(scene) if waits]
    yield "queue", f"waits: {', '.join(waiting)}" if waiting else "", "busy"


VIEWS = staged(
    _badges,
    stage_panel(
        "states", "The topology upgrade", _stage, gates=gates, meanings={"crown": "the coordinator"}
    ),
    UPGRADE,
    panel_of(
        "topology",
        "Gossip and system.topology",
        Table(
            _gossiped,
            "row:{0[0]}",
            (
                "node",
                Column("gossip", itemgetter(1), key="gossip:{0[0]}"),
                Column(
                    "system.topology", lambda row: row[2] and f"→ {row[2]}", key="topology:{0[0]}"
                ),
            ),
            caption="What gossip knows and what system.topology has",
            of="{0[0]}",
        ),
        Note(_generations, "generations-note", None),
        Note(_feature, "feature-note", None),
        still=True,
        tab="Table",
    ),
    panel_of(
        "route",
        "POST and GET on the route",
        Table(
            _route,
            "route:{0[0]}",
            ("node", Column("POST", draws=_post), Column("GET", itemgetter(2))),
            caption=ROUTE,
            titled=True,
            line=_answers,
        ),
        tab="Route",
    ),
    panel_of(
        "joins",
        "How a node joins",
        Drawn(_chart),
        Table(
            _joins,
            "join:{0[0]}",
            ("node", "joins by", "waits"),
            caption="Nodes on their way in",
            empty="No node is on its way into the cluster.",
        ),
        tab="Joins",
    ),
)
