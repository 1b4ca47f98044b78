"""Data classes that the stages exchange: inputs, queries, groups, releases, verdicts."""
