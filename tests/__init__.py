"""The tests of the kit: see ARCHITECTURE.md for what lies where."""
