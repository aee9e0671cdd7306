"""Group 0: the commands that were committed, its configuration, the coordinators' journals."""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.topology.control import has_majority, voting
from kit.protocols.topology.facts.commands import LoggedLine, history, log_lines
from kit.views.declared import (
    Column,
    Drawn,
    Table,
    ToldApart,
    draw_others,
    others_lines,
    panel_of,
    told_apart,
)
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import lamp

LAST = 30


def _draw_configuration(scene: Scene) -> Frag:
    """Draw who is in group 0, who of them votes and is reached, and whether they are enough."""
    m, rows = scene.model, _told_apart(scene)
    return h(
        "div",
        h(
            "p",
            lamp(has_majority(scene.state), "majority", "no majority"),
            f" {_quorum(scene)}",
            k="majority",
        ),
        h(
            "ul",
            [
                h(
                    "li",
                    h("b", m.names[i]),
                    h("small", _role(scene, i)),
                    k=f"member:{m.names[i]}",
                    class_="lamp",
                    data_of=m.names[i],
                )
                for i in rows.listed
            ],
        ),
        draw_others(rows.others),
    )


def _told_apart(scene: Scene) -> ToldApart[int, tuple[str, ...]]:
    """The members with their roles; of very many those that do not just follow."""
    members = list(nodes_in(scene.state.topology.members))
    return told_apart(members, lambda i: (_role(scene, i).strip(),), lambda i: False)


def _quorum(scene: Scene) -> str:
    """Whom the leader reaches of those who vote, and how many of these a majority is."""
    vote = voting(scene.state)
    reached = (vote & scene.state.reachable).bit_count()
    count = vote.bit_count()
    return f"{reached} of {count} voters reached, {majority(count)} are a majority"


def _role(scene: Scene, node: int) -> str:
    s = scene.state
    leads = " leader, runs the coordinator" if s.coordinator == node else ""
    silent = "" if voting(s) >> node & 1 else " does not vote"
    missing = "" if s.reachable >> node & 1 else " not reached"
    return f"{leads}{missing}{silent}" or " follows"


def _configuration(scene: Scene) -> Iterator[str]:
    rows = _told_apart(scene)
    yield _quorum(scene)
    yield from (f"{scene.model.names[i]}:{_role(scene, i)}" for i in rows.listed)
    yield from others_lines(rows.others)


def _log(scene: Scene) -> tuple[LoggedLine, ...]:
    return scene.once("journal", lambda: tuple(log_lines(scene.model, scene.way())))


def _draw_log(scene: Scene) -> Frag:
    """Draw what the coordinators' servers logged, newest first."""
    lines, last = _log(scene), len(scene.way()) - 1
    if not lines:
        return h("p", "Nothing was logged yet.", k="no-log", class_="soft")
    return h(
        "ol",
        [
            h(
                "li",
                h("b", line.host),
                h("span", line.words),
                k=f"line:{line.step}:{place}",
                class_=f"entry{' moved' if line.step == last else ''}",
            )
            for place, line in reversed([*enumerate(lines)][-LAST:])
        ],
        class_="log",
    )


def _journal(scene: Scene) -> list[str]:
    return [f"{line.host}: {line.words}" for line in _log(scene)] or ["nothing was logged yet"]


def _history_words(scene: Scene) -> list[str]:
    return [
        f"{line.state_id or '-'} {line.creator or '-'}: {line.description}"
        for line in history(scene.model, scene.way())
    ] or ["Nothing was committed yet."]


HISTORY = panel_of(
    "history",
    "Group 0 history",
    Table(
        lambda scene: reversed(history(scene.model, scene.way())),
        "command:{0.step}",
        (
            Column("state id", lambda line: line.state_id or ""),
            Column("creator", "creator"),
            Column("description", "description"),
        ),
        caption=lambda scene: (
            f"group0_history: {counted(len(history(scene.model, scene.way())), 'command')}"
        ),
        lines=_history_words,
        empty="Nothing was committed yet.",
        kind=lambda line: "soft" if line.is_no_op else None,
        most=LAST,
        thing="command",
    ),
    tab="History",
)
CONFIGURATION = panel_of(
    "configuration",
    "Group 0 configuration",
    Drawn(_draw_configuration, _configuration),
    tab="Members",
)
LOG = panel_of("log", "Coordinator's journal", Drawn(_draw_log, _journal), tab="Journal")
