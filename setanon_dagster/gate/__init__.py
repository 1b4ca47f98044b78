"""The release gate: stage, verify, publish."""
