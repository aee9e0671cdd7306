"""The six questions, each with its two stories and the rows at which they meet.

What a row asks of a moment stands in one module a world.
"""

from kit.model.registry import check_one_of
from kit.protocols.worlds.alignment import Pair, Row, Side
from kit.protocols.worlds.facts import coordinator as c
from kit.protocols.worlds.facts import epochs as e

WRITTEN = Row(
    "writes go to both",
    "A node that takes over data gets every write first. Reads stay where they were.",
    Side(e.commits("start"), e.says_committed),
    Side(c.enters("write_both_read_old"), c.says_state),
    alike=True,
)
SWITCHED = Row(
    "reads switch",
    "Reads move once the data has moved. Old and new replicas still get every write.",
    Side(e.commits("mid"), e.says_committed),
    Side(c.enters("write_both_read_new"), c.says_state),
    alike=True,
)
DRIVERS = Row(
    "the operation begins",
    "With epochs, the node itself drives its operation, step by step. Over Raft, it only "
    "asks; one coordinator carries out all requests.",
    Side(e.commits("prepare"), e.says_begins),
    Side(lambda now: now.is_a("join") or now.is_a("leave"), c.says_request),
)
BARRIER = Row(
    "the barrier waits",
    "With epochs, the barrier asks all replicas of each locked range, and needs a "
    "majority of them in each datacenter. Over Raft, every member has to answer; a join "
    "leaves none out.",
    Side(e.waits, e.says_barrier),
    Side(c.waits, c.says_barrier),
)

JOIN = Pair(
    "bootstrap",
    "How does a node join?",
    ("tcm/a-fifth-node-joins", "topology/a-fifth-node-joins"),
    (
        DRIVERS,
        WRITTEN,
        BARRIER,
        Row(
            "the barrier opens",
            "With epochs, a node that was asked may still lag when the barrier opens. Over "
            "Raft, no node can lag: the last answer opens the barrier.",
            Side(e.opens, e.says_barrier),
            Side(c.opens, c.says_barrier),
        ),
        Row(
            "data moves",
            "Both stream after the barrier. Over Raft, a fence comes first, and a session "
            "permits the stream; with epochs, the plan in the log is enough.",
            Side(lambda now: now.is_a("stream"), e.says_streams),
            Side(c.streams, c.says_streams),
        ),
        SWITCHED,
        Row(
            "the node is a member",
            "Each epoch is one log entry. Over Raft, several commands make one version, and "
            "the tables tell nodes to clean up.",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("E", "normal"), c.says_ended),
        ),
    ),
)
LEAVE = Pair(
    "decommission",
    "How does a node leave?",
    ("tcm/one-of-four-leaves", "topology/one-of-four-leaves"),
    (
        DRIVERS,
        WRITTEN,
        SWITCHED,
        Row(
            "the last barrier",
            "Both ask the leaving node in the last barrier. With epochs, it still gets writes, "
            "and a majority of each range is enough. Over Raft, it has no tokens by then, but "
            "may still coordinate requests, and every member has to answer.",
            Side(e.waits, e.says_barrier),
            Side(c.waits_in("left_token_ring"), c.says_barrier),
        ),
        Row(
            "the node has left",
            "In the end, the node owns nothing, and all its data is on other nodes.",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("C", "left"), c.says_ended),
            alike=True,
        ),
    ),
)
DEATH = Pair(
    "death",
    "What if a node dies halfway?",
    ("tcm/a-replica-dies-meanwhile", "topology/a-replica-dies-meanwhile"),
    (
        DRIVERS,
        WRITTEN,
        Row(
            "a replica dies",
            "The barrier is closed, and the dead node is among the nodes it asks.",
            Side(lambda now: now.is_a("crash"), e.says_barrier),
            Side(lambda now: now.is_a("crash"), c.says_died),
            alike=True,
        ),
        Row(
            "all others answer",
            "With epochs, the live nodes are enough: each range has its majority without the "
            "dead node. Over Raft, the barrier waits for that node until the barrier fails.",
            Side(e.opens, e.says_barrier),
            Side(c.waits_for_one, c.says_barrier),
        ),
        Row(
            "how it ends",
            "With epochs, as the documents have it, E is a member, and the dead node learns "
            "of this when it is back. (The published server ends a join with an error if a "
            "node that hands over ranges is down.) Over Raft, the join was rolled back: E has "
            "left, and needs a new host id.",
            Side(e.commits("finish"), e.says_ended),
            Side(c.becomes("E", "left"), c.says_ended),
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
            "No one can change metadata any longer, and nothing repairs that on its own.",
            Side(e.has_no_quorum, e.says_members),
            Side(lambda now: not c.has_majority(now), c.says_voters),
            alike=True,
        ),
        Row(
            "data is served",
            "Data does not need the majority: nodes serve with the metadata they have.",
            Side(lambda now: now.is_a("request"), e.says_served),
            Side(lambda now: now.is_a("write"), c.says_stored),
            alike=True,
        ),
        Row(
            "an operator names a node",
            "With epochs, any live node that knows the newest epoch can be forced to become "
            "the CMS. Here there are two such nodes. Over Raft, a new group starts from the "
            "node with the latest commit index.",
            Side(lambda now: now.is_a("force"), e.says_forced),
            Side(lambda now: now.is_a("choose"), c.says_chosen),
        ),
        Row(
            "metadata changes again",
            "With epochs, the log continues where it was, and no node has restarted. Over "
            "Raft, there is a new group 0, and every live node has restarted to join it.",
            Side(lambda now: now.is_a("submit"), e.says_members),
            Side(lambda now: now.is_a("alter"), c.says_voters),
        ),
    ),
)
CANCEL = Pair(
    "cancel",
    "How is an operation undone?",
    ("tcm/taken-back", "topology/taken-back"),
    (
        DRIVERS,
        WRITTEN,
        Row(
            "back, before reads switch",
            "With epochs, an operator cancels, and one event undoes everything. Over Raft, "
            "no one can stop running work. When the work fails, the coordinator rolls it "
            "back state by state.",
            Side(e.commits("cancel"), e.says_committed),
            Side(c.enters("left_token_ring", "E"), c.says_failed),
        ),
        Row(
            "may E try again?",
            "With epochs, the node can start again. Over Raft, it has left: its host id "
            "can never join again.",
            Side(e.commits("prepare"), e.says_begins),
            Side(c.becomes("E", "left"), c.says_ended),
        ),
        Row(
            "reads have switched",
            "With epochs, there is still a way back, here in two events. Over Raft, there is "
            "none from here on: if the barrier fails, the coordinator continues after a while.",
            Side(e.commits("mid"), e.says_committed),
            Side(c.enters("write_both_read_new", "F"), c.says_state),
        ),
        Row(
            "how it ends",
            "The cancelled node owns nothing, once a barrier has passed between its two "
            "events. Over Raft, the next node in the queue has joined.",
            Side(lambda now: not e.under_way(now), e.says_ended),
            Side(c.becomes("F", "normal"), c.says_ended),
        ),
    ),
)
BOTH = Pair(
    "two-at-once",
    "What if two nodes want to join at the same time?",
    ("tcm/two-joins-at-once", "topology/two-joins-at-once"),
    (
        DRIVERS,
        Row(
            "the second node asks",
            "With epochs, both joins are under way: their ranges are disjoint. Over Raft, "
            "both are requests, and one of them waits.",
            Side(e.commits("prepare"), e.says_locks),
            Side(lambda now: now.is_a("join"), c.says_queue),
        ),
        Row(
            "B is in the way",
            "With epochs, B cannot begin to leave: one of its ranges is locked. Over Raft, "
            "its request is accepted and waits for its turn.",
            Side(lambda now: bool(e.refusal(now, "decommission B")), e.says_locks),
            Side(lambda now: now.is_a("leave"), c.says_queue),
        ),
        Row(
            "E gets its writes",
            "E gets every write to the ranges it will take over. No client reads from it yet.",
            Side(e.commits("start"), e.says_locks),
            Side(c.enters("write_both_read_old", "E"), c.says_queue),
            alike=True,
        ),
        Row(
            "E is a member",
            "With epochs, the other join is just one step behind. Over Raft, it has not even "
            "begun.",
            Side(e.commits("finish"), e.says_locks),
            Side(c.becomes("E", "normal"), c.says_queue),
        ),
    ),
)
PAIRS = (JOIN, LEAVE, DEATH, MAJORITY, CANCEL, BOTH)
"""In the order of the lesson."""


def pair_named(name: str) -> Pair:
    """The pair of this name. Raises BadInput for one that there is not."""
    known: dict[str, Pair] = {pair.name: pair for pair in PAIRS}
    check_one_of("pair", name, known)
    return known[name]
