"""What a drill shows beside its picture: typed lines, buttons, the checklist, the grade."""

from collections.abc import Iterable

from kit.console.drill import CLEAR, HINT, CheckedStep, Drill, Grade, TypedLine
from kit.console.forms import Form
from kit.console.par import Par
from kit.errors import counted
from kit.views.fragment import Frag, Kid, h

SIGNS = {True: "✓", False: "○"}
GRADE_SIGNS = {True: "✓", False: "✗", None: "–"}
MOST_LINES = 200
"""Of one output; how many more there are is said."""


def terminal_shell(drill: Drill) -> Frag:
    """The terminal before anything was typed; the module fills its parts, and then one can type:
    a line that nobody hears would be lost.
    """
    return h(
        "div",
        h("p", h("b", drill.kind.title), ". ", drill.kind.task, class_="kit-task", tabindex=0),
        h("div", role="status", data_part="banner"),
        h(
            "div",
            class_="kit-typed",
            role="log",
            tabindex=0,
            aria_live="polite",
            aria_label="what was typed, and what happened",
            data_part="output",
        ),
        h(
            "label",
            h("span", data_part="prompt"),
            h(
                "input",
                type="text",
                autocomplete="off",
                spellcheck="false",
                disabled=True,
                aria_label="command: Tab completes, arrow keys recall, Escape then Tab leaves",
                data_part="line",
            ),
            class_="kit-line",
        ),
        h("p", class_="kit-options soft", role="status", data_part="options"),
        h(
            "div",
            _sheet("Commands", "buttons"),
            _sheet("Checklist and grade", "side"),
            class_="kit-sheets",
        ),
        class_="kp kit-terminal",
        data_my_on=True,
    )


def _sheet(title: str, part: str) -> Frag:
    box = h("div", class_="kit-sheet", tabindex=0, role="group", aria_label=title, data_part=part)
    return h("details", h("summary", title), box)


def entry_part(entry: TypedLine) -> Frag:
    """A line that was typed, and what came of it."""
    shown = entry.lines[:MOST_LINES]
    more = len(entry.lines) - len(shown)
    return h(
        "div",
        h("pre", f"{entry.place}$ {entry.typed}", class_="kit-command"),
        h("pre", "\n".join(shown)) if shown else None,
        h("p", f"and {counted(more, 'more line')}", class_="soft") if more else None,
        [h("p", line, class_="soft") for line in entry.said],
        h("p", "! ", entry.error, class_="kit-error") if entry.error else None,
        data_clear=entry.typed.strip(" ;").casefold() == CLEAR,
    )


def is_hint(entry: TypedLine) -> bool:
    """Whether somebody asked for a hint."""
    return entry.typed.strip(" ;").casefold() == HINT


def banner_part(reached: Par | None) -> Frag:
    """What is said large once the drill is passed, and how far it is from par; nothing before."""
    if reached is None:
        return h("p", hidden=True)
    lines = [h("p", line) for line in reached.lines()]
    return h("div", h("b", "✓ Passed"), lines, class_="kit-passed")


def command_buttons(drill: Drill) -> Frag:
    """A row for each form: its lines as buttons, or its beginning, which Tab goes on from."""

    def buttons(form: Form, lines: tuple[str, ...]) -> Kid:
        begun = form.text.partition("{")[0]
        more = h("button", f"{form.usage} …", type="button", data_begin=begun)
        return [h("button", line, type="button", data_line=line) for line in lines] or more

    rows = ((h("p", form.meaning, class_="soft"), buttons(form, x)) for form, x in drill.offers())
    return h("ul", [h("li", *row) for row in rows])


def checklist_part(steps: Iterable[CheckedStep]) -> Frag:
    """The steps of the procedure, ticked by the run."""
    return h("ul", [h("li", f"{SIGNS[s.done]} ", h("b", s.name), f": {s.text}") for s in steps])


def grade_part(grade: Grade) -> Frag:
    """How the run is graded as it stands."""
    head = "✓ Passed" if grade.passed else "Not passed yet"
    rows = [h("li", f"{GRADE_SIGNS[r.holds]} ", h("b", r.name), f": {r.why}") for r in grade.rows]
    return h("div", h("p", h("b", f"Grade: {head}")), h("ul", rows))
