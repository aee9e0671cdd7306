"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def has_majority(sizes: list[int], lost: list[int]) -> bool:
    """More than half are left."""
    left = sum(size for at, size in enumerate(sizes) if at not in lost)
    return 2 * left > sum(sizes)


def met_levels(replicas: list[str], down: list[str]) -> list[str]:
    """Counted: so many replicas are up."""
    up = sum(name not in down for name in replicas)
    needed = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": len(replicas) // 2 + 1}
    return [level for level, count in {**needed, "ALL": len(replicas)}.items() if up >= count]


def entries_back(indexes: list[int], leader: int) -> list[int]:
    """Whatever lies above the leader's index."""
    return [max(0, index - indexes[leader]) for index in indexes]


def runs_as(value: str) -> str:
    """Four values mean something else than recovery."""
    known = {"": "upgrade", "use_pre_raft_procedures": "upgrade"}
    known |= {"use_post_raft_procedures": "group 0", "synchronize": "synchronize"}
    return known.get(value, "recovery")
