"""Group 0: the commands that were committed, its configuration, the coordinators' journals."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.topology.facts.commands import HistoryLine, history, log_lines
from kit.protocols.topology.state import has_majority, voting
from kit.views.alike import ToldApart, draw_others, others_lines, told_apart
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, heads, moved, scroll

LAST = 30
NOTHING = "Nothing was committed yet."


def draw_history(scene: Scene) -> Frag:
    """Draw ``group0_history``, newest first; what had no effect is grey."""
    lines = history(scene.model, scene.way())
    shown = lines[-LAST:]
    if not lines:
        return h("p", NOTHING, k="no-history", class_="soft")
    last = len(scene.way()) - 1
    return scroll(
        "group 0 history",
        h(
            "table",
            h("caption", f"group0_history: {counted(len(lines), 'command')}"),
            heads("state id", "creator", "description"),
            h("tbody", [_line(line, line.step == last) for line in reversed(shown)]),
        ),
    )


def _line(line: HistoryLine, new: bool) -> Frag:
    kind = "soft" if line.is_no_op else moved(new)
    return h(
        "tr",
        h("th", str(line.state_id) if line.state_id else "–", scope="row"),
        h("td", line.creator or "–"),
        h("td", line.description),
        k=f"command:{line.step}",
        class_=kind,
    )


def history_text(scene: Scene) -> str:
    """Write the history, a line for each command."""
    return (
        "\n".join(
            f"  {line.state_id or '-'} {line.creator or '-'}: {line.description}"
            for line in history(scene.model, scene.way())
        )
        or f"  {NOTHING}"
    )


def draw_configuration(scene: Scene) -> Frag:
    """Draw who is in group 0, who of them votes and is reached, and whether they are enough."""
    m, s = scene.model, scene.state
    fits = has_majority(s)
    rows = _told_apart(scene)
    return h(
        "div",
        h(
            "p",
            bulb("✓" if fits else "!", "majority" if fits else "no majority"),
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


def configuration_text(scene: Scene) -> str:
    """Write the configuration, a line for each member."""
    rows = _told_apart(scene)
    lines = [f"  {scene.model.names[i]}:{_role(scene, i)}" for i in rows.listed]
    others = (f"  {line}" for line in others_lines(rows.others))
    return "\n".join([f"  {_quorum(scene)}", *lines, *others])


def draw_log(scene: Scene) -> Frag:
    """Draw what the coordinators' servers logged, newest first."""
    lines = list(log_lines(scene.model, scene.way()))
    if not lines:
        return h("p", "Nothing was logged yet.", k="no-log", class_="soft")
    last = len(scene.way()) - 1
    return scroll(
        "journal",
        h(
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
        ),
    )


def log_text(scene: Scene) -> str:
    """Write the journal, a line each."""
    lines = [f"  {line.host}: {line.words}" for line in log_lines(scene.model, scene.way())]
    return "\n".join(lines) or "  nothing was logged yet"


HISTORY = Panel("history", "Group 0 history", draw_history, history_text, tab="History")
CONFIGURATION = Panel(
    "configuration", "Group 0 configuration", draw_configuration, configuration_text, tab="Members"
)
LOG = Panel("log", "Coordinator's journal", draw_log, log_text, tab="Journal")
