"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "cms",
    "The cluster metadata service and its log (CEP-21)",
    order=25,
    models={"commit": "commit:ENTRY", "schema": "schema:ENTRY"},
    views={"commit": "panels.commit:VIEWS", "schema": "panels.schema:VIEWS"},
    scenario_output={"commit": "facts.commit:OUTPUT", "schema": "facts.schema:OUTPUT"},
    composes=("gossip",),
)
