"""Readers of files from outside; each is strict and raises ``BadInput``."""
