"""How large a ring is: its picture with few words, and estimates that grow with it."""

from __future__ import annotations

from kit.lessons import estimates, ring_picture
from kit.protocols.tcm.spark.histories import sample


def test_a_ring_is_a_picture_with_few_words() -> None:
    """The picture stands in the output; its text names sizes, not tokens."""
    drawn = ring_picture(sample(nodes=40, tokens=5))
    told = drawn._repr_mimebundle_()
    words = "A ring of 40 nodes with 200 tokens, and bootstrap x with 5 tokens"
    assert told["text/plain"] == repr(drawn) == words
    assert "<img" in told["text/html"]


def test_estimates_grow_with_the_ranges() -> None:
    """Ten times the ranges are ten times the work; the sheet tells seconds and memory."""
    small, large = estimates(sample(), (1000, 16), (1000, 160)).rows
    assert small[2:4] == ("16,000", "0.5")
    assert large[2:4] == ("160,000", "5.4")
    assert small[4].endswith("MiB")
