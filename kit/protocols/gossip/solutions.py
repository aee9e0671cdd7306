"""Right answers to exercises that ask for a function, in what a learner may use: Python alone."""


def what_stays(definitions: list[tuple[int, str]]) -> str:
    """The newest; at one time a drop, else the greater text."""
    return max(definitions, key=lambda each: (each[0], not each[1], each[1]))[1]
