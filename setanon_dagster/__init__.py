"""Dagster assets, checks and a release gate around `setanon_core`."""
