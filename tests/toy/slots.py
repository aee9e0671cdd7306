"""A declared model whose parts may be put in place of: what tests spoil."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Annotated, Any, TypeAlias

from kit.errors import Refusal
from kit.model.declared import Declared, Each, State, action, always, refused, sometimes

Client: TypeAlias = Annotated[int, Each(lambda m: range(2), "C{}".format)]


class SlotState(State, frozen=True):
    """Who is inside, as a bit mask."""

    number: int = 0


class Slots(Declared[SlotState]):
    """A room for one, and two clients."""

    name, title, State = "slots", "A room", SlotState

    @action()
    def enter(self, s: SlotState, client: Client) -> SlotState | Refusal | None:
        """{client} goes in."""
        if s.number >> client & 1:
            return None
        return refused("somebody is inside") if s.number else s.but(number=s.number | 1 << client)

    @action()
    def depart(self, s: SlotState, client: Client) -> SlotState | None:
        """{client} comes out."""
        return s.but(number=s.number & ~(1 << client)) if s.number >> client & 1 else None

    @always("INV-ALONE")
    def allowed(self, s: SlotState) -> str | None:
        """No two clients are inside."""
        return "two clients are inside" if s.number.bit_count() > 1 else None

    @sometimes()
    def seen(self, s: SlotState) -> bool:
        """Somebody is inside."""
        return s.number > 0

    @classmethod
    def spoiled(cls, slot: str, habit: Callable[..., Any]) -> Any:
        """The same with another function at one place: a method, or what narrows an action."""
        if slot == "each":
            return type("Spoiled", (cls,), {"enter": action(each=habit)(cls.enter.run)})()  # type: ignore[attr-defined]  # an action
        made = {"enter": action(), "allowed": always("INV-ALONE"), "seen": sometimes()}[slot]

        def entering(self: Any, s: Any, client: Client) -> Any:
            """{client} goes in."""
            return habit(self, s, client)

        try:
            signature(habit).bind("self", "state", "client")
            method = entering if slot == "enter" else habit
        except (TypeError, ValueError):
            method = habit
        return type("Spoiled", (cls,), {slot: made(method)})()  # type: ignore[operator]  # one of three
