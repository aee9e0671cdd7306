"""A plugin for mypy: what ``s.but(...)`` and ``s.at(place, ...)`` of a state may name.

``but`` takes the fields of its own struct, ``at`` those of the structs in its ``nodes``; each with
its type, so that a misspelt field and a wrong value are errors.
"""

from collections.abc import Callable

from mypy.nodes import ARG_NAMED_OPT, ArgKind, TypeInfo, Var
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import FunctionLike, Instance, Type, get_proper_type


def fields(info: TypeInfo) -> dict[str, Type]:
    """The fields of a struct with their types, those of its bases first."""
    symbols = [item for base in reversed(info.mro) for item in base.names.items()]
    found = {name: symbol.node for name, symbol in symbols if isinstance(symbol.node, Var)}
    return {n: v.type for n, v in found.items() if v.type and not (v.is_classvar or n[0] == "_")}


def of_itself(context: MethodSigContext) -> FunctionLike:
    """``but``: the fields of the state."""
    return named(context, context.type)


def of_nodes(context: MethodSigContext) -> FunctionLike:
    """``at``: the fields of a node."""
    state = get_proper_type(context.type)
    held = get_proper_type(fields(state.type).get("nodes")) if isinstance(state, Instance) else None
    return named(context, held.args[0] if isinstance(held, Instance) and held.args else None)


def named(context: MethodSigContext, struct: Type | None) -> FunctionLike:
    """The signature whose keywords are the fields of a struct of the kit's."""
    struct, signature = get_proper_type(struct), context.default_signature
    if not isinstance(struct, Instance) or not struct.type.has_base("kit.model.declared.State"):
        return signature
    known = fields(struct.type)
    fixed = [i for i, kind in enumerate(signature.arg_kinds) if kind != ArgKind.ARG_STAR2]
    return signature.copy_modified(
        arg_types=[*(signature.arg_types[i] for i in fixed), *known.values()],
        arg_kinds=[*(signature.arg_kinds[i] for i in fixed), *(ARG_NAMED_OPT for _ in known)],
        arg_names=[*(signature.arg_names[i] for i in fixed), *known],
    )


class StateFields(Plugin):
    """Whatever is called ``but`` or ``at``; of other structs it says nothing."""

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """As mypy asks, by the full name of a method."""
        return {"but": of_itself, "at": of_nodes}.get(fullname.rpartition(".")[2])


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return StateFields
