"""Puts the notebooks, their pictures and their glossary into the wheel: ``kit lab`` finds them."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShippedFiles(BuildHookInterface):
    """Adds ``kit/shipped/``; an editable install has the checkout itself and needs no copies."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Extend the wheel's file list. ``version`` is "editable" or "standard"."""
        if version != "editable":
            for folder in ("notebooks", "images", "docs/glossary.md"):
                build_data["force_include"][folder] = f"kit/shipped/{folder}"
