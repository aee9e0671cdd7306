"""Right answers to exercises that ask for a function, in what a learner may use: Python alone.

The first is what the judge compares with; the others the simulator and a simple model work out.
"""


def always_meet(readers: list[str], writers: list[str]) -> bool:
    """Counted: what two majorities need beyond the nodes that there are, they share."""
    alone = len(set(readers) - set(writers)), len(set(writers) - set(readers))
    both = len(set(readers) & set(writers))
    shared = len(readers) // 2 + 1 - alone[0], len(writers) // 2 + 1 - alone[1]
    return sum(shared) > both


def unaware(group: list[str], answers: list[str], needed: int) -> bool:
    """A majority of those who were not asked, as far as there are any."""
    others = set(group) - set(answers)
    lost = max(0, len(group) // 2 + 1 - len(others))
    return len(answers) - lost >= needed


def groups(before: list[str], after: list[str], done: int) -> list[list[str]]:
    """New writers first, then readers, then the old writers go."""
    reads = after if done >= 2 else before
    writes = [before, {*before, *after}, {*before, *after}, after][done]
    return [sorted(reads), sorted(writes)]
