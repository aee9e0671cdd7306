"""The numbers of epochs and versions beside replicas and clients: one meaning each."""

from __future__ import annotations

import pytest

from kit.model.scenario import files, open_file
from kit.protocols.storage import facts
from kit.protocols.storage.panels.spacetime import draw_spacetime
from kit.protocols.storage.storage import Storage
from kit.views.panel import scene_at

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
