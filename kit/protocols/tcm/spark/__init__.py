"""Placements of large rings as a data pipeline on Spark."""
