"""Pipelines of all stages: from records, logs or baskets to releases."""
