"""Moments of the models of the metadata service as rows."""
