"""The six questions, each with its two stories and the rows at which they meet."""

from kit.errors import BadInput
from kit.model.registry import one_of
from kit.protocols.worlds.alignment import Now, Pair, Row, Side
from kit.protocols.worlds.facts import coordinator as c
from kit.protocols.worlds.facts import epochs as e

WRITTEN = Row(
    "writes go to both",
    Side(e.commits("start"), e.says_committed),
    Side(c.enters("write_both_read_old"), c.says_state),
    alike=True,
    claim="A node that takes over data gets every write first. Reads stay where they were.",
    holds=lambda a, b: _written(a) and b.after.topology.transition == "write_both_read_old",
)
SWITCHED = Row(
    "reads switch",
    Side(e.commits("mid"), e.says_committed),
    Side(c.enters("write_both_read_new"), c.says_state),
    alike=True,
    claim="Reads move once the data has moved. Old and new replicas still get every write.",
    holds=lambda a, b: _switched(a) and b.after.topology.transition == "write_both_read_new",
)


def _written(now: Now) -> bool:
    ranges = e.ranges(now)
    return any(reads < writes for reads, writes in ranges) and all(
        reads <= writes for reads, writes in ranges
    )


def _switched(now: Now) -> bool:
    streamed = all(row.done for each in e.under_way(now) for row in each.streams)
    return _written(now) and streamed


def _drivers(node: str) -> Row:
    return Row(
        "the operation begins",
        Side(e.commits("prepare"), e.says_begins),
        Side(lambda now: now.is_a("join") or now.is_a("leave"), c.says_request),
        alike=False,
        claim=(
            "With epochs, the node itself drives its operation, step by step. Over Raft, it only "
            "asks; one coordinator carries out all requests."
        ),
        holds=lambda a, b: e.committer(a) == node != c.coordinator(b),
    )


def _barrier(outside: str) -> Row:
    return Row(
        "the barrier waits",
        Side(e.waits, e.says_barrier),
        Side(c.waits, c.says_barrier),
        alike=False,
        claim=(
            "With epochs, the barrier asks all replicas of each locked range, and needs a "
            "majority of them in each datacenter. Over Raft, every member has to answer; a join "
            "leaves none out."
        ),
        holds=lambda a, b: (
            e.is_majority_each(a)
            and outside not in e.addressed(a)
            and c.addressed(b) == c.members(b) - c.left_out(b) == c.members(b)
            and outside in c.addressed(b)
        ),
    )


JOIN = Pair(
    "bootstrap",
    "How does a node join?",
    ("tcm/a-fifth-node-joins", "topology/a-fifth-node-joins"),
    (
        _drivers("E"),
        WRITTEN,
        _barrier("D"),
        Row(
            "the barrier opens",
            Side(e.opens, e.says_barrier),
            Side(c.opens, c.says_barrier),
            alike=False,
            claim=(
                "With epochs, a node that was asked may still lag when the barrier opens. Over "
                "Raft, no node can lag: the last answer opens the barrier."
            ),
            holds=lambda a, b: bool(e.lacking(a)) and not c.lacking(b),
        ),
        Row(
            "data moves",
            Side(lambda now: now.is_a("stream"), e.says_streams),
            Side(c.streams, c.says_streams),
            alike=False,
            claim=(
                "Both stream after the barrier. Over Raft, a fence comes first, and a session "
                "permits the stream; with epochs, the plan in the log is enough."
            ),
            holds=lambda a, b: e.is_open(a) and c.has_fenced(b) and b.after.topology.session > 0,
        ),
        SWITCHED,
        Row(
            "the node is a member",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("E", "normal"), c.says_ended),
            alike=False,
            claim=(
                "Each epoch is one log entry. Over Raft, several commands make one version, and "
                "the tables tell nodes to clean up."
            ),
            holds=lambda a, b: (
                e.status(a, "E") == "joined"
                and b.after.state_id > b.after.topology.version
                and any(node.cleanup != "clean" for node in b.after.topology.nodes)
            ),
        ),
    ),
)
LEAVE = Pair(
    "decommission",
    "How does a node leave?",
    ("tcm/one-of-four-leaves", "topology/one-of-four-leaves"),
    (
        _drivers("C"),
        WRITTEN,
        SWITCHED,
        Row(
            "the last barrier",
            Side(e.waits, e.says_barrier),
            Side(c.waits_in("left_token_ring"), c.says_barrier),
            alike=False,
            claim=(
                "Both ask the leaving node in the last barrier. With epochs, it still gets writes, "
                "and a majority of each range is enough. Over Raft, it has no tokens by then, but "
                "may still coordinate requests, and every member has to answer."
            ),
            holds=lambda a, b: "C" in e.addressed(a) & c.addressed(b) and e.is_majority_each(a),
        ),
        Row(
            "the node has left",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("C", "left"), c.says_ended),
            alike=True,
            claim="In the end, the node owns nothing, and all its data is on other nodes.",
            holds=lambda a, b: (
                not any("C" in writes for _, writes in e.ranges(a))
                and not b.after.topology.nodes[b.m.number("C")].tokens
            ),
        ),
    ),
)
DEATH = Pair(
    "death",
    "What if a node dies halfway?",
    ("tcm/a-replica-dies-meanwhile", "topology/a-replica-dies-meanwhile"),
    (
        _drivers("E"),
        WRITTEN,
        Row(
            "a replica dies",
            Side(lambda now: now.is_a("crash"), e.says_barrier),
            Side(lambda now: now.is_a("crash"), c.says_died),
            alike=True,
            claim="The barrier is closed, and the dead node is among the nodes it asks.",
            holds=lambda a, b: (
                "C" in e.addressed(a) & c.addressed(b) and not e.is_open(a) and bool(c.lacking(b))
            ),
        ),
        Row(
            "all others answer",
            Side(e.opens, e.says_barrier),
            Side(c.waits_for_one, c.says_barrier),
            alike=False,
            claim=(
                "With epochs, the live nodes are enough: each range has its majority without the "
                "dead node. Over Raft, the barrier waits for that node until the barrier fails."
            ),
            holds=lambda a, b: "C" in e.lacking(a) and e.is_open(a) and c.lacking(b) == {"C"},
        ),
        Row(
            "how it ends",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("E", "left"), c.says_ended),
            alike=False,
            claim=(
                "With epochs, as the documents have it, E is a member, and the dead node learns "
                "of this when it is back. (The published server ends a join with an error if a "
                "node that hands over ranges is down.) Over Raft, the join was rolled back: E has "
                "left, and needs a new host id."
            ),
            holds=lambda a, b: e.status(a, "E") == "joined" and c.status(b, "E") == "left",
        ),
    ),
)
MAJORITY = Pair(
    "majority",
    "What if the metadata majority is lost?",
    ("cms/without-a-majority", "recovery/without-a-majority"),
    (
        Row(
            "the majority is gone",
            Side(e.has_no_quorum, e.says_members),
            Side(lambda now: not c.has_majority(now), c.says_voters),
            alike=True,
            claim="No one can change metadata any longer, and nothing repairs that on its own.",
            holds=lambda a, b: not a.m.has_quorum(a.after) and not c.has_majority(b),
        ),
        Row(
            "data is served",
            Side(lambda now: now.is_a("request"), e.says_served),
            Side(lambda now: now.is_a("write"), c.says_stored),
            alike=True,
            claim="Data does not need the majority: nodes serve with the metadata they have.",
            holds=lambda a, b: not a.m.has_quorum(a.after) and not c.has_majority(b),
        ),
        Row(
            "an operator names a node",
            Side(lambda now: now.is_a("force"), e.says_forced),
            Side(lambda now: now.is_a("choose"), c.says_chosen),
            alike=False,
            claim=(
                "With epochs, any live node that knows the newest epoch can be forced to become "
                "the CMS. Here there are two such nodes. Over Raft, a new group starts from the "
                "node with the latest commit index."
            ),
            holds=lambda a, b: len(e.leaders(a)) > 1 == len(c.leaders(b)),
        ),
        Row(
            "metadata changes again",
            Side(lambda now: now.is_a("submit"), e.says_members),
            Side(lambda now: now.is_a("alter"), c.says_voters),
            alike=False,
            claim=(
                "With epochs, the log continues where it was, and no node has restarted. Over "
                "Raft, there is a new group 0, and every live node has restarted to join it."
            ),
            holds=lambda a, b: (
                a.m.has_quorum(a.after)
                and e.forced(a)
                and c.has_majority(b)
                and c.all_in_a_new_group(b)
            ),
        ),
    ),
)
CANCEL = Pair(
    "cancel",
    "How is an operation undone?",
    ("tcm/taken-back", "topology/taken-back"),
    (
        _drivers("E"),
        WRITTEN,
        Row(
            "back, before reads switch",
            Side(e.commits("cancel"), e.says_committed),
            Side(c.enters("left_token_ring", "E"), c.says_failed),
            alike=False,
            claim=(
                "With epochs, an operator cancels, and one event undoes everything. Over Raft, "
                "no one can stop running work. When the work fails, the coordinator rolls it "
                "back state by state."
            ),
            holds=lambda a, b: (
                e.committer(a) == "an operator" and not e.under_way(a) and bool(c.addressed(b))
            ),
        ),
        Row(
            "may E try again?",
            Side(e.commits("prepare"), e.says_begins),
            Side(c.becomes("E", "left"), c.says_ended),
            alike=False,
            claim=(
                "With epochs, the node can start again. Over Raft, it has left: its host id "
                "can never join again."
            ),
            holds=lambda a, b: e.committer(a) == "E" and c.status(b, "E") == "left",
        ),
        Row(
            "reads have switched",
            Side(e.commits("mid"), e.says_committed),
            Side(c.enters("write_both_read_new", "F"), c.says_state),
            alike=False,
            claim=(
                "With epochs, there is still a way back, here in two events. Over Raft, there is "
                "none from here on: if the barrier fails, the coordinator continues after a while."
            ),
            holds=lambda a, b: e.may_begin(a, "cancel E") and not c.has_way_back(b),
        ),
        Row(
            "how it ends",
            Side(lambda now: not e.under_way(now), e.says_ended),
            Side(c.becomes("F", "normal"), c.says_ended),
            alike=False,
            claim=(
                "The cancelled node owns nothing, once a barrier has passed between its two "
                "events. Over Raft, the next node in the queue has joined."
            ),
            holds=lambda a, b: e.status(a, "E") != "joined" and c.status(b, "F") == "normal",
        ),
    ),
)
BOTH = Pair(
    "two-at-once",
    "What if two nodes want to join at the same time?",
    ("tcm/two-joins-at-once", "topology/two-joins-at-once"),
    (
        _drivers("E"),
        Row(
            "the second node asks",
            Side(e.commits("prepare"), e.says_locks),
            Side(lambda now: now.is_a("join"), c.says_queue),
            alike=False,
            claim=(
                "With epochs, both joins are under way: their ranges are disjoint. Over Raft, "
                "both are requests, and one of them waits."
            ),
            holds=lambda a, b: len(e.under_way(a)) == 2 == len(c.requests(b)),
        ),
        Row(
            "B is in the way",
            Side(lambda now: bool(e.refusal(now, "decommission B")), e.says_locks),
            Side(lambda now: now.is_a("leave"), c.says_queue),
            alike=False,
            claim=(
                "With epochs, B cannot begin to leave: one of its ranges is locked. Over Raft, "
                "its request is accepted and waits for its turn."
            ),
            holds=lambda a, b: (
                "locked" in e.refusal(a, "decommission B") and "leave B" in c.requests(b)
            ),
        ),
        Row(
            "E gets its writes",
            Side(e.commits("start"), e.says_locks),
            Side(c.enters("write_both_read_old", "E"), c.says_queue),
            alike=True,
            claim=(
                "E gets every write to the ranges it will take over. No client reads from it yet."
            ),
            holds=lambda a, b: (
                _written(a)
                and b.after.topology.transition == "write_both_read_old"
                and c.status(b, "F") == "none"
            ),
        ),
        Row(
            "E is a member",
            Side(e.commits("finish"), e.says_locks),
            Side(c.becomes("E", "normal"), c.says_queue),
            alike=False,
            claim=(
                "With epochs, the other join is just one step behind. Over Raft, it has not even "
                "begun."
            ),
            holds=lambda a, b: (
                [row.state for row in e.under_way(a)] == ["mid"] and c.status(b, "F") == "none"
            ),
        ),
    ),
)
PAIRS = (JOIN, LEAVE, DEATH, MAJORITY, CANCEL, BOTH)
"""In the order of the lesson."""


def pair_named(name: str) -> Pair:
    """The pair of this name. Raises BadInput for one that there is not."""
    known = {pair.name: pair for pair in PAIRS}
    if name not in known:
        raise BadInput("pair", name, one_of(name, list(known)))
    return known[name]
