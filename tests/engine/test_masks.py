"""Sets as bits: which are chosen, and where something holds."""

from hypothesis import given
from hypothesis import strategies as st

from kit.masks import chosen, where


@given(st.lists(st.booleans(), max_size=130))
def test_where_and_chosen_are_each_other_read_backwards(held: list[bool]) -> None:
    """What is chosen of the places by a set is where it holds."""
    mask = where(held)
    places = tuple(place for place, there in enumerate(held) if there)
    assert chosen(range(len(held)), mask) == places
    assert mask == sum(1 << place for place in places)
