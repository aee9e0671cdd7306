"""The cluster metadata service of CEP-21: who keeps the log, and how an event gets into it."""
