"""A coordinator's journal to step through: each step reads on to the next stay in a state.

Nothing is computed here: what happened is in the journal, the diagram is the edition's own. Which
operation a stretch of states belongs to no line says; it is the first machine that has them all,
moves of tablets before those that end in such a move.
"""

from collections.abc import Sequence
from itertools import chain, takewhile

from kit.errors import counted
from kit.model.record import ReadOn, Record, RecordState
from kit.model.timeline import Timeline
from kit.protocols.topology.dry_run.history import Passage
from kit.protocols.topology.panels.states import diagram
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, Edition, tables_with
from kit.views.declared import Badges, status
from kit.views.diagrams import START, Standing, state_panel
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import moved, scroll
from kit.views.registry import Views

MOST_STAYS = 40
"""Stays that are listed, the last ones."""


class Journal(Record):
    """The stays of a journal, one after the other."""

    name = "topology/journal"
    title = "A coordinator's journal"
    ends = "the journal ends here"
    entries: tuple[Passage, ...]

    def __init__(self, passages: Sequence[Passage], edition: Edition) -> None:
        super().__init__(passages)
        self.edition = edition
        self.tables = tables_with((stay.state for stay in passages), edition)

    def milestone(self, before: RecordState, action: ReadOn, after: RecordState) -> str | None:
        """The state that is entered."""
        return self.entries[before.read].state or None

    def describe(self, before: RecordState, action: ReadOn, after: RecordState) -> str:
        """When, where, and how the state was come to."""
        stay = self.entries[before.read]
        way = f" ({stay.edge})" if stay.edge not in ("", "happy") else ""
        return f"{stay.time}, {stay.host}: {stay.place}{way}"


def standing(scene: Scene) -> Standing | None:
    """Where the machine of the last stretch of states that was read stands."""
    model, read = scene.model, scene.state.read
    stretch: list[str] = []
    for stay in model.entries[:read]:
        if stay.edge in ("begins", "unknown"):
            stretch = []
        if stay.state and (not stretch or stretch[-1] != stay.state):
            stretch.append(stay.state)
    # What follows of the stretch may tell which operation it is.
    ends = ("begins", "unknown", "not modelled")
    ahead = takewhile(lambda stay: stay.edge not in ends, model.entries[read:])
    whole = {*stretch, *filter(None, (stay.state for stay in ahead))}
    machines = MACHINES[model.tables]
    for machine in (machines["tablets"], *machines.values()):
        edges = [(edge.source, edge.target) for edge in machine.edges]
        if stretch and whole <= {*chain(*edges)}:
            begins = (BOUNDARY, stretch[0]) in edges
            return Standing(diagram(machine, model.tables), (*[START] * begins, *stretch))
    return None


def draw_lines(scene: Scene) -> Frag:
    """Draw what was read, newest first."""
    read = scene.state.read
    if not (stays := [*enumerate(scene.model.entries[:read])]):
        return h("p", "Nothing has been read yet.", k="no-lines", class_="soft")
    left_out = len(stays) - MOST_STAYS
    entries = [
        h(
            "li",
            h("b", stay.host),
            h("span", f"{stay.time} {stay.place}"),
            h("small", "" if stay.seconds is None else f"{stay.seconds:.1f} s"),
            [h("small", words) for words in stay.said],
            k=f"stay:{at}",
            class_=f"entry {moved(at == read - 1) or ''}".rstrip(),
        )
        for at, stay in reversed(stays[-MOST_STAYS:])
    ]
    if left_out > 0:
        words = f"and {counted(left_out, 'earlier stay')}"
        entries.append(h("li", h("small", words), k="earlier", class_="entry"))
    return scroll("journal", h("ol", entries, class_="log"))


def _badges(scene: Scene) -> Badges:
    yield "read", f"{scene.state.read} of {len(scene.model.entries)} read", "plain"


VIEWS = Views(
    (
        status(_badges, "badges", lambda scene: f"{scene.state.read} read"),
        state_panel("states", "Transition", standing, "No modelled state was entered."),
        Panel("lines", "Journal", draw_lines, still=True),
    ),
    picture="states",
    table="lines",
    badges="badges",
)


def journal_timeline(passages: Sequence[Passage], edition: Edition) -> Timeline:
    """The whole journal as a timeline, looked at from its start."""
    return Journal(passages, edition).read_through()
