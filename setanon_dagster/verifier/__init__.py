"""Verification of published releases; shares no code with the stages and the gate."""
