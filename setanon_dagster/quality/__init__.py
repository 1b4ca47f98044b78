"""Checks of stages and releases: counts by DuckDB, expectations of Great Expectations."""
