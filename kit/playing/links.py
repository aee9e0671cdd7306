"""A run as a text that fits into an address: what a teacher sends, and what a student sends back.

It is the run's actions, and what is other than in the story that it belongs to, as JSON, deflated,
in letters that an address may have. About twenty actions take three hundred of these.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import msgspec
from msgspec import Struct

from kit.edge.json_text import decoded
from kit.errors import BadInput, Refused
from kit.model.model import Model
from kit.model.parameters import plainly
from kit.model.registry import build
from kit.model.timeline import LONGEST_RUN, Timeline
from kit.model.trace import action_from

MOST_LETTERS = 32_000
"""How long a link may be; longer ones are for files."""
MOST_BYTES = 1_000_000
"""What may come of it."""
ALLOWED = "a whole link, as it was copied: this one was cut or changed"


class LinkedRun(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a link: the actions of a branch, safeguards that are off there, parameters
    (None: the story's), and after how many of the steps one looks (None: all of them).
    """

    actions: tuple[Any, ...]
    off: tuple[str, ...] = ()
    parameters: dict[str, Any] | None = None
    at: int | None = None


def link_of(timeline: Timeline, story: Model[Any, Any]) -> str:
    """The branch that is shown, and where one looks, for a link to ``story``.

    Raises BadInput for a run that is too long for an address.
    """
    model = timeline.model_at(timeline.tip)
    own, shown = plainly(story.parameters), plainly(model.parameters)
    parameters = None if shown == own else shown
    path = timeline.path()
    at = None if timeline.at == path[-1] else path.index(timeline.at)
    run = LinkedRun(timeline.actions(), tuple(model.off), parameters, at)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(msgspec.json.encode(run)) + deflate.flush()
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(text) > MOST_LETTERS:
        raise BadInput("run", f"{len(text):,} letters", f"at most {MOST_LETTERS:,} in an address")
    return text


def place_in(timeline: Timeline, story: Timeline, stored: int) -> tuple[int, int] | None:
    """The number of the run, among those of the first ``stored`` moments of a story, that the shown
    branch is or begins, and the step that one looks at; None: it is of none of them.
    """
    if timeline.model.parameters != story.model.parameters:
        return None
    path, at = timeline.path(), 0
    for moment in path[1:]:
        action, off = timeline.moments[moment].action, timeline.model_at(moment).off
        same = (
            child
            for child in story.children[at]
            if child < stored
            and story.moments[child].action == action
            and story.model_at(child).off == off
        )
        if (at := next(same, -1)) < 0:
            return None
    nexts = (min(story.children[each], default=stored) for each in range(stored))
    leaves = [each for each, after in enumerate(nexts) if after >= stored]
    number = next(n for n, leaf in enumerate(leaves, 1) if at in story.path(leaf))
    return number, path.index(timeline.at)


def run_of(text: str, story: Model[Any, Any]) -> Timeline:
    """The history that a link carries, where one looked.

    Raises BadInput for what is no link of this story, Refused for a step that is refused.
    """
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    if len(text) > MOST_LETTERS:
        raise BadInput("run", f"{len(text):,} letters", f"at most {MOST_LETTERS:,} in an address")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        content = inflate.decompress(packed, MOST_BYTES)
        if not inflate.eof or inflate.unused_data:
            raise BadInput("run", shown, ALLOWED)
        run = decoded(content, LinkedRun, "run", MOST_BYTES)
    except (ValueError, binascii.Error, zlib.error):
        raise BadInput("run", shown, ALLOWED) from None
    if not 0 <= (run.at or 0) <= len(run.actions):
        raise BadInput("run", shown, ALLOWED)
    if len(run.actions) > LONGEST_RUN:
        raise BadInput("run", f"{len(run.actions):,} steps", f"at most {LONGEST_RUN:,} steps")
    parameters = plainly(story.parameters) if run.parameters is None else run.parameters
    allowed = "a run of this story: this link may belong to another one"
    try:
        model = build(story.name, parameters, run.off)
        steps = [action_from(model, each, "run") for each in run.actions]
    except BadInput:
        raise BadInput("run", shown, allowed) from None
    timeline = Timeline(model)
    for action in steps:
        try:
            timeline.do(action)
        except Refused:
            if model.comes_to(timeline.state, action) is None:  # nobody here would think of it
                raise BadInput("run", shown, allowed) from None
            raise
    timeline.goto(timeline.tip if run.at is None else run.at)
    return timeline
