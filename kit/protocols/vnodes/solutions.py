"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def acknowledged(edition: str, old: list[str], new: list[str], answered: list[str]) -> bool:
    """Counted by hand: in each set, or once in both together."""
    if edition == "documents":
        return all(2 * len({*answered} & {*group}) > len(group) for group in (old, new))
    pending = len({*new} - {*old})
    return len({*answered} & {*old, *new}) >= len(old) // 2 + 1 + pending
