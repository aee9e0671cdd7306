"""The engine: what a model is, and the ways to run one. It knows no protocol."""
