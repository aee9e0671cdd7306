"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def votes_for(term: int, vote: str, log: list[int], asker: str, wants: list[int]) -> bool:
    """One vote a term, and only for a log that is as new."""
    new, last, last_term = wants
    is_free = new > term or (new == term and vote in ("", asker))
    return is_free and (last_term, last) >= (log[-1] if log else 0, len(log))


def committed_up_to(term: int, log: list[int], stored: list[int]) -> int:
    """The index that the middle one of them stores, if it is of this term."""
    end = sorted(stored)[(len(stored) - 1) // 2]
    return end if end and log[end - 1] == term else 0
