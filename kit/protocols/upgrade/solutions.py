"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def state_at_start(value: str | None) -> str:
    """The four known values stand for themselves."""
    known = ("use_pre_raft_procedures", "synchronize", "use_post_raft_procedures", "recovery")
    if value is None:
        return known[0]
    return value if value in known else "recovery"
