"""Sets as bits: which are chosen, where something holds, and who is in one."""

from hypothesis import given
from hypothesis import strategies as st

from kit.masks import among, chosen, holds, mask_of, members, nodes_in, union, where, within


@given(st.lists(st.booleans(), max_size=130))
def test_where_and_chosen_are_each_other_read_backwards(held: list[bool]) -> None:
    """What is chosen of the places by a set is where it holds."""
    mask = where(held)
    places = tuple(place for place, there in enumerate(held) if there)
    assert chosen(range(len(held)), mask) == places
    assert mask == sum(1 << place for place in places)


@given(st.lists(st.sets(st.integers(0, 80)), max_size=5))
def test_a_set_has_the_members_it_was_made_of(sets: list[set[int]]) -> None:
    """Of one set, and of all that is in one of several."""
    masks = list(map(mask_of, sets))
    for mask, there in zip(masks, sets, strict=True):
        assert tuple(nodes_in(mask)) == members(mask) == tuple(sorted(there))
        assert {i for i in range(90) if holds(mask, i)} == there
    assert set(nodes_in(union(masks))) == set().union(*sets)


@given(st.lists(st.integers(0, 40), unique=True), st.integers(0, 2**40))
def test_places_in_a_list_and_back(able: list[int], mask: int) -> None:
    """A set of nodes within a list comes back as those of them that are in the list."""
    assert among(able, within(able, mask)) == mask & mask_of(able)
