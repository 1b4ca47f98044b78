"""Verification of published files, with code that shares nothing with their makers."""
