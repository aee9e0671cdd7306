"""The commands of ``python -m kit``, one module a group."""
