"""The Python that runs in a page, here in node: it searches, plays and counts as this one does."""

from __future__ import annotations

import json
from typing import Any

from tests.bare.searches import counts
from tests.bare.stories import digest, marks, shown
from tests.house.source import ROOT
from tools.core import ran


def told(program: str) -> Any:
    """What a program prints as JSON in its last line, in the Python of a page."""
    return json.loads(ran(program, ROOT).splitlines()[-1])


def test_a_page_counts_plays_and_draws_as_this_python_does() -> None:
    """Seven searches, the texts of a file, the frames of a story, judged answers: all equal."""
    program = """
import json, sys
from kit.edge.limits import ALONE
from tests.bare.searches import counts
from tests.bare.stories import digest, marks, shown
assert ALONE and "numpy" not in sys.modules
"""
    asked = 'counts(), marks(), shown("tcm/bootstrap"), digest("tcm/rf3")'
    here = [counts(), marks(), shown("tcm/bootstrap"), digest("tcm/rf3")]
    assert here[1][0][0]
    assert told(f"{program}print(json.dumps([{asked}]))") == json.loads(json.dumps(here))


def test_a_long_log_goes_quietly() -> None:
    """A browser's stack is small: no log is a chain of as many as it has entries."""
    program = "from kit.model.log import log_of\nlog = log_of(range(50_000))\n"
    assert told(f"{program}del log\nprint(1)") == 1
