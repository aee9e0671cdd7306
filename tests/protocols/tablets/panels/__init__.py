"""Tests of how tablets are drawn."""
