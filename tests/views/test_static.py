"""Stored output: what stays readable when a notebook is neither trusted nor connected."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.panels.placement import draw_placements
from kit.protocols.tcm.panels.ring import ring_of
from kit.views.fragment import h
from kit.views.frame import stored_frame
from kit.views.panel import Scene
from kit.views.promises import LAMPS, draw_lamps
from kit.views.ring import draw_ring
from kit.views.static import image, standalone_svg, static_html
from kit.widgets import Player
from tests.views.frames import milestones, walk


@pytest.mark.spec("H-014")
def test_the_stored_output_needs_no_front_end() -> None:
    """The bundle has one line of text and a page part with tables and a drawing as an image."""
    player = Player("tcm/bootstrap", controls=False)
    for _ in range(4):
        player.milestone()
    bundle, _ = player._repr_mimebundle_()
    assert bundle["text/plain"] == repr(player)
    assert "\n" not in bundle["text/plain"]
    assert "0x" not in bundle["text/plain"]
    html = bundle["text/html"]
    assert "(100, 150]" in html
    assert re.search(r'<img[^>]* src="data:image/svg\+xml;base64,[^"]+" alt="token ring', html)
    for lost in ("<svg", "<style", "data-k", "<script", "<button", "class="):
        assert lost not in html


def test_an_image_carries_its_style_and_its_words() -> None:
    """A drawing as an image is a document of its own, with its label as alternative text."""
    scene = milestones(walk("tcm/bootstrap"))[1]
    ring = draw_ring(scene, ring_of)
    made = image(ring)
    assert "X at 150" in (made.get("alt") or "")
    data = (made.get("src") or "").removeprefix("data:image/svg+xml;base64,")
    document = ElementTree.fromstring(base64.b64decode(data))
    assert document.find("{http://www.w3.org/2000/svg}style") is not None
    assert "data-" not in base64.b64decode(data).decode()


def test_a_nasty_name_stays_text_in_an_image() -> None:
    """In SVG as in HTML, a name is only a name."""
    nasty = '<img src=x onerror=alert(1)></svg><script>alert("1")</script>'
    drawing = h("svg", h("text", nasty), viewBox="0 0 9 9", aria_label=nasty)
    document = ElementTree.fromstring(standalone_svg(drawing))
    words = document.find("{http://www.w3.org/2000/svg}text")
    assert words is not None
    assert words.text == nasty
    assert "<script" not in static_html(drawing, h("p", nasty))


def test_marks_are_styled_in_place() -> None:
    """Signs of change keep fill and shape without any style sheet."""
    html = static_html(draw_placements(milestones(walk("tcm/bootstrap"))[3]))
    assert re.search(r"border:2px solid #14181f[^>]*>\+X<", html)
    assert re.search(r"background:#dde1e6[^>]*>−B<", html)


def test_a_broken_lamp_and_badge_look_broken() -> None:
    """In stored output, too, a broken promise has its own sign, shape and colour."""
    model = build("tcm", off=("S-54",))
    timeline = Timeline(model)
    timeline.forward()
    scene = Scene(model, timeline.state, timeline.before, timeline.now.action)
    badge = stored_frame(scene, (LAMPS,))
    html = static_html(draw_lamps(scene), badge)
    assert len(re.findall(r"background:#b83a0b[^>]*>! 1 of 11 broken", html)) == 1
    assert len(re.findall(r"background:#b83a0b[^>]*>!<", html)) == 1


def test_a_lean_drawing_keeps_every_rule_that_it_uses() -> None:
    """A small drawing is a small file; what its parts look like stays the same."""
    drawing = h("svg", h("g", h("rect", class_="disc"), class_="joins h-d"), viewBox="0 0 9 9")
    lean, whole = (standalone_svg(drawing, lean=flag) for flag in (True, False))
    assert len(lean) < len(whole) / 2
    assert ".joins)>.disc{fill:var(--bg)" in lean
    assert ".h-d{--h:#12846d;--on:#ffffff;--ed:var(--xd);}" in lean
    assert "--xd:#0b6b57" in lean
    assert "--bg:#fbfbf9" in lean
    assert ".h-a" not in lean
    assert "--xa" not in lean


def test_a_rule_of_several_things_is_kept_for_one_of_them() -> None:
    """A disk that holds nothing has the colour of a disk, though the rule names its filling too."""
    lean = standalone_svg(h("svg", h("path", class_="drum"), viewBox="0 0 9 9"), lean=True)
    assert ".drum,.level{fill:var(--raised)" in lean
    assert "--raised:" in lean


def test_words_of_neighbours_stay_apart() -> None:
    """Without a style sheet, two neighbouring pieces of text do not run into one word."""
    html = static_html(h("p", h("strong", "4"), h("span", "drop"), ", done", h("b", "✓"), "split"))
    assert "4</strong> <span" in html
    assert "drop</span>, done" in html
    assert "✓</b> split" in html


def test_a_replica_that_is_only_written_to_has_a_double_edge() -> None:
    """It is not read yet; so it is in stored output, too."""
    html = static_html(draw_placements(milestones(walk("tcm/bootstrap"))[2]))
    assert re.search(r"border:4px double #14181f[^>]*>\+X<", html)
