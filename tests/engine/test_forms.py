"""Lines that are typed, read by forms: what fits, what is wrong, what may follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kit.engine.forms import LONGEST_LINE, Bare, Form, Grammar, Slot
from kit.errors import BadInput


def _same(moment: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    return given


FORMS = (
    Form("put {fruit} on {table}", "one", _same),
    Form("put all {fruits} on {table}", "several", _same),
    Form("SAY {words} = {number}", "a statement", _same, offered=False, own=True),
    Form("open 'the door'", "a fixed text in quotes", _same),
)
SLOTS = {
    "fruit": Slot("a fruit", lambda moment: moment),
    "fruits": Slot("fruits", lambda moment: moment, many=True),
    "table": Slot("a table", lambda moment: ("one", "two")),
    "words": Slot("words in quotes", quoted=True),
    "number": Slot("a number"),
}
MOMENT = ("apple", "pear")
GRAMMAR = Grammar(FORMS, SLOTS)


def read(line: str) -> tuple[str, dict[str, Any]]:
    """What a line is for, and what stands in its slots."""
    form, given = GRAMMAR.read(line, MOMENT)
    return form.about, dict(given)


def wrong(line: str) -> str:
    """Why a line is refused."""
    with pytest.raises(BadInput) as error:
        GRAMMAR.read(line, MOMENT)
    return str(error.value)


def test_a_line_is_read_by_its_form() -> None:
    """Own words in any case, several values with commas, a semicolon at the end."""
    assert read("put apple on one") == ("one", {"fruit": "apple", "table": "one"})
    several = {"fruits": ("apple", "pear"), "table": "two"}
    assert read("put all apple, pear on two") == read("put all apple,pear on two")
    assert read("put all apple , pear on two;") == ("several", several)
    assert read("say 'it''s so'=7 ;") == ("a statement", {"words": "it's so", "number": "7"})
    assert read('open "the door"')[0] == "a fixed text in quotes"


STATEMENTS = Grammar(
    [
        Form("UPDATE shop.orders SET value = {text} WHERE key = 'a b'", "write", _same),
        Form("INSERT INTO shop.orders (id) VALUES ({number})", "insert", _same),
        Form("DELETE FROM shop.orders WHERE id = {id}", "delete", _same),
        Form("systemctl start shop", "start", _same),
        Form("take {fruits} from {id}", "take", _same),
    ],
    {
        **SLOTS,
        "text": Slot("a text", quoted=True, is_text=True),
        "id": Slot("an id", lambda moment: ("0000000a-0000-4000-8000-00000000000a",)),
    },
)
UPDATE = "UPDATE shop.orders SET value = 'x' WHERE key = 'a b'"
DELETE = "DELETE FROM shop.orders WHERE id = 0000000a-0000-4000-8000-00000000000a"


@pytest.mark.parametrize(
    "line",
    [
        UPDATE.lower(),
        UPDATE.replace(" SET ", "\t SET\t"),
        UPDATE.replace(" = ", "="),
        UPDATE.replace("'a b'", "'a b'; ;"),
        f"{UPDATE}; -- note",
        f"{UPDATE} // note 'x",
        UPDATE.replace("SET", "/* it's one; */ SET"),
        UPDATE.replace("shop.orders", '"shop"."orders"'),
        UPDATE.replace("shop.orders", "shop . orders"),
        UPDATE.replace("value", '"value"'),
        f'cqlsh -e "{UPDATE}"',
        f"cqlsh --execute='{DELETE}'",
        f"cqlsh -e '{DELETE}'  # now",
        f'sudo -u shop cqlsh -e "{DELETE}"',
        "sudo -u shop systemctl start shop",
        "INSERT INTO shop.orders(id) VALUES(7)",
        "insert into shop.orders ( id ) values ( 7 );",
        DELETE.upper(),
        DELETE.replace("shop.orders", "shop . orders"),
        "INSERT INTO shop.orders (id) VALUES (-7)",
        "'take' apple \"from\" 0000000a-0000-4000-8000-00000000000a",
        "sudo systemctl start shop.service  # now",
        "take apple,pear from '0000000A-0000-4000-8000-00000000000A'",
        "take 'apple,pear' from 0000000a-0000-4000-8000-00000000000a;",
    ],
)
def test_a_line_is_written_as_its_own_language_has_it(line: str) -> None:
    """Case, blanks, comments, quoted names of CQL; quotes, comments and sudo of a shell."""
    STATEMENTS.read(line, MOMENT)


@pytest.mark.parametrize(
    "line",
    [
        UPDATE.replace("'x'", '"x"'),
        UPDATE.replace("'x'", "x"),
        UPDATE.replace("'x'", "7"),
        UPDATE.replace("'a b'", '"a b"'),
        UPDATE.replace("shop.orders", "'shop.orders'"),
        UPDATE.replace("value", '"VALUE"'),
        UPDATE.replace("SET", '"SET"'),
        f"{UPDATE} # note",
        f"sudo {UPDATE}",
        f"cqlsh {UPDATE}",
        "INSERT INTO shop.orders id VALUES (7)",
        DELETE.replace("0000000a-", "'0000000a-") + "'",
        "systemctl start shop.service.service",
        "systemctl start shop -- now",
        "SYSTEMCTL start shop",
        "systemctl START shop",
        "Sudo systemctl start shop",
        "sudo -u shop",
        "take apple pear from 0000000a-0000-4000-8000-00000000000a",
    ],
)
def test_what_its_language_refuses_is_refused(line: str) -> None:
    """A text of CQL is in single quotes, and a name is not; nor has it a shell's comments."""
    with pytest.raises(BadInput):
        STATEMENTS.read(line, MOMENT)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cqlsh -e 'systemctl start shop'", "-e: got 'systemctl start shop'; allowed: a statement"),
        ('cqlsh -e "help"', "cqlsh -e: got 'help'; allowed: a statement that begins with one of "),
        ("cqlsh -e ''", "cqlsh -e: got ''; allowed: a statement"),
        ('cqlsh -e ""', "cqlsh -e: got ''; allowed: a statement"),
        (f"cqlsh -e {DELETE}", "; allowed: -e and one statement in quotes"),
        ("cqlsh", "cqlsh: got 'nothing'; allowed: -e and one statement in quotes"),
        ("cqlsh -f file", "a statement can also be typed without cqlsh"),
        ("systemctl start shop && reboot", "line: got '&&'; allowed: one command on one line"),
        ("systemctl start shop; reboot", "line: got ';'; allowed: one command on one line"),
        (f"{DELETE}; {DELETE}", "line: got ';'; allowed: one command on one line"),
        ("Systemctl start shop", "a command of this drill. Did you mean systemctl? help"),
    ],
)
def test_what_a_shell_would_take_says_what_is_wrong(line: str, said: str) -> None:
    """``cqlsh`` takes one statement of CQL, and a line is one command, in its own case."""
    with pytest.raises(BadInput, match=re.escape(said)):
        STATEMENTS.read(line, MOMENT)


def test_an_equals_sign_behind_an_option_says_nothing() -> None:
    """``--fruit=apple`` is ``--fruit apple``."""
    grammar = Grammar([Form("take --fruit {fruit}", "", _same)], SLOTS)
    assert grammar.read("take --fruit=pear", MOMENT)[1] == {"fruit": "pear"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "command: got 'nothing'; allowed: one of "),
        ("putt apple", "got 'putt'; allowed: a command of this drill. Did you mean put?"),
        ("put plum on one", "put: got 'plum'; allowed: a fruit: one of apple, pear; or one of all"),
        ("put apple", "put apple: got 'nothing'; allowed: one of on (put FRUIT on TABLE)"),
        ("put all apple, on one", "got 'on'; allowed: fruits: one of apple, pear"),
        ("put all apple,", "put all apple ,: got 'nothing'; allowed: fruits"),
        ("put apple on one two", "got 'two'; allowed: nothing more: put FRUIT on TABLE"),
        ("say word = 7", "SAY: got 'word'; allowed: words in quotes (SAY WORDS = NUMBER)"),
        ("say 'word' = ,", "got ','; allowed: a number"),
        ("say 'word", """quotes: got "'word"; allowed: a closing '"""),
        ("put\napple", "allowed: one command on one line"),
        ("x" * (LONGEST_LINE + 1), "line: got '2,001 characters'; allowed: one command"),
    ],
)  # fmt: skip
def test_an_error_names_the_first_word_that_is_wrong(line: str, said: str) -> None:
    """With what is allowed there, the nearest first, and the forms that go so far."""
    assert said in wrong(line).replace("say:", "SAY:")


def test_a_line_is_completed_word_by_word() -> None:
    """Fixed words and values, in quotes where a slot is; nothing where no form goes so far."""
    assert GRAMMAR.complete("pu", MOMENT) == ("put",)
    assert GRAMMAR.complete("put ", MOMENT) == ("put apple", "put pear", "put all")
    assert GRAMMAR.complete("put all apple, p", MOMENT) == ("put all apple, pear",)
    assert GRAMMAR.complete("put apple on ", MOMENT) == ("put apple on one", "put apple on two")
    assert GRAMMAR.complete("open 'the", MOMENT) == ("open 'the door'",)
    assert GRAMMAR.complete("put plum ", MOMENT) == ()
    assert GRAMMAR.complete("say 'a' 'b", MOMENT) == ()


def test_forms_with_few_values_are_offered_as_lines() -> None:
    """Several values stand together; a form with too many has no line, another is not offered."""
    offers = {form.about: lines for form, lines in GRAMMAR.offers(MOMENT)}
    assert offers["one"][0] == "put apple on one"
    assert len(offers["one"]) == 4
    assert offers["several"][1] == "put all apple, pear on two"
    assert "a statement" not in offers
    assert {f.about: x for f, x in GRAMMAR.offers(MOMENT, most=1)}["one"] == ()
    assert {f.about: x for f, x in GRAMMAR.offers(MOMENT, most=2)}["one"] == offers["one"]


SHELL = Grammar(
    [
        Form("grep {options} {text} {file}", "search", _same),
        Form("cat {file}", "read", _same),
        Form("note {text}", "note", _same, own=True),
    ],
    {
        "options": Slot("options", options={"-i": False, "-A": True}),
        "text": Slot("a text"),
        "file": Slot("a file"),
    },
)


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("grep -i a log", {"options": ("-i",), "text": "a", "file": "log"}),
        ("grep '-i' log", {"options": (), "text": "-i", "file": "log"}),
        ("grep - log", {"options": (), "text": "-", "file": "log"}),
        ("grep ';' log", {"options": (), "text": ";", "file": "log"}),
        ("cat .log", {"file": ".log"}),
        ("note -x", {"text": "-x"}),
        ("cat -x", None),
        ("grep -i log", None),
        (f"cat {'x' * (LONGEST_LINE - 4)}", {"file": "x" * (LONGEST_LINE - 4)}),
    ],
)
def test_what_begins_with_a_dash_is_an_option(line: str, given: dict[str, Any] | None) -> None:
    """Not in quotes, not a dash alone, and not of the kit's own words."""
    if given is None:
        with pytest.raises(BadInput):
            SHELL.read(line, MOMENT)
    else:
        assert SHELL.read(line, MOMENT)[1] == given


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("UPDATE shop.orders SET value = 'x' WHE", ("WHERE",)),
        ("UPDATE shop.orders SET value = '5\"' WHE", ("WHERE",)),
        ("UPDATE shop.orders SET value = 'x'", (" = 'x'WHERE",)),
        ("take 'apple' fr", ("from",)),
        ('take "apple" fr', ("from",)),
        ('take "it\'s" fr', ()),
        ("take 'app", ()),
    ],
)
def test_a_word_behind_a_text_in_quotes_is_completed(line: str, ends: tuple[str, ...]) -> None:
    """Quotes that are closed are behind one; those that are open begin the word."""
    lines = STATEMENTS.complete(line, MOMENT)
    assert len(lines) == len(ends)
    assert all(whole.endswith(end) for whole, end in zip(lines, ends, strict=True))


def test_what_the_model_lacks_is_read_last_and_never_completed() -> None:
    """Wherever it stands among the forms; a line that is too long goes on with nothing."""
    lacking = Form("put {fruit} away", "none", _same, absent=True)
    wider = Form("put {fruit} on {table}", "none", _same, absent=True)
    grammar = Grammar((lacking, wider, *FORMS), SLOTS)
    assert grammar.read("put apple on one", MOMENT)[0] is FORMS[0]
    assert grammar.read("put plum on seven", MOMENT)[0] is wider
    assert grammar.read("put apple away", MOMENT)[0] is lacking
    assert grammar.complete("put apple ", MOMENT) == ("put apple on",)
    with pytest.raises(BadInput, match=r"one of on \(put FRUIT on TABLE\)$"):
        grammar.read("put apple", MOMENT)
    only = Grammar((Form("lose {fruit}", "none", _same, absent=True), FORMS[0]), SLOTS)
    with pytest.raises(BadInput, match=r"allowed: one of put$"):
        only.read("", MOMENT)
    assert grammar.complete("put apple " + LONGEST_LINE * "x" + " ", MOMENT) == ()


def test_a_form_is_offered_without_lines_where_there_is_nothing_to_name() -> None:
    """Neither one thing nor several."""
    offered = {form.about: lines for form, lines in GRAMMAR.offers(())}
    assert offered == {"one": (), "several": (), "a fixed text in quotes": ("open 'the door'",)}


def test_a_comma_in_quotes_parts_only_what_may_be_several() -> None:
    """Where a slot has one value it is a part of that."""
    slots = {"one": Slot("a text"), "more": Slot("texts", many=True)}
    grammar = Grammar((Form("note {one}", "", _same), Form("list {more}", "", _same)), slots)
    assert grammar.read("note 'a,b'", MOMENT)[1] == {"one": "a,b"}
    assert grammar.read("list 'a,b'", MOMENT)[1] == {"more": ("a", "b")}


OPTIONS = Grammar(
    [
        Form("grep {options} {text}", "search", _same),
        Form("tail {options} {text} {options}", "the end", _same),
    ],
    {
        "options": Slot(
            "options", options={"-i": False, "-A": True, "--all": False, "--lines": True}
        ),
        "text": Slot("a text"),
    },
)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("grep a", ()),
        ("grep -i a", ("-i",)),
        ("grep -A 3 a", ("-A=3",)),
        ("grep -A3 a", ("-A=3",)),
        ("grep -iA3 a", ("-i", "-A=3")),
        ("grep -iA 3 a", ("-i", "-A=3")),
        ("grep -i -A i a", ("-i", "-A=i")),
        ("grep --all a", ("--all",)),
        ("grep --lines 3 a", ("--lines=3",)),
        ("grep --lines=3 -i a", ("--lines=3", "-i")),
        ("grep --all --lines = 3 a", ("--all", "--lines=3")),
        ("tail a", ()),
        ("tail -i a", ("-i",)),
        ("tail a -A 3", ("-A=3",)),
        ("tail a --lines = 3", ("--lines=3",)),
        ("tail -i a --all", ("-i", "--all")),
    ],
)
def test_options_stand_alone_or_together(line: str, options: tuple[str, ...]) -> None:
    """A value stands behind its option, or at once; a place may have none of them."""
    given = OPTIONS.read(line, MOMENT)[1]
    assert given == {"options": options, "text": "a"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("grep -x a", "grep: got '-x'; allowed: options"),
        ("grep -ix a", "grep: got '-ix'; allowed: options"),
        ("grep -i -A", "grep -i -A: got 'nothing'; allowed: options"),
        ("grep --allow a", "grep: got '--allow'; allowed: options"),
        ("= a", "got '='; allowed: a command of this drill."),
        ("gre a", "a command of this drill. Did you mean grep?"),
    ],
)
def test_what_is_no_option_is_refused(line: str, said: str) -> None:
    """Also among others behind one dash, and one that lacks its value."""
    with pytest.raises(BadInput, match=re.escape(said)):
        OPTIONS.read(line, MOMENT)


def test_the_command_that_is_nearest_is_meant() -> None:
    """Of two that are like what was typed."""
    like_each_other = Grammar([Form("start", "", _same), Form("starter", "", _same)], {})
    with pytest.raises(BadInput, match=re.escape("Did you mean start?")):
        like_each_other.read("stort", MOMENT)


QUOTES = Grammar(
    [
        Form("SELECT {word} FROM {more}", "a statement", _same),
        Form("DELETE FROM a WHERE b IN ({texts}) AND c = {number}", "a list", _same),
        Form("say {word} to {fruit}", "a line", _same),
        Form("shut 'door'", "a word in quotes", _same),
        Form("move {way}", "a value with a dash", _same),
        Form("list {more}", "several", _same),
    ],
    {
        "word": Slot("a word", quoted=True),
        "more": Slot("more", many=True),
        "texts": Slot("texts", many=True, quoted=True),
        "number": Slot("a number"),
        "fruit": Slot("a fruit", lambda moment: ("apple", "Pear", "7a")),
        "way": Slot("a way", lambda moment: ("-1", "-2")),
    },
)


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("say 7 to apple", {"word": Bare("7"), "fruit": "apple"}),
        ("say '7' to apple", {"word": "7", "fruit": "apple"}),
        ("say 'a' to PEAR", {"word": "a", "fruit": "Pear"}),
        ("say 'a' to 'Pear'", {"word": "a", "fruit": "Pear"}),
        ("SELECT 7 FROM a", {"word": Bare("7"), "more": ("a",)}),
        ("SELECT 'a' FROM b, c", {"word": "a", "more": ("b", "c")}),
        ("SELECT '.a' FROM b", {"word": ".a", "more": ("b",)}),
        ("SELECT 'a.' FROM b", {"word": "a.", "more": ("b",)}),
        ("DELETE FROM a WHERE b IN ('c,d', 'e') AND c = 7", {"texts": ("c,d", "e"), "number": "7"}),
        ('shut "door"', {}),
        ("move -2", {"way": "-2"}),
        ("list a,b, 'c,d'", {"more": ("a", "b", "c", "d")}),
    ],
)
def test_what_stands_in_quotes(line: str, given: dict[str, Any]) -> None:
    """A number needs none, and is told from one in quotes; a value may be in any case without."""
    read_as = QUOTES.read(line, MOMENT)[1]
    assert read_as == given
    assert {name: type(each) for name, each in read_as.items()} == {
        name: type(each) for name, each in given.items()
    }


@pytest.mark.parametrize(
    "line",
    [
        "say a to apple",
        "say 'a' to 'PEAR'",
        "say 'a', 'b' to apple",
        'SELECT "a b" FROM c',
        "shut 'window'",
        "shut door",
        "move -3",
        "list ,",
        "list a,",
        "list a b",
    ],
)
def test_what_quotes_do_not_allow(line: str) -> None:
    """A text without them, other letters within them, more than one where one may stand."""
    with pytest.raises(BadInput):
        QUOTES.read(line, MOMENT)


def test_what_is_allowed_is_said_once_and_the_nearest_first() -> None:
    """A value that is a word of a form, too, is told as a value; at most three forms are named."""
    forms = [Form("go {table}", "", _same), *(Form(f"go {n} now", "", _same) for n in "1234")]
    grammar = Grammar([*forms, Form("go one {number}", "", _same)], SLOTS)
    with pytest.raises(
        BadInput, match=re.escape("a table: one of two, one; or one of 1, 2, 3, 4 (")
    ) as e:
        grammar.read("go twoo", MOMENT)
    assert str(e.value).endswith("(go TABLE or go 1 now or go 2 now)")
    assert str(e.value).count("one of") == 2
    with pytest.raises(BadInput, match=re.escape("got 'nothing'; allowed: a table: one of one,")):
        grammar.read("go", MOMENT)


@pytest.mark.parametrize(
    ("text", "looks"), [("SELECT {x} FROM y", True), ("get a", True), ("put all", False)]
)
def test_who_only_looks_changes_nothing(text: str, looks: bool) -> None:
    """As the beginning of the line says."""
    assert Form(text, "", _same).looks is looks


def test_an_own_word_is_said_to_be_one() -> None:
    """No real tool has it."""
    assert [form.meaning for form in FORMS[1:3]] == ["several", "a statement (own word)"]
