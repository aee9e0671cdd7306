"""Paxos on the stage: members with promise and value, who a round waits for."""

from collections.abc import Iterator

from msgspec.structs import replace

from kit.model import network
from kit.protocols.paxos import facts
from kit.protocols.paxos.facts import AcceptorRow, EpochRow, ProposerRow
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.gate import Gate, of_members
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Stage, Tile, stage_panel
from kit.views.tape import Card


def _stage(scene: Scene) -> Stage:
    rounds = {row.name: row for row in scene.of(facts.proposers)}
    return Stage(
        scene.model.names,
        tuple(_member(scene, row, rounds.get(row.name)) for row in scene.of(facts.acceptors)),
        tape=tuple(_card(scene, row) for row in scene.of(facts.epochs)),
        lines=3,
        old=frozenset(_outvoted(scene)),
    )


def _outvoted(scene: Scene) -> Iterator[str]:
    """Messages of a ballot below what their receiver has promised."""
    for sent in scene.state.network.in_flight:
        ballot, node = getattr(sent.message, "ballot", 0), scene.model.number(sent.target)
        if 0 < ballot < scene.state.nodes[node].slot(sent.message.epoch).promised:
            yield network.line(sent)


def _member(scene: Scene, row: AcceptorRow, mine: ProposerRow | None) -> Character:
    place = scene.model.number(row.name)
    waits = scene.model.wanted(place, scene.state.nodes[place])
    tag = f"ballot {mine.ballot}" if mine else f"wants {waits}" if waits else "acceptor"
    disk = f"on disk: {row.disk or 'nothing'}" if row.unsaved else "all on disk"
    makers, value = scene.model.proposed, row.accepted.partition(" ")[0]
    lines: tuple[str | Tile, ...] = (
        *[Tile(f"promise {row.promised}", row.promised[-1:])] * bool(row.promised),
        *[Tile(row.accepted, makers.get(value, ""), open=True)] * bool(row.accepted),
        *[Tile(f"{each} is chosen", makers.get(each, "")) for each in row.log[-1:]],
        *[disk] * (not scene.model.persist_first),
    )
    said = facts.acceptor_line(row)
    return Character(
        row.name,
        scene.model.spot(row.name),
        "up" if row.up else "down",
        leads=mine is not None,
        tag=tag if row.votes else "not a member",
        holds=lines,
        title=f"{said}; {tag}",
    )


def _on_disk(row: AcceptorRow) -> str:
    return (row.disk or "nothing") if row.unsaved else "the same"


def _card(scene: Scene, row: EpochRow) -> Card:
    is_taken = row.state in (facts.KNOWN, facts.MAJORITY)
    words = f"{row.epoch} {row.value or row.state}{'?' * bool(row.value and not is_taken)}"
    by = scene.model.proposed.get(row.value, "")
    title = facts.epoch_line(row)
    return Card(f"epoch:{row.epoch}", words, by, open=row.state != facts.KNOWN, title=title)


def _gates(scene: Scene) -> Iterator[Gate]:
    for row in scene.of(facts.proposers):
        did, heard = ("accepted", row.accepts) if row.proposed else ("promised", row.promises)
        counted = f"accept {row.value} in" if row.proposed else "promises for"
        what = f"{counted} {row.ballot}, epoch {row.epoch}"
        thing = scene.model.spot(row.name)
        yield from of_members(thing, what, did, row.groups, heard, row.enough)


def _badges(scene: Scene) -> Badges:
    taken = len(scene.model.history(scene.state))
    yield "epoch", f"epoch {taken}" if taken else "no epoch yet", "plain"
    rounds = " and ".join(row.ballot for row in scene.of(facts.proposers))
    yield "ballots", f"ballot {rounds}" if rounds else "", "busy"
    phase = scene.state.nodes[0].phase if scene.model.becomes else 0
    yield (
        "members",
        ("", "members are changing", "the members have changed")[phase],
        "busy" if phase == 1 else "",
    )


VIEWS = staged(
    _badges,
    stage_panel(
        "members",
        "Proposers and acceptors",
        _stage,
        gates=_gates,
        meanings={
            "promise 1B": "it refuses ballots below 1B (round 1 of B)",
            "x 1A": "it has accepted value x in ballot 1A",
            "crown": "a proposer with a ballot in progress",
        },
    ),
    panel_of(
        "acceptors",
        "What each node has promised and accepted",
        Table(
            of_state(facts.acceptors),
            "acceptor:{0.name}",
            ("node", "promised", "accepted", Column("on disk", _on_disk), "log"),
            caption="Acceptors: each one at the epoch after its log",
            of="{0.name}",
            line=facts.acceptor_line,
        ),
        Table(
            of_state(facts.proposers),
            "round:{0.name}",
            (
                *("node", "epoch", "ballot", "promised by"),
                Column("value", lambda row: f"{row.value} ({row.why})" if row.why else row.value),
                "accepted by",
            ),
            caption="Rounds in progress",
            of="{0.name}",
            empty="No round is in progress.",
        ),
        still=True,
        tab="Acceptors",
        own=True,
        marks="1A: the ballot of A's round 1 · x 1A: value x in ballot 1A",
    ),
    panel_of(
        "epochs",
        "The log",
        Table(
            of_state(facts.epochs),
            "slot:{0.epoch}",
            ("epoch", "value", "state", "stored by", "known to"),
            caption="Each epoch: its value, which nodes have it on disk, and which know that it "
            "is chosen",
            of="epoch:{0.epoch}",
            line=facts.epoch_line,
        ),
        tab="Log",
    ),
    MESSAGES,
)
WANTED = "{0[0]} is {0[1]}'s value".format
VIEWS = replace(VIEWS, facts=lambda scene: map(WANTED, scene.model.proposed.items()))
