"""Right answers to exercises that ask for a function, in what a learner may use: Python alone.

Most are what the judge compares with; the engine works out ``replicas`` and ``must_not_die``.
"""


def replicas(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """Walk clockwise from the owner of the token."""
    walk = sorted(tokens, key=lambda name: (tokens[name] < token, tokens[name]))
    return walk[:rf]


def needed(before: list[str], after: list[str]) -> int:
    """More than half of all the nodes involved."""
    return len(set(before) | set(after)) // 2 + 1


def may_run_together(first: list[list[int]], second: list[list[int]]) -> bool:
    """No range of one operation shares a token with a range of the other."""
    return not any(a[0] < b[1] and b[0] < a[1] for a in first for b in second)


def parts(rights: list[int], cuts: list[int]) -> list[int]:
    """A range belongs to the part in which it ends."""
    spans = zip([0, *cuts], [*cuts, rights[-1]], strict=True)
    return [sum(low < r <= high for r in rights) for low, high in spans]


def surviving(groups: list[list[str]], racks: dict[str, str], lost: str) -> int:
    """More than half of each group is up."""
    return sum(2 * sum(racks[n] != lost for n in group) > len(group) for group in groups)


def must_not_die(groups: list[list[str]], down: list[str]) -> list[str]:
    """The live nodes of each group that has exactly a majority left."""
    left = set()
    for group in groups:
        alive = [name for name in group if name not in down]
        if len(alive) == len(group) // 2 + 1:
            left.update(alive)
    return sorted(left)


def unfinished(events: list[tuple[str, int]]) -> list[int]:
    """The nodes whose last event does not end an operation."""
    last = {node: kind for kind, node in events}
    ends = ("FINISH_", "CANCEL_")
    return sorted(node for node, kind in last.items() if not kind.startswith(ends))
