"""What a class declares twice is refused with both lines, wherever its text can be read."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from kit.engine import bodies, declared
from kit.engine.declared import Declared
from kit.errors import BadInput

FILE = "<a cell>"
SHIPPED = str(Path(bodies.__file__).with_name("none_of_these.py"))
HEAD = 'name, title, State = "own", "A model", State\n'
METHOD = 'def {}(self, s):\n    """It is said."""\n'
LOOK, RING = (METHOD.format(name) for name in ("look", "ring"))
MOST = 'most: int = parameter(1, "how many", ge=1)\n'
SAFE = 'safe: bool = safeguard("S-1", "it is safe", ("well",))\n'


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for file in (FILE, SHIPPED):
        linecache.cache.pop(file, None)


def made(body: str, base: str = "Declared", *, is_known: bool = True, file: str = FILE) -> Any:
    """The class of this body, as a cell makes it, or a file; its text is known, or not."""
    text = f"class Own({base}):\n{indent(body, '    ')}"
    if is_known:
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {**vars(declared), "__name__": "cell"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["Own"]


# what stands in the class -> the name that is lost, and its two lines
TWICE = {
    "a parameter": (HEAD + MOST + MOST, "most", 3, 4),
    "a budget": (HEAD + 2 * 'cuts: int = budget(1, "cuts", le=2)\n', "cuts", 3, 4),
    "a safeguard": (HEAD + SAFE + MOST + SAFE, "safe", 3, 5),
    "an action": (HEAD + f"@action()\n{LOOK}@action()\n{LOOK}", "look", 4, 7),
    "a method in place of an action": (HEAD + f"@action()\n{LOOK}{LOOK}", "look", 4, 6),
    "an action in place of a method": (HEAD + f"{LOOK}@action()\n{LOOK}", "look", 3, 6),
    "a promise": (HEAD + f"@always()\n{LOOK}@goal()\n{LOOK}", "look", 4, 7),
    "a promise and an action": (HEAD + f"@step()\n{LOOK}@action()\n{LOOK}", "look", 4, 7),
    "a parameter and a method": (HEAD + MOST + METHOD.format("most"), "most", 3, 4),
}
ONCE = {
    "another name": HEAD + f"@action()\n{LOOK}@action()\n{RING}",
    "a property that can be set": HEAD + "@property\ndef door(self): ...\n"
    "@door.setter\ndef door(self, to): ...\n",
    "what is made of the first": HEAD + f"{LOOK}look = action()(look)\n",
    "an action made of an action": HEAD + f"@action()\n{LOOK}look = look\n",
    "a type before the value": HEAD + "most: int\nmost = parameter(1, 'how many', ge=1)\n",
    "a type behind the value": HEAD + "most = parameter(1, 'how many', ge=1)\nmost: int\n",
    "a name that declares nothing": HEAD + f"{LOOK}{LOOK}",
}


@pytest.mark.parametrize("what", TWICE)
def test_what_is_declared_twice_is_named_with_both_lines(what: str) -> None:
    """In one line, as soon as the class is made."""
    body, name, first, second = TWICE[what]
    said = rf"^{name} of Own: got 'two of that name, in lines {first} and {second}'; .* once: .*$"
    with pytest.raises(BadInput, match=said):
        made(body)


def test_files_of_the_kit_are_not_read_again() -> None:
    """A linter has looked at them."""
    body = TWICE["a parameter"][0]
    assert made(body, file=SHIPPED).__name__ == "Own"
    with pytest.raises(BadInput, match="two of that name"):
        made(body, file=SHIPPED.replace("kit", "kits"))


@pytest.mark.parametrize("again", ["here: int = 0", "here: int"])
def test_so_is_a_field_of_a_state(again: str) -> None:
    """The later default would take the first one's place."""
    with pytest.raises(BadInput, match=r"^here of Own: .*in lines 2 and 4"):
        made(f"here: int = 1\nthere: int = 2\n{again}\n", "State")


@pytest.mark.parametrize("what", ONCE)
def test_what_is_not_lost_may_have_the_name_again(what: str) -> None:
    """Nothing that was declared is lost there."""
    assert issubclass(made(ONCE[what]), Declared)
