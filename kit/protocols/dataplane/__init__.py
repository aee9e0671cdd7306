"""Requests on one data range of a real plan: the storage model over the metadata's own steps."""
