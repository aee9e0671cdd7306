"""A table of tablets is truncated: a request of the whole cluster, under a session.

It excludes moves; the coordinator sends an RPC to the replicas until every one has answered, and
what it gave up may still arrive. Its one stage stands in no column but ``session`` (Q-20; edition
``server`` calls it ``truncate_table``). Sources: Topology over Raft, "Topology state machine"
(global requests), "Topology guards"; published coordinator, its handler of ``truncate_table``.
"""

from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from kit.errors import BadInput, Refusal
from kit.model import declared
from kit.model.declared import Node, State, Travel, action, always, budget, purpose, refused
from kit.model.flows import FlowKind
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.tablets.hosts import LOG, NETWORK, Hosts, barrier, written

Phase = Literal["idle", "asked", "opened", "sending", "closed", "done"]
"""*opened* and *closed*: the session is open, or closed, and its barrier has not passed yet."""
UNDER_WAY = ("opened", "sending", "closed")

OLD_ROWS, NEW_ROWS = 1, 2
"""Rows from before the truncate, and rows that clients wrote once it was reported as done."""
ROWS = ("no rows", "old rows", "new rows", "old rows and new rows")
CLIENT = "client"
SESSION = 1  # the request's id names its session
MOVING = refused("tablets are in transition")
EXCLUDED = refused("a TRUNCATE is requested or under way")


class TruncateState(State, frozen=True, cache_hash=True, kw_only=True):
    """A truncate under way.

    ``session`` is that of group 0 (0: none), ``views[i]`` the one that node ``i`` knows.
    ``answered`` is a mask of the replicas whose answer the coordinator has (volatile). ``late`` is
    a mask of nodes to which an RPC is still on its way. ``rows[i]`` are the rows on node ``i``
    (``OLD_ROWS``, ``NEW_ROWS``, a mask). ``moving``: tablets are in transition. ``lates``,
    ``changes`` and ``moves`` count what may still happen.
    """

    phase: Phase = "idle"
    session: int = 0
    views: tuple[int, ...]
    answered: int = 0
    late: int = 0
    rows: tuple[int, ...]
    written: bool = False
    moving: bool = False
    lates: int = 0
    changes: int = 0
    moves: int = 0

    def having(self, rows: int) -> int:
        """The nodes that have rows of these kinds (a mask)."""
        return sum(1 << i for i, has in enumerate(self.rows) if has & rows)

    def without_rows(self, node: int) -> tuple[int, ...]:
        """The rows of all nodes once one has deleted those of the table."""
        return (*self.rows[:node], 0, *self.rows[node + 1 :])


Next: TypeAlias = TruncateState | Refusal | None


class Truncate(Hosts[TruncateState]):
    """A table with replicas on the nodes ``replicas`` that is truncated."""

    name, title, State = "truncate", "A table of tablets is truncated", TruncateState
    premise = (
        "TRUNCATE deletes only the rows that were written before it. A message that arrives too "
        "late does no harm once its session is closed."
    )
    about = "A table with its replicas, and what can go wrong while it is truncated."
    rests_at_goals = True

    nodes: int = declared.parameter(3, "how many nodes there are", ge=1, le=26)
    replicas: str = written("A B", "the nodes that hold replicas of the table")
    late: int = budget(1, "how many truncate RPCs may be late", title="late RPCs", le=9, own=False)
    changes: int = budget(
        0,
        "how many times another coordinator can take over",
        title="coordinator changes",
        le=9,
        own=False,
    )
    moves: int = budget(0, "how many times tablets can begin to move", le=9, own=False)

    truncate_session: bool = declared.safeguard(
        "S-42",
        "A TRUNCATE takes effect only within its session",
        ("INV-SESSION", "INV-VISIBLE"),
        smallest={"nodes": 1, "replicas": "A", "late": 1},
    )

    def set_up(self) -> None:
        """Take the nodes and the replicas. BadInput for replicas that are no nodes."""
        self.names = tuple(ascii_uppercase[: self.nodes])
        if not (hosts := {*self.replicas.split()}) or not hosts <= {*self.names}:
            raise BadInput("replicas", self.replicas, "some of " + ", ".join(self.names))
        self.holders = self.mask(hosts)

    def start(self) -> TruncateState:
        """The replicas hold rows, and nothing is under way."""
        rows = tuple(OLD_ROWS * (self.holders >> i & 1) for i in range(self.nodes))
        start = TruncateState(views=(0,) * self.nodes, rows=rows)
        return start.but(lates=self.late, changes=self.changes, moves=self.moves)

    # The request, by its phases

    @action(
        tag="truncate",
        kind="request",
        travels=[Travel("request", CLIENT, "coordinator", "TRUNCATE")],
    )
    @purpose("A request in the queue outlives the coordinator.")
    def ask_truncate(self, s: TruncateState) -> Next:
        """A client asks to truncate the table; the request waits in the queue."""
        return s.but(phase="asked") if s.phase == "idle" else None

    @action(tag="open", verb="open session", kind="commit")
    @purpose("Replicas accept only messages from an open session.")
    def open_session(self, s: TruncateState) -> Next:
        """The coordinator picks up the request and opens its session in group 0."""
        if s.phase != "asked":
            return None
        return MOVING if s.moving else s.but(phase="opened", session=SESSION)

    def behind(self, s: TruncateState) -> int:
        """The nodes that do not know what group 0 says of the session (a mask)."""
        return sum([1 << i for i, view in enumerate(s.views) if view != s.session])

    @action(
        tag="barrier",
        kind="work",
        says=lambda m, before, a, after: (
            f"Every node knows that the session is {'open' if after.session else 'closed'}."
        ),
        travels=lambda m, before, action, after: barrier(m.names),
    )
    @purpose("All nodes must know the session before its first message arrives.")
    def pass_barrier(self, s: TruncateState) -> Next:
        """Every node knows the sessions of group 0."""
        if s.phase not in ("opened", "closed"):
            return None
        if behind := self.behind(s):
            return refused("nodes have not applied the session", self.named(behind))
        return s.but(phase="sending" if s.phase == "opened" else "done")

    @action(tag="close", verb="close session", kind="commit")
    @purpose("Once the session is closed, late messages must not delete anything.")
    def close_session(self, s: TruncateState) -> Next:
        """All replicas have answered, so the session is closed."""
        if s.phase != "sending":
            return None
        if missing := self.holders & ~s.answered:
            return refused("replicas have not answered", self.named(missing))
        return s.but(phase="closed", session=0, answered=0)

    def unanswered(self, s: TruncateState) -> int:
        """The replicas to which the RPC is sent (a mask)."""
        return self.holders & ~s.answered if s.phase == "sending" else 0

    @action(
        kind="work",
        each=unanswered,
        travels=[
            Travel("request", "coordinator", "{node}", "truncate"),
            Travel("answer", "host:{node}", LOG, "done", "{node} → coordinator: truncated"),
        ],
    )
    @purpose("Each replica must delete its own rows.")
    def send(self, s: TruncateState, node: Node) -> Next:
        """{node} gets the RPC within the session, deletes its rows and answers."""
        return s.but(rows=s.without_rows(node), answered=s.answered | 1 << node)

    @action(
        tag="apply",
        each=behind,
        travels=lambda m, before, a, after: [
            Travel(
                "entry",
                "group 0",
                a.node,
                f"session {after.session}" if after.session else "no session",
            )
        ],
    )
    @purpose("A node accepts only the sessions that it knows from the log.")
    def learn_session(self, s: TruncateState, node: Node) -> Next:
        """{node} applies the state of the session from group 0."""
        return s.but(views=(*s.views[:node], s.session, *s.views[node + 1 :]))

    @action(
        kind="client",
        travels=lambda m, before, a, after: [
            Travel("data", CLIENT, name, "new rows") for name in m.named(m.holders)
        ],
    )
    @purpose("Rows that are written after a TRUNCATE must stay.")
    def write(self, s: TruncateState) -> Next:
        """A client that saw the TRUNCATE finish writes new rows."""
        if s.phase != "done" or s.written:
            return None
        rows = (has | NEW_ROWS * (self.holders >> i & 1) for i, has in enumerate(s.rows))
        return s.but(rows=tuple(rows), written=True)

    # What goes wrong, and what else happens

    def let_in(self, s: TruncateState, node: int) -> bool:
        """Whether a node carries a late RPC out: it knows the session as open (S-42)."""
        return s.views[node] == SESSION or not self.truncate_session

    def late_words(self, before: TruncateState, action: Any, after: TruncateState) -> str:
        """How a late RPC is received."""
        inside = self.let_in(before, self.number(action.node))
        unknown = "does not know the RPC's session and refuses the RPC"
        said = "deletes the rows" if inside else unknown
        return f"The late RPC reaches {{node}}, which {said}."

    def late_flows(
        self, before: TruncateState, action: Any, after: TruncateState
    ) -> Iterator[Travel]:
        """The flows of a late message that is let in or turned away."""
        inside = self.let_in(before, self.number(action.node))
        kind: FlowKind = "data" if inside else "refusal"
        words = "let in" if inside else "refused"
        text = f"network → {{node}}: late truncate, {words}"
        yield Travel(kind, LOG, "host:{node}", words, text)

    @action(kind="late", each=lambda m, s: s.late, says=late_words, travels=late_flows)
    @purpose("The RPC's session decides whether it is accepted, however late it arrives.")
    def arrive(self, s: TruncateState, node: Node) -> Next:
        """The late RPC reaches the node, which may or may not know its session."""
        rows = s.without_rows(node) if self.let_in(s, node) else s.rows
        return s.but(late=s.late & ~(1 << node), rows=rows)

    @action(
        kind="late fault",
        spends="lates",
        each=lambda m, s: m.unanswered(s) & ~s.late,
        fault=True,
        travels=[
            Travel(
                "message", LOG, NETWORK, "truncate", "coordinator → network: truncate for {node}"
            )
        ],
    )
    @purpose("The sender cannot tell a late message from a lost one.")
    def delay(self, s: TruncateState, node: Node) -> Next:
        """The RPC to {node} is late: the coordinator will send another one."""
        return s.but(late=s.late | 1 << node)

    @action(spends="changes", unasked=True)
    @purpose("The new coordinator learns from the tables what is left to do.")
    def elect(self, s: TruncateState) -> Next:
        """Another coordinator takes over and sends the RPCs again in the same session."""
        return s.but(answered=0)

    @action(verb="end move", kind="tablets")
    @purpose("The rows are now where they belong.")
    def end_move(self, s: TruncateState) -> Next:
        """The tablets have moved."""
        return s.but(moving=False) if s.moving else None

    @action(kind="tablets found", spends="moves", unasked=True)
    @purpose("When tablets move, other nodes get their rows.")
    def move(self, s: TruncateState) -> Next:
        """Tablets of the table begin to move."""
        if s.moving:
            return MOVING
        return EXCLUDED if s.phase in ("asked", *UNDER_WAY) else s.but(moving=True)

    # What must hold

    @always("INV-VISIBLE")
    def rows_kept(self, s: TruncateState) -> str | None:
        """Rows written after the TRUNCATE stay."""
        lost = self.named(self.holders & ~s.having(NEW_ROWS)) if s.written else ()
        return f"rows written after the TRUNCATE are lost on {', '.join(lost)}" if lost else None

    @always()
    def rows_gone(self, s: TruncateState) -> str | None:
        """A TRUNCATE deletes all older rows."""
        left = self.named(s.having(OLD_ROWS)) if s.phase in ("closed", "done") else ()
        return f"{', '.join(left)} still has rows from before the TRUNCATE" if left else None

    @always("INV-EXCL")
    def moves_apart(self, s: TruncateState) -> str | None:
        """Nothing moves during a TRUNCATE."""
        both = s.moving and s.phase in UNDER_WAY
        return "tablets move while the table is being truncated" if both else None

    @declared.step("INV-SESSION", on=(arrive,))
    def in_session(self, before: TruncateState, action: Any, after: TruncateState) -> str | None:
        """A TRUNCATE takes effect only in its session."""
        late = before.rows != after.rows and before.phase == "done"
        return "a TRUNCATE takes effect after its session's barrier" if late else None

    @declared.sometimes()
    def done(self, s: TruncateState) -> bool:
        """The TRUNCATE is done."""
        return s.phase == "done"

    @declared.goal("INV-PROGRESS")
    def ends(self, s: TruncateState) -> bool:
        """The TRUNCATE can end."""
        return s.phase == "done" and not s.moving

    # How it is told

    def why_here(self, before: TruncateState, action: Any, after: TruncateState) -> str:
        """Of the second barrier, what it is for; of a late RPC, why it is obeyed or not."""
        if isinstance(action, Truncate.pass_barrier) and not after.session:
            return (
                "From now on, no node accepts a message from that session, however late it arrives."
            )
        if isinstance(action, Truncate.arrive) and not self.truncate_session:
            return "No node checks the session of a message, so even this one is accepted."
        return self.why(action)

    def milestone(self, before: TruncateState, action: Any, after: TruncateState) -> str | None:
        """The phase that the truncate enters."""
        return after.phase if before.phase != after.phase else None

    def readable(self, s: TruncateState) -> dict[str, str]:
        """The request, what is on its way, and every node."""
        return {
            "truncate": s.phase,
            "session": str(s.session or "none"),
            "late RPCs": ", ".join(self.named(s.late)) or "none",
            "tablets": "in transition" if s.moving else "no transition",
            **{
                name: f"{ROWS[rows]}, session {view or 'none'}"
                for name, rows, view in zip(self.names, s.rows, s.views, strict=True)
            },
        }


ENTRY = declared.entry(
    Truncate,
    scenarios=(
        Scenario(
            "late-truncate",
            (
                "A truncate comes too late. Its RPC arrives after new rows were written: "
                "its session is closed"
            ),
            {"nodes": 2, "replicas": "A B"},
            script=(
                *("truncate", "open session", "apply A", "apply B", "barrier"),
                *("delay A", "send A", "send B"),
                *("close session", "apply A", "apply B", "barrier", "write", "arrive A"),
            ),
        ),
    ),
    fuzzing=Fuzzing({"nodes": 3, "late": 2, "changes": 1, "moves": 1}),
)
