"""Lines that are typed, read by forms: what fits, what is wrong, what may follow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kit.console.forms import LONGEST_LINE, Form, Grammar, Slot
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
