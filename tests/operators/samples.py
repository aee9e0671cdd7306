"""Sample files in the tools' formats, written by us, and clusters to print and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.opening import Imported, open_ring
from tests.operators.printing import Host, host_id

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "nodetool"
CASSANDRA, SCYLLA, DUMPS = FOLDER / "cassandra", FOLDER / "scylla", FOLDER / "dumps"
NETWORK = 'shop={"class": "NetworkTopologyStrategy", "amsterdam": 2, "bergen": 2}'
SIMPLE = "events={'class': 'SimpleStrategy', 'replication_factor': '3'}"
HEALTH = ("Up", "Down")
STATES = ("Normal", "Normal", "Joining", "Leaving", "Moving")
RACKS = ("r1", "r2", "a-rack-of-14-x", "a rack", "groUp")


def text_of(path: Path) -> str:
    """A sample as text."""
    return path.read_text(encoding="utf-8")


def opened(*paths: Path, keyspaces: tuple[str, ...] = ()) -> Imported:
    """Samples opened together."""
    return open_ring(paths, keyspaces)


@st.composite
def clusters(draw: st.DrawFn) -> list[Host]:
    """Clusters of some nodes in up to three datacenters; the first node always owns its tokens."""
    count = draw(st.integers(1, 6))
    tokens = draw(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=count, max_size=4 * count, unique=True)
    )
    family = draw(st.sampled_from(("10.0.{}.{}", "2001:db8:{}::{}")))
    hosts = []
    for at in range(count):
        dc = draw(st.integers(1, 3))
        state = "Normal" if at == 0 else draw(st.sampled_from(STATES))
        hosts.append(
            Host(
                family.format(dc, at + 1),
                tuple(sorted(tokens[at::count])),
                f"dc{dc}",
                draw(st.sampled_from(RACKS)),
                draw(st.sampled_from(HEALTH)),
                state,
                draw(st.sampled_from(("?", "0 bytes", "1.5 GiB", "306,77 KB"))),
                host_id(at),
            )
        )
    return hosts


def refused(paths: tuple[Path, ...], keyspaces: tuple[str, ...] = ()) -> str:
    """The one line with which samples are refused."""
    with pytest.raises(BadInput) as caught:
        open_ring(paths, keyspaces)
    return one_line(caught.value)


def one_line(error: BadInput) -> str:
    """An error's text, which is one line of bearable length."""
    text = str(error)
    assert "\n" not in text
    assert len(text) < 500
    return text
