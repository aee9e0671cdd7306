"""A small site for the tests that open it in browsers, and what both of them ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.model import trace as traces
from kit.model.model import Model
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.check import check
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
COUNTED = """async ([site, asked, most]) => {
  const { Engine } = await import(`${site}/engine.js`);
  const fetched = (name) => fetch(`${site}/engine/${name}`);
  const told = [];
  const heard = (said) => {
    const { verdict } = JSON.parse(said);
    if (verdict) self.counted(verdict.html);
  };
  self.counting ??= new Engine(fetched, heard, (why) => self.counted(String(why)));
  for (const trace of asked)
    told.push(await new Promise((done) => {
      self.counted = done;
      self.counting.ask("search", { trace, most });
    }));
  return told;
}"""
"""What a page finds that searches one model after the other, in one worker that it keeps."""
MOST = 100_000


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
        assert result.complete, result
        assert f"{result.states:,} states" in html, model.name


def another_way(timeline: Timeline, step: int) -> str:
    """The control of what may be done at a step of a story, and is not done there; empty: none."""
    path = timeline.path()
    timeline.goto(path[step])
    done = {timeline.moments[path[step + 1]].action} if step + 1 < len(path) else set()
    free = [action for action, why in timeline.here.options(timeline.state) if why is None]
    return next((f"do:{mark(timeline.here, each)}" for each in free if each not in done), "")
