"""Attacks on a release: its stages as input of `setanon_core.risk`, and results side by side."""
