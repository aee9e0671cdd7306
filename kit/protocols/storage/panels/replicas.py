"""A card for each replica: the epoch it knows, its part, what it holds, copies under way."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.moment import CopyRow, ReplicaRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

SIGNS = {"nothing": "–", "value": "●", "tombstone": "✝"}
NOT_OWNED = "data not owned: no replica any more, nothing cleans it up by itself"
TO_CLEAN = "data not owned: no replica any more, and not cleaned up yet"


def short(text: str) -> str:
    """A cell in two letters: ``w1`` for write 1, ``d2`` for delete 2, a dash for nothing."""
    word, _, number = text.partition(" ")
    return f"{word[0]}{number}" if number else "–"


def draw_replicas(scene: Scene) -> Frag:
    """Draw a card a replica, in the order of the range's names."""
    then = {}
    if scene.before is not None:
        then = {row.name: row for row in facts.replicas(scene.model, scene.before)}
    return h(
        "ul",
        [_card(scene, row, then.get(row.name)) for row in _rows(scene)],
        class_="cards",
        aria_label="replicas",
    )


def _rows(scene: Scene) -> tuple[ReplicaRow, ...]:
    return facts.replicas(scene.model, scene.state)


def _card(scene: Scene, row: ReplicaRow, then: ReplicaRow | None) -> Frag:
    changed = then is not None and then.cell != row.cell
    caught_up = then is not None and then.epoch != row.epoch
    behind = f" · {row.behind} behind" if row.behind else ""
    return h(
        "li",
        h(
            "div",
            h("b", row.name),
            " ",
            h("span", f"knows {row.epoch}", class_="changed" if caught_up else None),
            h("small", behind),
            None if row.up else h("strong", " ✗ down"),
        ),
        h(
            "div",
            h(
                "span",
                f"{SIGNS[row.held]} {row.cell}",
                class_=f"cellar {row.held}{' changed' if changed else ''}",
            ),
        ),
        [h("div", words, class_="leftover" if words.startswith("data not owned") else None)
         for words in _notes(scene, row)],
        [
            h("div", words, k=f"card:{row.name}:copy:{_key(way)}") for way, words in _ways(row)
        ],
        k=f"card:{row.name}",
        class_="card" if row.up else "card down",
        data_of=row.name,
    )  # fmt: skip


def _notes(scene: Scene, row: ReplicaRow) -> Iterator[str]:
    """The replica's part, and what is remarkable about it."""
    yield row.role
    if row.read_from or row.written_to:
        yield f"reads {', '.join(row.read_from)}; writes {', '.join(row.written_to)}"
    if row.own_role != row.role:
        yield f"by its own {scene.model.history.unit}: {row.own_role}"
    if row.not_owned:
        yield TO_CLEAN if scene.model.cleaning else NOT_OWNED


def _key(way: CopyRow) -> str:
    return f"{way.source}:{way.target}" + f":{way.session}" * bool(way.session)


def _ways(row: ReplicaRow) -> Iterator[tuple[CopyRow, str]]:
    for way in row.copies:
        what = f", with {way.text}" if way.text else ""
        if way.source == row.name:
            yield way, f"→ copy to {way.target}: {way.status}{what}"
        else:
            yield way, f"← copy from {way.source}: {way.status}{what}"


def replicas_text(scene: Scene) -> str:
    """Write a line per replica."""
    lines, unit = [], scene.model.history.unit
    for row in _rows(scene):
        behind = f" ({row.behind} behind)" if row.behind else ""
        down = "; down" if not row.up else ""
        notes = [*_notes(scene, row), *(words for _, words in _ways(row))]
        lines.append(
            f"  {row.name}: {unit} {row.epoch}{behind}; holds {row.cell}; {'; '.join(notes)}{down}"
        )
    return "\n".join(lines)


REPLICAS = Panel("replicas", "Replicas", draw_replicas, replicas_text, still=True)
