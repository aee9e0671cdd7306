"""The gallery: a small picture of each model at the step that it names, with words beside it."""

from __future__ import annotations

import re

from PIL import Image

from kit.model.registry import entries
from tests.house.source import ROOT
from tools import gallery

MOST_EACH, MOST_TOGETHER = 60_000, 2_000_000  # bytes
SHOWN = re.compile(r"!\[([^\]]*)\]\((?:../)?images/gallery/([\w-]+\.png)\)")


def test_each_model_that_tells_a_story_has_a_picture_of_its_step() -> None:
    """There is one for each, and no other; it holds the step that the gallery names."""
    told = gallery.all_told()
    assert {one.model for one in told} == {one.name for one in entries().values() if one.scenarios}
    assert {path.name for path in gallery.FOLDER.iterdir()} == {one.file for one in told}
    old = []
    for one in told:
        with Image.open(gallery.FOLDER / one.file) as picture:
            if picture.info.get(gallery.SHOWS) != one.address:
                old.append(one.file)
    assert not old, "make screenshots"


def test_the_pictures_are_small() -> None:
    """Each is at most 60 kB, all are at most 2 MB."""
    sizes = [path.stat().st_size for path in gallery.FOLDER.iterdir()]
    assert max(sizes) <= MOST_EACH
    assert sum(sizes) <= MOST_TOGETHER


def test_the_gallery_shows_all_and_the_readme_six() -> None:
    """Each picture is shown once, with words of its own for those who do not see it."""
    for name, count in (("docs/gallery.md", len(gallery.all_told())), ("README.md", 6)):
        found = SHOWN.findall((ROOT / name).read_text(encoding="utf-8"))
        assert len({file for _, file in found}) == len(found) == count
        words = [said for said, _ in found]
        assert len(set(words)) == count
        assert min(len(said.split()) for said in words) >= 4
        assert all((gallery.FOLDER / file).is_file() for _, file in found)


def test_most_is_to_see_at_the_step_that_is_shown() -> None:
    """It is never the start, where nothing has happened yet."""
    assert all(0 < one.step <= one.last for one in gallery.all_told())
