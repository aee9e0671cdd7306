"""Options that commands on clusters under the topology coordinator share."""

from __future__ import annotations

import argparse

from kit.protocols.topology.rules.machines import EDITIONS


def add_edition(parser: argparse.ArgumentParser, published: str = "the published server") -> None:
    """Take ``--edition``; ``published`` says what edition ``code`` is of."""
    parser.add_argument(
        "--edition",
        choices=EDITIONS,
        default="code",
        help=f"code: {published}; seed: the documents (code if not given)",
    )
