"""Raft as the kit offers it: its story, the log that it refines, random walks.

That log takes each command in one step, and ``group0`` runs on it. A command is in it once a server
knows it to be committed, and a server has applied as many as it knows. Entries of leaders and
configurations are no commands. Of the documents a crash takes the commit index, so that this holds
there without crashes only; the server stores it.
"""

from __future__ import annotations

from typing import Any

from kit.model.declared import entry
from kit.model.log import refined_by_logs
from kit.model.model import Refinement
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.raft.raft import Raft
from kit.protocols.raft.state import Server
from kit.protocols.raft.words import entry_text, entry_texts


def commands(server: Server) -> tuple[str, ...]:
    """The commands that a server knows to be committed, in order."""
    log = server.log
    behind = log.part(max(log.first_index, log.snapshot.index + 1))
    known = [entry_text(each) for each in behind if each.index <= server.commit]
    texts = (text.partition(":")[2] for text in (*entry_texts(log.snapshot.state), *known))
    return tuple(text for text in texts if text != "-" and "{" not in text)


def refined_by(parameters: Any) -> Refinement:
    """How Raft refines the log that takes each command in one step (``kit.model.log``)."""
    fine = Raft(parameters)
    requests = (each.partition(" at ")[0] for each in fine.requests)
    return refined_by_logs(fine, lambda s: [commands(n.server) for n in s.nodes], requests)


ENTRY = entry(
    Raft,
    scenarios=(Scenario("election", "A is elected and replicates a command to all"),),
    refinement=refined_by,
    compared={"begins": ("1, commit 1, leads", "1", "1"), "requests": ("x", "y"), "terms": 2,
              "most_in_flight": 2},
    fuzzing=Fuzzing(
        {"nodes": 5, "members": "A B C D E", "requests": ("x", "y", "read at B"), "terms": 6,
         "crashes": 2, "drops": 4, "duplicates": 2, "holds": 2, "partitions": 1, "cuts": 2},
        {"tick": 0.05, "crash": 0.05, "drop": 0.1, "duplicate": 0.1, "hold": 0.1,
         "partition": 0.05, "cut": 0.05, "heal": 0.2},
    ),
)  # fmt: skip
