"""The panels of the models of this family: those of requests, whatever plan moves the range."""

from kit.protocols.storage.panels import VIEWS as DATAPLANE
from kit.protocols.storage.panels.coordinator import VIEWS as COORDINATOR
from kit.protocols.storage.panels.replica import VIEWS as REPLICA

__all__ = ["COORDINATOR", "DATAPLANE", "REPLICA"]
