"""``side-by-side``: a question in two worlds, as a table, a page or a Player."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.commands.answer import Answer, Part, wrap
from kit.commands.parsing import Command, Word
from kit.edge.arguments import checked
from kit.edge.writing import check_place
from kit.errors import BadInput, counted
from kit.model.timeline import Timeline, played_out
from kit.protocols.worlds.alignment import TITLES, WORLDS, Aligned, aligned
from kit.protocols.worlds.facts import PAIRS, pair_named

if TYPE_CHECKING:  # what takes a while to load
    from kit.widgets.player import Player


def side_by_side_run(name: str) -> Timeline:
    """Both stories of a pair as one run, from its start on. BadInput for an unknown pair."""
    from kit.playing.opening import open_named

    timeline = played_out(open_named(f"worlds/{pair_named(name).scenario}").timeline)
    timeline.goto(0)
    return timeline


@checked
def side_by_side(name: str = "bootstrap") -> Player:
    """Open a Player for one question that is answered in two worlds, aligned step by step.

    Its milestones are the rows of the table *Alike or not*. Names are in ``python -m kit
    side-by-side``.

    Raises BadInput for a pair that does not exist.
    """
    from kit.widgets.player import Player

    return Player(side_by_side_run(name), controls=False)


def side_by_side_rows(name: str | None = None) -> Answer:
    """The rows of a pair, or of all pairs, with its question. BadInput for an unknown pair."""
    chosen = [*map(aligned, PAIRS if name is None else [pair_named(name)])]
    rows = sum(len(each.met) for each in chosen)
    differ = sum(not met.row.alike for each in chosen for met in each.met)
    number = counted(len(chosen), "question")
    heading = (
        f"{number}, {counted(rows, 'row')}: {differ} differ (≠), {rows - differ} are the same (=)"
    )
    return Answer({"pairs": [_data(each) for each in chosen]}, [heading], tuple(_parts(chosen)))


def _data(given: Aligned) -> dict[str, object]:
    rows = [
        {
            "title": met.row.title,
            "compares": met.row.verdict,
            "claim": met.row.claim,
            **dict(zip(WORLDS, met.words, strict=True)),
            "steps": met.steps,
        }
        for met in given.met
    ]
    pair = given.pair
    stories = dict(zip(WORLDS, pair.stories, strict=True))
    return {"name": pair.name, "question": pair.question, "stories": stories, "rows": rows}


def _parts(chosen: list[Aligned]) -> Iterator[Part]:
    for given in chosen:
        yield ""
        yield f"{given.pair.name}: {given.pair.question}"
        for met in given.met:
            yield f"  {'=' if met.row.alike else '≠'} {met.row.title}"
            yield from wrap(met.row.claim, "      ")
            for world, step, said in zip(WORLDS, met.steps, met.words, strict=True):
                yield from wrap(said, f"      {TITLES[world]}, step {step}: ", " " * 10)


def _answer(given: Namespace) -> Answer:
    answer = side_by_side_rows(given.pair)
    if given.html is None:
        return answer
    check_place(given.html, "--html")
    if given.pair is None:
        raise BadInput("--html", given.html, "a pair to write: side-by-side PAIR --html OUT")
    from kit.views.export import export_html

    written = export_html(side_by_side_run(given.pair), given.html, field="--html")
    words = [f"{given.html}: {counted(written.size, 'byte')}"]
    return Answer(
        {"file": given.html, "bytes": written.size, "left_out": written.left_out},
        [*words, *(f"left out: {part}" for part in written.left_out)],
    )


SIDE_BY_SIDE = Command(
    "side-by-side",
    _answer,
    (
        Word(
            "pair", "PAIR", "the pair to show, such as bootstrap (default: all pairs)", number="?"
        ),
        Word("--html", "OUT", "write the run of a pair as an HTML page instead"),
    ),
    "Shows one question in two worlds: the epochs of CEP-21 next to the topology coordinator over\n"
    "Raft. At moments that both worlds have, you see what is the same (=) and what differs (≠).",
)
