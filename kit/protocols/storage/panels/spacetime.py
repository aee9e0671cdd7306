"""The run in space and time: who sent what to whom, with the epoch on every arrow.

A message, its answer and a copy are arrows; what happens at one node is a mark. ``↑101`` is a node
that catches up.
"""

from collections.abc import Iterator, Sequence

from kit.protocols.storage import events as what
from kit.protocols.storage import facts
from kit.protocols.storage.solo import Replica
from kit.views.panel import Panel, Scene
from kit.views.spacetime import Arrow, Mark, Spacetime, draw_spacetime


def events(scene: Scene) -> Sequence[tuple[int, what.Happened]]:
    """Every step on the way with its number (from 0), and what it was."""
    happened = scene.model.happened
    return scene.once(
        "events",
        lambda: [
            (i, event)
            for i, step in enumerate(scene.way())
            for event in happened(step.before, step.action, step.after)
        ],
    )


def sentences(scene: Scene) -> Sequence[str]:
    """The sentence of every step on the way, and the replica plan that an answer rests on."""

    def work() -> Sequence[str]:
        describe, said = scene.model.describe, list[str]()
        for step in scene.way():
            said.append(describe(step.before, step.action, step.after))
        for at, event in events(scene):
            if isinstance(event, what.Completed) and event.plan:
                said[at] += f" Plan: {'; '.join(quota.count for quota in event.plan)}."
        return said

    return scene.once("sentences", work)


def short(text: str) -> str:
    """A cell in two letters: ``w1`` for write 1, ``d2`` for delete 2, a dash for nothing."""
    word, _, number = text.partition(" ")
    return f"{word[0]}{number}" if number else "–"


def _at(words: str, epoch: int | None) -> str:
    """What a message says and the epoch in it, a dash if it carries none: ``w1 @102``."""
    return f"{words} @{'–' if epoch is None else epoch}"


def run_of(scene: Scene) -> Spacetime:
    """Every message, answer and copy on the way to a moment, and what happened at one node."""
    m, s = scene.model, scene.state
    nodes = ("you", m.replica) if isinstance(m, Replica) else (*m.coordinators, *m.history.replicas)
    arrows, marks = list[Arrow](), list[Mark]()
    sent = dict[tuple[int, str], tuple[int, str]]()  # since which step, and what it says
    read = dict[tuple[str, str, int], tuple[int, str]]()
    for step, event in events(scene):
        at = step + 1
        marks += _marks(event, at)
        match event:
            case what.Sent(request, title, _, carries, targets):
                says = f"{short(event.back)} back" if event.back else short(title)
                sent |= {(request, name): (at, _at(says, carries)) for name in targets}
            case what.Delivered(request, title, asks, replica, epoch):
                since, _ = sent.pop((request, replica), (at, ""))
                says = _at(short(title), epoch)
                arrows.append(Arrow(asks, replica, says, since, at, "received"))
                answer = _at("error" if event.error else _held_words(event), event.answers)
                if not event.late:
                    arrows.append(Arrow(replica, asks, answer, at, at, "received"))
            case what.Completed(_, _, asks):
                back = f"{short(event.back)} back"
                arrows += (Arrow(asks, name, back, at, at, "received") for name in event.repaired)
            case what.Copied(source, target, cell, landed, epoch, session):
                way = source, target, session
                begun = at, _at(f"copy {short(cell)}", epoch)
                if landed:
                    since, says = read.pop(way, begun)
                    arrows.append(Arrow(source, target, says, since, at, "received"))
                else:
                    read[way] = begun
    arrows += (Arrow(source, target, says, at) for (source, target, _), (at, says) in read.items())
    for row in () if isinstance(m, Replica) else facts.requests(m, s):
        for name in row.on_the_way:
            since, says = sent[row.number, name]
            arrows.append(Arrow(row.coordinator, name, says, since))
    marks += (Mark("", each.step + 1, each.title, alarm=True) for each in scene.breaches())
    legend = f"@: {m.history.unit} that the sender works with", "↑: catches up", "w1: write 1"
    return Spacetime(nodes, len(scene.way()), tuple(arrows), tuple(marks), legend=legend)


def _marks(event: what.Happened, at: int) -> Iterator[Mark]:
    match event:
        case what.EpochCommitted(epoch, title, unit):
            yield Mark("", at, f"{unit} {epoch}: {title}")
        case what.Applied(node, epoch):
            yield Mark(node, at, f"↑{epoch}")
        case what.Completed():
            yield Mark(event.coordinator, at, event.result)
        case what.DiskEvent(replica, happens):
            yield Mark(replica, at, happens)
        case what.Delivered():
            if event.error:
                yield Mark(event.replica, at, f"✗ {event.error}")
            if event.caught_up:
                yield Mark(event.replica, at, f"↑{event.knows}")
            if event.adopted is not None:
                yield Mark(event.coordinator, at, f"↑{event.adopted} from {event.replica}")


def _held_words(event: what.Delivered) -> str:
    word, _, rest = event.did.partition(" ")
    return "older" if word == "keeps" else short(rest)


def spacetime_text(scene: Scene) -> str:
    """Write a sentence per step, numbered as by the Player's counter; ``!`` breaks a promise."""
    wrong = {breach.step for breach in scene.breaches()}
    lines = [
        f"{'!' if step in wrong else ' '}{scene.counted(step):3}  {said}"
        for step, said in enumerate(sentences(scene))
    ]
    return "\n".join(lines or ["  nothing has happened yet"])


SPACETIME = Panel(
    "spacetime",
    "Messages in space and time",
    lambda scene: draw_spacetime(run_of(scene)),
    spacetime_text,
    tab="Run",
    still=True,
)
