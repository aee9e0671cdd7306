"""A model that says everything in Greek: whatever is Latin on its screen is the interface."""

# ruff: noqa: PLC2401  # its names are words on the screen

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from kit.errors import Refusal
from kit.model.declared import (
    Declared,
    Each,
    State,
    Travel,
    action,
    always,
    parameter,
    purpose,
    refused,
)
from kit.views.default import STATE
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Message, Stage, Wall, stage_panel
from kit.views.tape import Card

NAMES = ("Α", "Β", "Γ", "Δ")
WHO: TypeAlias = Annotated[int, Each(lambda m: range(len(NAMES)), NAMES.__getitem__)]


class Λόγος(State, frozen=True):
    """Who has spoken and who has heard, as bit masks."""

    είπε: int = 0
    άκουσε: int = 0


Next: TypeAlias = Λόγος | Refusal


class Greek(Declared[Λόγος]):
    """Each speaks and each hears; all must have spoken before the end."""

    name, title, State = "greek", "Διάλογος", Λόγος
    πόσοι: int = parameter(4, "πόσοι είναι", ge=1, le=4)

    @action(travels=[Travel("message", "{ποιος}", "Δ", "λέξη")])
    @purpose("Όποιος μιλά, ακούγεται.")
    def μίλα(self, s: Λόγος, ποιος: WHO) -> Next:
        """{ποιος} μιλά."""
        if s.είπε >> ποιος & 1:
            return refused("είπε ήδη")
        return s.but(είπε=s.είπε | 1 << ποιος)

    @action()
    @purpose("Όλοι πρέπει να έχουν μιλήσει.")
    def τέλος(self, s: Λόγος) -> Next:
        """Τελειώνει."""
        if missing := tuple(name for i, name in enumerate(NAMES) if not s.είπε >> i & 1):
            return refused("δεν μίλησαν όλοι", missing)
        return s.but(άκουσε=1) if not s.άκουσε else refused("τέλειωσε")

    @always()
    def σιωπή(self, s: Λόγος) -> str | None:
        """Δεν μιλούν δύο."""
        return "μίλησαν δύο" if s.είπε.bit_count() > 1 else None

    def milestone(self, before: Λόγος, action: Any, after: Λόγος) -> str | None:
        """Each word is one."""
        return "λέξη"

    def spot(self, place: str) -> str:
        """The key of a speaker in the picture."""
        return f"n:{place}"


def on_stage(scene: Scene) -> Stage:
    """Speakers with what they hold, a log, what is under way, held and lost, and a wall."""
    spoken = [bool(scene.state.είπε >> i & 1) for i in range(len(NAMES))]
    who = tuple(
        Character(
            name, f"n:{name}", health="up" if yes else "down", tag="λ", holds=("ν",), fill=0.5
        )
        for name, yes in zip(NAMES, spoken, strict=True)
    )
    reach = ["applied" if yes else "" for yes in spoken]
    cards = tuple(
        Card(
            f"log:{i}",
            f"κάρτα {i}",
            tuple((n, f"m:{i}:{n}", r) for n, r in zip(NAMES, reach, strict=True)),
        )
        for i in range(12)
    )
    under_way = (Message("Α", "Β", "γεια", held=True), Message("Β", "Γ", "γεια"))
    lost, walls = (Message("Γ", "Δ", "γεια"),), (Wall(("Α",), one_way=True), Wall(("Β",)))
    return Stage(NAMES, who, tape=cards, messages=under_way, lost=lost, walls=walls)


def gates(scene: Scene) -> tuple[Gate, ...]:
    """Who must have spoken."""
    there = tuple(name for i, name in enumerate(NAMES) if scene.state.είπε >> i & 1)
    missing = tuple(name for name in NAMES if name not in there)
    return (Gate("τέλος", "τέλος", "μιλήσει", there, missing, 4),)


VIEWS = Views(
    (stage_panel("stage", "Σκηνή", on_stage, gates=gates), STATE, LAMPS),
    picture="stage",
    table="state",
)
