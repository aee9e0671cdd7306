"""What an operator types, and must not do, where a node is replaced, removed, or still missing.

Sources: published ``nodetool`` (``removenode``, ``assassinate``, ``repair``, ``abortbootstrap``,
``move``), ``BootstrapAndReplace``, ``SingleNodeSequences``.
"""

from collections.abc import Iterator, Mapping, Sequence

from kit.protocols.tcm.rules.operations import Operation

REPAIR = "afterwards, on every node in turn: nodetool repair --full -pr"
BOOTED = "restart {0}, which continues by itself", "stop {0}, nodetool abortbootstrap --ip {0}"
CANCEL = "cancelInProgressSequences of {0} by JMX"
BEGUN = {
    "move": ("nodetool move --resume", "nodetool move --abort"),
    "decommission": ("nodetool decommission again", CANCEL),
    "removenode": ("it continues by itself", CANCEL),
}
"""How an operation continues that has stopped, and how it is undone; else by starting the node."""
RELAXED = "-Dcassandra.consistent.rangemovement=false"


def remedy(
    operation: Operation, ids: Mapping[str, str], absent: str, *, lost: bool, waits: bool
) -> Iterator[str]:
    """The lines for the published server, in order; those that forbid something come last.

    ``absent`` names the nodes that are down and without which the operation does not end; ``lost``:
    some ranges are only on the node that is given up; ``waits``: some are only on those ``absent``.
    """
    kind, node, dead = operation.kind, operation.node, operation.dead
    if lost:
        yield f"if {dead} still has its disk, start it again instead: only it has those ranges"
        yield "otherwise restore them from a backup at the end: no repair brings them back"
    if absent:
        yield f"first start {absent} again (replace or remove what is gone for good)"
    if absent or (lost and kind == "removenode"):
        again, undone = BEGUN.get(kind, BOOTED)
        then = f"then {again}; to give it up: " * bool(absent)
        yield f"if it has begun already: {then}{undone}".format(node)
    if kind == "replace":
        yield f"{dead} must be down (DN in nodetool status), and the disk of {node} empty"
        yield f"start {node} with -Dcassandra.replace_address_first_boot={dead}"
        yield f"once it is UN, on {node}: nodetool repair --full"
        yield f"never start {dead} again, and neither remove nor assassinate it"
    elif kind == "removenode":
        removal = f"removenode {ids.get(node) or f'ID (Host ID of {node} in nodetool status)'}"
        removal = f"assassinate {node}, which gives them up" if lost else removal
        yield f"on a live node: nodetool {removal}"
        yield REPAIR
        yield f"never while {node} is up (decommission it instead), and never start it afterwards"
    elif kind == "assassinate":
        yield f"on a live node: nodetool assassinate {node}"
        yield REPAIR
        yield f"never while {node} is up, nor where removenode works: this one copies nothing"
    elif absent and kind != "decommission":
        risk = "leaves ranges empty" if waits else "copies from a replica that may lack writes"
        yield f"don't set {RELAXED} to get past this: it {risk}"


def service_remedy(dead: Sequence[str], missing: int) -> Iterator[str]:
    """The lines for members of the CMS that are down; ``missing`` is how many a quorum lacks.

    Sources: published ``ReconfigureCMS``, ``Startup`` (RESET), ``CMSOperations``.
    """
    who = ", ".join(dead)
    if missing > 0:
        yield f"start {who} again: {missing} at least"
        yield "until then data is served, but no change of schema, nodes or CMS is committed"
        yield "so don't try removenode, assassinate, a replacement or cms reconfigure before"
        yield (
            "if they are gone for good, the last resort: dump the metadata of a live node with the "
            "newest Epoch (by JMX, with unsafe_tcm_mode), and start it again with "
            "-Dcassandra.unsafe_boot_with_clustermetadata=FILE; the dump must have it as a member"
        )
    elif dead:
        yield f"start {who} again"
        yield "if one is gone for good, nodetool removenode ID: first another takes its place there"
        yield "nodetool cms reconfigure --status shows how far; --resume or --cancel if it stopped"
