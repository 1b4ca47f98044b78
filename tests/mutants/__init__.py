"""Mutation testing of the modules that carry the promise; run by `make mutants`."""
