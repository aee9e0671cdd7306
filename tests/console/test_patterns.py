"""Patterns of ``grep``: what they match, and which are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.logs import ALLOWED, compiled
from kit.errors import BadInput
from tests.examples import examples

LINE = "in dc2: needs 2; applied by B; missing D (x+y) a{2} 3^4 5$6 [ok] *"
# the pattern -> whether the line has it
READ = {
    **dict.fromkeys(["", "missing.D", "^in", r"\*$", "(x+y)", "a{2}", "[[:digit:]]"], True),
    **dict.fromkeys([r"\<B\>", r"s\{2\}", r"needs \(1\|2\);", "mis*ing", r"needx\?s"], True),
    **dict.fromkeys(["3^4", "5$6", "mi*s*s*ing"], True),
    **dict.fromkeys(["[]k]]", "[^a-z ]", f"in [{'d' * 195}]"], True),
    **dict.fromkeys(
        ["MISSING", r"missing\.D", "^D", "in$", "x^", "$d", "*x", "^*i", r"s\{3\}"], False
    ),
}
REFUSED = [
    *(
        "[",
        "[]a",
        "[[:alpha:]",
        "\\",
        r"\(a",
        r"a\)",
        r"a\1",
        r"\d",
        r"a\{2",
        "x**",
        "[[:foo:]]",
        "[b-a]",
        "[a--b]",
        "[+--]",
    ),
    *(r"\(a*\)*", r"\(a\)\{2\}", r"\(\?:a\)", "a*b*c*d*", r"a\{99999999999\}", "a" * 201, r"\+a"),
]


@pytest.mark.parametrize(("pattern", "has"), READ.items())
def test_a_pattern_is_a_basic_regular_expression(pattern: str, has: bool) -> None:
    """What Python writes without a backslash is written with one, and the other way round."""
    assert bool(compiled(pattern).search(LINE)) == has


@pytest.mark.parametrize(
    ("pattern", "has"),
    [
        *((r"a\{2\}", True), ("a{2}", False), ("ne{2}ds", True), ("^(in|by)", True)),
        *((r"\(x\+y\)", True), ("(x+y)", False), ("is+ing", True), ("D?$", True)),
        *((r"5\$6", True), (r"\<B\>", True), ("[]k]]", True), (r"[\]k", False)),
    ],
)
def test_an_extended_one_is_turned_into_a_basic_one(pattern: str, has: bool) -> None:
    """What means something without a backslash stands for itself with one."""
    assert bool(compiled(pattern, "E").search(LINE)) == has


@pytest.mark.parametrize(
    ("pattern", "has", "lacks"),
    [
        *(("[[:alpha:]]", "azAZ", "09_ "), ("[[:digit:]]", "09", "aA_ ")),
        *(("[[:alnum:]]", "azAZ09", "_ -"), ("[[:upper:]]", "AZ", "az09_")),
        *(("[[:lower:]]", "az", "AZ09_"), ("[[:xdigit:]]", "09afAF", "gG_ ")),
        *(("[[:space:]]", " \t\n", "a_"), ("[[:blank:]]", " \t", "\na_\\")),
        *((r"\w", "aZ0_", " -"), (r"\W", " -", "aZ0_"), (r"\s", " \t", "a"), (r"\S", "a", " \t")),
        *((r"\.", ".", "a"), (r"\*", "*", "a"), (r"\[", "[", "a"), (r"\]", "]", "a")),
        *((r"\^", "^", "a"), (r"\$", "$", "a"), (r"\\", "\\", "a"), (r"\/", "/", "a")),
        *((r"\-", "-", "a"), (r"[a\]", "a\\", "b"), ("[a&~|]", "a&~|", "b"), ("[[]", "[", "a")),
    ],
)
def test_what_stands_for_one_character(pattern: str, has: str, lacks: str) -> None:
    """Each of these has it, and none of those."""
    search = compiled(pattern).search
    assert [each for each in has + lacks if search(each)] == [*has]


@pytest.mark.parametrize(
    ("pattern", "has"),
    [(r"\bed", False), (r"\Bed", True), (r"\bapp", True), (r"\Bapp", False), (r"by\>", True)],
)
def test_where_a_word_begins_and_ends(pattern: str, has: bool) -> None:
    """Between a letter and what is none, or not there."""
    assert bool(compiled(pattern).search(LINE)) == has


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_not_read_is_refused_by_its_name(pattern: str) -> None:
    """One error: the pattern, and what is allowed."""
    with pytest.raises(BadInput) as wrong:
        compiled(pattern)
    assert str(wrong.value).startswith("pattern: got ")
    assert ALLOWED in str(wrong.value)


def test_the_case_counts_unless_it_is_told_otherwise() -> None:
    """As with ``-i``."""
    assert not compiled("MISSING").search(LINE)
    assert compiled("MISSING", "i").search(LINE)


@examples(200)
@given(st.text(alphabet=r"ab*\(){}|+?[]^$.:-,1", max_size=20))
def test_any_text_is_a_pattern_or_is_refused(pattern: str) -> None:
    """Nothing else is ever raised, and no warning either."""
    try:
        assert isinstance(compiled(pattern), re.Pattern)
    except BadInput:
        return
