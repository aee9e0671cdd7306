"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "cms",
    "The cluster metadata service and its log (CEP-21)",
    order=25,
    models={"commit": "commit:ENTRY", "cms": "cms:ENTRY"},
    views={"cms": "panels.members:VIEWS"},
    scenario_output={"cms": "facts.members:OUTPUT"},
)
