"""Simulators: random clusters and exhaustive quorums that put the placements to the test."""
