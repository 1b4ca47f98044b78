"""Releases with one change each, which the verifier must refuse."""
