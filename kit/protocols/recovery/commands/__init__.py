"""The command line of recovery."""
