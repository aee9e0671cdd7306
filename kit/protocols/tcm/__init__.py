"""Transactional Cluster Metadata (CEP-21): epochs, plans, range locks, barriers, placements."""
