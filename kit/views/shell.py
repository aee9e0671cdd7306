"""What surrounds the stage: time controls, messages, the list of keys. Drawn once."""

from __future__ import annotations

from kit.views.flows import flow_markers
from kit.views.fragment import Frag, Kid, h

ICONS = {
    "first": "M5 4v12M15 4l-7 6 7 6z",
    "back": "M13 4l-7 6 7 6z",
    "play": "M6 4l10 6-10 6z",
    "step": "M7 4l7 6-7 6z",
    "milestone": "M4 4l6 6-6 6zM11 4l6 6-6 6z",
    "fork": "M5 17V3M5 13c0-6 9-2 9-9M11.5 6.5L14 4l2.5 2.5",
}

KEYS = (
    ("→  or  j", "one step on; at the end of a branch, what the model suggests"),
    ("←  or  k", "one step back"),
    ("Shift + →", "on to the next milestone"),
    ("Shift + ←", "back to the milestone before"),
    ("Home, End", "first and last step"),
    ("Space", "play and pause"),
    ("f", "fork: begin a new branch at this step"),
    ("p", "projector: panels only, large type"),
    ("Esc", "close a message or this list"),
    ("?", "this list"),
)

SPEEDS = (("0.5", "slow"), ("1", "normal"), ("2", "fast"), ("5", "very fast"))


def shell(stage: Kid = None, note: str = "") -> Frag:
    """Draw the player's surroundings; ``stage`` is what is shown before any script has run."""
    return h(
        "div",
        _bar(),
        h("div", note, class_="kp-left-out") if note else None,
        h("div", class_="kp-diff", hidden=True),
        h(
            "div",
            h("div", stage, class_="kp-stage", tabindex="-1"),
            h("div", class_="kp-side", hidden=True, tabindex="-1", aria_label="compared branch"),
            class_="kp-stages",
        ),
        flow_markers(),
        h("div", class_="kp-note", hidden=True),
        h("div", class_="kp-ask", hidden=True, role="group", aria_label="prediction"),
        h(
            "div",
            h("h3", "Keys"),
            h("dl", [(h("dt", h("kbd", key)), h("dd", what)) for key, what in KEYS]),
            class_="kp-help",
            hidden=True,
            tabindex="-1",
            role="group",
            aria_label="list of keys",
        ),
        h("div", class_="kp-live", role="status", aria_live="polite"),
        class_="kp",
    )


def _bar() -> Frag:
    return h(
        "div",
        h(
            "div",
            _button("first", "first step", "Home"),
            _button("back", "one step back", "←"),
            _button("play", "play", "Space", pressed=True),
            _button("step", "one step on", "→"),
            _button("milestone", "on to the next milestone", "Shift →"),
            _button("fork", "fork here", "f"),
            class_="kp-keys",
            role="group",
            aria_label="time",
        ),
        h("input", type="range", min=0, max=0, step=1, data_do="scrub", aria_label="step"),
        h("span", "0 / 0", class_="kp-where", aria_hidden="true"),
        _choice(
            "speed",
            "speed",
            [h("option", word, value=value, selected=value == "1") for value, word in SPEEDS],
        ),
        _choice("branch", "branch", None),
        _choice("compare", "compare with", None),
        h(
            "div",
            _toggle("unfold", "unfold runs", hidden=True),
            _toggle("predict", "predict"),
            _toggle("projector", "projector"),
            h("button", "?", type="button", data_do="help", aria_label="list of keys", title="?"),
            class_="kp-modes",
            role="group",
            aria_label="modes",
        ),
        class_="kp-bar",
    )


def _button(name: str, label: str, key: str, *, pressed: bool = False) -> Frag:
    return h(
        "button",
        h(
            "svg",
            h("path", d=ICONS[name], class_="line" if name == "fork" else None),
            viewBox="0 0 20 20",
            aria_hidden="true",
            focusable="false",
        ),
        type="button",
        data_do=name,
        aria_label=label,
        title=f"{label} ({key})",
        aria_pressed="false" if pressed else None,
    )


def _toggle(name: str, word: str, *, hidden: bool = False) -> Frag:
    return h("button", word, type="button", data_do=name, aria_pressed="false", hidden=hidden)


def _choice(name: str, label: str, options: Kid) -> Frag:
    """Draw a labelled drop-down; those without options stay hidden until there is a choice."""
    return h(
        "label",
        h("span", label),
        h("select", options, data_do=name),
        hidden=options is None,
    )
