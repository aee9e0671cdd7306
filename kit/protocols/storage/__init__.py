"""Reads and writes of one data range while its replicas change: replicas, coordinators, cells."""
