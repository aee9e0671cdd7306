"""Tests of what is said of somebody's own tables and journals."""
