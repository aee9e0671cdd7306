"""The exported page: whole, small, closed to the network, and honest about what it left out."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from kit.errors import BadInput, KitError
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.export import CHOOSE, UNPACK, closed_words, export_html, export_stories
from kit.views.rendered import RenderedTimeline
from kit.views.shell import browser_module, shell
from tests.views.frames import walk
from tools.reference import unzipped


def walked(steps: int, nodes: int) -> Timeline:
    """A walk of this many steps over joins to a cluster with RF 3."""
    operations = [f"bootstrap X{i} --tokens {100 * i + 50}" for i in range(1, 9)]
    timeline = Timeline(build("tcm", {"nodes": nodes, "rf": 3, "operations": operations}))
    while len(timeline.moments) <= steps:
        assert timeline.forward() is not None
    return timeline


def test_the_first_frame_reads_without_scripts(tmp_path: Path) -> None:
    """The page holds the first frame as plain HTML, under a policy that lets nothing through. Rules
    that only players need are packed.
    """
    made = export_html(walk("tcm/bootstrap"), tmp_path / "page.html")
    page = made.path.read_text(encoding="utf-8")
    assert made.size == len(page.encode())
    assert made.left_out == ()
    assert "default-src 'none'" in page
    before_scripts = page[: page.index('<script type="text/plain"')]
    assert "(100, 200]" in before_scripts
    assert "read from" in before_scripts
    assert ".kp-readable" in before_scripts
    assert ".kp-film" not in before_scripts
    assert "unsafe-inline" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


def test_the_policy_lets_in_the_packed_module_alone(tmp_path: Path) -> None:
    """Two scripts may run: the one that unpacks, and the player's module as it was packed."""
    page = export_html(walk("tcm/bootstrap"), tmp_path / "page.html").path.read_text("utf-8")
    packed = re.search(r'<script type="text/plain" id="module">([^<]+)</script>', page)
    unpacking = re.search(r'<script type="module">(.+?)</script>', page, re.DOTALL)
    assert packed
    assert unpacking
    module = unzipped(packed[1])
    assert module.decode() == browser_module("page")
    allowed = re.search(r"script-src ([^;]+);", page)
    assert allowed
    digests = (hashlib.sha256(code).digest() for code in (unpacking[1].encode(), module))
    assert allowed[1] == " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests)


def test_acting_is_shown_but_closed(tmp_path: Path) -> None:
    """Every action is there, disabled, and the page has the sentence that says where to act."""
    timeline = walk("tcm/bootstrap")
    page = export_html(timeline, tmp_path / "page.html").path.read_text("utf-8")
    assert 'data-closed="This page is an export. To act, open the trace in the notebook' in page
    shown = RenderedTimeline(timeline, closed=closed_words()).html(timeline.at)
    acts = re.findall(r'<button[^>]*data-act="(?:do|macro):[^>]*>', shown)
    assert len(acts) > 5
    assert all('aria-disabled="true"' in one for one in acts if "op:" not in one)


def test_next_is_the_step_that_was_recorded(tmp_path: Path) -> None:
    """At each moment the button *next* goes to what was done there, whatever could be done; what
    the model would do next is closed at the end alone.
    """
    timeline = Timeline(build("twophase"))
    for verb in ("prepare RM1", "prepare RM0"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    rendered = RenderedTimeline(timeline, closed=closed_words())
    for moment in (0, 1, 2):
        button = re.search(r"<button[^>]*kp-next[^>]*>", rendered.html(moment))
        assert button is not None
        assert ('data-do="step"' in button[0]) == (moment < 2)
        assert ('aria-disabled="true"' in button[0]) == (moment == 2)
    timeline.at = 0
    timeline.forward()  # along the branch
    timeline.at = 0
    option = timeline.model.find(timeline.state, "prepare RM0")
    assert option is not None
    timeline.do(option[0])
    forked = RenderedTimeline(timeline, closed=closed_words()).html(0)
    assert re.search(r'kp-next[^>]*data-do="visit" data-moment="[13]"', forked)


def test_pages_are_repeatable(tmp_path: Path) -> None:
    """Equal histories give equal bytes."""
    one = export_html(walk("tcm/bootstrap"), tmp_path / "a.html").path.read_bytes()
    two = export_html(walk("tcm/bootstrap"), tmp_path / "b.html").path.read_bytes()
    assert one == two


def test_two_hundred_steps_of_ten_nodes_fit_in_250_kb(tmp_path: Path) -> None:
    """200 steps, 10 nodes, RF 3, all panels: at most 240,000 bytes with nothing left out."""
    made = export_html(walked(200, nodes=10), tmp_path / "ten.html", limit=240_000)
    assert made.left_out == ()
    assert made.size <= 240_000


@pytest.mark.deep
def test_two_hundred_steps_of_64_ranges_fit_in_500_kb(tmp_path: Path) -> None:
    """200 steps over 64 ranges fit the usual limit with nothing left out."""
    made = export_html(walked(200, nodes=64), tmp_path / "large.html")
    assert made.left_out == ()
    assert made.size <= 500_000


def test_beyond_the_limit_the_page_says_what_it_left_out(tmp_path: Path) -> None:
    """A smaller limit costs optional panels first, then other branches, and the page says so."""
    timeline = walk("tcm/bootstrap")
    while timeline.forward() is not None:
        pass
    whole = export_html(timeline, tmp_path / "whole.html")
    made = export_html(timeline, tmp_path / "small.html", limit=whole.size - 1)
    assert made.size < whole.size
    assert made.left_out
    assert all("panel" in one for one in made.left_out)
    assert (
        made.left_out[0] == "panel Logical replicas"
    )  # what takes most room of what may be left out
    assert f"Left out to keep this page small: {made.left_out[0]}" in made.path.read_text("utf-8")


def test_an_impossible_limit_names_the_biggest_parts(tmp_path: Path) -> None:
    """When not even the least page fits, the error names what is large, and nothing is written."""
    with pytest.raises(KitError, match=r"biggest parts: \w+ \("):
        export_html(walk("tcm/bootstrap"), tmp_path / "none.html", limit=1000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["", "no/such/folder/page.html"])
def test_a_place_that_is_none_is_refused(place: str, tmp_path: Path) -> None:
    """A folder, or a file in a folder that is not there, is named with what is allowed."""
    with pytest.raises(BadInput, match="a writable place"):
        export_html(walk("tcm/bootstrap"), tmp_path / place)


def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    """The limit is a positive number of bytes."""
    with pytest.raises(BadInput, match="limit"):
        export_html(walk("tcm/bootstrap"), tmp_path / "page.html", limit=0)


def test_a_page_can_be_written_over(tmp_path: Path) -> None:
    """Writing again replaces the page as a whole and leaves nothing beside it."""
    path = tmp_path / "page.html"
    path.write_text("old")
    export_html(walk("tcm/bootstrap"), path)
    assert "old" not in path.read_text("utf-8")[:3]
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_what_was_written_links_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook keeps a link to the page beside it, and the name of the page is text."""
    monkeypatch.chdir(tmp_path)
    told = export_html(walked(2, nodes=10), tmp_path / "a <b> page.html")._repr_mimebundle_()
    assert told["text/plain"] == "The run as a page: a <b> page.html."
    assert '<a href="a%20%3Cb%3E%20page.html">a &lt;b&gt; page.html</a>' in told["text/html"]


def test_several_stories_are_one_page(tmp_path: Path) -> None:
    """A page of two stories lists both by name, has a pack each, and lets in nothing more."""
    told = {"<one>": walk("tcm/bootstrap"), "two": walk("twophase/commit")}
    text = export_stories("both", told, tmp_path / "both.html").path.read_text("utf-8")
    assert re.findall(r'<a href="(\?\d)">([^<]+)</a>', text) == [
        ("?1", "&lt;one&gt;"),
        ("?2", "two"),
    ]
    assert re.findall(r'id="(pack[^"]*)"', text) == ["pack?1", "pack?2"]
    first = base64.b64encode(hashlib.sha256((CHOOSE + UNPACK).encode()).digest()).decode()
    assert f"script-src 'sha256-{first}'" in text
    assert "(100, 200]" in text[: text.index('<script type="text/plain"')]


def test_a_page_of_stories_that_is_too_large_is_not_written(tmp_path: Path) -> None:
    """Nothing is left out of several stories: above the limit there is one line, and no file."""
    told = {name: walk("tcm/bootstrap") for name in ("one", "two")}
    with pytest.raises(KitError, match="choose fewer stories"):
        export_stories("both", told, tmp_path / "both.html", limit=50_000)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("asks", [True, False])
def test_a_page_shows_no_control_that_does_nothing_there(tmp_path: Path, asks: bool) -> None:
    """Nobody can fork it or ask for the whole run as text; it predicts where it has questions."""
    timeline = walked(9 if asks else 0, nodes=10)
    shown = export_html(timeline, tmp_path / "page.html").path.read_text(encoding="utf-8")
    board = shown.partition("<main")[2].partition("</main>")[0]
    for control in ("fork", "copy"):
        assert f'data-do="{control}"' in shell().html()
        assert f'data-do="{control}"' not in board
    [predict] = re.findall(r'<button[^>]*data-do="predict"[^>]*>', board)
    assert ("hidden" in predict) is not asks
