"""Reads and writes of one tablet while its replicas change: the storage model on its stages."""
