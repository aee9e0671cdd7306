"""The panels of this family: those of requests, whatever moves the range."""

from kit.protocols.storage.panels import VIEWS as VNODES

__all__ = ["VNODES"]
