"""What could go wrong without a safeguard: in a clause for each invariant, the worst first."""

from typing import Any

from kit.edge.words import later, say
from kit.engine.model import Model, Safeguard

CLAUSES = {
    "INV-VISIBLE": later("an acknowledged write could be lost"),
    "INV-NORES": later("deleted data could come back"),
    "INV-QI": later("a read could miss an acknowledged write"),
    "INV-STREAM": later("reads could go to a node that does not have the data"),
    "INV-CAUSAL": later("data could be stored in columns that no node knows"),
    "INV-RF": later("a range could have too few replicas, or the wrong ones"),
    "INV-COVER": later("a token could have two owners, or none"),
    "INV-LIN": later("a change could ignore the one before it"),
    "INV-ONCE": later("a change could take effect when it should not"),
    "INV-ONEGROUP": later("the nodes could end up in more than one group, or in none"),
    "INV-SCHEMA": later("nodes could serve requests with different schemas"),
    "INV-SAMESTATE": later("nodes could disagree on which node owns what"),
    "INV-MEMBER": later("the wrong nodes could count as members"),
    "INV-OWN": later("a node that has lost its place could still have a say"),
    "INV-AVAIL": later("requests could fail needlessly"),
    "INV-CL": later("success could be reported with too few replicas"),
    "INV-FENCE": later("a request from long ago could still take effect"),
    "INV-SESSION": later("work that was given up could still take effect"),
    "INV-COLOC": later("data in different places could be merged"),
    "INV-MAP": later("the map of tablets could be wrong"),
    "INV-LOCK": later("two operations could get in each other's way"),
    "INV-EXCL": later("two operations could get in each other's way"),
    "INV-VALID": later("an event that makes no sense could be committed"),
    "INV-CMSQI": later("two groups of members could each decide on their own"),
    "INV-LOG": later("a node could apply later log entries first"),
    "INV-CANCEL": later("an operation that nobody cancelled could be undone"),
    "INV-RESUME": later("an operation could stay half done"),
    "INV-PROGRESS": later("an operation could never finish"),
    "INV-FEAT": later("a node could get commands that it does not understand"),
    "INV-ONESTEP": later("the cluster could be a step ahead of most of its nodes"),
    "INV-STAGE": later("a stage could begin before its preconditions are met"),
    "INV-ONESTAGE": later("nodes could work in stages that do not fit together"),
    "INV-TABL-1": later("data could stay on a node that no longer has the replica"),
    "INV-TABL-2": later("two changes to a tablet could overlap"),
    "INV-RAFT": later("the same commands could have different effects"),
    "INV-DURABLE": later("an acknowledged metadata change could be lost"),
    "INV-QUICK": later("a metadata change could have to wait for data"),
    "INV-FITS": later("a table definition could be too large to store"),
    "INV-LEADER": later("a term could have two leaders"),
}


def worst(model: Model[Any, Any]) -> tuple[Safeguard, str] | None:
    """The worst that could happen, and the safeguard without which it could: one that is off, if
    any is. None where nobody says.
    """
    gone = [each for each in model.safeguards if each.name in model.off]
    for invariant, clause in CLAUSES.items():
        for safeguard in gone or model.safeguards:
            if invariant in safeguard.protects:
                return safeguard, say(clause)
    return None
