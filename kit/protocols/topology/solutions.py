"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def may_begin(kind: str, node: str, other: str, down: list[str], ignored: list[str]) -> bool:
    """Whoever a request does not pass over must be up; a rebuild needs its own node alone."""
    if kind == "rebuild":
        return node not in down
    without = {"remove": {*ignored, node}, "replace": {*ignored, other}}.get(kind, set())
    return not set(down) - without


def where_back(operation: str, state: str) -> str:
    """Before reads move, failed work leads back: to be normal again, or out."""
    back = ("left_token_ring", "rollback_to_normal", "tablet_migration")
    if state in (*back, "write_both_read_new"):
        return ""
    leaves = operation in ("decommissioning", "removing")
    return "rollback_to_normal" if leaves else "left_token_ring"


def turned_away(cluster: str, features: list[str], enabled: list[str], row: str) -> str:
    """Its configuration and its row first, what it supports last."""
    if cluster != "prod" or row:
        return "member"
    return "coordinator" if set(enabled) - set(features) else ""


def queue_order(edition: str, kinds: list[str]) -> list[str]:
    """By age, or first the nodes by kind and then what concerns all by age."""
    if edition == "documents":
        return kinds
    rank = {"join": 0, "leave": 1, "rebuild": 2}
    return sorted(kinds, key=lambda kind: rank.get(kind, 3))
