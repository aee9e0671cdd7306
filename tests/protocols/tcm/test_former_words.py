"""Operations by the words of the first traces: join, leave, remove. They are read, never shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kit.engine import trace
from kit.engine.model import fingerprint
from kit.engine.registry import build, scenario_of
from kit.engine.scenario import file_named, parse, run
from kit.engine.timeline import Timeline
from kit.protocols.tcm.parameters import parse_operation

LINES = (
    ("join X --tokens 150", "bootstrap X --tokens 150", "66417cf3805bbb86"),
    ("leave C", "decommission C", "fdbaa795cefc865b"),
    ("remove C", "removenode C", "5498b12dfe729962"),
)
"""A line as it was, as it is today, and where it led when its words were still the former ones."""
OLD_FILE = """\
# X joins.
model dataplane

join X --tokens 150
----
"""


@pytest.mark.parametrize(("old", "today", "_"), LINES)
def test_both_words_are_read_and_the_operators_is_shown(old: str, today: str, _: str) -> None:
    """A line in the words of before is the same operation."""
    assert parse_operation(old) == parse_operation(today)
    assert parse_operation(old).text == today


@pytest.mark.parametrize(("old", "today", "led_to"), LINES)
def test_a_trace_of_before_opens_and_leads_where_it_led(old: str, today: str, led_to: str) -> None:
    """Its actions are read in today's words; the fingerprints written down then still hold."""
    timeline = Timeline(build("tcm", {"operations": (today,)}))
    timeline.do(timeline.model.find(timeline.state, today)[0])
    assert fingerprint(timeline.state) == led_to
    written: Any = msgspec.json.decode(trace.dumps(timeline.save()))
    operation = written["steps"][0]["action"]["action"]["operation"]
    assert operation["kind"] == today.partition(" ")[0]
    operation["kind"] = old.partition(" ")[0]
    written["parameters"]["operations"] = [old]
    opened = Timeline.load(trace.loads(msgspec.json.encode(written)))
    assert opened.moments[1].action == timeline.moments[1].action


def test_a_scenario_file_of_before_is_read_with_a_note() -> None:
    """The data plane's verbs, too: what is committed there is a line of words."""
    script = parse(OLD_FILE)
    assert script.notes == ("line 4: join is bootstrap today",)
    timeline, _ = run(script)
    assert timeline.model.verb(timeline.moments[1].action) == "bootstrap X --tokens 150"


@pytest.mark.parametrize(
    ("old", "today"), [("remove", "removenode"), ("tcm/two-joins", "tcm/two-bootstraps")]
)
def test_scenarios_are_found_by_their_former_names(old: str, today: str) -> None:
    """A notebook of somebody's own still opens."""
    assert scenario_of(old) == scenario_of(today)
    assert file_named("tcm/two-joins") == file_named("tcm/two-bootstraps")
