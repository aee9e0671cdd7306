"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def promises(ballots: list[int]) -> list[bool]:
    """A ballot is promised where no higher one was."""
    return [ballot == max(ballots[: place + 1]) for place, ballot in enumerate(ballots)]


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """More than half of either group answers."""
    return all(2 * len({*group} & {*up}) > len(group) for group in (readers, writers))


def accepted(events: list[str]) -> list[bool]:
    """A table can be created where it is not, and altered or dropped where it is."""
    there: set[str] = set()
    answers = []
    for event in events:
        kind, _, table = event.split()
        answers.append((table in there) != (kind == "create"))
        if answers[-1] and kind != "alter":
            there ^= {table}
    return answers


def log_may_begin(nodes: list[tuple[str, bool, list[int]]]) -> bool:
    """Nobody is open to changes, and all have the same."""
    closed = all(version == "new" or switch for version, switch, _ in nodes)
    return closed and all(has == nodes[0][2] for _, _, has in nodes)
