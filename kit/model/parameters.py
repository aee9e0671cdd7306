"""What the parameters of a model are called, mean and may be, as their own fields say.

A field is ``Annotated[int, Meta(title=…, description=…, ge=…, le=…)]``. Controls, the command line
and the errors are made from that. Flags stand in its ``extra_json_schema``: *hidden* (no control
for it), *written* (a person writes it as text; several lines with a semicolon between), *budget*
(how often something may happen), *ring* (``generated`` and ``replicas``: it describes a ring that
the model makes, or how many replicas that has; ``own``: a ring that is given).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct, to_builtins
from msgspec import inspect as schema
from msgspec.structs import FieldInfo, fields, replace

from kit.edge.json_text import parse_json
from kit.errors import BadInput, BadType

Choice = str | int | None


BUDGET = {"budget": True}
"""The flag of a parameter that says how often something may happen."""


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter: how it is labelled, what it means, and what it may be.

    ``path`` are the fields that lead to it: more than one where a parameter is a struct of others.
    ``annotation`` is its type as the field says it, ``type`` what msgspec makes of that, ``usual``
    its default; ``least`` and ``most`` are the ends of a whole number, ``choices`` are all values
    that there are, where there are so few.
    """

    name: str
    path: tuple[str, ...]
    title: str
    meaning: str
    annotation: Any
    type: schema.Type
    flags: Mapping[str, Any]
    usual: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def allowed(self) -> str:
        """The values that are allowed, in words; the empty text where only its type says so."""
        if self.choices:
            return "one of " + ", ".join(map(str, self.choices))
        if self.least is not None and self.most is not None:
            return f"a number from {self.least} to {self.most}"
        if self.most is not None:
            return f"a number up to {self.most}"
        return "" if self.least is None else f"a number from {self.least} up"

    def value_in(self, given: Struct) -> Any:
        """Its value among the parameters of a model."""
        value: Any = given
        for name in self.path:
            value = getattr(value, name)
        return value


@cache
def parameters_of(kind: type[Struct]) -> tuple[Parameter, ...]:
    """The parameters that a model takes, in order; those of a struct among them one by one.

    One of a struct goes by its own name, unless another parameter has that name, too: then by its
    path, with dots.
    """
    every = tuple(_parameters(kind, ()))
    times = Counter(parameter.name for parameter in every)
    return tuple(
        parameter if times[parameter.name] == 1 else replace(parameter, name=dotted(parameter.path))
        for parameter in every
    )


def dotted(path: tuple[str, ...]) -> str:
    """``cluster.rf``: the name of a parameter within another one."""
    return ".".join(path)


def plainly(given: Struct) -> dict[str, Any]:
    """The parameters of a model as plain data, by their names."""
    named = {each.name: each.value_in(given) for each in parameters_of(type(given))}
    plain: dict[str, Any] = to_builtins(named)
    return plain


def edition_in(given: Struct, words: str = "{}") -> str:
    """The edition that a model with these parameters plays, in these words; empty if it has one
    form.

    A server is named with its release, where releases differ.
    """
    own = (getattr(given, name, None) for name in given.__struct_fields__)
    for each in (given, *own):
        edition, release = getattr(each, "edition", None), getattr(each, "release", "")
        if isinstance(edition, str):
            server = f"{edition} {release}".strip()
            return words.format(server if edition == "server" else edition)
    return ""


def budgets_in(given: Struct) -> str:
    """``; with no crashes, losses: 2``: how often what may happen; empty where nothing is counted.

    It is so where the types of parameters cannot be read, too.
    """
    counts = ((each.title, each.value_in(given)) for each in budgets_of(given))
    said = ", ".join(f"{title}: {n}" if n else f"no {title}" for title, n in counts)
    return said and f"; with {said}"


def budgets_of(given: Struct) -> list[Parameter]:
    """The parameters that say how often something may happen; none where no type can be read."""
    try:
        return [each for each in parameters_of(type(given)) if each.flags.get("budget")]
    except (TypeError, NameError):
        return []


def written(field: str, text: str, kind: schema.Type | None) -> Any:
    """The value that somebody wrote as ``text``, read as its type says: texts stay as they are.

    ``2025.1``, ``true`` and ``1e5`` are names where names are wanted, alone or in a list. Anything
    else is JSON, or else the text itself. Raises BadInput for JSON that says something twice.
    """
    kind = _without_words(kind)[1] if kind else None
    if isinstance(kind, schema.UnionType):
        if text == "null":
            return None
        kind = next(each for each in kind.types if not isinstance(each, schema.NoneType))
        return written(field, text, kind)
    if isinstance(kind, schema.LiteralType) and text in kind.values:
        return text
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    if isinstance(kind, schema.StrType):
        return plain if isinstance(plain, str) else text
    if isinstance(plain, dict | list):
        plain = parse_json(text, field, "a value in JSON")  # no key twice: one would be lost
    if isinstance(plain, list) and (inner := _items(kind, len(plain))):
        items = msgspec.json.decode(text, type=list[Raw])
        return [
            written(field, bytes(each).decode(), item)
            for each, item in zip(items, inner, strict=True)
        ]
    return plain


def _items(kind: schema.Type | None, count: int) -> tuple[schema.Type, ...]:
    if isinstance(kind, schema.VarTupleType | schema.ListType):
        return (kind.item_type,) * count
    fixed = kind.item_types if isinstance(kind, schema.TupleType) else ()
    return fixed if len(fixed) == count else ()


def check_limits(given: Struct) -> None:
    """See that each parameter is within its limits. Raises BadInput naming the first beyond."""
    for parameter in parameters_of(type(given)):
        value = parameter.value_in(given)
        if not is_within(parameter, value):
            raise BadInput(parameter.name, value, parameter.allowed)


def is_within(parameter: Parameter, value: Any) -> bool:
    """Whether a value of the right type is one of the choices, or between the ends."""
    if parameter.choices:
        return value in parameter.choices
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        return True
    least, most = parameter.least, parameter.most
    return (least is None or least <= value) and (most is None or value <= most)


def _parameters(kind: type[Struct], above: tuple[str, ...]) -> Iterator[Parameter]:
    try:
        info = schema.type_info(kind)
    except (TypeError, NameError) as error:
        allowed = f"types that fit their limits ({error})"
        raise BadType(f"types of {kind.__name__}", kind.__annotations__, allowed) from None
    assert isinstance(info, schema.StructType)
    for field, own in zip(info.fields, fields(kind), strict=True):
        _, bare = _without_words(field.type)
        if isinstance(bare, schema.StructType):
            yield from _parameters(bare.cls, (*above, field.name))
        else:
            yield _parameter((*above, field.name), own, field.type)


def _parameter(path: tuple[str, ...], own: FieldInfo, kind: schema.Type) -> Parameter:
    said, kind = _without_words(kind)
    value = kind
    if isinstance(kind, schema.UnionType):  # a value or null: the value's own words and ends count
        inner, value = _without_words(kind.types[0])
        said = {**inner, **said}
    number = value if isinstance(value, schema.IntType) else None
    return Parameter(
        name=path[-1],
        path=path,
        title=said.get("title", path[-1].replace("_", " ")),
        meaning=said.get("description", ""),
        annotation=own.type,
        type=kind,
        flags=said,
        usual=own.default,
        least=number.ge if number else None,
        most=number.le if number else None,
        choices=tuple(kind.values) if isinstance(kind, schema.LiteralType) else (),
    )


def _without_words(kind: schema.Type) -> tuple[Mapping[str, Any], schema.Type]:
    if isinstance(kind, schema.Metadata):
        return kind.extra_json_schema or {}, kind.type
    return {}, kind
