"""Options that commands on clusters under the topology coordinator share."""

from __future__ import annotations

import argparse

from kit.engine.former import edition_today
from kit.protocols.topology.rules.machines import EDITIONS


def add_edition(parser: argparse.ArgumentParser, published: str = "the published server") -> None:
    """Take ``--edition``; ``published`` says what edition ``server`` is of."""
    parser.add_argument(
        "--edition",
        type=edition_today,
        choices=EDITIONS,
        default="server",
        help=f"server: {published}; documents: as they say (server if not given)",
    )
