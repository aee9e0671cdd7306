"""What the lessons on the CMS ask: the models of this family answer."""

from typing import Any

from msgspec.structs import replace

from kit.errors import BadInput, KitError, check_among
from kit.lessons.questions import PosedQuestion, copied, listed, model_of, posed
from kit.lessons.stills import still
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline, played_out
from kit.protocols.cms.cms import Cms, working
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.facts.commit import requests
from kit.protocols.cms.facts.schema import changes, known, said
from kit.protocols.cms.migration import Migration, numbered
from kit.protocols.cms.rules.log import slice_since
from kit.protocols.cms.rules.members import quorums
from kit.protocols.cms.schema import Schema
from kit.protocols.gossip.rules import schema_of
from kit.widgets.player import Player

DONE = "✓"
"""How a change that is done begins in the table of changes."""
UNKNOWN = "nothing"


def answer_to(timeline: Timeline, request: str) -> PosedQuestion:
    """What is the submitter of a request told, once the run has come to its end?

    Raises BadInput where the model does not submit events, or for a request that there is not.
    """
    model = model_of(timeline, Commit)
    end = played_out(copied(timeline, timeline.tip))
    rows = {row.id: row for row in requests(model, end.state)}
    check_among("request", request, rows)
    row = rows[request]
    endings = (*(f"committed as epoch {place}" for place in range(1, len(rows) + 1)), "rejected")
    return posed(
        f"{row.node} submits {request}: {row.event}. What is {row.node} told in the end?",
        (*endings, UNKNOWN),
        (next((each for each in endings if row.state.startswith(each)), UNKNOWN),),
        f"What {row.node} knows of {request} in the end: {row.state}.",
        still(end, "log"),
    )


def fetched(timeline: Timeline, node: str, peer: str) -> PosedQuestion:
    """What does a node get that asks a peer for the log?

    Raises BadInput where the model does not submit events, or for a node that there is not.
    """
    model = model_of(timeline, Commit)
    if unknown := {node, peer}.difference(model.names):
        raise BadInput("node", min(unknown), f"one of {', '.join(model.names)}")
    mine, theirs = (timeline.state.nodes[model.number(name)].log for name in (node, peer))
    uncut = replace(theirs, cut=0, snapshots=())
    others = (slice_since(log, mine.epoch) for log in (uncut, replace(uncut, cut=theirs.cut)))
    sent = slice_since(theirs, mine.epoch).text
    return posed(
        f"{node} is at epoch {mine.epoch} and asks {peer} for everything above that. "
        f"What does {node} get?",
        (*sorted({sent, *(each.text for each in others)}), "nothing"),
        (sent,),
        f"{peer} is at epoch {theirs.epoch}, and has truncated its log up to epoch {theirs.cut}.",
        still(timeline, "stores"),
    )


def deciding(timeline: Timeline) -> PosedQuestion:
    """Which nodes are just enough to decide the next epoch, by the longest log?

    Raises BadInput where the model is not that of the members.
    """
    model = model_of(timeline, Cms)
    known = model.newest(timeline.state)
    readers, writers = (", ".join(model.named(each)) for each in (known.readers, known.writers))
    sets = (mask for mask in range(1, known.writers + 1) if mask & known.writers == mask)
    names = {mask: " and ".join(model.named(mask)) for mask in sorted(sets, key=int.bit_count)}
    right = [names[mask] for mask in quorums(known.readers, known.writers, known.writers)]
    return posed(
        "Which of these are just enough to decide the next epoch, with no node to spare?",
        names.values(),
        right,
        f"Reads count {readers}, and writes count {writers}. A majority of each must store the "
        f"entry: {listed(right)}.",
        still(timeline, "placement"),
    )


def still_able(timeline: Timeline) -> PosedQuestion:
    """What can still be done by a cluster whose CMS has lost members?

    Raises BadInput where the model is not that of the members.
    """
    model, s = model_of(timeline, Cms), timeline.state
    newest, up = model.newest(s), working(model, s)
    able = {
        "change a table": model.commits(s),
        "print the log with nodetool cms dumplog": model.has_quorum(s),
        "change the members of the CMS": model.commits(s),
        "read and write rows at QUORUM": model.serving(s),
    }
    answering = (newest.readers & up).bit_count()
    behind = ""
    if model.has_quorum(s) and not model.commits(s):
        behind = " No member with a quorum knows the newest epoch, so one has to catch up first."
    return posed(
        "What can you still do with this cluster?",
        able,
        [what for what, holds in able.items() if holds],
        f"{answering} of {newest.readers.bit_count()} members answer. The log needs a majority of "
        f"them, even to be read.{behind} Rows need a majority of their own replicas.",
        still(timeline, "members"),
    )


# -- the schema ------------------------------------------------------------------------------------


def with_log(name: str, *, ordered: bool = False) -> Player:
    """A story told by gossip, and as a branch the same requests where a log orders them.

    One looks at its start, or at the end of the ``ordered`` branch.

    Raises BadInput for a story that there is not.
    Raises Refused where the story lacks no safeguard, or breaks no promise.
    """
    player = Player(open_file(file_named(name)), controls=False)
    by_gossip = player.timeline.tip
    player.goto(by_gossip)
    player.goto(player.put_back("S-80").tip)
    played_out(player.timeline)
    if not ordered:
        player.goto(by_gossip)
        player.goto(0)
    return player


def done_changes(timeline: Timeline) -> PosedQuestion:
    """Of which changes is a client told that they are done, at the end of this branch?

    Raises BadInput where the model is not that of a schema.
    """
    end = _ended(timeline)
    rows = changes(end.here, end.state)
    return posed(
        "Which clients are told in the end that their change is done?",
        [row.text for row in rows],
        [row.text for row in rows if row.became.startswith(DONE)],
        "; ".join(f"{row.text}: {row.became}" for row in rows),
        still(end, "schemas"),
    )


def _ended(timeline: Timeline, kind: type = Schema) -> Any:
    model_of(timeline, kind)
    return copied(timeline, timeline.tip)


def starters(timeline: Timeline) -> PosedQuestion:
    """Which nodes can load their schema when they restart, at the end of this branch?

    Raises BadInput where the model is not that of a schema.
    """
    end = _ended(timeline)
    lacking = {node.name: schema_of(node.cells).orphans for node in end.state.nodes}
    reasons = [f"{name} has {listed(orphans)}" for name, orphans in lacking.items() if orphans]
    return posed(
        "In the end every node is restarted. Which nodes can load their schema?",
        lacking,
        [name for name, orphans in lacking.items() if not orphans],
        f"{'; '.join(reasons) or 'Nothing on any node needs anything that is missing'}.",
        still(end, "schemas"),
    )


def finders(timeline: Timeline) -> PosedQuestion:
    """Which nodes find the first write when they read the table, at the end of this branch?

    Raises BadInput where the model is not that of a schema.
    Raises KitError where nothing is written.
    """
    end = _ended(timeline)
    if not end.state.written:
        raise KitError("predict: nothing is written on this branch")
    under = end.state.written[0]
    ids = {node.name: node.table_id or "no id" for node in end.state.nodes}
    return posed(
        "In the end every node looks for the first write. Which ones find it in ks.t?",
        ids,
        [name for name, known in ids.items() if known == under],
        f"The write is under id {under}, and the nodes read under these ids: "
        f"{listed(f'{name} {known}' for name, known in ids.items())}.",
        still(end, "schemas"),
    )


def recipients(timeline: Timeline, node: str) -> PosedQuestion:
    """To which nodes does a node send a write now?

    Raises BadInput where the model is not that of a schema, or for a node that there is not.
    """
    model_of(timeline, Schema)
    here: Any = timeline.here
    rows = {row.name: row for row in known(here, timeline.state)}
    check_among("node", node, rows)
    return posed(
        f"A client writes to ks.t, and {node} is the coordinator. Which nodes does it send the "
        "write to?",
        rows,
        (*rows[node].owners, *rows[node].joining),
        f"According to what each node knows: {'; '.join(map(said, rows.values()))}.",
        still(timeline, "known"),
    )


# -- from gossip to the log ------------------------------------------------------------------------


def kept_changes(timeline: Timeline) -> PosedQuestion:
    """Which changes that were acknowledged does the log have, at the end of this branch?

    Raises BadInput where the model is not that of the migration.
    Raises KitError where nothing is changed, or no log begins.
    """
    end = _ended(timeline, Migration)
    s = end.state
    if not s.made or not s.logs:
        raise KitError("predict: nothing is changed on this branch, or no log begins")
    held = s.logs[-1].facts_at(s.logs[-1].top)
    return posed(
        "Clients were told that their changes are done. Which of them are in the log in the end?",
        [f"change {number + 1}" for number in range(s.made)],
        [f"change {number + 1}" for number in range(s.made) if held >> number & 1],
        f"The log holds these changes: {numbered(held) or UNKNOWN}.",
        still(end, "beliefs"),
    )
