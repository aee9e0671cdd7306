"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def effects(commands: list[list[int]]) -> list[bool]:
    """A command counts when it was built on the last one that did."""
    taken, newest = [], 0
    for previous, new in commands:
        taken.append(previous == newest)
        newest = new if taken[-1] else newest
    return taken


def one_group(seeds: dict[str, list[str]]) -> bool:
    """Some node is within reach of every node."""

    def reached(start: str) -> set[str]:
        within, ahead = {start}, [start]
        while ahead:
            for point in seeds[ahead.pop()]:
                if point not in within:
                    within.add(point)
                    ahead.append(point)
        return within

    return bool(set.intersection(*(reached(name) for name in seeds)))
