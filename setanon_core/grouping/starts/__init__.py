"""Groupers: each forms groups from scratch."""
