"""The panels of the models of this family: those of requests, whatever plan moves the range."""

from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.panels import VIEWS as DATAPLANE
from kit.protocols.storage.panels.role_play import COORDINATOR, REPLICA

__all__ = ["COORDINATOR", "DATAPLANE", "OUTPUT", "REPLICA"]
