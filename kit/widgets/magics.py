"""``%nodetool`` and ``%%cql`` in a notebook: the tools of a cluster's servers, asked of a Player.

What they answer is that of ``kit.console.server``, as in a drill's terminal. A command that changes
something is the model's action, and the Player shows it. Nothing is ever run on the machine.
"""

from functools import partial
from typing import Any

from kit.console.drill import DrillMoment, done
from kit.console.forms import Grammar
from kit.console.server import NOT_MODELLED, Servers
from kit.errors import BadInput, BadType, Refused, shorten
from kit.model.family import server_places
from kit.model.model import Model
from kit.model.registry import check_one_of, one_of
from kit.model.timeline import Timeline
from kit.widgets.player import Player

OF, HOST = "--of", "-h"
STATEMENT = "SELECT columns FROM table [WHERE column = value] [LIMIT number] [ALLOW FILTERING]"


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook ``%nodetool`` and ``%%cql``; ``%load_ext kit`` calls it.

    Raises BadType for what is no shell.
    """
    if not hasattr(shell, "register_magic_function"):
        raise BadType("shell", shell, "IPython's shell")
    shell.register_magic_function(partial(nodetool, shell.user_ns), "line", "nodetool")
    shell.register_magic_function(partial(cql, shell.user_ns), "line_cell", "cql")


def nodetool(names: dict[str, Any], line: str) -> None:
    """``%nodetool [--of PLAYER] [-h NODE] COMMAND`` prints what the node says, and what is done.

    Without ``--of`` the only Player of the notebook is asked, without ``-h`` the first node that is
    up. Raises BadInput for another command, Refused for what is refused or not modelled.
    """
    player, tools, now, rest = _addressed(names, line)
    form, given = Grammar(tools.understood("nodetool"), tools.slots()).read(f"nodetool {rest}", now)
    reply = form.answer(now, given)
    print(*reply.lines, sep="\n", end="\n" * bool(reply.lines))
    timeline = player.timeline if isinstance(player, Player) else player
    for action in reply.actions:
        act = partial(done, timeline, action)
        _ = player.after(act) if isinstance(player, Player) else act()
        print(timeline.moments[timeline.at].say)


def cql(names: dict[str, Any], line: str, cell: str = "") -> Any:
    """``%%cql [--of PLAYER] [-h NODE]``, and a ``SELECT`` below: the rows as a data frame.

    Raises BadInput for any other statement, for a table or column that is not there.
    """
    import pandas as pd  # noqa: PLC0415  # slow to import, and only this needs it

    _, tools, now, rest = _addressed(names, f"{line} {cell}")
    if not tools.tables:
        raise Refused(f"{NOT_MODELLED}no system table of {now.model.name}")
    if not rest.upper().startswith("SELECT "):
        raise BadInput("statement", shorten(rest), STATEMENT)
    _, given = Grammar(tools.understood("SELECT {"), tools.slots()).read(rest, now)
    table = tools.read(now, tools.answering(now, "cqlsh"), given)
    rows = [[row.get(name) for name in table.columns] for row in table.rows]
    frame = pd.DataFrame(rows, columns=list(table.columns))
    vars(frame)["_repr_html_"] = frame.to_html  # pandas adds a style sheet, which is not trusted
    return frame


def _addressed(
    names: dict[str, Any], line: str
) -> tuple[Player | Timeline, Servers, DrillMoment, str]:
    words, given = line.split(), dict[str, str]()
    while words and words[0] in (OF, HOST):
        option, value, *words = [*words, ""]
        given[option], words = value, [word for word in words if word]
    player = _player(names, given.get(OF, ""))
    timeline = player.timeline if isinstance(player, Player) else player
    model: Any = timeline.model
    if model.name not in server_places():
        raise Refused(f"{NOT_MODELLED}the servers of {model.name} have no tools")
    family, place = server_places()[model.name]
    tools: Servers = family.load(place)
    run = tuple(timeline.moments[at] for at in timeline.path(timeline.at))
    now = DrillMoment(model, run, model.names[0])
    up = (name for at, name in enumerate(model.names) if tools.is_up(now, at))
    host = tools.machine(now, {"machine": given.get(HOST) or next(up, now.place)})
    check_one_of(HOST, host, model.names)
    return player, tools, DrillMoment(model, now.run, host), " ".join(words)


def _player(names: dict[str, Any], name: str) -> Player | Timeline:
    known = {k: v for k, v in names.items() if isinstance(v, Player | Timeline | Model)}
    shown = {k: v for k, v in known.items() if not k.startswith("_")} or known
    if not name and len({id(each) for each in shown.values()}) == 1:
        name = next(iter(shown))
    if name not in known:
        allowed = one_of(name, sorted(shown)) if shown else "a Player, such as Player('cms')"
        raise BadInput(OF, name or "nothing", allowed)
    chosen = known[name]
    return Timeline(chosen) if isinstance(chosen, Model) else chosen
