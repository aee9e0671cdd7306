"""The dry run: operations on somebody's own ring, step by step, as data and as a history."""
