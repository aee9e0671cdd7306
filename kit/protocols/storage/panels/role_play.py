"""A role play with one real node: what was said stands in bubbles, what you may say on buttons.

You answer for the replicas of a real coordinator, or you are the coordinators of a real replica.
*Try again* goes back to before an answer; the next one begins another branch.
"""

from collections.abc import Iterable

from kit.protocols.storage import facts
from kit.protocols.storage.events import Applied, Delivered, Happened, QuotaRow
from kit.protocols.storage.facts import AnswerRow, Choice, ReplicaRow, RequestRow, about
from kit.protocols.storage.panels import meeting, question
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.panels.spacetime import SPACETIME, events
from kit.protocols.storage.storage import Finish, Start, TimeOut
from kit.views.actions import mark, refusal_text
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button
from kit.views.promises import LAMPS
from kit.views.question import Question
from kit.views.registry import Views

MOST_SAID = 4
"""Messages of a talk that are listed; the later ones."""


# -- bubbles and buttons --------------------------------------------------------------------------


def _bubble(who: str, *kids: Kid, kind: str = "") -> Frag:
    return h(
        "li",
        h("b", who, k=f"seat:{who}", class_="who", data_of=who),
        h("div", *kids, class_=f"bubble {kind}".rstrip()),
        k=f"says:{who}",
    )


def _again(scene: Scene, step: int, name: str) -> Frag:
    back = scene.counted(len(scene.way()) - 1) - scene.counted(step) + 1
    return h(
        "button",
        "try again",
        k=f"again:{name}",
        type="button",
        class_="act again",
        data_do="again",
        data_steps=back,
        aria_label=f"{name}: go back to just before this, and try again",
    )


def _buttons(scene: Scene, words: str, who: str, choices: Iterable[Choice]) -> Frag:
    drawn = []
    for choice in choices:
        name = mark(scene.model, choice.action)
        why = refusal_text(choice.refusal) if choice.refusal else scene.closed
        said = f"{who}, {choice.word}" + (f", epoch {choice.epoch}" if choice.epoch else "")
        label = choice.word if choice.epoch is None else str(choice.epoch)
        drawn.append(act_button(label, f"you:{name}", f"do:{name}", why, said))
    return h("div", h("span", words), drawn, class_="say-it")


def level_line(row: RequestRow) -> str:
    """``QUORUM: 2 of 3 (A, B, C) must answer``; without a plan the level alone."""
    needs = " and ".join(
        f"{quota.needed} of {len(quota.replicas)} ({', '.join(quota.replicas)})"
        for quota in row.plan
    )
    return f"{row.level}: {needs} must answer" if needs else row.level


def count_line(quota: QuotaRow) -> str:
    """``1 of A, B, C (2 needed): A``."""
    return quota.count + (f": {', '.join(quota.counted)}" if quota.counted else "")


# -- you are the replicas -------------------------------------------------------------------------


def draw_answers(scene: Scene) -> Frag:
    """Draw the coordinator, a bubble per replica, and the client; silence is an answer, too."""
    [row] = facts.requests(scene.model, scene.state)
    talk = _answered(scene)
    seats = [] if row.phase == "waiting" else facts.answers(scene.model, scene.state)
    return h(
        "ul",
        _coordinator(scene, row),
        [_replica(scene, answer, talk) for answer in seats],
        _bubble("client", _client_line(row), kind=row.phase),
        class_="role-play",
        aria_label="who says what",
    )


def _coordinator(scene: Scene, row: RequestRow) -> Frag:
    kids: list[Kid] = [h("div", line) for line in _coordinator_lines(row)]
    for phase, words, kinds in (
        ("waiting", "planned at epoch", (Start,)),
        ("open", "now:", (Finish, TimeOut)),
    ):
        if row.phase == phase:
            choices = facts.choices(scene.model, scene.state, *kinds)
            kids.append(_buttons(scene, words, row.coordinator, choices))
    return _bubble(row.coordinator, *kids, kind="real")


def _coordinator_lines(row: RequestRow) -> list[str]:
    if row.phase == "waiting":
        return [f"My task: {row.title.split()[0]}. My table can be from any epoch."]
    if row.phase != "open":
        return [f"{row.title}: I told my client “{row.result}”."]
    lines = [f"{row.title}, planned at epoch {row.planned}. {level_line(row)}."]
    if row.knows == row.planned:
        return lines + [f"{count_line(quota)}." for quota in row.plan]
    judged = "; ".join(count_line(quota) for quota in row.judged)
    return [*lines, f"I have caught up to epoch {row.knows}: {judged}."]


def _replica(scene: Scene, answer: AnswerRow, talk: dict[str, tuple[int, Delivered]]) -> Frag:
    name = answer.replica
    if answer.choices:
        words = dict.fromkeys(choice.word for choice in answer.choices)
        lines = [
            _buttons(
                scene, f"{word}, at epoch", name, (c for c in answer.choices if c.word == word)
            )
            for word in words
        ]
        return _bubble(name, *lines, kind="asked")
    if name not in talk:
        return _bubble(name, _silence(answer), kind="silent")
    step, event = talk[name]
    kind = "error" if event.error else "said"
    return _bubble(name, f"{_answer_line(event)} ", _again(scene, step, name), kind=kind)


def _silence(answer: AnswerRow) -> str:
    return "… said nothing" if answer.in_flight else "… was not asked"


def _answered(scene: Scene) -> dict[str, tuple[int, Delivered]]:
    return {e.replica: (step, e) for step, e in events(scene) if isinstance(e, Delivered)}


def _answer_line(event: Delivered) -> str:
    word, what = ("error", event.error) if event.error else ("ok", event.did)
    caught_up = f"; {event.coordinator} catches up to {event.adopted}" if event.adopted else ""
    return f"{word}, at epoch {event.answers}: {what}{caught_up}"


def _client_line(row: RequestRow) -> str:
    return "… waits" if row.phase in ("waiting", "open") else f"I was told “{row.result}”."


def answers_text(scene: Scene) -> str:
    """Write what the coordinator says, and what each replica may answer, or has answered."""
    [row] = facts.requests(scene.model, scene.state)
    talk = _answered(scene)
    lines = [f"  {row.coordinator}: {' '.join(_coordinator_lines(row))}"]
    for answer in facts.answers(scene.model, scene.state):
        free = [f"{c.word} at {c.epoch}" for c in answer.choices if c.refusal is None]
        said = _answer_line(talk[answer.replica][1]) if answer.replica in talk else None
        may = f"may answer {', '.join(free)}" if free else None
        lines.append(f"  {answer.replica}: {said or may or _silence(answer)}")
    return "\n".join([*lines, f"  client: {_client_line(row)}"])


# -- you are the coordinators ---------------------------------------------------------------------


def draw_sends(scene: Scene) -> Frag:
    """Draw the real replica, the last messages with its answers, and what you may send to it."""
    row = facts.real(scene.model, scene.state)
    talk = events(scene)
    earlier = len(talk) - MOST_SAID
    may = facts.sends(scene.model, scene.state)
    return h(
        "div",
        h("p", _real_line(row), " ", h("b", row.cell), k=f"seat:{row.name}", class_="real",
          data_of=row.name),
        h("p", f"Earlier messages not listed: {earlier}.", class_="soft") if earlier > 0 else None,
        h("ul", [_exchange(scene, *said) for said in talk[-MOST_SAID:]], class_="role-play"),
        h(
            "div",
            h("b", "you", k="seat:you", class_="who"),
            h(
                "div",
                [_buttons(scene, f"{kind}, planned at epoch", kind, may[kind]) for kind in may],
                class_="bubble asked",
            ),
            class_="seat",
        ),
        class_="sends",
    )  # fmt: skip


def _real_line(row: ReplicaRow) -> str:
    behind = f" ({row.behind} behind)" if row.behind else ""
    return f"{row.name} knows epoch {row.epoch}{behind}: {row.own_role}. On its disk:"


def _exchange(scene: Scene, step: int, event: Happened) -> Frag:
    if isinstance(event, Applied):
        words = f"applies epoch {event.epoch} on its own"
        return h("li", h("div", words, class_="bubble silent"), k=f"talk:{step}")
    assert isinstance(event, Delivered)
    again = _again(scene, step, f"{event.title} in step {step + 1}")
    kind = "error" if event.error else "said"
    return h(
        "li",
        h("div", _sent_line(event), class_="bubble asked"),
        h("div", f"{_taken_line(event)} ", again, class_=f"bubble {kind}"),
        k=f"talk:{step}",
    )


def _sent_line(event: Delivered) -> str:
    return f"{event.title}, planned at epoch {event.epoch}"


def _taken_line(event: Delivered) -> str:
    caught = f"I catch up from {event.had} to {event.knows}. " if event.caught_up else ""
    word = f"Error: {event.error}" if event.error else event.did.capitalize()
    return f"{caught}{word}, at epoch {event.answers}."


def sends_text(scene: Scene) -> str:
    """Write the real replica, the last messages with its answers, and what may be sent to it."""
    row = facts.real(scene.model, scene.state)
    lines = [f"  {_real_line(row)} {row.cell}"]
    for _, event in events(scene)[-MOST_SAID:]:
        if isinstance(event, Applied):
            lines.append(f"  {event.node} applies epoch {event.epoch} on its own")
        elif isinstance(event, Delivered):
            lines.append(f"  {_sent_line(event)} → {_taken_line(event)}")
    for kind, choices in facts.sends(scene.model, scene.state).items():
        free = [str(choice.epoch) for choice in choices if choice.refusal is None]
        lines.append(f"  {kind}, planned at epoch {', '.join(free) or 'none'}")
    return "\n".join(lines)


ANSWERS = Panel("answers", "You are the replicas", draw_answers, answers_text, still=True)
SENDS = Panel("sends", "You are the coordinators", draw_sends, sends_text, still=True)


def _question(scene: Scene) -> Question | None:
    if scene.action is None:
        return None
    [event] = scene.model.happened(scene.before, scene.action, scene.state)
    return meeting(event, scene.say) if isinstance(event, Delivered) else None


COORDINATOR = Views(
    (LANES, ANSWERS, SPACETIME, GROUPS, LAMPS),
    question=question,
    picture="lanes",
    table="answers",
    named=lambda scene, witness: about(scene.model, witness),
)
REPLICA = Views(
    (LANES, SENDS, SPACETIME, GROUPS, LAMPS), question=_question, picture="lanes", table="sends"
)
