"""Fragments escape everything and can express nothing that runs."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.views.fragment import ATTRIBUTES, Frag, h, keys
from tests.keyed import check_keys

NASTY = ["<img src=x onerror=alert(1)>", "</script>", "<!--0-->", "\"'&", "a\x00b", "]]>"]


class Reader(HTMLParser):
    """Reads HTML back: the words, and every tag and attribute that it found."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.comments: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        """Note words."""
        self.words += data

    def handle_comment(self, data: str) -> None:
        """Note a comment."""
        self.comments.append(data)


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_only_text(name: str) -> None:
    """Whatever stands in text, attribute or key is read back as text, never as markup."""
    read = Reader(h("p", name, k=name, title=name).html())
    assert read.tags == ["p"]
    assert read.comments == []
    clean = name.replace("\x00", "\ufffd")
    assert read.words == clean
    assert read.attributes == [("data-k", clean), ("title", clean)]


@given(st.text(), st.text(), st.text())
def test_any_text_comes_back(text: str, value: str, key: str) -> None:
    """Any text survives writing and reading, but for control characters, which are replaced."""
    read = Reader(h("b", text, k=key, title=value).html())
    assert read.tags[0] == "b"
    assert set(read.tags[1:]) <= {"wbr"}
    assert read.comments == []
    for wrote, found in ((text, read.words), (value, dict(read.attributes)["title"])):
        kept = "".join(c if c in "\t\n" or (c.isprintable() or c == " ") else "" for c in wrote)
        there = "".join(
            c if c in "\t\n" or (c.isprintable() or c == " ") else "" for c in found or ""
        )
        assert there.replace("\ufffd", "") == kept.replace("\ufffd", "")


@pytest.mark.parametrize("tag", ["script", "style", "iframe", "a", "foreignObject", "use", "P"])
def test_unsafe_tags_cannot_be_made(tag: str) -> None:
    """A tag outside the closed list is an error in the view that asks for it."""
    with pytest.raises(ValueError, match="not allowed"):
        h(tag)


@pytest.mark.parametrize("name", ["onclick", "style", "href", "srcdoc", "action", "xlink_href"])
def test_unsafe_attributes_cannot_be_made(name: str) -> None:
    """Handlers, inline styles and links are not in the closed list."""
    assert name not in ATTRIBUTES
    with pytest.raises(ValueError, match="not allowed"):
        h("div", **{name: "x"})


def test_an_image_shows_only_what_it_carries() -> None:
    """An image has its data in itself; no address can be given."""
    with pytest.raises(ValueError, match="data:image"):
        h("img", src="https://example.org/x.png")
    assert h("img", src="data:image/png;base64,AAAA", alt="").tag == "img"


def test_a_key_is_used_once_in_a_frame() -> None:
    """Two parts with one key are refused, however deep they lie."""
    twice = h("div", h("p", k="n:1"), h("p", h("b", k="n:1")))
    assert keys(twice) == ("n:1", "n:1")
    with pytest.raises(ValueError, match="n:1"):
        check_keys(twice)


def test_children_are_flattened_and_joined() -> None:
    """Nested lists, numbers and None become one flat run; neighbouring words are one text."""
    made = h("p", "a", [1, None, ["b", 2.50]], h("b", "c"))
    assert made.kids == ("a1b2.5", h("b", "c"))
    assert made.text() == "a1b2.5 c"
    assert isinstance(made.kids[1], Frag)


def test_attributes_keep_their_order_and_drop_what_is_false() -> None:
    """None and False leave an attribute out, True writes it empty, underscores become dashes."""
    made = h("input", type="checkbox", checked=True, disabled=False, aria_label=None, data_x=1)
    assert made.html() == '<input type="checkbox" checked="" data-x="1">'


def test_lines_are_those_that_a_reader_sees() -> None:
    """A line for each paragraph, item and row; cells stand apart; names make neither."""
    made = h(
        "div",
        h("p", "All is ", h("b", "well"), "."),
        h(
            "table",
            h("caption", "Nodes"),
            h("tr", h("th", "node"), h("th", "reads")),
            h("tr", h("th", "A\nB\tC"), h("td", h("span", "1"), h("span", "2"))),
            h("tr", h("th", "D"), h("td")),
        ),
        h("ul", h("li", "one"), h("li"), h("li", h("img", alt="a ring"))),
        "and so on",
    )
    assert made.lines() == [
        "All is well.",
        "Nodes",
        "node  reads",
        "A B C  1 2",
        "D",
        "one",
        "a ring",
        "and so on",
    ]


def test_a_long_name_may_be_broken_at_its_joints() -> None:
    """In a cell a line may break after an underline, a sign or a dot; letters are as they were."""
    names = ("write_both_read_new", "system.discovery", "1+2", "10.0.0.1", "Done. Next", "_x")
    cell = h("td", " ".join(names))
    broken = "write_|both_|read_|new system.|discovery 1+|2 10.0.0.1 Done. Next _x"
    assert cell.html() == f"<td>{broken.replace('|', '<wbr>')}</td>"
    assert cell.text() == Reader(cell.html()).words == " ".join(names)
    for tag in ("option", "pre", "text"):
        assert h(tag, "a_b").html() == f"<{tag}>a_b</{tag}>"
