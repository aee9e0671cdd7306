"""The log panel of any family that has a server log: all lines so far, with filters.

Lines are picked by node, by component and by what is typed; the choices survive every step. Without
a script all lines are there. A family declares it in one line: ``LOG = log_panel(LOG)``.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from kit.model.flows import OWN_WORDS, ServerLine, ServerLog
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import moved, scroll


def nothing() -> str:
    """What is said before anything is written."""
    return "No node has written a line yet."


def log_panel(log: ServerLog, title: str = "Logs of the nodes") -> Panel:
    """Make the panel ``log`` that shows the lines of a server log."""

    def draw(scene: Scene) -> Frag:
        return _draw(scene, _lines(scene, log))

    def wording(scene: Scene) -> str:
        written = []
        for line in chain.from_iterable(_lines(scene, log)):
            phase = f"[{line.phase}] " if line.phase else ""
            written.append(f"  {phase}{line.node} {line.marked}")
        return "\n".join(written) or "  " + nothing()

    return Panel("log", title, draw, wording, optional=True, tab="Log")


def _lines(scene: Scene, log: ServerLog) -> tuple[tuple[ServerLine, ...], ...]:
    steps = scene.way()
    first = steps[0].before if steps else scene.state
    return scene.once("log", lambda: log.lines(scene.model, first, steps))


def _draw(scene: Scene, steps: tuple[tuple[ServerLine, ...], ...]) -> Frag:
    written = [line for lines in steps for line in lines]
    if not written:
        return h("p", nothing(), class_="soft")
    pickers = [
        _picker("node", "of all nodes", (line.node for line in written)),
        _picker("component", "of all components", (line.component for line in written)),
    ]
    find = h(
        "input",
        type="search",
        data_filter=True,
        autocomplete="off",
        placeholder="find in the log",
        aria_label="find in the log",
    )
    listed = scroll("log", _parts(scene, steps), searched="all")
    return h("div", h("p", pickers, find), listed, k="search:log", data_sift=True)


def _picker(name: str, everything: str, values: Iterable[str]) -> Frag:
    options = [h("option", everything, value="")]
    options += [h("option", value, value=_tag(value)) for value in sorted(set(values))]
    return h("select", options, data_choose=f"log-{name}", aria_label=f"lines {everything}")


def _parts(scene: Scene, steps: tuple[tuple[ServerLine, ...], ...]) -> Iterator[Frag]:
    last = len(steps) - 1
    for at, lines in enumerate(steps):
        if lines:
            new = moved(0 < at == last)
            number = str(scene.counted(at - 1)) if at else "0"
            yield h("ul", [_line(line, number, new) for line in lines], k=f"log:{at}")


def _line(line: ServerLine, step: str, new: str | None) -> Frag:
    return h(
        "li",
        h("strong", f"{line.phase}: ") if line.phase else None,
        *(h("small", step), " ", h("b", line.node), " ", h("code", line.component), " - "),
        h("i", line.text, title=OWN_WORDS) if line.own else line.text,
        class_=new,
        data_tags=f"{_tag(line.node)}{_tag(line.component)}",
    )


def _tag(word: str) -> str:
    return f"|{word}|"
