"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def replicas_used(stage: str, write: bool, old: list[str], new: list[str]) -> list[str]:
    """Written down by hand: where both are written, where reads are new."""
    both = ("write_both_read_old", "streaming", "rebuild_repair", "write_both_read_new",
            "write_both_read_old_fallback_cleanup")  # fmt: skip
    reads_new = ("write_both_read_new", "use_new", "cleanup", "end_migration")
    if write and stage in both:
        return sorted({*old, *new})
    return sorted(new if stage in reads_new else old)


def resize_decided(average: int, under_way: str, count: int, initial: int) -> str:
    """Written down by hand: thresholds 50 and 100, revoked at 100 and 50."""
    if under_way == "split":
        return "none" if average < 100 else "split"
    if under_way == "merge":
        return "none" if average > 50 else "merge"
    if average > 100:
        return "split"
    return "merge" if average < 50 and count > max(1, initial) else "none"


def homes(host: str, replicas: list[str], racks: dict[str, str], closed: list[str]) -> list[str]:
    """Written down by hand: no second replica on a node, no rack beyond the fullest one."""
    held = [racks[each] for each in replicas]
    most = max(held.count(rack) for rack in held)
    return sorted(
        node
        for node in racks
        if node not in replicas
        and node not in closed
        and (racks[node] == racks[host] or held.count(racks[node]) < most)
    )


def without_majority(tablets: list[list[str]], down: list[str]) -> list[int]:
    """Counted: not more than half are up."""
    return [
        number
        for number, nodes in enumerate(tablets)
        if 2 * sum(node not in down for node in nodes) <= len(nodes)
    ]


def may_alter(now: int, wanted: int, nodes: int) -> bool:
    """One replica comes or goes, one is left, and each has a node."""
    return abs(wanted - now) <= 1 and 1 <= wanted <= nodes


def to_be_warned_of(mode: str, repaired: dict[str, int], today: int, grace: int) -> list[int]:
    """By timeout, those whose last repair is older than the grace, or that had none."""
    if mode == "repair":
        return []
    return [n for n in range(4) if str(n) not in repaired or today - repaired[str(n)] > grace]
