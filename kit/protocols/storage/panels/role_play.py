"""You are the other nodes: answer for the replicas, or send messages of any epoch to one."""

from __future__ import annotations

from collections.abc import Sequence

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts import solo as facts_solo
from kit.protocols.storage.facts.solo import Choice
from kit.protocols.storage.facts.steps import Delivered
from kit.protocols.storage.panels.event_lines import events, line
from kit.protocols.storage.panels.replicas import SIGNS
from kit.views.actions import mark, refusal_text
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button


def _button(scene: Scene, choice: Choice, what: str) -> Frag:
    """A button that does what it says, or says why not."""
    name = mark(scene.model, choice.action)
    why = refusal_text(choice.refusal) if choice.refusal else scene.closed
    said = f"{what}, {choice.word}, epoch {choice.epoch}"
    return act_button(choice.word, f"you:{name}", f"do:{name}", why, said)


def _board(scene: Scene, caption: str, rows: Sequence[tuple[str, str, Sequence[Choice]]]) -> Frag:
    """A table: who or what down the side, an epoch a column, in each cell what you may do."""
    columns = sorted({choice.epoch for _, _, choices in rows for choice in choices})
    return h(
        "table",
        h("caption", caption),
        h(
            "thead",
            h(
                "tr",
                h("th", "you", scope="col"),
                [h("th", f"epoch {epoch}", k=f"by:{epoch}", scope="col") for epoch in columns],
                k="by",
            ),
        ),
        h("tbody", [_line(scene, row, columns) for row in rows]),
        class_="board",
    )


def _line(scene: Scene, row: tuple[str, str, Sequence[Choice]], columns: Sequence[int]) -> Frag:
    name, words, choices = row
    cells = [
        h("td", [_button(scene, choice, name) for choice in choices if choice.epoch == epoch],
          k=f"play:{name}:{epoch}")
        for epoch in columns
    ]  # fmt: skip
    quiet = h("td", words, k=f"play:{name}:words", colspan=max(len(columns), 1))
    return h(
        "tr",
        h("th", h("b", name), h("small", f" {words}") if choices else None, scope="row"),
        cells if choices else quiet,
        k=f"play:{name}",
    )


def _answer_rows(scene: Scene) -> list[tuple[str, str, Sequence[Choice]]]:
    said = {
        event.replica: line(event).partition(": ")[2]
        for _, event in events(scene)
        if isinstance(event, Delivered)
    }
    rows: list[tuple[str, str, Sequence[Choice]]] = []
    for answer in facts_solo.answers(scene.model, scene.state):
        silent = "stayed silent" if answer.in_flight else "is not asked"
        words = "is asked" if answer.choices else said.get(answer.replica, silent)
        rows.append((answer.replica, words, answer.choices))
    return rows


def draw_answers(scene: Scene) -> Frag:
    """Draw the board on which you answer for each replica; saying nothing is an answer, too."""
    if facts.requests(scene.model, scene.state)[0].phase == "waiting":
        return h("p", "Begin the request: the coordinator may know any epoch.", k="begin-request")
    return _board(
        scene, "Answer for each replica, with an epoch of your choice", _answer_rows(scene)
    )


def answers_text(scene: Scene) -> str:
    """Write what each replica may answer, or has answered."""
    lines = []
    for name, words, choices in _answer_rows(scene):
        free = [f"{choice.word} at {choice.epoch}" for choice in choices if choice.refusal is None]
        lines.append(f"  {name} {words}{': ' + ', '.join(free) if free else ''}")
    return "\n".join(lines)


def _send_rows(scene: Scene) -> list[tuple[str, str, Sequence[Choice]]]:
    rows = facts_solo.sends(scene.model, scene.state)
    return [(row.kind, "by epoch", row.choices) for row in rows]


def draw_sends(scene: Scene) -> Frag:
    """Draw the real replica, and the board from which you send to it."""
    row = facts_solo.real(scene.model, scene.state)
    behind = f" · {row.behind} behind" if row.behind else ""
    return h(
        "div",
        h(
            "p",
            h("b", f"{row.name} knows {row.epoch}"),
            h("small", behind),
            f" · {row.role} by that epoch · ",
            h("span", f"{SIGNS[row.held]} {row.cell}", class_=f"cellar {row.held}"),
            k="real",
        ),
        _board(scene, f"Send to {row.name} by an epoch of your choice", _send_rows(scene)),
    )


def sends_text(scene: Scene) -> str:
    """Write the real replica, and what may be sent to it."""
    row = facts_solo.real(scene.model, scene.state)
    lines = [f"  {row.name} knows {row.epoch}: {row.role}; holds {row.cell}"]
    for kind, _, choices in _send_rows(scene):
        free = [str(choice.epoch) for choice in choices if choice.refusal is None]
        lines.append(f"  {kind} by epoch {', '.join(free) or 'none'}")
    return "\n".join(lines)


ANSWERS = Panel(
    "answers", "You are the replicas", draw_answers, answers_text, still=True, tab="Answer"
)
SENDS = Panel("sends", "You are the coordinators", draw_sends, sends_text, still=True, tab="Send")
