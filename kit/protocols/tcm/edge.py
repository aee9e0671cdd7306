"""The edge: an operation's line becomes an ``Operation`` here, and its names node codes, once.

Rules get the codes. A node keeps its code for ever, so newcomers are registered before anything
begins; whether an operation makes sense is asked of the ring of the moment (``validate``).
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args

from kit.errors import BadInput
from kit.protocols.tcm.rules.operations import (
    BRINGS,
    WRITTEN,
    Kind,
    Operation,
    ResolvedOperation,
    no_member,
    place,
)
from kit.ring.topology import Node, Ring

KINDS: tuple[Kind, ...] = get_args(Kind)
LONGEST_LINE = 100_000  # characters of an operation
TAKES_TOKENS = ("bootstrap", "move")
TAKES_PLACE = ("bootstrap", "replace")
ALSO = {former: kind for kind, former in WRITTEN.items()}
"""Shorter words for the same operations; they are read, and never shown."""
FORM = (
    "bootstrap NODE --tokens T,… [--dc DC --rack RACK], decommission NODE, "
    "move NODE --tokens T,…, replace OLD NEW [--dc DC --rack RACK], removenode NODE "
    "or assassinate NODE, each with --force"
)


class Once(argparse.Action):
    """An option that may be given once, with a value that is not empty (or a flag)."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        """Keep the value.

        Raises:
            BadInput: when it is empty, or the option was given before.
        """
        if values == "":
            raise BadInput(str(option_string), values, "a value")
        if getattr(namespace, self.dest) is not None:
            raise BadInput("option", option_string, "each option once")
        setattr(namespace, self.dest, True if self.nargs == 0 else values)


class Each(argparse.Action):
    """An option that may be given several times, with values that are not empty."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        """Keep one more value.

        Raises:
            BadInput: when it is empty.
        """
        if not values:
            raise BadInput(str(option_string), values, "a value")
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), values])


class OperationWords(argparse.ArgumentParser):
    """Reads plain words and the options of an operation, in any order."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False, exit_on_error=False)
        # Whatever has one dash is a value or a name: `--tokens -5,7`.
        self._negative_number_matcher = re.compile(r"-(?!-)")
        self.add_argument("words", nargs="*")
        for option in ("--tokens", "--dc", "--rack"):
            self.add_argument(option, action=Once)
        self.add_argument("--force", action=Once, nargs=0)

    def read(self, argv: list[str]) -> argparse.Namespace:
        """The words and options of a line.

        Raises:
            BadInput: naming the option that is unknown, given twice, or has a wrong value.
        """
        known = [action.option_strings[0] for action in self._actions if action.option_strings]
        if "--" in argv:
            raise BadInput("option", "--", _one_of("", known))
        try:
            given, unknown = self.parse_known_intermixed_args(argv)
        except argparse.ArgumentError as error:
            option = str(error.argument_name).split("/", maxsplit=1)[0]
            value = next((w.partition("=")[2] for w in argv if w.startswith(f"{option}=")), None)
            wanted = "a value" if value is None else "no value"
            raise BadInput(option, value, wanted) from None
        if unknown:
            word = unknown[0].partition("=")[0]
            raise BadInput("option", word, _one_of(word, known))
        return given


def _one_of(word: str, known: Iterable[str]) -> str:
    """The options, and which of them a word may have meant."""
    *others, last = known
    near = get_close_matches(word, [*others, last], 1)
    return f"{', '.join(others)} or {last}" + (f" (nearest: {near[0]})" if near else "")


def parse_operation(text: str, *, force: bool = False) -> Operation:
    """An operation from one line, strictly.

    Raises:
        BadInput: naming the word that is wrong.
    """
    if len(text) > LONGEST_LINE:
        raise BadInput("operation", text, f"a line of at most {LONGEST_LINE} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadInput("operation", text, f"{FORM} ({error})") from None
    given = OperationWords().read(words)
    return operation_of(given.words, given, force=force)


def operation_of(words: list[str], given: argparse.Namespace, *, force: bool = False) -> Operation:
    """The operation that plain words and the options read beside them stand for.

    Raises:
        BadInput: naming the word that is wrong.
    """
    first, *nodes = words or [""]
    kind = next((kind for kind in KINDS if kind == ALSO.get(first, first)), None)
    line = " ".join(words)
    if kind is None:
        near = get_close_matches(first.casefold(), (*KINDS, *ALSO), 1)
        raise BadInput("operation", line, FORM + (f" (nearest: {near[0]})" if near else ""))
    wanted = 2 if kind == "replace" else 1
    if len(nodes) != wanted or not all(nodes):
        how_many = "1 node name" if wanted == 1 else "2 node names"
        raise BadInput("operation", line, f"{kind} with {how_many}: {FORM}")
    if (given.tokens is not None) != (kind in TAKES_TOKENS):
        needed = "needs --tokens" if kind in TAKES_TOKENS else "takes no --tokens"
        raise BadInput("--tokens", given.tokens, f"{kind} {needed}")
    for option, value in (("--dc", given.dc), ("--rack", given.rack)):
        if value is not None and kind not in TAKES_PLACE:
            raise BadInput(option, value, "only with bootstrap and replace")
    return Operation(
        kind,
        nodes[-1],
        () if given.tokens is None else _tokens(given.tokens),
        nodes[0] if kind == "replace" else None,
        given.dc,
        given.rack,
        force or bool(given.force),
    )


def _tokens(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", word, re.ASCII) for word in words):
        raise BadInput("--tokens", text, "whole numbers with commas between them")
    return tuple(map(int, words))


def register(ring: Ring, operations: Iterable[Operation]) -> Ring:
    """The ring in which the newcomers of operations are known, still without tokens.

    Unless its operation says where, a replacement is put where the replaced node is; a joining
    node where it was before, or beside the ring's first one.
    """
    for operation in operations:
        if operation.kind in BRINGS:
            ring = _registered(ring, operation)
    return ring


def _registered(ring: Ring, operation: Operation) -> Ring:
    codes = {name: code for code, name in enumerate(ring.names)}
    beside = ring.nodes[codes.get(operation.target or operation.node, 0)]
    where = place(operation, beside)
    if operation.node in codes:
        return ring.placed(codes[operation.node], *where)
    return ring.join(Node(operation.node, (), *where))


def resolve(ring: Ring, operation: Operation) -> ResolvedOperation:
    """The operation by node codes; its newcomer is registered.

    Raises:
        BadInput: for a name that no node of the ring has.
    """
    codes = {name: code for code, name in enumerate(ring.names)}
    for name in operation.involved:
        if name not in codes:
            raise no_member(ring, name)
    target = None if operation.target is None else codes[operation.target]
    return ResolvedOperation(operation, codes[operation.node], target)


def enter(
    ring: Ring, operations: Iterable[Operation]
) -> tuple[Ring, tuple[ResolvedOperation, ...]]:
    """The ring that knows the newcomers of operations, and these by node codes.

    Raises:
        BadInput: for a name that no node of the ring has.
    """
    given = tuple(operations)
    ring = register(ring, given)
    return ring, tuple(resolve(ring, operation) for operation in given)
