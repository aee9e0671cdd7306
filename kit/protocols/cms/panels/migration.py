"""The migration to the log: nodes of two versions, their switches, what each of them believes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.cms import migration
from kit.protocols.cms.migration import MigratingCluster, MigratingNode, Migration, numbered
from kit.views.busts import Health
from kit.views.declared import NONE, Badges, Column, Table, of_state, panel_of
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card

HEALTH: dict[str, Health] = {"down": "down", "lost": "gone"}


class BeliefRow(Struct, frozen=True):
    """A node: what runs on it, and what it believes of the cluster's metadata."""

    name: str
    node: MigratingNode
    members: tuple[str, ...]
    initiator: str
    differs: bool
    met: tuple[str, ...]

    @property
    def version(self) -> str:
        """Its version in a word."""
        return "new" if self.node.is_new else "old"

    @property
    def rules(self) -> str:
        """By what it runs."""
        without = "no log" if self.met else "gossip, no log"
        return f"log, epoch {self.node.epoch}" if self.node.log else without

    @property
    def switch(self) -> str:
        """Whether it takes changes of metadata."""
        if self.node.waits_for_log:
            return "no log yet"
        return "set" if self.node.frozen else ""


def beliefs(m: Migration, s: MigratingCluster) -> tuple[BeliefRow, ...]:
    """A row for each node that is there, or was."""
    living = [n.facts for n in s.nodes if n.is_there]
    usual = max(living, key=lambda facts: (living.count(facts), -facts), default=0)
    rows = []
    for name, node in zip(m.names, s.nodes, strict=True):
        if node.status != "absent":
            initiator = NONE if node.initiator is None else m.names[node.initiator]
            differs = node.is_there and node.facts != usual
            met = m.named(node.met) if m.fresh else ()
            rows.append(BeliefRow(name, node, m.named(node.knows), initiator, differs, met))
    return tuple(rows)


# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    return Stage(
        scene.model.names,
        tuple(_character(scene, row) for row in scene.of(beliefs)),
        tape=tuple(_cards(scene)),
        bodies=(("CMS", tuple(x.name for x in scene.of(beliefs) if _is_member(scene, x))),),
    )


def _character(scene: Scene, row: BeliefRow) -> Character:
    node, is_member = row.node, _is_member(scene, row)
    changes = f"changes {numbered(node.facts)}" if node.facts else "no change"
    heard = f"found {' '.join(row.met)}" if row.met and not node.log else ""
    heard = f"CMS: {', '.join(row.members)}" if row.members else heard
    if node.initiator is not None and not node.log:
        heard = f"asked by {row.initiator}"
    switch = f", switch {row.switch}" if node.frozen else ""
    has_unlike = bool(node.facts) or row.differs
    lines = (
        *["refuses changes"] * node.frozen,
        row.rules,
        *[f"{changes}{' ≠' * row.differs}"] * has_unlike,
        *[heard] * bool(heard),
    )
    said = ", ".join((f"{row.version} version", row.rules, changes, *[heard] * bool(heard)))
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH.get(node.status, "up"),
        tag=f"{row.version} version",
        holds=lines,
        title=f"{row.name}: {said}{switch}{', member of the CMS' * is_member} · {node.status}",
    )


def _is_member(scene: Scene, row: BeliefRow) -> bool:
    log = scene.state.log_of(row.node)
    return bool(log and log.members_at(row.node.epoch) >> scene.model.number(row.name) & 1)


def _cards(scene: Scene) -> Iterator[Card]:
    s, names = scene.state, scene.model.names
    for number, log in enumerate(s.logs, 1):
        of = "" if number == 1 else f" of log {number}"
        for epoch in range(1, log.top + 1):
            text = log.text_of(epoch, names)
            yield Card(f"log:{number}:{epoch}", f"{epoch}{of} {text}", title=f"{text}{of}")


def gates(scene: Scene) -> Iterator[Gate]:
    """Until the log begins: who has set the switch, or is upgraded; who has answered."""
    m, s = scene.model, scene.state
    initiators = [i for i, n in enumerate(s.nodes) if n.answered]
    for i in initiators:
        sides = m.named(s.nodes[i].answered), m.named(m.unanswered(s, i))
        yield Gate(f"begin:{m.names[i]}", "the log", "answered", *sides, sum(map(len, sides)))
    if s.is_mixed and not s.has_log and not initiators and not m.fresh:
        ready, knows = s.there & ~s.old, "the new version"
        if m.edition == "documents":
            ready, knows = ready | s.there & s.where(lambda n: n.frozen), "the switch"
        sides = m.named(ready), m.named(s.there & ~ready)
        yield Gate("ready", "the migration", knows, *sides, s.there.bit_count())


def _badges(scene: Scene) -> Badges:
    s = scene.state
    there, new = s.there.bit_count(), (s.there & ~s.old).bit_count()
    by_log = sum(n.is_there and n.log != migration.NO_LOG for n in s.nodes)
    if not scene.model.fresh:
        yield "versions", f"{new} of {there} upgraded", "busy" if 0 < new < there else ""
    yield "log", f"{by_log} of {there} use the log", "busy" if 0 < by_log < there else ""
    unlike = ", ".join(row.name for row in scene.of(beliefs) if row.differs)
    yield "unlike", f"! metadata differs: {unlike}" if unlike else "", "alarm"


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes on the way to the log",
        _stage,
        gates=gates,
        meanings={"≠": "unlike most other nodes", "body": "the members of the CMS"},
    ),
    panel_of(
        "beliefs",
        "What each node believes",
        Table(
            of_state(beliefs),
            "belief:{0.name}",
            (
                Column("node", "name"),
                Column("version", "version"),
                Column("epoch", lambda row: str(row.node.epoch or "")),
                Column("switch", "switch"),
                Column("changes", lambda row: numbered(row.node.facts) + " ≠" * row.differs),
                Column("CMS", "members"),
                Column("asked by", "initiator"),
            ),
            caption="The inspector: metadata as each node has it",
            of="{0.name}",
        ),
        still=True,
        tab="Inspector",
    ),
)
