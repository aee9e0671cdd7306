"""Scripts of the project: set-up, the programs tests need, the one test command."""
