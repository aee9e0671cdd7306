"""The strip of a state machine: on one line the way taken, the state of now, what may follow."""

from kit.views.diagrams import END, START, Standing
from kit.views.fragment import Frag, h
from kit.views.labels import measured

GAP, PAD, COUNT = 14.0, 12.0, 58.0
BACK = "↩"


def draw_strip(standing: Standing | None, width: float) -> Frag:
    """Draw it; without a state it is empty."""
    if standing is None:
        return h("g", k="strip", class_="state-strip")
    now = standing.state
    following = dict.fromkeys(
        (after, event in standing.diagram.rollbacks) for _, event, after in standing.ways
    )
    ahead = sorted(following, key=lambda way: way[1])
    chips: list[tuple[str, str, str]] = [(_called(now), "now", now)]
    # Beside the state of now there is room for what usually follows, and for a count of the rest.
    room = width - _chip_wide(chips[0][0]) - 2 - COUNT * (len(standing.path) > 1)
    for name, back in ahead:
        words = f"{BACK} {_called(name)}" if back else _called(name)
        if _chip_wide(words) + GAP > room - COUNT * (name != ahead[-1][0]):
            break
        room -= _chip_wide(words) + GAP
        chips.append((words, "next", name))
    if untold := len(ahead) + 1 - len(chips):
        chips.append((f"+{untold}", "next", "more"))
        room -= COUNT
    room += COUNT * (len(standing.path) > 1)
    past = list(standing.path[:-1])
    folded = 0
    before: list[tuple[str, str, str]] = []
    for i, name in enumerate(reversed(past)):
        wide = _chip_wide(_called(name)) + GAP
        if wide > room - COUNT * (i + 1 < len(past)):
            folded = len(past) - i
            break
        room -= wide
        before.insert(0, (_called(name), "passed", f"{len(past) - 1 - i}:{name}"))
    if folded:
        before.insert(0, (str(folded), "passed", "folded"))
    drawn, x = [], 2.0
    for words, kind, name in (*before, *chips):
        wide = _chip_wide(words)
        drawn.append(
            h(
                "g",
                h("rect", x=x, y=2, width=wide, height=20, rx=10, class_=f"state-of {kind}"),
                h("text", words, x=x + wide / 2, y=17, text_anchor="middle",
                  class_=f"word-of {kind}"),
                None if name == chips[-1][2] else
                h("path", d=f"M{x + wide + 3:.0f} 12h{GAP - 6:.0f}m-4-3l4 3l-4 3", class_="wire"),
                k=f"strip:{kind}:{words if kind == 'next' else name}",
                data_of=f"state:{now}" if kind == "now" else None,
            )
        )  # fmt: skip
        x += wide + GAP
    title = f"{standing.diagram.label}; now: {now}"
    return h("g", h("title", title), drawn, k="strip", class_="state-strip")


def _called(state: str) -> str:
    return {START: "●", END: "◉"}.get(state, state)


def _chip_wide(words: str) -> float:
    return measured(words, bold=True) + PAD
