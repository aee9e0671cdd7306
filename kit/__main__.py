"""``python -m kit``: the kit at the command line."""

from kit.commands.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
