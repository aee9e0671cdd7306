"""Tests of every set of dead nodes as a table."""
