"""A small site for the tests that open it in browsers, and what both of them ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.engine import trace as traces
from kit.engine.check import check
from kit.engine.model import Model
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.actions import mark
from kit.views.shell import raw_module
from tools import site as builder

STORY, BROKEN = "twophase/one-gives-up", "group0/off-commit-with-guard"
SEARCHED: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("twophase", {}, ()),
    ("group0", {}, ()),
    ("gossip", {}, ()),
    ("topology", {}, ()),
)
"""Models of four families, as they are searched in the page."""
COUNTED = """async ([site, asked]) => {
  const { Engine } = await import(`${site}/engine.js`);
  const fetched = (name) => fetch(`${site}/engine/${name}`);
  const told = [];
  let next;
  const heard = (said) => {
    const { verdict } = JSON.parse(said);
    if (verdict) next(verdict.html);
  };
  const engine = new Engine(fetched, heard, (why) => next(String(why)));
  for (const one of asked)
    told.push(await new Promise((done) => {
      next = done;
      engine.ask("search", { trace: one, most: 100000 });
    }));
  return told;
}"""
"""What a page finds that searches one model after the other."""


def small_site(
    root: Path, *more: str, lessons: Sequence[str] = (), drills: Sequence[str] = ()
) -> Path:
    """A site of two stories, and more, two folders below another."""
    folder = root / "some" / "where"
    builder.build(folder, [STORY, BROKEN, *more], lessons, drills)
    (folder / "engine.js").write_text(raw_module("engine"), encoding="utf-8")
    return folder


def searched() -> tuple[list[Model[Any, Any]], list[str]]:
    """The models that pages search, and their traces."""
    models = [build(name, parameters, off) for name, parameters, off in SEARCHED]
    return models, [traces.dumps(Timeline(model).save()) for model in models]


def assert_counted(models: list[Model[Any, Any]], told: list[str]) -> None:
    """Each page's search was complete, and saw as many states as one here."""
    for model, html in zip(models, told, strict=True):
        result = check(model, progress=None)
        assert result.complete
        assert f"{result.states:,} states" in html, model.name


def another_way(timeline: Timeline, step: int) -> str:
    """The control of what may be done at a step of a story, and is not done there; empty: none."""
    model, state = timeline.model, timeline.moments[step].state
    done = timeline.moments[step + 1].action if step + 1 < len(timeline.moments) else None
    free = (action for action, why in timeline.here.options(state) if why is None)
    return next((f"do:{mark(model, action)}" for action in free if action != done), "")
