"""The panels of the models of this family: those of requests, whatever plan moves the range."""

from kit.protocols.storage.panels import VIEWS as DATAPLANE
from kit.protocols.storage.panels.role_play import COORDINATOR, REPLICA
from kit.protocols.storage.scenario_output import OUTPUT

__all__ = ["COORDINATOR", "DATAPLANE", "OUTPUT", "REPLICA"]
