"""What scenario files can show of a range and its requests."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.model.registry import output_of
from kit.model.scenario import files, open_file, parse, run
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage import facts
from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.panels.spacetime import draw_spacetime
from kit.protocols.storage.storage import Storage
from kit.views.panel import scene_at

TEXT = """# A plan that goes stale, shown from every side.
model dataplane

bootstrap X --tokens 150
apply A
apply B
apply X
write 1 at epoch 100
write 1 reaches A
write 1 reaches B
commit X
apply K1
replicas B
requests
views
log
----
"""


PLANNED = (
    "write 1: planned at 100, K1 knows 101; needs 2 of A,B,C (answered: A,B); "
    "the plan is no longer valid; still on its way to C"
)


def test_a_scenario_file_shows_replicas_requests_views_and_log() -> None:
    """Each of the four words shows a line a thing, from the facts of the moment."""
    _, (shown,) = run(parse(TEXT))
    assert shown[9:] == (
        "B at epoch 100: reads and writes, holds write 1",
        PLANNED,
        "read 2: waiting",
        "99: reads A,B,C; writes A,B,C; known to C",
        "100: reads A,B,C; writes A,B,C; known to A,B,X",
        "101: reads A,B,C; writes A,B,C,X; known to K1",
        "100: split ranges (bootstrap X at 150)",
        "101: add write replicas (bootstrap X at 150)",
    )


def test_an_unknown_replica_is_named() -> None:
    """A replica that the range does not have is refused, with those that it has."""
    model = Dataplane()
    with pytest.raises(BadInput, match="one of A, B, C, X"):
        OUTPUT["replicas"](model, model.start(), "Z")


def test_the_registry_offers_them() -> None:
    """The registry lists the four, so that scenario files may use them."""
    assert output_of("dataplane") == OUTPUT


FILES = {name: path for name, path in files().items() if name.startswith(("dataplane/", "vnodes/"))}


@pytest.mark.parametrize("name", FILES)
def test_numbers_beside_replicas_and_clients_have_one_meaning(name: str) -> None:
    """A replica is behind by what its number differs from the newest one. Where a client may plan
    at several numbers, the picture says what they are, and only there.
    """
    timeline = open_file(FILES[name])
    for at in timeline.path(timeline.tip):
        scene = scene_at(timeline, at)
        m, s = scene.model, scene.state
        if not isinstance(m, Storage):
            pytest.skip("no replicas")
        newest = facts.epoch(m, s)
        assert all(row.behind == newest - row.epoch for row in facts.replicas(m, s))
        several = any(row.oldest < row.newest for row in facts.addressees(m, s))
        words = f"several {m.history.unit}s at a client: its next request is planned at one of them"
        assert (words in draw_spacetime(scene).text()) is several
