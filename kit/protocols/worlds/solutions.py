"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def is_open(
    world: str, ranges: list[dict[str, list[str]]], members: list[str], answered: list[str]
) -> bool:
    """Everybody, or more than half of each datacenter of each range."""
    if world == "topology":
        return all(name in answered for name in members)
    return all(
        2 * sum(name in answered for name in there) > len(there)
        for replicas in ranges
        for there in replicas.values()
    )
