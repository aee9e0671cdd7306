"""The rules of tablets: stages, replica sets, what a failure leads to. They know no model."""
