"""The rules: pure functions of the domain, one concept a module."""
