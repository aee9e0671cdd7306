"""Where the kit's parts live now: the only file of this folder that imports from the kit.

When modules move, this file is edited and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kit
from kit.commands.cli import main
from kit.engine.check import Result, check, check_refinement
from kit.engine.model import Model, Monitor
from kit.engine.registry import build, convert, entries, entry_of
from kit.engine.scenario import files, rewritten
from kit.engine.timeline import Timeline
from kit.engine.trace import dumps
from kit.engine.walking import Walk, Walker
from kit.protocols.tcm.simulators.columns import Columns

ROOT = Path(__file__).resolve().parents[2]
KIT = Path(kit.__file__).resolve().parent
SCENARIOS = ROOT / "kit/protocols"
FIXTURES = ROOT / "tests/fixtures/nodetool"

__all__ = [
    "FIXTURES",
    "KIT",
    "ROOT",
    "SCENARIOS",
    "Model",
    "Timeline",
    "Walk",
    "Walker",
    "build",
    "dumps",
    "entries",
    "main",
    "rewritten",
    "scenario_files",
    "searched",
]


def scenario_files() -> list[Path]:
    """The scenario files of the kit."""
    return list(files().values())


def scenario_path(name: str) -> Path:
    """``tcm/bootstrap.txt``, where it stands now."""
    family, file = name.split("/")
    return SCENARIOS / family / "scenarios" / file


def scenario_name(path: Path) -> str:
    """The other way."""
    return f"{path.parent.parent.name}/{path.name}"


Asked = Mapping[str, Any]


def searched(asked: Asked, parameters: Mapping[str, Any], off: tuple[str, ...]) -> Any:
    """The model and the result of one search of ``searches.json``."""
    name = asked["model"]
    if asked.get("refines"):
        entry = entry_of(name)
        assert entry.refinement is not None
        barrier = {"barrier": True} if asked["refines"] == "barrier" else {}
        refinement: Any = entry.refinement
        both = refinement(convert(entry, parameters), **barrier)
        return both.fine, check_refinement(both)
    model = build(name, parameters, off)
    return model, _judged(model, asked)


def _judged(model: Model[Any, Any], asked: Asked) -> Result:
    judges = asked.get("judges", "all")
    given: dict[str, Any] = {
        key: asked[key] for key in ("symmetry", "mode", "max_states") if key in asked
    }
    if judges == "all":
        return check(model, **given)
    if judges == "monitors":  # what clients alone can see
        return check(model, (), monitors=model.monitors, **given)
    if judges == "columns":  # the second, plain model of placements
        columns: Any = Columns
        return check(model, columns(model).properties(), **given)
    if "anomaly" in judges:
        return check(model, (), monitors=(_missed_between(model, *judges["anomaly"]),), **given)
    chosen = tuple(prop for prop in model.properties if prop.name == judges["only"])
    assert chosen, judges
    return check(model, chosen, **given)


def _missed_between(model: Any, written: int, read: int) -> Monitor:
    """As in the tests: a write planned by one epoch is missed by a read of another."""
    (visible,) = (monitor for monitor in model.monitors if monitor.name == "visible")

    def step(memory: Any, before: Any, action: Any, after: Any) -> Any:
        epochs, inner = memory
        if type(action).__name__ == "Start":
            epochs = (*epochs[: action.request], action.epoch, *epochs[action.request + 1 :])
        return epochs, visible.step(inner, before, action, after)

    def verdict(memory: Any) -> str | None:
        epochs, inner = memory
        return visible.verdict(inner) if epochs == (written, read) else None

    return Monitor("anomaly", "", lambda: ((0, 0), visible.begin()), step, verdict)
