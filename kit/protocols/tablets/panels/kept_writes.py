"""The tab that compares leaving and new replicas, write by write."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tablets.facts.kept_writes import KeptWrite, KeptWrites, kept_writes
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, heads, scroll

NOT_BEGUN = "The comparison begins with the stage streaming."
NONE_LEAVES = "No replica leaves: a repair changes no replica set."
NEVER = "–"


def _facts(scene: Scene) -> KeptWrites:
    kept: KeptWrites = scene.once(
        "kept writes", lambda: kept_writes(scene.model, scene.state, scene.way())
    )
    return kept


def draw_kept(scene: Scene) -> Frag:
    """Draw a row for each write: where it was as streaming began, and where it is now."""
    kept = _facts(scene)
    why = _nothing(kept)
    if why:
        return h("p", why, class_="soft")
    return scroll(
        "writes of leaving and new replicas",
        h(
            "table",
            h("caption", "each write stands for its key"),
            heads("write", f"{_leaving(kept)} then", f"{', '.join(kept.coming)} now", "stands"),
            h("tbody", [_row(kept, each) for each in kept.writes]),
        ),
        h("p", _verdict(kept), k="kept:verdict"),
    )


def _nothing(kept: KeptWrites) -> str:
    if not kept.begun:
        return NOT_BEGUN
    return "" if kept.leaving or kept.coming else NONE_LEAVES


def _leaving(kept: KeptWrites) -> str:
    return ", ".join(kept.leaving)


def _row(kept: KeptWrites, each: KeptWrite) -> Frag:
    return h(
        "tr",
        h("th", each.write, scope="row"),
        h("td", ", ".join(each.had) or NEVER),
        h("td", ", ".join(each.has) or NEVER),
        h("td", bulb(_sign(kept, each), _standing(kept, each)), f" {_standing(kept, each)}"),
        k=f"kept:{each.write}",
    )


def _sign(kept: KeptWrites, each: KeptWrite) -> str:
    if each.kept:
        return "✓"
    return "!" if kept.due else "…"


def _standing(kept: KeptWrites, each: KeptWrite) -> str:
    if not each.owed:
        return "not owed"
    if each.kept:
        return "it, or a later one, is there"
    return "is missing" if kept.due else "is still to come"


def _verdict(kept: KeptWrites) -> str:
    if not kept.due:
        return "All that is owed has to be there when write_both_read_new is entered."
    missing = [each.write for each in kept.writes if not each.kept]
    said = f"{', '.join(missing)} is missing" if missing else "all that is owed is there"
    return f"Reads were switched: {said}."


def kept_text(scene: Scene) -> str:
    """Write a line for each write."""
    return "\n".join(f"  {line}" for line in _lines(_facts(scene)))


def _lines(kept: KeptWrites) -> Iterator[str]:
    why = _nothing(kept)
    if why:
        yield why
        return
    for each in kept.writes:
        then, now = (", ".join(names) or NEVER for names in (each.had, each.has))
        yield (
            f"{each.write}: {_leaving(kept)} then {then}; {', '.join(kept.coming)} now {now}; "
            f"{_standing(kept, each)}"
        )
    yield _verdict(kept)


KEPT = Panel(
    *("kept", "Leaving and new replicas, write by write", draw_kept, kept_text),
    optional=True,
    tab="Copied",
)
