"""Figures measured against baselines, side by side in one run: ``python -m benchmarks``."""
